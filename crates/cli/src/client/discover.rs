//! Finds the hub and the token.
//!
//! In: `--url`, `--token`, `--data`, the environment, the data folder. Out: an address or a socket, a token
//! if there is one, and the origin of each. A flag overrides the environment, the environment overrides the
//! data folder. A token of the data folder goes to the folder's socket and to nothing else: any program can
//! take a port after the hub's end.

use std::env;
use std::path::PathBuf;

use super::error::ClientError;
use askd_data::{DataFolder, HubInfo};

/// The hub's default address; 2753 spells ASKD on a phone.
pub const DEFAULT_URL: &str = "http://127.0.0.1:2753";

/// The values of the command line.
#[derive(Debug, Clone, Default)]
pub struct Where {
    pub url: Option<String>,
    pub token: Option<String>,
    pub data: Option<PathBuf>,
}

/// The origin of a value.
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

/// How the hub is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Road {
    /// An address that the user named, or the default one if there is no data folder.
    Address(String),
    /// By the socket of a data folder. A token of the folder is shown to this socket only.
    Socket(DataFolder),
}

impl std::fmt::Display for Road {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(url) => f.write_str(url),
            Self::Socket(folder) => write!(f, "{}", folder.socket().display()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Found {
    pub road: Road,
    pub road_from: Origin,
    pub token: Option<(String, Origin)>,
    /// The searched data folder.
    pub folder: Option<DataFolder>,
    /// The last record of that folder's hub, and true if its process id is in use: for people only.
    pub hub: Option<(HubInfo, bool)>,
}

impl Found {
    /// The token, or an error with the places that were searched.
    pub fn need_token(&self) -> Result<&(String, Origin), ClientError> {
        self.token.as_ref().ok_or_else(|| {
            let why = match (&self.road, &self.folder) {
                (Road::Socket(folder), _) => format!("there is no token in {}", folder.path().display()),
                (Road::Address(_), Some(folder)) => format!(
                    "the token of {} is shown to the hub of that folder only, by its socket",
                    folder.path().display()
                ),
                (Road::Address(_), None) => "there is no token for it".to_owned(),
            };
            ClientError::NoToken { url: self.road.to_string(), why }
        })
    }
}

/// The environment as a parameter, so that tests can check the precedence.
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
    let address = |url: &str| Road::Address(url.trim_end_matches('/').to_owned());
    let (road, road_from) = match (&given.url, env("ASKD_URL").filter(|_| given.data.is_none())) {
        (Some(url), _) => (address(url), Origin::Flag("--url")),
        (None, Some(url)) => (address(&url), Origin::Environment("ASKD_URL")),
        (None, None) => match &folder {
            // A data folder names the hub, so the default port is not tried.
            Some(folder) if given.data.is_some() || folder.check()? => {
                (Road::Socket(folder.clone()), Origin::File(folder.path().to_owned()))
            }
            _ => (address(DEFAULT_URL), Origin::Default),
        },
    };
    let token = match (&given.token, env("ASKD_TOKEN").filter(|_| given.data.is_none())) {
        (Some(token), _) => Some((token.trim().to_owned(), Origin::Flag("--token"))),
        (None, Some(token)) => Some((token.trim().to_owned(), Origin::Environment("ASKD_TOKEN"))),
        (None, None) => match &road {
            Road::Socket(folder) => {
                let path = folder.token();
                folder.read_token(&path)?.map(|token| (token, Origin::File(path)))
            }
            Road::Address(_) => None,
        },
    };
    Ok(Found { road, road_from, token, folder, hub })
}

/// True if a process exists, as far as this user can see.
fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let alive = |pid| match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => true,
        Err(_) => false,
    };
    pid.is_some_and(alive)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with_token() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::at(dir.path().join("data"));
        folder.create().unwrap();
        let info = HubInfo {
            url: "http://127.0.0.1:9".to_owned(),
            pid: std::process::id(),
            version: "0".to_owned(),
        };
        folder.write_hub_info(&info).unwrap();
        askd_data::write_secret(&folder.token(), b"of-the-folder\n").unwrap();
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
        let dir = folder_with_token();
        let path = dir.path().join("data");
        let data = Some(path.clone());
        let flags =
            Where { url: Some("http://a:1".into()), token: Some("of-the-flag".into()), data: data.clone() };
        let found = discover_in(&flags, &env_both).unwrap();
        assert_eq!(
            (found.road.to_string().as_str(), found.token.unwrap().0.as_str()),
            ("http://a:1", "of-the-flag")
        );

        let found = discover_in(&Where::default(), &env_both).unwrap();
        assert_eq!(found.road.to_string(), "http://hub.example:1");
        assert_eq!(found.token.unwrap().0, "of-the-environment");

        let found = discover_in(&Where { data, ..Where::default() }, &env_both).unwrap();
        assert_eq!(found.road, Road::Socket(DataFolder::at(path)));
        assert_eq!(found.token.unwrap().0, "of-the-folder");
    }

    #[test]
    fn the_key_of_the_folder_is_shown_to_no_port() {
        let dir = folder_with_token();
        let data = Some(dir.path().join("data"));
        for url in
            ["http://hub.example:2753", "http://localhost:2753", "http://[::1]:2753", "http://127.0.0.1:9"]
        {
            let given = Where { url: Some(url.into()), token: None, data: data.clone() };
            let found = discover_in(&given, &|_| None).unwrap();
            assert_eq!((found.road.to_string().as_str(), found.token), (url, None));
        }
    }

    #[test]
    fn a_folder_that_others_can_use_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = folder_with_token();
        let data = dir.path().join("data");
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o711)).unwrap();
        let given = Where { data: Some(data.clone()), ..Where::default() };
        let error = discover_in(&given, &|_| None).unwrap_err().to_string();
        assert!(error.ends_with(&format!("chmod 700 {}", data.display())), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_yet_has_no_hub() {
        let dir = tempfile::tempdir().unwrap();
        let given = Where { data: Some(dir.path().join("none")), ..Where::default() };
        let found = discover_in(&given, &|_| None).unwrap();
        assert!(matches!(found.road, Road::Socket(_)) && found.token.is_none());
    }
}
