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
        assert_eq!(uninstall(&installed, None).unwrap(), text);
        assert_eq!(uninstall(&text, None).unwrap(), text);
        let moved = install(&installed, "'/my tools/askd' --data /d hook claude").unwrap();
        assert_eq!(uninstall(&moved, None).unwrap(), text, "another program is replaced, not added");
    }
}

#[test]
fn a_hook_of_another_program_stays_also_inside_our_group() {
    let installed = install("{}", COMMAND).unwrap();
    let beside =
        installed.replacen("\"hooks\": [", "\"hooks\": [{\"type\":\"command\",\"command\":\"theirs\"},", 1);
    let left = uninstall(&beside, None).unwrap();
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
    for (program, data) in [
        ("/usr/bin/askd", None),
        ("/my tools/it's/askd", Some("/da ta")),
        ("/x/askd-0.2", None),
        ("/a/' '/b", Some("'")),
    ] {
        let parts = hook_parts(&hook_command(program, data));
        assert_eq!(parts, Some((program.to_owned(), data.map(str::to_owned))));
    }
    assert_eq!(hook_command("/a b/askd", None), "'/a b/askd' hook claude");
    for other in [
        "other hook claude",
        "askd list",
        "/usr/bin/askd hook codex",
        "echo askd hook claude",
        "/usr/local/bin/audit.sh; /usr/bin/askd hook claude",
        "'/usr/bin/askd' hook claude",
        " /usr/bin/askd hook claude",
        "/usr/bin/askd --data /a /b hook claude",
        "/usr/bin/askd --data '/a hook claude",
    ] {
        assert_eq!(hook_parts(other), None, "{other}");
    }
}

#[test]
fn ours_is_what_we_write_whatever_the_program_is_called() {
    let foreign = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"/opt/askdesk/bin/askdesk hook claude"},{"type":"command","command":"/a/audit.sh; /usr/bin/askd hook claude"}]}]}}"#;
    assert_eq!(uninstall(foreign, None).unwrap(), foreign);
    let renamed = install(foreign, "/opt/my-askd hook claude").unwrap();
    assert_eq!(found_hooks(&renamed).unwrap().len(), 3);
    assert_eq!(install(&renamed, "/opt/my-askd hook claude").unwrap(), renamed);
    assert_eq!(uninstall(&renamed, None).unwrap(), foreign);
}

#[test]
fn three_hooks_of_one_event_are_not_an_installation() {
    let group = of(EVENTS[1].1, COMMAND);
    let text = json!({ "hooks": { "PreToolUse": [group, group, group] } }).to_string();
    let installed = install(&text, COMMAND).unwrap();
    for event in hooked_events() {
        assert_eq!(hooks_of(&installed, event).len(), 1, "{installed}");
    }
}

#[test]
fn what_claude_code_takes_is_taken() {
    let copies = |first: &str, second: &str| {
        format!(r#"{{"hooks":{{"PreToolUse":[{{"matcher":"x","hooks":[{first}],"hooks":[{second}]}}]}}}}"#)
    };
    let (other, mine) = (
        r#"{"type":"command","command":"theirs"}"#,
        r#"{"type":"command","command":"/usr/bin/askd hook claude"}"#,
    );
    for first in [other.to_owned(), [other; 2].join(","), [other; 5].join(",")] {
        let text = copies(&first, &[other, mine].join(","));
        assert_eq!(uninstall(&text, None).unwrap(), copies(&first, other));
    }
    for text in [
        "\u{feff}{}\n",
        r#"{"a":"\ud83d","\udc00":1e999}"#,
        r#"{"hooks":{"PreToolUse":[{"x":"\ud83d","hooks":[]}]}}"#,
    ] {
        let installed = install(text, COMMAND).unwrap();
        assert_eq!(found_hooks(&installed).unwrap().len(), 3, "{installed}");
        assert_eq!(uninstall(&installed, None).unwrap(), text);
    }
    assert_eq!(hooks_are_off("\u{feff}{\"disableAllHooks\": true, \"a\": 1e999}"), Some(true));
    assert_eq!(hooks_are_off("{}"), None);
}

#[test]
fn containers_that_were_there_before_stay() {
    let before = r#"{"hooks":{"PreToolUse":[],"Stop":[]},"a":1}"#;
    let edited = install(before, COMMAND).unwrap().replace("\"a\":1", "\"a\":2");
    assert_eq!(uninstall(&edited, Some(before)).unwrap(), before.replace("\"a\":1", "\"a\":2"));
}
