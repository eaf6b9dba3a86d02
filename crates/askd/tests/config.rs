//! The configuration file with the real binary: where it is found, what it says, what a mistake in it does.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use askd_testkit::hub::{Hub, private_folder};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A user with a home of his own and no hub.
struct User {
    home: TempDir,
}

impl User {
    fn new() -> Self {
        Self { home: private_folder().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.home.path().join(".config/askd/config.toml")
    }

    fn writes(&self, text: &str) {
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        fs::write(self.file(), text).unwrap();
        fs::set_permissions(self.file(), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn askd(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askd"));
        command.args(args).env_clear().env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        command.envs(env.iter().copied()).output().unwrap()
    }

    /// `askd config --json`, as value and origin of a key.
    fn setting(&self, key: &str, env: &[(&str, &str)]) -> (Value, Value, Value) {
        let output = self.askd(&["config", "--json"], env);
        assert!(output.status.success(), "{output:?}");
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let values = all["values"].as_array().unwrap();
        let it = values.iter().find(|value| value["key"] == key).unwrap();
        (it["value"].clone(), it["from"].clone(), it["line"].clone())
    }
}

#[test]
fn each_value_is_printed_with_its_origin() {
    let user = User::new();
    let output = user.askd(&["config"], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("(not there: all is as askd comes)"), "{text}");
    assert!(text.contains("listen") && text.contains("127.0.0.1:2753") && text.contains("default"), "{text}");

    user.writes("# mine\nlisten = 2999\ndata = \"~/questions\"\n\n[agents]\ngemini = \"gemini --acp\"\n");
    assert_eq!(user.setting("listen", &[]), (json!("127.0.0.1:2999"), json!("file"), json!(2)));
    let data = user.home.path().join("questions").display().to_string();
    assert_eq!(user.setting("data", &[]).0, json!(data));
    assert_eq!(user.setting("agents.gemini", &[]), (json!("gemini --acp"), json!("file"), json!(6)));
    assert_eq!(
        user.setting("data", &[("ASKD_DATA", "/elsewhere")]),
        (json!("/elsewhere"), json!("ASKD_DATA"), Value::Null)
    );
    let shown = String::from_utf8(user.askd(&["config"], &[]).stdout).unwrap();
    assert!(shown.contains("line 6") && shown.starts_with(&user.file().display().to_string()), "{shown}");
}

#[test]
fn a_mistake_is_told_with_its_line_and_nothing_is_done() {
    let user = User::new();
    user.writes("listen = 0\n\nkep-days = 3\n");
    for args in [&["config"][..], &["up"], &["list"]] {
        let output = user.askd(args, &[]);
        let told = String::from_utf8(output.stderr).unwrap();
        let expected = format!(
            "askd: {}, line 3: there is no key kep-days; did you mean keep-days?\n",
            user.file().display()
        );
        assert_eq!((output.status.code(), told), (Some(2), expected), "{args:?}");
    }
    assert!(!user.home.path().join(".local").exists(), "a data folder was made");
    // A hook has nobody to tell: it is silent, and its agent goes on.
    let output = user.askd(&["hook", "claude"], &[]);
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn a_file_that_others_can_write_is_not_used() {
    let user = User::new();
    user.writes("keep-days = 3\n");
    fs::set_permissions(user.file(), fs::Permissions::from_mode(0o666)).unwrap();
    let output = user.askd(&["config"], &[]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && told.contains("chmod go-w"), "{told}");
}

/// A hub whose configuration is `config.toml` in its data folder, as the testkit sets it.
fn hub(data: &Path, flags: &[&str]) -> Hub {
    let hub = Hub::builder(env!("CARGO_BIN_EXE_askd")).data(data);
    flags.iter().fold(hub, |hub, flag| hub.arg(*flag)).start().unwrap()
}

fn programs(hub: &Hub, name: &str) -> Value {
    let (_, agents) = hub.http("GET", "/v1/agents", None).unwrap();
    let agents = agents["agents"].as_array().unwrap().clone();
    agents
        .into_iter()
        .find(|agent| agent["name"] == name)
        .map_or(Value::Null, |agent| agent["programs"].clone())
}

#[test]
fn the_hub_runs_as_configured_and_the_old_file_of_agents_is_taken_in_once() {
    let data = private_folder().unwrap();
    let config = data.path().join("config.toml");
    fs::write(&config, "keep-days = 9\n[agents]\nkept = \"kept-program\"\nboth = \"of-the-file\"\n").unwrap();
    fs::write(data.path().join("agents"), "# old\nboth=of-the-old-file\nfiled=old-program --acp\n").unwrap();
    let mut first = hub(data.path(), &["--agent=kept=of-the-line"]);
    assert_eq!(programs(&first, "kept"), json!(["of-the-line"]));
    assert_eq!(programs(&first, "both"), json!(["of-the-file"]));
    assert_eq!(programs(&first, "filed"), json!(["old-program"]));
    let told = first.log();
    assert!(told.contains("are in") && told.contains("(filed)"), "{told}");
    assert!(!data.path().join("agents").exists() && data.path().join("agents.taken-over").exists());
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.starts_with("keep-days = 9\n[agents]\n") && text.contains("old-program --acp"), "{text}");

    first.kill().unwrap();
    first.restart().unwrap();
    assert_eq!(programs(&first, "filed"), json!(["old-program"]));
    assert_eq!(fs::read_to_string(&config).unwrap(), text, "a second start changes nothing");
}
