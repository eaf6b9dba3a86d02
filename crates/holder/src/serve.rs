//! The holder process. In: the path of a `spec.json`. Out: an agent held until the hub lets it go.
//!
//! One thread waits in `poll` for signals, the socket, the hub and the agent's pipes, and gives each to
//! `Holding`. There is no runtime and no second thread: a holder is cheap enough to have one per agent.

use std::{
    fs, io,
    io::Read as _,
    os::{
        fd::AsFd as _,
        unix::{fs::PermissionsExt as _, net::UnixListener, net::UnixStream},
    },
    path::Path,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::{
    agent::Agent,
    folder::{ExitRecord, ExitWhy, Folder, FolderError, Lock, Running, boot_id},
    holding::{Holding, now_ms, own_pid},
    journal::Journal,
    link::Link,
    protocol::{Decoded, ToHolder, ToHub},
    spec::HolderSpec,
};
use crate::process::{ProcessExit, start_time};

/// Connections without a `Hello`; a new one replaces the oldest.
const MAX_UNGREETED: usize = 8;
/// The time after which a silent connection is closed.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);
/// Reads of what a hub has said before another one came: more than its socket can hold.
const MAX_LAST_READS: usize = 256;
/// `list` tests a holder's life by trying its lock; a holder that starts at that moment tries again.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, thiserror::Error)]
pub enum HolderError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{action}: {source}")]
    Io { action: &'static str, source: io::Error },
    #[error("start the agent {command:?}: {source}")]
    Agent { command: String, source: io::Error },
}

fn doing(action: &'static str) -> impl FnOnce(io::Error) -> HolderError {
    move |source| HolderError::Io { action, source }
}

/// The received signals.
struct Signals {
    wake: UnixStream,
    child: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
}

/// A connection that may become the hub, or only asks for the status.
struct Ungreeted {
    link: Link,
    until: Instant,
}

/// Runs as the holder of the folder of `spec_path`, until it may exit. Call it from a process with one thread
/// and no children.
pub fn run(spec_path: &Path) -> Result<ExitCode, HolderError> {
    let spec_path = std::path::absolute(spec_path).map_err(doing("find the spec"))?;
    let folder = Folder::new(spec_path.parent().unwrap_or(Path::new("/")));
    let spec = folder.read_spec()?;
    leave_the_terminal()?;
    let signals = Signals::register().map_err(doing("listen for signals"))?;
    let lock = take(&folder)?;
    folder.check_unused()?;
    // A relative socket path is always short enough, and the data folder may be moved with us.
    std::env::set_current_dir(folder.path()).map_err(doing("enter the holder folder"))?;
    let listener = listen().map_err(doing("listen on the socket"))?;
    let held = hold(&folder, spec, lock, &listener, &signals);
    let _ = fs::remove_file("sock");
    held.map(|()| ExitCode::SUCCESS)
}

fn hold(
    folder: &Folder,
    spec: HolderSpec,
    mut lock: Lock,
    listener: &UnixListener,
    signals: &Signals,
) -> Result<(), HolderError> {
    let journal =
        Journal::create(&folder.journal(), spec.limits.journal_sync).map_err(doing("open the journal"))?;
    let agent = match Agent::start(&spec) {
        Ok(agent) => agent,
        Err(source) => {
            folder.write_exit(&not_started(&source))?;
            return Err(HolderError::Agent { command: spec.command, source });
        }
    };
    let running = Running {
        holder_pid: own_pid(),
        agent_pid: agent.pid,
        agent_start_time: start_time(agent.pid).ok().flatten(),
        boot_id: boot_id(),
    };
    // Without the record the agent could not be found again if we were killed; that is no reason to end it
    // now.
    let _ = lock.write(&running);
    let mut holding = Holding::new(folder.clone(), spec, agent, journal, Instant::now());
    let mut ungreeted: Vec<Ungreeted> = Vec::new();
    loop {
        turn(&mut holding, &mut ungreeted, listener, signals).map_err(doing("wait for events"))?;
        if holding.proceed(Instant::now()) {
            return Ok(());
        }
    }
}

/// Waits for whatever comes first and deals with it.
fn turn(
    holding: &mut Holding,
    ungreeted: &mut Vec<Ungreeted>,
    listener: &UnixListener,
    signals: &Signals,
) -> io::Result<()> {
    let ready = wait(holding, ungreeted, listener, signals)?;
    let now = Instant::now();
    if ready.signals {
        signals.clear();
        if signals.child.swap(false, Ordering::SeqCst) {
            holding.reap(now);
        }
        if signals.terminate.swap(false, Ordering::SeqCst) {
            holding.terminate(now);
        }
    }
    // Deliveries before lines, and the end of the agent's output after its last line.
    if ready.hub {
        hear_hub(holding, now);
    }
    if ready.stdin || ready.hub {
        holding.write_to_agent();
    }
    if ready.stdout {
        holding.read_stdout(now);
    }
    if ready.stderr {
        holding.read_stderr();
    }
    // In the order of arrival: the newest that greets is the hub.
    for (connection, is_ready) in std::mem::take(ungreeted).into_iter().zip(ready.ungreeted) {
        ungreeted.extend(if is_ready { hear_stranger(holding, connection) } else { Some(connection) });
    }
    ungreeted.retain(|connection| now < connection.until);
    if ready.listener
        && let Ok((stream, _)) = listener.accept()
        && let Ok(link) = Link::new(stream)
    {
        if ungreeted.len() >= MAX_UNGREETED {
            ungreeted.remove(0);
        }
        ungreeted.push(Ungreeted { link, until: now + GREETING_PATIENCE });
    }
    Ok(())
}

#[derive(Default)]
struct Ready {
    signals: bool,
    listener: bool,
    hub: bool,
    stdin: bool,
    stdout: bool,
    stderr: bool,
    ungreeted: Vec<bool>,
}

fn wait(
    holding: &Holding,
    ungreeted: &[Ungreeted],
    listener: &UnixListener,
    signals: &Signals,
) -> io::Result<Ready> {
    let input = PollFlags::IN;
    let mut fds = vec![PollFd::new(&signals.wake, input), PollFd::new(listener, input)];
    let mut add = |fd| {
        fds.push(fd);
        fds.len() - 1
    };
    let hub = holding.hub.as_ref().map(|hub| {
        let output = if hub.link.unsent() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        add(PollFd::new(hub.stream(), input | output))
    });
    let agent = &holding.agent;
    let stdin = agent.stdin.as_ref().filter(|_| !holding.writes.is_empty());
    let stdin = stdin.map(|pipe| add(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT)));
    let stdout = agent.stdout.as_ref().filter(|_| holding.wants_lines());
    let stdout = stdout.map(|pipe| add(PollFd::from_borrowed_fd(pipe.as_fd(), input)));
    let stderr = agent.stderr.as_ref().map(|pipe| add(PollFd::from_borrowed_fd(pipe.as_fd(), input)));
    let strangers: Vec<usize> =
        ungreeted.iter().map(|connection| add(PollFd::new(&connection.link.stream, input))).collect();

    let wake_at = ungreeted.iter().map(|connection| connection.until).chain(holding.wake_at()).min();
    let timeout = wake_at.map(|at| at.saturating_duration_since(Instant::now()));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        // The signal's byte is in the pipe; look at it in the next turn.
        Err(rustix::io::Errno::INTR) => return Ok(Ready::default_for(ungreeted)),
        Err(error) => return Err(error.into()),
    }
    let is_ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
    let may = |index: Option<usize>| index.is_some_and(is_ready);
    Ok(Ready {
        signals: is_ready(0),
        listener: is_ready(1),
        hub: may(hub),
        stdin: may(stdin),
        stdout: may(stdout),
        stderr: may(stderr),
        ungreeted: strangers.into_iter().map(is_ready).collect(),
    })
}

impl Ready {
    fn default_for(ungreeted: &[Ungreeted]) -> Self {
        Self { ungreeted: vec![false; ungreeted.len()], ..Self::default() }
    }
}

/// One read from the hub; `false` if there is no more.
fn hear_hub(holding: &mut Holding, now: Instant) -> bool {
    let received = holding.hub.as_mut().map_or(Ok(false), |hub| hub.link.receive());
    // Frames before the end of a connection still count.
    let lost = received.is_err();
    loop {
        let Some(hub) = &mut holding.hub else { return false };
        match hub.link.next_frame().map(|frame| frame.map(ToHolder::decode)) {
            Ok(None) => break,
            Ok(Some(Ok(Decoded::Known(message)))) => holding.hear(message, now),
            Ok(Some(Ok(Decoded::Unknown { kind }))) => {
                if hub.link.send(&ToHub::Unsupported { kind }).is_err() {
                    holding.lose_hub(now);
                }
            }
            Ok(Some(Err(_))) | Err(_) => holding.lose_hub(now),
        }
    }
    if lost {
        holding.lose_hub(now);
    }
    received.unwrap_or(false)
}

/// Handles a connection without a greeting: `Hello` makes it the hub, `Status` is answered, everything else
/// closes it.
fn hear_stranger(holding: &mut Holding, mut connection: Ungreeted) -> Option<Ungreeted> {
    connection.link.receive().ok()?;
    loop {
        match connection.link.next_frame().ok()?.map(ToHolder::decode) {
            None => return Some(connection),
            Some(Ok(Decoded::Known(ToHolder::Hello(hello)))) => {
                // The hub before may have said something before it went.
                for _ in 0..MAX_LAST_READS {
                    if !hear_hub(holding, Instant::now()) {
                        break;
                    }
                }
                holding.greet(connection.link, &hello);
                // Frames behind the greeting are already in the link.
                hear_hub(holding, Instant::now());
                return None;
            }
            Some(Ok(Decoded::Known(ToHolder::Status))) => {
                connection.link.send(&ToHub::Status(holding.status())).ok()?;
                connection.link.flush();
            }
            Some(Ok(Decoded::Unknown { kind })) => {
                connection.link.send(&ToHub::Unsupported { kind }).ok()?;
                connection.link.flush();
            }
            Some(_) => return None,
        }
    }
}

impl Signals {
    /// Handlers, not "ignored": an ignored signal would stay ignored in the agent. SIGPIPE is Rust's own
    /// business.
    fn register() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (child, terminate, unheard) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let flags = [(SIGCHLD, &child), (SIGTERM, &terminate), (SIGINT, &unheard), (SIGHUP, &unheard)];
        for (signal, flag) in flags {
            // The flag first: when the bell rings it is set.
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, ring.try_clone()?)?;
        }
        Ok(Self { wake, child, terminate })
    }

    fn clear(&self) {
        let mut bytes = [0; 64];
        while (&self.wake).read(&mut bytes).is_ok_and(|read| read == bytes.len()) {}
    }
}

/// Its own session: no terminal can reach the holder, and no Ctrl-C of the hub.
fn leave_the_terminal() -> Result<(), HolderError> {
    match rustix::process::setsid() {
        // A person started it as the leader of a group; it stays there.
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(doing("open a session")(error.into())),
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| doing("become the reaper of the agent's children")(error.into()))?;
    Ok(())
}

fn take(folder: &Folder) -> Result<Lock, HolderError> {
    for _ in 0..LOCK_ATTEMPTS {
        if let Some(lock) = folder.lock()? {
            return Ok(lock);
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Err(FolderError::Taken(folder.path().to_owned()).into())
}

/// The folder is closed to other users, so none of them can connect before the socket is closed too.
fn listen() -> io::Result<UnixListener> {
    match fs::remove_file("sock") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind("sock")?;
    fs::set_permissions("sock", fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn not_started(error: &io::Error) -> ExitRecord {
    ExitRecord {
        exit: ProcessExit::default(),
        why: ExitWhy::NotStarted,
        error: Some(error.to_string()),
        stderr_tail: Vec::new(),
        at_ms: now_ms(),
    }
}
