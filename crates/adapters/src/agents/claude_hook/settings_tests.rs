//! Settings of others stay as they were.

use super::*;

const COMMAND: &str = "/usr/bin/askd hook claude";

fn hooks_of(text: &str, event: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(text).unwrap();
    value["hooks"][event].as_array().cloned().unwrap_or_default()
}

#[test]
fn what_is_put_in_is_taken_out_without_a_trace() {
    let other = r#"{"matcher":"Bash","hooks":[{"type":"command","command":"other"}]}"#;
    for text in [
        "{}".to_owned(),
        "{ }\n".to_owned(),
        "{\n}\n".to_owned(),
        "{\"model\": \"opus\"}".to_owned(),
        "{\n    \"model\": \"opus\",\n    \"env\": {\"A\": \"\\u00e9 \\\" }\"}\n}\n".to_owned(),
        "{\r\n\t\"model\": \"opus\"\r\n}\r\n".to_owned(),
        format!("{{\"hooks\":{{\"PreToolUse\":[{other}]}},\"z\":1}}"),
        format!(
            "{{\n  \"hooks\": {{\n    \"Stop\": [ {other} ],\n    \"PermissionRequest\": [\n      {other},\n      {other}\n    ]\n  }}\n}}"
        ),
        "{\"hooks\":{\"Stop\":[]},\"a\":[1,2,{\"b\":[]}]}".to_owned(),
    ] {
        let installed = install(&text, COMMAND).unwrap();
        for (event, timeout) in EVENTS {
            let ours = hooks_of(&installed, event)
                .into_iter()
                .filter(|group| *group == of(timeout, COMMAND))
                .count();
            assert_eq!(ours, 1, "{event} in {installed}");
        }
        assert_eq!(install(&installed, COMMAND).unwrap(), installed, "twice is harmless");
        assert_eq!(uninstall(&installed).unwrap(), text);
        assert_eq!(uninstall(&text).unwrap(), text);
        let moved = install(&installed, "'/my tools/askd' --data /d hook claude").unwrap();
        assert_eq!(uninstall(&moved).unwrap(), text, "another program is replaced, not added");
    }
}

#[test]
fn a_hook_of_somebody_else_stays_also_inside_our_group() {
    let installed = install("{}", COMMAND).unwrap();
    let beside =
        installed.replacen("\"hooks\": [", "\"hooks\": [{\"type\":\"command\",\"command\":\"theirs\"},", 1);
    let left = uninstall(&beside).unwrap();
    let groups = hooks_of(&left, "PermissionRequest");
    assert_eq!(groups[0]["hooks"], json!([{"type":"command","command":"theirs"}]));
    assert!(hooks_of(&left, "PreToolUse").is_empty());
}

#[test]
fn nothing_is_guessed_about_a_file_that_is_not_understood() {
    for (text, why) in [
        ("{\"a\": 1,}", "not valid JSON"),
        ("// no\n{}", "not valid JSON"),
        ("[]", "outermost value"),
        ("{\"hooks\": []}", "\"hooks\" is not an object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "\"PreToolUse\" is not an array"),
        ("{\"hooks\": {}, \"hooks\": {}}", "twice"),
    ] {
        let error = install(text, COMMAND).unwrap_err().to_string();
        assert!(error.contains(why) && error.ends_with("nothing was changed"), "{text}: {error}");
    }
}

#[test]
fn the_command_is_one_word_for_a_shell_and_is_known_again() {
    for (program, data) in
        [("/usr/bin/askd", None), ("/my tools/it's/askd", Some("/da ta")), ("/x/askd-0.2", None)]
    {
        assert!(is_ours(&hook_command(program, data)), "{}", hook_command(program, data));
    }
    assert_eq!(hook_command("/a b/askd", None), "'/a b/askd' hook claude");
    for other in ["other hook claude", "askd list", "/usr/bin/askd hook codex", "echo askd hook claude"] {
        assert!(!is_ours(other), "{other}");
    }
}
