//! Puts the parts together: data folder, store, hub, door. Runs until it is told to stop.

mod demo;
mod processes;
mod restore;
mod up;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use askd_agents::Registry;
use askd_core::{Right, Rights, TokenId};
use askd_store::sqlite::SqliteStore;

use askd_data::{DataFolder, FolderLock, HubInfo, read_secret, write_secret};
use askd_hub::{Access, ClaudeFolders, Discovery, EngineSettings, Hub, ManagedSettings};
use askd_server::{AppState, Doors, PortWatch};

pub use demo::demo;
pub use processes::{holder, mock_agent};
pub use restore::restore;
pub use up::up;

/// How a hub is to be run.
#[derive(Debug, Clone)]
pub struct HubOptions {
    pub data: DataFolder,
    pub listen: SocketAddr,
    pub doors: Doors,
    /// The second confirmation, for addresses that other machines can reach.
    pub beyond_loopback: bool,
    pub settings: EngineSettings,
    /// The user's own agents: names and commands.
    pub agents: Vec<(String, String)>,
    /// How long a managed agent stays without a hub and without an open question.
    pub linger: Duration,
    /// Claude Code's config folder with the watched transcripts, if any.
    pub observe: Option<PathBuf>,
    /// Further config folders of Claude Code in which a hook may name a transcript, beside those that the
    /// user has named.
    pub claude_folders: Vec<PathBuf>,
    /// How servers of this user are found, if they are looked for.
    pub discovery: Option<Discovery>,
}

/// A running hub.
pub struct House {
    pub url: String,
    pub hub: Hub,
    pub data: DataFolder,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
    serving_socket: tokio::task::JoinHandle<()>,
    _lock: FolderLock,
}

impl House {
    pub async fn start(options: HubOptions) -> anyhow::Result<Self> {
        if !options.listen.ip().is_loopback() && !options.beyond_loopback {
            bail!(
                "{} can be reached by other machines; if that is what you want, say so with --expose-beyond-loopback",
                options.listen
            );
        }
        let data = options.data;
        let folder = data.path().display().to_string();
        data.create()?;
        data.check_all()?;
        let lock = FolderLock::take(&data)?;
        let key = secret_key(&data.secret_key()).context("cannot use the key file of the data folder")?;
        let store = SqliteStore::open(&data.database(), &key)
            .with_context(|| format!("cannot open the store in {folder}"))?;
        let mut registry = Registry::built_in();
        for (name, command) in &options.agents {
            registry.register(name, command).with_context(|| format!("cannot register the agent {name}"))?;
        }
        let managed = ManagedSettings {
            registry,
            data: std::path::absolute(data.path())?,
            linger: options.linger,
            exe: std::env::current_exe().context("cannot find the askd program itself")?,
        };
        let hub = Hub::start(Arc::new(store), options.settings, managed);
        token_file(&hub.access, &data.token(), "owner", Rights::all()).await?;
        let hooks = token_file(&hub.access, &data.ask_token(), "hooks", Rights::new([Right::Ask])).await?;

        let listener = TcpListener::bind(options.listen)
            .await
            .with_context(|| format!("cannot listen on {}", options.listen))?;
        let socket = local_socket(&data)?;
        let url = format!("http://{}", listener.local_addr()?);
        data.write_hub_info(&HubInfo {
            url: url.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        let mut doors = options.doors;
        doors.hosts.push(options.listen.ip().to_string());
        let mut state = AppState::new(hub.clone(), doors, &url);
        state.port_watch = PortWatch::new(hooks, data.on_the_port());
        let router = askd_server::router(state);
        let resumed = hub.connections.resume_all().await?;
        if resumed > 0 {
            tracing::info!(resumed, "took up the agents of an earlier hub");
        }
        hub.local_agents.know_claude_folders(ClaudeFolders::new(options.claude_folders, data.clone()));
        hub.local_agents.resume_observed().await?;
        hub.local_agents.observe(options.observe);
        let attached = hub.attached_servers.resume_all().await?;
        if attached > 0 {
            tracing::info!(attached, "attached again to the servers of an earlier hub");
        }
        if let Some(discovery) = options.discovery {
            hub.attached_servers.discover(discovery);
        }
        let stop = CancellationToken::new();
        let serving = tokio::spawn(askd_server::serve(listener, router.clone(), stop.clone()));
        let serving_socket = tokio::spawn(askd_server::serve(socket, router, stop.clone()));
        Ok(Self { url, hub, data, stop, serving, serving_socket, _lock: lock })
    }

    /// The inbox address with a one-time code.
    pub fn login_link(&self) -> anyhow::Result<String> {
        let code = self.hub.access.owner_login_code()?;
        Ok(format!("{}/#login={}", self.url, code.code))
    }

    /// Ends streams and waits, lets requests finish, closes the store.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.hub.stopping().cancel();
        self.stop.cancel();
        self.serving.await.context("the server ended badly")?;
        self.serving_socket.await.context("the server of the socket ended badly")?;
        self.hub.stop().await;
        self.data.remove_hub_info();
        // A client that still finds the file is refused by the system, so a failure does no harm.
        drop(std::fs::remove_file(self.data.socket()));
        Ok(())
    }
}

/// Resolves at Ctrl-C, `SIGTERM`, or when the terminal closes. It listens from the call on: call it before
/// you report that you are ready, so that the process never ends without its farewell.
pub fn asked_to_stop() -> anyhow::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => (), _ = hang_up.recv() => () }
    })
}

/// The socket for the programs of this user. It is made beside and moved into place, so that no client ever
/// sees it with another mode; one that a killed hub has left is replaced, because this hub has the folder's
/// lock.
fn local_socket(data: &DataFolder) -> anyhow::Result<UnixListener> {
    let listen = || -> anyhow::Result<UnixListener> {
        let beside = data.new_socket_path()?;
        match std::fs::remove_file(beside.path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let listener = UnixListener::bind(beside.path())?;
        std::fs::set_permissions(beside.path(), std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(beside.path(), data.socket())?;
        Ok(listener)
    };
    let shown = data.socket().display().to_string();
    listen().with_context(|| {
        format!("cannot listen on {shown}; the data folder needs a file system with sockets")
    })
}

/// The id of the token in the file. Keeps that of an earlier start if the store still knows it.
async fn token_file(access: &Access, path: &Path, name: &str, rights: Rights) -> anyhow::Result<TokenId> {
    if let Some(token) = read_secret(path)?
        && let Some(record) = access.authenticate(&token).await.filter(|record| record.rights == rights)
    {
        return Ok(record.id);
    }
    let made = access.make_own_token(name, rights).await?;
    write_secret(path, format!("{}\n", made.token).as_bytes())
        .with_context(|| format!("cannot write the token file {}", path.display()))?;
    Ok(made.record.id)
}

fn secret_key(path: &Path) -> anyhow::Result<[u8; 32]> {
    if let Some(text) = read_secret(path)? {
        let bytes: Option<Vec<u8>> = (0..text.len())
            .step_by(2)
            .map(|i| text.get(i..i + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
            .collect();
        return bytes
            .and_then(|bytes| bytes.try_into().ok())
            .with_context(|| format!("{} is damaged", path.display()));
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    write_secret(path, text.as_bytes())?;
    Ok(key)
}
