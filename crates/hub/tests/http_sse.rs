//! The reconnecting stream against a server that breaks in every way. The server is a listening socket and a
//! script.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::{convert::Infallible, time::Duration};

use askd_hub::http_sse::{CONNECT_TIMEOUT, LostWhy, SseLimits, SseSignal, listen};
use askd_wire::sse::SseEvent;
use reqwest::Client;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket},
    sync::mpsc,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);
const OK: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

/// Answers the n-th connection with the n-th text and closes it, unless the text ends in "...": then it stays
/// open.
async fn serve(answers: Vec<String>) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/event", listener.local_addr().unwrap());
    let (heads, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut open = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            heads.send(String::from_utf8(head).unwrap().to_ascii_lowercase()).unwrap();
            let (text, stays) =
                answer.strip_suffix("...").map_or((answer.as_str(), false), |text| (text, true));
            stream.write_all(text.as_bytes()).await.unwrap();
            if stays {
                open.push(stream);
            }
        }
        std::future::pending::<Infallible>().await;
    });
    (url, received)
}

fn limits() -> SseLimits {
    SseLimits {
        first_back_off: Duration::from_millis(1),
        max_back_off: Duration::from_millis(5),
        ..SseLimits::default()
    }
}

fn event(id: &str, data: &str) -> SseSignal {
    SseSignal::Event(SseEvent { id: id.into(), event: "message".into(), data: data.into() })
}

async fn next(signals: &mut mpsc::Receiver<SseSignal>) -> SseSignal {
    let signal = timeout(PATIENCE, signals.recv()).await.unwrap().unwrap();
    match signal {
        SseSignal::Lost { why, .. } => SseSignal::Lost { why, again_in: Duration::ZERO },
        other => other,
    }
}

fn lost(why: LostWhy) -> SseSignal {
    SseSignal::Lost { why, again_in: Duration::ZERO }
}

fn connected(after: &str) -> SseSignal {
    SseSignal::Connected { after: after.into() }
}

#[tokio::test]
async fn it_comes_back_after_every_kind_of_break_and_asks_from_the_last_event() {
    let answers = vec![
        "HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n".to_owned(),
        format!("{OK}id: 1\ndata: a\n\nid: 2\ndata: cut of"),
        String::new(),
        format!("{OK}id: 2\ndata: b\n\n..."),
    ];
    let (url, mut heads) = serve(answers).await;
    let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).build().unwrap();
    let stop = CancellationToken::new();
    let mut signals = listen(move || client.get(&url).bearer_auth("t"), limits(), None, stop.clone());
    assert_eq!(next(&mut signals).await, lost(LostWhy::Status(503)));
    assert_eq!(next(&mut signals).await, lost(LostWhy::NotEvents("text/html".into())));
    assert_eq!(next(&mut signals).await, connected(""));
    assert_eq!(next(&mut signals).await, event("1", "a"));
    assert_eq!(next(&mut signals).await, lost(LostWhy::Ended));
    assert!(matches!(next(&mut signals).await, SseSignal::Lost { why: LostWhy::Failed(_), .. }));
    assert_eq!(next(&mut signals).await, connected("1"));
    assert_eq!(next(&mut signals).await, event("2", "b"));
    for asked in ["", "", "", "last-event-id: 1\r\n", "last-event-id: 1\r\n"] {
        let head = heads.recv().await.unwrap();
        assert!(
            head.contains("authorization: bearer t\r\n") && head.contains("accept: text/event-stream\r\n")
        );
        assert_eq!(head.contains("last-event-id"), !asked.is_empty());
        assert!(head.contains(asked), "{head}");
    }
    stop.cancel();
    assert_eq!(timeout(PATIENCE, signals.recv()).await.unwrap(), None);
}

#[tokio::test]
async fn a_silent_connection_is_given_up_and_a_saved_id_is_used() {
    let answers = vec![format!("{OK}: hello\n\n..."), "...".to_owned(), format!("{OK}data: x\n\n...")];
    let (url, mut heads) = serve(answers).await;
    let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).build().unwrap();
    // Longer than a busy machine needs for a head that does come.
    let (head_timeout, idle_timeout) = (Duration::from_secs(5), Duration::from_secs(1));
    let limits = SseLimits { idle_timeout, head_timeout, ..limits() };
    let request = move || client.get(&url);
    let mut signals = listen(request, limits, Some("77".into()), CancellationToken::new());
    assert_eq!(next(&mut signals).await, connected("77"));
    assert_eq!(next(&mut signals).await, lost(LostWhy::Idle));
    assert_eq!(next(&mut signals).await, lost(LostWhy::NoHead));
    assert_eq!(next(&mut signals).await, connected("77"));
    assert_eq!(next(&mut signals).await, event("77", "x"));
    assert!(heads.recv().await.unwrap().contains("last-event-id: 77\r\n"));
}

#[tokio::test]
async fn nobody_there_is_tried_again_until_somebody_is() {
    // Bound and not listening, so that nobody else is given the port.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = silent.local_addr().unwrap();
    let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).build().unwrap();
    let request = move || client.get(format!("http://{address}/secret"));
    let mut signals = listen(request, limits(), None, CancellationToken::new());
    for _ in 0..3 {
        let SseSignal::Lost { why: LostWhy::Failed(why), .. } = next(&mut signals).await else {
            panic!("connected")
        };
        assert!(!why.contains("secret"), "{why}");
    }
}
