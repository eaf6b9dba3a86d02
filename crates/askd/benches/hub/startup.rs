//! From the start of the process to healthy.

use crate::hub::Hub;
use crate::table::{Table, bar, percentile};
use crate::{Result, raw};

pub async fn run(table: &mut Table) -> Result {
    eprintln!("start-up");
    let mut samples = Vec::new();
    for _ in 0..10 {
        samples.push(Hub::start().await?.start_up.as_secs_f64() * 1000.0);
    }
    let median = percentile(&mut samples, 0.5);
    let against = format!("one fsync of this disk {:.2} ms", raw::fsync_ms()?);
    table.row(
        "start to healthy, median of 10",
        format!("{median:.0} ms"),
        against,
        &bar(median < 100.0, "< 100 ms"),
    );
    Ok(())
}
