//! The load program: the same client for both programs. A server, its sessions, rounds of question and
//! answer, and floods.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc;

use super::contest::Program;
use super::ears::Ears;
use crate::Result;
use crate::raw::Disk;
use crate::wire::{EventStream, Wire};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
const NEW: &str = r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#;
/// A stream that says nothing for so long after the turn has ended has no more to say.
const SILENCE: Duration = Duration::from_secs(3);
/// What has not come by then never comes: a client that waits so long for a question has lost it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Every request has its own id: sandbox-agent confuses clients that use the same.
static NEXT_ID: AtomicU64 = AtomicU64::new(10);

/// One ACP server of a program.
pub struct Server<'a> {
    program: &'a Program,
    path: String,
}

impl<'a> Server<'a> {
    pub async fn open(program: &'a Program, name: &str) -> Result<Self> {
        let path = format!("/v1/acp/{name}");
        let (status, body) =
            program.wire().await?.call("POST", &format!("{path}?agent={}", program.agent()), HELLO).await?;
        expect(200, status, &body)?;
        Ok(Self { program, path })
    }

    pub async fn stream(&self) -> Result<EventStream> {
        self.program.wire().await?.stream(&self.path).await
    }

    pub async fn session(&self) -> Result<Session> {
        let mut asking = self.program.wire().await?;
        let (status, body) = asking.call("POST", &self.path, NEW).await?;
        expect(200, status, &body)?;
        let id = crate::wire::field(&body, "sessionId")?;
        Ok(Session { id, path: self.path.clone(), asking, answering: self.program.wire().await? })
    }
}

fn expect(wanted: u16, status: u16, body: &[u8]) -> Result {
    if status == wanted {
        return Ok(());
    }
    Err(format!("a POST answered {status}: {}", String::from_utf8_lossy(body)).into())
}

/// One session with its two connections: one waits for the turn, the other answers.
pub struct Session {
    pub id: String,
    path: String,
    asking: Wire,
    answering: Wire,
}

impl Session {
    async fn prompt(&mut self, text: &str) -> Result {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"session/prompt","params":{{"sessionId":"{}","prompt":[{{"type":"text","text":"{text}"}}]}}}}"#,
            NEXT_ID.fetch_add(1, Ordering::Relaxed),
            self.id
        );
        self.asking.send("POST", &self.path, &body).await
    }

    async fn turn_over(&mut self) -> Result {
        let (status, body) = tokio::time::timeout(PATIENCE, self.asking.response()).await??;
        expect(200, status, &body)?;
        match String::from_utf8_lossy(&body).contains("end_turn") {
            true => Ok(()),
            false => Err(format!("a turn ended with {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    async fn answer(&mut self, request: &str) -> Result {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":"{request}","result":{{"status":"answered","answers":[["option-a"]]}}}}"#
        );
        let (status, body) = self.answering.call("POST", &self.path, &body).await?;
        expect(202, status, &body)
    }

    /// Prompt, question at the client, answer, end of the turn. With a `disk` the client makes question and
    /// answer durable itself.
    pub async fn round(&mut self, stream: &mut EventStream, mut disk: Option<&mut Disk>) -> Result {
        self.prompt("question").await?;
        let (_, request) = tokio::time::timeout(PATIENCE, question(stream)).await??;
        if let Some(disk) = &mut disk {
            disk.append()?;
            disk.append()?;
        }
        self.answer(&request).await?;
        self.turn_over().await
    }

    /// The milliseconds of one round: until the agent had the answer, and until its client had the end of the
    /// turn.
    pub async fn timed_round(
        &mut self,
        stream: &mut EventStream,
        ears: &mut Ears,
        disk: Option<&mut Disk>,
    ) -> Result<(f64, f64)> {
        let began = Instant::now();
        let round = async { self.round(stream, disk).await.map(|()| Instant::now()) };
        let (over, heard) = tokio::try_join!(round, ears.answer())?;
        let ms = |at: Instant| at.duration_since(began).as_secs_f64() * 1000.0;
        Ok((ms(heard), ms(over)))
    }

    /// The same, with questions that somebody else reads from the stream; counts the rounds that came to
    /// their end.
    async fn rounds(
        mut self,
        turn: &'static str,
        count: usize,
        mut questions: mpsc::Receiver<String>,
        finished: Arc<AtomicU64>,
    ) -> Result {
        for _ in 0..count {
            self.prompt(turn).await?;
            let request = tokio::time::timeout(PATIENCE, questions.recv()).await?;
            self.answer(&request.ok_or("the stream ended")?).await?;
            self.turn_over().await?;
            finished.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A flood of events; gives back when the turn is over.
    pub async fn flood(&mut self, events: u64) -> Result {
        self.prompt(&format!("flood={events}")).await?;
        self.turn_over().await
    }
}

/// The next question of a stream: its session and its request.
async fn question(stream: &mut EventStream) -> Result<(String, String)> {
    loop {
        let data = stream.data().await?;
        if data.contains("_sandboxagent/session/request_question") {
            let message: Value = serde_json::from_str(data)?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            return Ok((text(&message["params"]["sessionId"]), text(&message["id"])));
        }
    }
}

/// What came of many sessions that asked at once.
pub struct AtOnce {
    /// Rounds that came to their end, for each second until the last session had ended or given up.
    pub rate: f64,
    /// Sessions that waited in vain for a question or for the end of a turn.
    pub stuck: usize,
}

/// Many sessions of one server ask at once, each in `turn` after `turn`.
pub async fn sessions_at_once(
    server: &Server<'_>,
    turn: &'static str,
    sessions: usize,
    rounds: usize,
) -> Result<AtOnce> {
    let mut stream = server.stream().await?;
    let mut tell = std::collections::HashMap::new();
    let mut ready = Vec::new();
    for _ in 0..sessions {
        let session = server.session().await?;
        let (sender, questions) = mpsc::channel(1);
        tell.insert(session.id.clone(), sender);
        ready.push((session, questions));
    }
    let finished = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = ready
        .into_iter()
        .map(|(session, questions)| {
            tokio::spawn(session.rounds(turn, rounds, questions, Arc::clone(&finished)))
        })
        .collect();
    let reader = tokio::spawn(async move {
        loop {
            let (session, request) = question(&mut stream).await?;
            if let Some(sender) = tell.get(&session) {
                // The session may have failed already, which is told by its own task.
                drop(sender.send(request).await);
            }
        }
        #[expect(unreachable_code, reason = "gives the block its type")]
        Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    });
    let mut stuck = 0;
    for task in tasks {
        stuck += usize::from(task.await?.is_err());
    }
    let rate = finished.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    reader.abort();
    Ok(AtOnce { rate, stuck })
}

/// Many servers, each with an agent and a session of its own, ask at once; rounds a second.
pub async fn servers_at_once(servers: Vec<(Session, EventStream)>, rounds: usize) -> Result<f64> {
    let count = servers.len();
    let began = Instant::now();
    let tasks: Vec<_> = servers
        .into_iter()
        .map(|(mut session, mut stream)| {
            tokio::spawn(async move {
                for _ in 0..rounds {
                    session.round(&mut stream, None).await?;
                }
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok((count * rounds) as f64 / began.elapsed().as_secs_f64())
}

/// What a reader got of a flood.
#[derive(Default)]
pub struct Got {
    pub lost: u64,
    pub repeated: u64,
}

/// Reads the numbers of a flood until its last one, or until nothing has come for a while after the turn's
/// end.
pub async fn read_flood(
    mut stream: EventStream,
    events: u64,
    over: tokio::sync::watch::Receiver<bool>,
) -> Got {
    let mut seen = vec![false; usize::try_from(events).unwrap_or(0)];
    let mut got = Got::default();
    loop {
        let number = match tokio::time::timeout(SILENCE, stream.data()).await {
            Ok(Ok(data)) => flood_number(data),
            Ok(Err(_)) => break,
            Err(_) if *over.borrow() => break,
            Err(_) => continue,
        };
        let Some(seen) = number.and_then(|number| seen.get_mut(number)) else { continue };
        got.repeated += u64::from(std::mem::replace(seen, true));
        if number == Some(usize::try_from(events).unwrap_or(0) - 1) {
            break;
        }
    }
    got.lost = seen.iter().filter(|seen| !**seen).count() as u64;
    got
}

fn flood_number(data: &str) -> Option<usize> {
    let rest = data.split_once("flood ")?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
