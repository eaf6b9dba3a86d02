//! The data folder: one hub at a time, tokens before the port, and a clear word when it cannot be used.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::common::{Hub, Starting, within};

#[tokio::test]
async fn the_second_hub_on_a_folder_refuses_and_names_the_first() {
    let hub = Hub::start().await;
    let said = Starting::on(&hub.data).refused().await;
    for part in [hub.pid().to_string(), hub.url.clone(), hub.data.display().to_string()] {
        assert!(said.contains(&part), "{part} is not in: {said}");
    }
    hub.owner.get("/v1/health").await.ok(200);
}

#[tokio::test]
async fn a_killed_hub_leaves_no_lock_behind() {
    let mut hub = Hub::start().await;
    let id = hub.owner.ask_text("Which?").await;
    hub.kill().await;
    let next = Starting::on(&hub.data).start().await;
    assert_eq!(next.owner.token(), hub.owner.token(), "the token file of the first start is still good");
    assert_eq!(next.owner.question(&id).await["status"], "requested");
}

#[tokio::test]
async fn a_hub_killed_while_it_starts_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for millis in [0, 5, 10, 20, 30, 40, 60, 80] {
        Starting::on(&data).killed_after(std::time::Duration::from_millis(millis)).await;
    }
    let hub = Starting::on(&data).start().await;
    hub.owner.get("/v1/questions").await.ok(200);
    hub.asker.ask_text("Which?").await;
}

#[tokio::test]
async fn token_files_are_there_before_the_port_opens() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // The port is taken, so this hub gets as far as opening it and no further.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = Starting::on(&data).arg("--listen").arg(&address).refused().await;
    assert!(said.contains(&address), "{said}");
    for name in ["token", "ask-token"] {
        let mode = fs::metadata(data.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    drop(taken);
    Starting::on(&data).start().await.owner.get("/v1/questions").await.ok(200);
}

#[tokio::test]
async fn an_address_that_others_can_reach_must_be_said_twice() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let said = Starting::fresh().arg("--listen").arg(address).refused().await;
        assert!(said.contains("--expose-beyond-loopback"), "{said}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    for data in [file.clone(), file.join("below")] {
        let said = Starting::on(&data).refused().await;
        assert!(said.contains(&data.display().to_string()), "{said}");
    }
}

#[tokio::test]
async fn a_store_that_is_not_one_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let garbage = "this is not a store ".repeat(500);
    fs::write(folder.path().join("askd.db"), &garbage).unwrap();
    let said = Starting::on(folder.path()).refused().await;
    assert!(said.contains(&folder.path().display().to_string()), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("askd.db")).unwrap(), garbage);

    let hub = Hub::start().await;
    let hub_data = hub.data.clone();
    fs::write(hub_data.join("secret-key"), "damaged").unwrap();
    let mut hub = hub;
    hub.kill().await;
    let said = Starting::on(&hub_data).refused().await;
    assert!(said.contains("secret-key"), "{said}");
}

/// Root may write everywhere, so this hub runs as nobody where the tests run as root.
#[tokio::test]
async fn a_read_only_folder_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o500)).unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        // A place that nobody can reach: the target folder may be below somebody's home.
        std::os::unix::fs::chown(&data, Some(65534), Some(65534)).unwrap();
        let binary = folder.path().join("askd");
        fs::copy(env!("CARGO_BIN_EXE_askd"), &binary).unwrap();
        let mut command = tokio::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary);
        command
    } else {
        tokio::process::Command::new(env!("CARGO_BIN_EXE_askd"))
    };
    command.arg("up").arg("--data").arg(&data).args(["--listen", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = within("the hub to refuse", command.output()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    // The folder itself, or the one above it, if that user may not even look there.
    assert!(said.contains(&folder.path().display().to_string()), "{said}");
    assert_eq!(said.to_lowercase().matches("permission denied").count(), 1, "{said}");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}
