//! A way to a hub on which the responses to some requests are lost after the hub has done what they ask for.
//!
//! In: a running hub, and the beginnings of the requests whose responses are lost. Out: an address that
//! stands for the hub's.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

use crate::hub::Hub;

/// Passes requests on until it goes out of scope.
#[derive(Debug)]
pub struct Lossy {
    pub url: String,
    over: Arc<AtomicBool>,
}

impl Lossy {
    /// `lost` are beginnings such as `POST /v1/tokens`.
    pub fn before(hub: &Hub, lost: &'static [&'static str]) -> anyhow::Result<Self> {
        let to = hub.url.strip_prefix("http://").context("the hub is not at an address")?.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let to = to.clone();
                std::thread::spawn(move || pass_on(client, &to, lost));
            }
        });
        Ok(Self { url, over })
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.url.trim_start_matches("http://")));
    }
}

/// Passes one request and its response on; then the connection ends.
fn pass_on(mut client: TcpStream, to: &str, lost: &[&str]) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut hub = TcpStream::connect(to).ok()?;
    hub.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).ok()?;
    hub.write_all(&body).ok()?;
    if lost.iter().any(|request| head.starts_with(request)) {
        // The connection breaks only when it was done.
        return hub.read_to_end(&mut Vec::new()).ok().map(drop);
    }
    std::io::copy(&mut hub, &mut client).ok().map(drop)
}
