//! The physical limit: the same agent's round without any hub, over its own standard streams.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Result;

/// Milliseconds of each of `rounds` rounds: prompt, question, answer, end of the turn.
pub fn rounds_ms(rounds: usize) -> Result<Vec<f64>> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_askd"))
        .arg("mock-agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut agent = child.stdin.take().ok_or("no stdin")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    let mut until = |wanted: &str| -> Result<String> {
        loop {
            let line = lines.next().ok_or("the agent ended")??;
            if line.contains(wanted) {
                return Ok(line);
            }
        }
    };
    writeln!(agent, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":1}}}}"#)?;
    writeln!(
        agent,
        r#"{{"jsonrpc":"2.0","id":2,"method":"session/new","params":{{"cwd":"/","mcpServers":[]}}}}"#
    )?;
    until("sessionId")?;
    let mut samples = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        writeln!(
            agent,
            r#"{{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{{"sessionId":"mock-1","prompt":[{{"type":"text","text":"question"}}]}}}}"#
        )?;
        let question = until("request_question")?;
        let request = crate::wire::field(question.as_bytes(), "id")?;
        writeln!(
            agent,
            r#"{{"jsonrpc":"2.0","id":"{request}","result":{{"status":"answered","answers":[["option-a"]]}}}}"#
        )?;
        until("end_turn")?;
        samples.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    drop(agent);
    drop(child.kill());
    child.wait()?;
    Ok(samples)
}
