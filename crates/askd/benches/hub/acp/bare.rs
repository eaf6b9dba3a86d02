//! The physical limit: the same agent's rounds without any hub, over its own standard streams.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::Result;
use crate::wire::field;

struct Agent {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    fn start() -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_askd"))
            .arg("mock-agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let mut agent = Self { child, stdin, lines };
        agent.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#)?;
        Ok(agent)
    }

    fn say(&mut self, line: &str) -> Result {
        Ok(self.stdin.write_all(format!("{line}\n").as_bytes())?)
    }

    fn line(&mut self) -> Result<String> {
        Ok(self.lines.next().ok_or("the agent ended")??)
    }

    fn session(&mut self) -> Result<String> {
        self.say(r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#)?;
        loop {
            let line = self.line()?;
            if line.contains(r#""id":2,"#) {
                return field(line.as_bytes(), "sessionId");
            }
        }
    }

    fn prompt(&mut self, id: usize, session: &str, turn: &str) -> Result {
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"{turn}"}}]}}}}"#
        ))
    }

    /// Answers questions until a turn is over; gives the id of its prompt.
    fn turn_over(&mut self) -> Result<usize> {
        loop {
            let line = self.line()?;
            if line.contains("request_question") {
                let request = field(line.as_bytes(), "id")?;
                self.say(&format!(
                    r#"{{"jsonrpc":"2.0","id":"{request}","result":{{"status":"answered","answers":[["option-a"]]}}}}"#
                ))?;
            } else if line.contains("end_turn") {
                let message: serde_json::Value = serde_json::from_str(&line)?;
                let id = message["id"].as_u64().and_then(|id| usize::try_from(id).ok());
                return Ok(id.ok_or("a turn without an id")?);
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The id of the first session's prompts.
const FIRST: usize = 100;

/// Milliseconds of each of `rounds` rounds: prompt, question, answer, end of the turn.
pub fn rounds_ms(rounds: usize) -> Result<Vec<f64>> {
    let mut agent = Agent::start()?;
    let session = agent.session()?;
    let mut samples = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        agent.prompt(FIRST, &session, "question")?;
        agent.turn_over()?;
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(samples)
}

/// Rounds a second of many sessions that ask at once: what a hub that costs nothing would reach.
pub fn rounds_a_second(turn: &str, sessions: usize, rounds: usize) -> Result<f64> {
    let mut agent = Agent::start()?;
    let names = (0..sessions).map(|_| agent.session()).collect::<Result<Vec<_>>>()?;
    let mut left = vec![rounds; sessions];
    let began = Instant::now();
    for (n, name) in names.iter().enumerate() {
        agent.prompt(FIRST + n, name, turn)?;
    }
    for _ in 0..sessions * rounds {
        let n = agent.turn_over()? - FIRST;
        left[n] -= 1;
        if left[n] > 0 {
            agent.prompt(FIRST + n, &names[n], turn)?;
        }
    }
    Ok((sessions * rounds) as f64 / began.elapsed().as_secs_f64())
}
