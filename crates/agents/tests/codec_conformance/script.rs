//! The plain text of a scenario, read into commands.
//!
//! `$VERSION` stands for askd's own version.
//!
//! ```text
//! # a comment
//! begin {"cwd":"/home/dev/app","prompt":"go"}     "sessions":["s1"] where they are known from before a restart,
//!                                                 "start":"observed" where somebody else drives the agent
//! < line from the agent            <hex 6e6f     bytes that are no text
//! >> line from another client to the agent, passed on by askd
//! > line that must be written to the agent (compared as JSON)
//! = {"heard":"asked",...}          what must be heard, as a subset; chatter is skipped unless expected
//! answer [@native-id] {"answers":[["x"]]}        reject [@native-id] {"mode":"decline"}
//! unspeakable {"answers":[["x"]],...}            the codec must refuse to say this
//! connected                        the transport is connected, at first or again
//! reply 200 [...]                  what comes back for the oldest call that waits for its reply; `reply 0` for none
//! prompt some words                interrupt      close      restart
//! ```

use serde_json::Value;

#[derive(Debug)]
pub(crate) enum Command {
    Begin(Value),
    Hear(Vec<u8>),
    Overhear(Vec<u8>),
    Written(Value),
    Heard(Value),
    Answer { native_id: Option<String>, reply: Value },
    Reject { native_id: Option<String>, rejection: Value },
    Unspeakable { native_id: Option<String>, reply: Value },
    Prompt(String),
    Interrupt,
    Close,
    Restart,
    Connected,
    Reply { status: u16, body: Vec<u8> },
}

pub(crate) fn read(text: &str) -> Result<Vec<(usize, Command)>, String> {
    let mut commands = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let command = command(line).map_err(|why| format!("line {}: {why}", i + 1))?;
        commands.push((i + 1, command));
    }
    Ok(commands)
}

fn command(line: &str) -> Result<Command, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("{error} in {text}"));
    let targeted = |text: &str| -> Result<(Option<String>, Value), String> {
        match text.strip_prefix('@') {
            Some(rest) => {
                let (id, body) = rest.split_once(' ').ok_or("a target without a body")?;
                Ok((Some(id.to_owned()), json(body)?))
            }
            None => Ok((None, json(text)?)),
        }
    };
    Ok(match word {
        "begin" => Command::Begin(json(rest)?),
        "<" => Command::Hear(rest.as_bytes().to_vec()),
        "<hex" => Command::Hear(unhex(rest)?),
        ">>" => Command::Overhear(rest.as_bytes().to_vec()),
        ">" => Command::Written(json(rest)?),
        "=" => Command::Heard(json(rest)?),
        "answer" => {
            let (native_id, reply) = targeted(rest)?;
            Command::Answer { native_id, reply }
        }
        "reject" => {
            let (native_id, rejection) = targeted(rest)?;
            Command::Reject { native_id, rejection }
        }
        "unspeakable" => {
            let (native_id, reply) = targeted(rest)?;
            Command::Unspeakable { native_id, reply }
        }
        "prompt" => Command::Prompt(rest.to_owned()),
        "interrupt" => Command::Interrupt,
        "close" => Command::Close,
        "restart" => Command::Restart,
        "connected" => Command::Connected,
        "reply" => {
            let (status, body) = rest.split_once(' ').unwrap_or((rest, ""));
            let status = status.parse().map_err(|_| format!("{status:?} is no status"))?;
            Command::Reply { status, body: body.as_bytes().to_vec() }
        }
        other => return Err(format!("no such command: {other}")),
    })
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
            u8::from_str_radix(pair, 16).map_err(|error| error.to_string())
        })
        .collect()
}
