//! The hub's side of a connection to a holder. In: a holder's folder, and commands. Out: a stream of events, in the order
//! of the agent's lines. Both ways are bounded: a hub that does not take events stops reading the socket, and the holder
//! then keeps the lines on its disk. Commands never wait for events, so one task may do both. Connecting again is the
//! caller's work.

use std::{
    collections::VecDeque,
    io,
    os::unix::net::UnixStream as StdStream,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    folder::{ExitRecord, Folder, FolderError},
    protocol::{
        Decoded, End, FrameDecoder, FrameError, Hello, MIN_PROTOCOL_VERSION, MessageError, PROTOCOL_VERSION,
        ProbeResult, Refusal, StatusReport, ToHolder, ToHub, Welcome, Written,
    },
};

/// Commands that wait for the socket. The holder always reads, so this is short.
pub const COMMAND_QUEUE: usize = 64;
/// Batches of events that wait for the hub; each is one read of the socket, or one long line.
pub const EVENT_BATCHES: usize = 4;
/// One read of the socket.
const READ_BYTES: usize = 64 * 1024;
/// Commands go to the holder together up to here.
const WRITE_BYTES: usize = 64 * 1024;
/// A holder answers its socket at once; one that does not within this is stuck.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// What a holder tells its hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HolderEvent {
    /// Its bytes share memory with the lines that came together with it: copy what is to be kept.
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
    /// Nobody listens: the holder has gone, or has not come up yet.
    pub fn nobody_there(&self) -> bool {
        let absent = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
        match self {
            Self::Connect(error) => absent(error.kind()),
            Self::Closed(EndOfConnection::Gone) => true,
            _ => false,
        }
    }
}

/// The connection is closed; the reason is in the last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("reach the holder: the connection is closed")]
    Closed,
    #[error("write to the agent: the bytes or the delivery id are too long")]
    TooLong,
}

/// A connection that the holder has welcomed.
#[derive(Debug)]
pub struct Attached {
    pub welcome: Welcome,
    pub connection: HolderConnection,
    pub events: HolderEvents,
}

/// The way of commands. When all clones are dropped the connection ends; the holder and its agent go on.
#[derive(Debug, Clone)]
pub struct HolderConnection {
    commands: mpsc::Sender<Vec<u8>>,
}

/// The way of events.
#[derive(Debug)]
pub struct HolderEvents {
    batches: mpsc::Receiver<Vec<HolderEvent>>,
    batch: VecDeque<HolderEvent>,
    _reader: DropGuard,
}

/// Becomes the hub of a holder and goes on after line `after`. An older connection is replaced.
pub async fn attach(folder: &Folder, after: u64) -> Result<Attached, AttachError> {
    let mut stream = connect(folder)?;
    let hello = Hello { version: PROTOCOL_VERSION, min_version: MIN_PROTOCOL_VERSION, after };
    let mut decoder = FrameDecoder::of_holder();
    let welcome = match ask(&mut stream, &mut decoder, &ToHolder::Hello(hello)).await? {
        ToHub::Welcome(welcome) => welcome,
        ToHub::Refused(refusal) => return Err(refusal.into()),
        other => return Err(nonsense(format!("{other:?} instead of a welcome"))),
    };
    let (read, write) = stream.into_split();
    let (commands, command_queue) = mpsc::channel(COMMAND_QUEUE);
    let (batch_sender, batches) = mpsc::channel(EVENT_BATCHES);
    let cancel = CancellationToken::new();
    tokio::spawn(write_commands(write, command_queue));
    tokio::spawn(cancel.clone().run_until_cancelled_owned(read_events(read, decoder, batch_sender)));
    let events = HolderEvents { batches, batch: VecDeque::new(), _reader: cancel.drop_guard() };
    Ok(Attached { welcome, connection: HolderConnection { commands }, events })
}

/// Asks a holder how it is, without taking the connection from its hub.
pub async fn status(folder: &Folder) -> Result<StatusReport, AttachError> {
    let mut stream = connect(folder)?;
    match ask(&mut stream, &mut FrameDecoder::of_holder(), &ToHolder::Status).await? {
        ToHub::Status(report) => Ok(report),
        other => Err(nonsense(format!("{other:?} instead of a status"))),
    }
}

impl HolderConnection {
    /// The hub keeps all lines up to this one: the holder may forget them.
    pub async fn ack(&self, through: u64) -> Result<(), CommandError> {
        self.send(&ToHolder::Ack { through }).await
    }

    /// Gives bytes to the agent; with a delivery at most once, however often it is called. `Written` with the same tag
    /// tells what became of it.
    pub async fn write(&self, tag: u64, delivery: Option<&str>, bytes: Bytes) -> Result<(), CommandError> {
        if !ToHolder::write_fits(delivery, &bytes) {
            return Err(CommandError::TooLong);
        }
        self.send(&ToHolder::Write { tag, delivery: delivery.map(str::to_owned), bytes }).await
    }

    /// Asks what became of a delivery; `Probed` is the answer.
    pub async fn probe(&self, delivery: &str) -> Result<(), CommandError> {
        self.send(&ToHolder::Probe { delivery: delivery.to_owned() }).await
    }

    /// An agent with an open question is never ended for want of a hub.
    pub async fn set_open_questions(&self, count: u32) -> Result<(), CommandError> {
        self.send(&ToHolder::SetOpenQuestions { count }).await
    }

    /// Ends the agent. The holder goes when it has told the end and all lines are acknowledged, or at once with
    /// `discard`. Also the answer to `Exited`: the holder is not needed any more.
    pub async fn end(&self, grace: Option<Duration>, discard: bool) -> Result<(), CommandError> {
        let grace_ms = grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        self.send(&ToHolder::End(End { grace_ms, discard })).await
    }

    /// `Status` is the answer.
    pub async fn ask_status(&self) -> Result<(), CommandError> {
        self.send(&ToHolder::Status).await
    }

    /// Any message, for tests and for what is to come.
    pub async fn send(&self, message: &ToHolder) -> Result<(), CommandError> {
        let mut frame = Vec::new();
        message.encode(&mut frame).map_err(|_| CommandError::TooLong)?;
        self.commands.send(frame).await.map_err(|_| CommandError::Closed)
    }
}

impl HolderEvents {
    /// The next event; `None` after `Closed`.
    pub async fn next(&mut self) -> Option<HolderEvent> {
        while self.batch.is_empty() {
            self.batch = self.batches.recv().await?.into();
        }
        self.batch.pop_front()
    }

    /// All events that came together, at least one; for a hub that stores lines in batches.
    pub async fn next_batch(&mut self) -> Option<Vec<HolderEvent>> {
        if self.batch.is_empty() {
            return self.batches.recv().await;
        }
        Some(std::mem::take(&mut self.batch).into())
    }
}

impl Stream for HolderEvents {
    type Item = HolderEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<HolderEvent>> {
        loop {
            if let Some(event) = self.batch.pop_front() {
                return Poll::Ready(Some(event));
            }
            match ready!(self.batches.poll_recv(context)) {
                Some(batch) => self.batch = batch.into(),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// A Unix socket connects at once or not at all, so this does not wait.
fn connect(folder: &Folder) -> Result<UnixStream, AttachError> {
    let stream = folder.with_socket_path(|path| StdStream::connect(path))?.map_err(AttachError::Connect)?;
    stream.set_nonblocking(true).and_then(|()| UnixStream::from_std(stream)).map_err(AttachError::Connect)
}

/// The first question of a connection, and its answer.
async fn ask(
    stream: &mut UnixStream,
    decoder: &mut FrameDecoder,
    message: &ToHolder,
) -> Result<ToHub, AttachError> {
    let asked = async {
        let mut frame = Vec::new();
        message.encode(&mut frame).map_err(|error| nonsense(error.to_string()))?;
        stream.write_all(&frame).await.map_err(|error| AttachError::Closed(end_by(&error)))?;
        loop {
            if let Some(frame) = decoder.pop().map_err(|error| nonsense(error.to_string()))? {
                match ToHub::decode(frame).map_err(|error| nonsense(error.to_string()))? {
                    Decoded::Known(answer) => return Ok(answer),
                    Decoded::Unknown { .. } => continue,
                }
            }
            match stream.read_buf(decoder.buffer()).await {
                Ok(0) => return Err(AttachError::Closed(EndOfConnection::Gone)),
                Ok(_) => {}
                Err(error) => return Err(AttachError::Closed(end_by(&error))),
            }
        }
    };
    timeout(ANSWER_PATIENCE, asked).await.unwrap_or(Err(AttachError::Silent))
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

async fn write_commands(mut write: OwnedWriteHalf, mut commands: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut frames) = commands.recv().await {
        // What waits goes in one piece: the holder is woken once for it.
        while frames.len() < WRITE_BYTES
            && let Ok(frame) = commands.try_recv()
        {
            frames.extend_from_slice(&frame);
        }
        // The reader finds the end of the connection and tells it.
        if write.write_all(&frames).await.is_err() {
            return;
        }
    }
}

async fn read_events(
    mut read: OwnedReadHalf,
    mut decoder: FrameDecoder,
    batches: mpsc::Sender<Vec<HolderEvent>>,
) {
    let end = loop {
        let mut batch = Vec::new();
        let end = decode_all(&mut decoder, &mut batch).err();
        if !batch.is_empty() && batches.send(batch).await.is_err() {
            return;
        }
        if let Some(end) = end {
            break end;
        }
        decoder.buffer().reserve(READ_BYTES);
        match read.read_buf(decoder.buffer()).await {
            Ok(0) => break EndOfConnection::Gone,
            Ok(_) => {}
            Err(error) => break end_by(&error),
        }
    };
    let _ = batches.send(vec![HolderEvent::Closed(end)]).await;
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
            // A newer holder may tell things that this hub does not know.
            Decoded::Unknown { .. } => continue,
        });
    }
    Ok(())
}
