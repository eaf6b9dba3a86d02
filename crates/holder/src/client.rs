//! The hub's side of a connection to a holder. In: a holder's folder, and commands. Out: a stream of events,
//! in the order of the agent's lines. The caller reads and writes the socket itself: a hub that takes no
//! events does not read, and the holder then keeps the lines on its disk. The holder always reads, so
//! commands never wait for events, and one task may do both. The caller reconnects.

use std::{
    collections::VecDeque,
    io::{self, Write as _},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    time::Duration,
};

use bytes::Bytes;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    time::{Instant, timeout},
};

use super::{
    folder::{ExitRecord, Folder, FolderError},
    protocol::{
        Decoded, End, FrameDecoder, FrameError, Hello, MIN_PROTOCOL_VERSION, MessageError, PROTOCOL_VERSION,
        ProbeResult, Refusal, StatusReport, ToHolder, ToHub, Welcome, Written,
    },
};

/// One read of the socket.
const READ_BYTES: usize = 64 * 1024;
/// The pause before gathered frames without a waiting caller are sent, if no answer or prompt sends them
/// before.
const GATHERED_FOR: Duration = Duration::from_millis(5);
/// Gathered bytes that are sent at once: a socket takes this much in one write.
const GATHERED_BYTES: usize = 64 * 1024;
/// A holder answers its socket at once; one that does not answer in this time hangs.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// A holder's message to its hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HolderEvent {
    /// Its bytes share memory with the other lines of the batch: copy what you keep.
    Line {
        n: u64,
        bytes: Bytes,
    },
    Oversized {
        n: u64,
        total_bytes: u64,
        prefix: Bytes,
    },
    Written(Written),
    Probed(ProbeResult),
    /// Comes after the agent's last line, at every attach until the holder is told to go.
    Exited(ExitRecord),
    Status(StatusReport),
    /// The holder is older than this hub and does not know a frame of this kind.
    Unsupported {
        kind: u8,
    },
    /// The last event of a connection.
    Closed(EndOfConnection),
}

/// Why a connection has ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndOfConnection {
    #[error("the holder has closed the connection")]
    Gone,
    #[error("another hub has taken the connection")]
    Replaced,
    #[error("the holder spoke nonsense: {0}")]
    Nonsense(String),
    #[error("the connection failed: {0}")]
    Io(String),
}

#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("connect to the holder: {0}")]
    Connect(io::Error),
    #[error("attach to the holder: {0}")]
    Refused(#[from] Refusal),
    #[error("attach to the holder: {0}")]
    Closed(EndOfConnection),
    #[error("attach to the holder: it does not answer")]
    Silent,
}

impl AttachError {
    /// True if no process listens: the holder has ended, or has not started yet.
    pub fn nobody_there(&self) -> bool {
        let absent = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
        match self {
            Self::Connect(error) => absent(error.kind()),
            Self::Closed(EndOfConnection::Gone) => true,
            _ => false,
        }
    }
}

/// Why a command was not given. If the connection is closed, the reason is in the last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The holder has nothing of it.
    #[error("reach the holder: the connection is closed")]
    Closed,
    /// The holder may have received some of the gathered frames.
    #[error("reach the holder: the connection broke")]
    Broke,
    #[error("write to the agent: the bytes or the delivery id are too long")]
    TooLong,
}

/// A connection after the holder's welcome.
#[derive(Debug)]
pub struct Attached {
    pub welcome: Welcome,
    pub connection: HolderConnection,
    pub events: HolderEvents,
}

/// The way of commands, written by the caller's own hand: the holder is awake before another task would have
/// been. When it is dropped the connection ends; the holder and its agent go on.
#[derive(Debug)]
pub struct HolderConnection {
    socket: UnixStream,
    /// Unsent frames, and the time of the first.
    gathered: Vec<u8>,
    since: Option<Instant>,
    /// After a failure nothing is sent any more.
    is_broken: bool,
}

/// The way of events.
#[derive(Debug)]
pub struct HolderEvents {
    /// The socket as the end of a pipe, which tokio watches for reading only: a Unix socket would also report
    /// every message that the other side has read.
    socket: pipe::Receiver,
    decoder: FrameDecoder,
    batch: VecDeque<HolderEvent>,
    closed: bool,
}

/// Becomes the hub of a holder and goes on after line `after`. An older connection is replaced.
pub async fn attach(folder: &Folder, after: u64) -> Result<Attached, AttachError> {
    let (mut connection, mut events) = connect(folder)?;
    let hello = Hello { version: PROTOCOL_VERSION, min_version: MIN_PROTOCOL_VERSION, after };
    match ask(&mut connection, &mut events, &ToHolder::Hello(hello)).await? {
        ToHub::Welcome(welcome) => Ok(Attached { welcome, connection, events }),
        ToHub::Refused(refusal) => Err(refusal.into()),
        other => Err(nonsense(format!("{other:?} instead of a welcome"))),
    }
}

/// Asks a holder how it is, without taking the connection from its hub.
pub async fn status(folder: &Folder) -> Result<StatusReport, AttachError> {
    let (mut connection, mut events) = connect(folder)?;
    match ask(&mut connection, &mut events, &ToHolder::Status).await? {
        ToHub::Status(report) => Ok(report),
        other => Err(nonsense(format!("{other:?} instead of a status"))),
    }
}

fn connect(folder: &Folder) -> Result<(HolderConnection, HolderEvents), AttachError> {
    let socket = folder.with_socket_path(connect_at_once)?.map_err(AttachError::Connect)?;
    let watch = || pipe::Receiver::from_owned_fd_unchecked(socket.try_clone()?.into());
    let watched = watch().map_err(AttachError::Connect)?;
    let decoder = FrameDecoder::of_holder();
    let events = HolderEvents { socket: watched, decoder, batch: VecDeque::new(), closed: false };
    Ok((HolderConnection { socket, gathered: Vec::new(), since: None, is_broken: false }, events))
}

/// A Unix socket connects at once or not at all. A stopped holder's backlog fills up; report that instead of
/// blocking.
fn connect_at_once(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(OwnedFd::from(socket).into())
}

/// The first question of a connection, and its answer.
async fn ask(
    connection: &mut HolderConnection,
    events: &mut HolderEvents,
    message: &ToHolder,
) -> Result<ToHub, AttachError> {
    let asked = async {
        connection.send(message).await.map_err(|_| AttachError::Closed(EndOfConnection::Gone))?;
        loop {
            if let Some(frame) = events.decoder.pop().map_err(|error| nonsense(error.to_string()))? {
                match ToHub::decode(frame).map_err(|error| nonsense(error.to_string()))? {
                    Decoded::Known(answer) => return Ok(answer),
                    Decoded::Unknown { .. } => continue,
                }
            }
            events.receive().await.map_err(AttachError::Closed)?;
        }
    };
    timeout(ANSWER_PATIENCE, asked).await.unwrap_or(Err(AttachError::Silent))
}

impl HolderConnection {
    /// The hub keeps all lines up to this one: the holder may forget them. Goes with the next command, or by
    /// `flush`.
    pub fn ack(&mut self, through: u64) {
        // A number always fits.
        let _ = self.gather(&ToHolder::Ack { through });
    }

    /// Gives bytes to the agent; with a delivery at most once, however often it is called. `Written` with the
    /// same tag tells what became of it.
    pub async fn write(
        &mut self,
        tag: u64,
        delivery: Option<&str>,
        bytes: Bytes,
    ) -> Result<(), CommandError> {
        self.gather_write(tag, delivery, bytes)?;
        self.flush().await
    }

    /// The same, with the next command or by `flush`.
    pub fn gather_write(
        &mut self,
        tag: u64,
        delivery: Option<&str>,
        bytes: Bytes,
    ) -> Result<(), CommandError> {
        if !ToHolder::write_fits(delivery, &bytes) {
            return Err(CommandError::TooLong);
        }
        self.gather(&ToHolder::Write { tag, delivery: delivery.map(str::to_owned), bytes })
    }

    /// Asks for the state of a delivery; `Probed` is the answer.
    pub async fn probe(&mut self, delivery: &str) -> Result<(), CommandError> {
        self.send(&ToHolder::Probe { delivery: delivery.to_owned() }).await
    }

    /// An agent with an open question is never ended for want of a hub. Goes with the next command, or by
    /// `flush`.
    pub fn set_open_questions(&mut self, count: u32) {
        let _ = self.gather(&ToHolder::SetOpenQuestions { count });
    }

    /// Ends the agent. The holder goes when it has told the end and all lines are acknowledged, or at once
    /// with `discard`. Also the answer to `Exited`: the holder is not needed any more.
    pub async fn end(&mut self, grace: Option<Duration>, discard: bool) -> Result<(), CommandError> {
        let grace_ms = grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        self.send(&ToHolder::End(End { grace_ms, discard })).await
    }

    /// Sends any message; for tests.
    pub async fn send(&mut self, message: &ToHolder) -> Result<(), CommandError> {
        self.gather(message)?;
        self.flush().await
    }

    fn gather(&mut self, message: &ToHolder) -> Result<(), CommandError> {
        message.encode(&mut self.gathered).map_err(|_| CommandError::TooLong)?;
        self.since.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// When `flush` should be called at the latest.
    pub fn flush_by(&self) -> Option<Instant> {
        self.since.map(|since| since + GATHERED_FOR)
    }

    /// True if the gathered frames should be sent.
    pub fn is_full(&self) -> bool {
        self.gathered.len() >= GATHERED_BYTES
    }

    /// Sends the gathered frames.
    pub async fn flush(&mut self) -> Result<(), CommandError> {
        self.since = None;
        let frames = std::mem::take(&mut self.gathered);
        if self.is_broken {
            return Err(CommandError::Closed);
        }
        let sent = self.write_all(&frames).await;
        if sent.is_err() {
            // The write may have ended inside a frame: nothing after it would be understood.
            let _ = self.socket.shutdown(Shutdown::Both);
            self.is_broken = true;
        }
        sent
    }

    async fn write_all(&mut self, frames: &[u8]) -> Result<(), CommandError> {
        let mut left = frames;
        while !left.is_empty() {
            match self.socket.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The holder is behind.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.write_when_ready(left).await.map_err(|_| CommandError::Broke);
                }
                Err(_) if left.len() == frames.len() => return Err(CommandError::Closed),
                Err(_) => return Err(CommandError::Broke),
            }
        }
        Ok(())
    }

    async fn write_when_ready(&self, bytes: &[u8]) -> io::Result<()> {
        let mut socket = pipe::Sender::from_owned_fd_unchecked(self.socket.try_clone()?.into())?;
        socket.write_all(bytes).await
    }
}

impl Drop for HolderConnection {
    fn drop(&mut self) {
        // Writes the gathered frames as far as possible at once. A reader of events still sees the end; if
        // the holder was faster, there is nothing to end.
        let _ = self.socket.write(&self.gathered);
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

impl HolderEvents {
    /// The next event; `None` after `Closed`.
    pub async fn next(&mut self) -> Option<HolderEvent> {
        if self.batch.is_empty() {
            self.batch = self.read_batch().await?.into();
        }
        self.batch.pop_front()
    }

    /// All events that arrived together, at least one, for a hub that stores lines in batches. Safe to cancel
    /// and call again.
    pub async fn next_batch(&mut self) -> Option<Vec<HolderEvent>> {
        if self.batch.is_empty() {
            return self.read_batch().await;
        }
        Some(std::mem::take(&mut self.batch).into())
    }

    async fn read_batch(&mut self) -> Option<Vec<HolderEvent>> {
        let mut batch = Vec::new();
        while batch.is_empty() && !self.closed {
            let received = match decode_all(&mut self.decoder, &mut batch) {
                Ok(()) if batch.is_empty() => self.receive().await,
                decoded => decoded,
            };
            if let Err(end) = received {
                self.closed = true;
                batch.push(HolderEvent::Closed(end));
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Reads once, at least a byte.
    async fn receive(&mut self) -> Result<(), EndOfConnection> {
        self.decoder.buffer().reserve(READ_BYTES);
        match self.socket.read_buf(self.decoder.buffer()).await {
            Ok(0) => Err(EndOfConnection::Gone),
            Ok(_) => Ok(()),
            Err(error) => Err(end_by(&error)),
        }
    }
}

fn nonsense(what: String) -> AttachError {
    AttachError::Closed(EndOfConnection::Nonsense(what))
}

fn end_by(error: &io::Error) -> EndOfConnection {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => EndOfConnection::Gone,
        _ => EndOfConnection::Io(error.to_string()),
    }
}

fn decode_all(decoder: &mut FrameDecoder, batch: &mut Vec<HolderEvent>) -> Result<(), EndOfConnection> {
    let frame_error = |error: FrameError| EndOfConnection::Nonsense(error.to_string());
    let message_error = |error: MessageError| EndOfConnection::Nonsense(error.to_string());
    while let Some(frame) = decoder.pop().map_err(frame_error)? {
        batch.push(match ToHub::decode(frame).map_err(message_error)? {
            Decoded::Known(ToHub::Line { n, bytes }) => HolderEvent::Line { n, bytes },
            Decoded::Known(ToHub::Oversized { n, total_bytes, prefix }) => {
                HolderEvent::Oversized { n, total_bytes, prefix }
            }
            Decoded::Known(ToHub::Written(written)) => HolderEvent::Written(written),
            Decoded::Known(ToHub::ProbeResult(result)) => HolderEvent::Probed(result),
            Decoded::Known(ToHub::Exited(exit)) => HolderEvent::Exited(exit),
            Decoded::Known(ToHub::Status(report)) => HolderEvent::Status(report),
            Decoded::Known(ToHub::Unsupported { kind }) => HolderEvent::Unsupported { kind },
            Decoded::Known(ToHub::Replaced) => return Err(EndOfConnection::Replaced),
            Decoded::Known(ToHub::Welcome(_) | ToHub::Refused(_)) => {
                return Err(EndOfConnection::Nonsense("a second greeting".to_owned()));
            }
            // A newer holder may send messages that this hub does not know.
            Decoded::Unknown { .. } => continue,
        });
    }
    Ok(())
}
