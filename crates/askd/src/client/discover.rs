//! Which hub, and with which token.
//!
//! In: `--url`, `--token`, `--data`, the environment, the data folder. Out: an address, a token if there is one, and where
//! each came from. A flag beats the environment, the environment beats the data folder.

use std::env;
use std::net::IpAddr;
use std::path::PathBuf;

use super::error::ClientError;
use crate::data::{DataFolder, HubInfo, read_secret};

/// Where a hub listens unless told otherwise; 2753 spells ASKD on a phone.
pub const DEFAULT_URL: &str = "http://127.0.0.1:2753";

/// What the user said on the command line.
#[derive(Debug, Clone, Default)]
pub struct Where {
    pub url: Option<String>,
    pub token: Option<String>,
    pub data: Option<PathBuf>,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Flag(&'static str),
    Environment(&'static str),
    File(PathBuf),
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) | Self::Environment(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Found {
    pub url: String,
    pub url_from: Origin,
    pub token: Option<(String, Origin)>,
    /// The data folder that was looked into.
    pub folder: Option<DataFolder>,
    /// What the hub of that folder last said about itself, and whether its process still runs.
    pub hub: Option<(HubInfo, bool)>,
}

impl Found {
    /// The token, or an error that says where one was looked for.
    pub fn need_token(&self) -> Result<&(String, Origin), ClientError> {
        self.token.as_ref().ok_or_else(|| ClientError::NoToken {
            url: self.url.clone(),
            looked: self.folder.as_ref().map(|folder| folder.path().to_owned()),
        })
    }
}

/// The environment as a parameter, so that the order of precedence can be tested.
type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

pub fn discover(given: &Where) -> Result<Found, ClientError> {
    discover_in(given, &|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

fn discover_in(given: &Where, env: Env<'_>) -> Result<Found, ClientError> {
    let folder = match &given.data {
        Some(path) => Some(DataFolder::at(path)),
        None => DataFolder::from_environment(),
    };
    let hub = folder.as_ref().and_then(DataFolder::read_hub_info).map(|hub| {
        let runs = is_running(hub.pid);
        (hub, runs)
    });
    let running = hub.as_ref().filter(|(_, runs)| *runs).map(|(hub, _)| hub);
    let of_folder = || match (running, &folder) {
        (Some(hub), Some(folder)) => (hub.url.clone(), Origin::File(folder.path().join("hub.json"))),
        _ => (DEFAULT_URL.to_owned(), Origin::Default),
    };
    let (url, url_from) = match (&given.url, env("ASKD_URL").filter(|_| given.data.is_none())) {
        (Some(url), _) => (url.clone(), Origin::Flag("--url")),
        (None, Some(url)) => (url, Origin::Environment("ASKD_URL")),
        (None, None) => of_folder(),
    };
    let url = url.trim_end_matches('/').to_owned();
    let token = match (&given.token, env("ASKD_TOKEN").filter(|_| given.data.is_none())) {
        (Some(token), _) => Some((token.trim().to_owned(), Origin::Flag("--token"))),
        (None, Some(token)) => Some((token.trim().to_owned(), Origin::Environment("ASKD_TOKEN"))),
        (None, None) => match &folder {
            // The key of this folder's hub is shown to that hub, or where the user points at on this machine. Whatever else
            // listens on the port of a hub that has ended, or on the default one, is not to learn it.
            Some(folder)
                if running.is_some_and(|hub| hub.url == url)
                    || (url_from != Origin::Default && is_loopback(&url)) =>
            {
                let path = folder.token();
                read_secret(&path)
                    .map_err(|error| ClientError::Token { path: path.clone(), error })?
                    .filter(|token| !token.is_empty())
                    .map(|token| (token, Origin::File(path)))
            }
            _ => None,
        },
    };
    Ok(Found { url, url_from, token, folder, hub })
}

/// Whether a process exists, as far as this user can see.
fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let alive = |pid| match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => true,
        Err(_) => false,
    };
    pid.is_some_and(alive)
}

/// Whether an address is this machine's own.
pub(super) fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this number: it is above what Linux gives.
    const NO_PROCESS: u32 = 0x7fff_fff0;

    fn folder_with_hub(pid: u32) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::at(dir.path());
        let info = HubInfo { url: "http://127.0.0.1:9".to_owned(), pid, version: "0".to_owned() };
        folder.write_hub_info(&info).unwrap();
        crate::data::write_secret(&folder.token(), b"of-the-folder\n").unwrap();
        dir
    }

    fn env_both(name: &str) -> Option<String> {
        match name {
            "ASKD_URL" => Some("http://hub.example:1/".to_owned()),
            "ASKD_TOKEN" => Some("of-the-environment".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_flag_beats_the_environment_and_that_beats_the_folder() {
        let dir = folder_with_hub(std::process::id());
        let data = Some(dir.path().to_owned());
        let flags =
            Where { url: Some("http://a:1".into()), token: Some("of-the-flag".into()), data: data.clone() };
        let found = discover_in(&flags, &env_both).unwrap();
        assert_eq!((found.url.as_str(), found.token.unwrap().0.as_str()), ("http://a:1", "of-the-flag"));

        let found = discover_in(&Where::default(), &env_both).unwrap();
        assert_eq!(found.url, "http://hub.example:1");
        assert_eq!(found.token.unwrap().0, "of-the-environment");

        let found = discover_in(&Where { data, ..Where::default() }, &env_both).unwrap();
        assert_eq!(found.url, "http://127.0.0.1:9");
        assert_eq!(found.token.unwrap().0, "of-the-folder");
    }

    #[test]
    fn the_key_of_this_machine_is_not_shown_to_another() {
        let dir = folder_with_hub(std::process::id());
        let to = |url: &str| {
            let given = Where { url: Some(url.into()), token: None, data: Some(dir.path().to_owned()) };
            discover_in(&given, &|_| None).unwrap().token.map(|(token, _)| token)
        };
        assert_eq!(to("http://hub.example:2753"), None);
        assert_eq!(to("http://localhost:2753").as_deref(), Some("of-the-folder"));
        assert_eq!(to("http://[::1]:2753").as_deref(), Some("of-the-folder"));
    }

    #[test]
    fn what_listens_where_a_hub_has_ended_does_not_learn_its_key() {
        let dir = folder_with_hub(NO_PROCESS);
        let given = Where { data: Some(dir.path().to_owned()), ..Where::default() };
        let found = discover_in(&given, &|_| None).unwrap();
        assert_eq!((found.url.as_str(), found.token.is_none()), (DEFAULT_URL, true));
        assert!(found.hub.is_some_and(|(_, runs)| !runs));
    }

    #[test]
    fn without_a_hub_the_default_address_is_tried() {
        let dir = tempfile::tempdir().unwrap();
        let given = Where { data: Some(dir.path().to_owned()), ..Where::default() };
        let found = discover_in(&given, &|_| None).unwrap();
        assert_eq!((found.url.as_str(), &found.url_from), (DEFAULT_URL, &Origin::Default));
        let error = found.need_token().unwrap_err().to_string();
        assert!(error.contains("it is not the hub of"), "{error}");
    }
}
