#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| askd_fuzz::transcript(data));
