//! The socket: who may speak, what is not understood, and that nothing said on it hurts anybody else.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

#[expect(dead_code, reason = "each test file uses its part of it")]
mod holder_support;

use std::{
    io::{Read as _, Write as _},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
};

use askd_holder::{
    AttachError, CommandError, EndOfConnection, Folder, FolderError, HolderEvent, SpawnError, attach, forget,
    protocol::{
        Decoded, FrameDecoder, Hello, MAX_WRITE_BYTES, PROTOCOL_VERSION, Refusal, ToHolder, ToHub, Welcome,
    },
    spawn, status,
};
use holder_support::{Held, PATIENCE, line, program, quick, spec, until, within};

const ECHO: &str = "while read -r l; do echo \"$l\"; done";

/// Says something raw and hears the first answer; `None` when the connection is closed instead.
fn say(folder: &Folder, bytes: &[u8]) -> Option<ToHub> {
    let mut stream = UnixStream::connect(folder.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    hear(&mut stream)
}

fn hear(stream: &mut UnixStream) -> Option<ToHub> {
    let mut decoder = FrameDecoder::of_holder();
    let mut chunk = [0; 4096];
    loop {
        if let Some(frame) = decoder.pop().unwrap() {
            let Decoded::Known(message) = ToHub::decode(frame).unwrap() else { panic!("an unknown frame") };
            return Some(message);
        }
        match stream.read(&mut chunk) {
            Ok(0) => return None,
            Ok(read) => decoder.push(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("{error}"),
        }
    }
}

fn frame(message: &ToHolder) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_newer_hub_replaces_the_older_one() {
    let held = Held::start(ECHO).await;
    let mut older = held.attach(0).await;
    let mut newer = held.attach(0).await;
    assert_eq!(within(older.events.next()).await, Some(HolderEvent::Closed(EndOfConnection::Replaced)));
    assert_eq!(within(older.events.next()).await, None);
    newer.connection.write(1, None, "x\n".into()).await.unwrap();
    assert_eq!(line(&mut newer.events).await, (1, "x".to_owned()));
    // The older one's commands reach nobody.
    let _ = older.connection.write(1, None, "y\n".into()).await;
    newer.connection.write(2, None, "z\n".into()).await.unwrap();
    assert_eq!(line(&mut newer.events).await, (2, "z".to_owned()));
}

#[tokio::test]
async fn a_hub_of_another_age_is_refused_with_the_versions_or_served_with_the_older() {
    let held = Held::start(ECHO).await;
    let mut hub = held.attach(0).await;
    let hello = |version, min_version, after| frame(&ToHolder::Hello(Hello { version, min_version, after }));
    let refusal = ToHub::Refused(Refusal::Version { version: PROTOCOL_VERSION, min_version: 1 });
    let folder = held.folder();
    assert_eq!(say(folder, &hello(0, 0, 0)), Some(refusal.clone()));
    assert_eq!(say(folder, &hello(PROTOCOL_VERSION + 5, PROTOCOL_VERSION + 1, 0)), Some(refusal));
    let beyond = ToHub::Refused(Refusal::AfterTheEnd { after: 9, next_line: 1 });
    assert_eq!(say(folder, &hello(PROTOCOL_VERSION, 1, 9)), Some(beyond));
    assert!(matches!(attach(folder, 9).await, Err(AttachError::Refused(Refusal::AfterTheEnd { .. }))));
    // None of these has taken the connection from the hub.
    hub.connection.write(1, None, "x\n".into()).await.unwrap();
    assert_eq!(line(&mut hub.events).await, (1, "x".to_owned()));
    let Some(ToHub::Welcome(welcome)) = say(folder, &hello(PROTOCOL_VERSION + 5, 1, 0)) else {
        panic!("refused")
    };
    assert_eq!(welcome.version, PROTOCOL_VERSION);
}

#[tokio::test]
async fn garbage_closes_its_own_connection_only() {
    let held = Held::start(ECHO).await;
    let mut hub = held.attach(0).await;
    let folder = held.folder();
    let garbage: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0; 64],
        &[0xff; 64],
        b"\x05\0\0\0\x01nope",
        // An acknowledgement and an end from somebody who has not greeted.
        &frame(&ToHolder::Ack { through: 1 }),
        &frame(&ToHolder::SetOpenQuestions { count: 1 }),
    ];
    for bytes in garbage {
        assert_eq!(say(folder, bytes), None, "{bytes:?}");
    }
    // Many who say nothing at all.
    let silent: Vec<_> = (0..40).map(|_| UnixStream::connect(folder.socket()).unwrap()).collect();
    hub.connection.write(1, None, "x\n".into()).await.unwrap();
    assert_eq!(line(&mut hub.events).await, (1, "x".to_owned()));
    assert!(status(folder).await.unwrap().hub_attached);
    drop(silent);

    // A hub that speaks nonsense after its greeting is lost, the agent is not.
    let mut bytes = frame(&ToHolder::Hello(Hello { version: 1, min_version: 1, after: 1 }));
    bytes.extend_from_slice(&u32::MAX.to_le_bytes());
    bytes.extend_from_slice(&[3; 100]);
    let _ = say(folder, &bytes);
    assert_eq!(within(hub.events.next()).await, Some(HolderEvent::Closed(EndOfConnection::Replaced)));
    let mut hub = held.attach(1).await;
    hub.connection.write(1, None, "y\n".into()).await.unwrap();
    assert_eq!(line(&mut hub.events).await, (2, "y".to_owned()));
}

#[tokio::test]
async fn the_last_words_of_a_hub_that_goes_count() {
    // While the holder pushes lines at it, the hub says something and goes, with most of the lines unread.
    let held = Held::start("seq 1 100000; while read -r l; do echo \"$l\" >> heard; done").await;
    let mut expected = String::new();
    for n in 0..200 {
        let mut stream = UnixStream::connect(held.folder().socket()).unwrap();
        stream.write_all(&frame(&ToHolder::Hello(Hello { version: 1, min_version: 1, after: 0 }))).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
        let words =
            ToHolder::Write { tag: n, delivery: Some(format!("d{n}")), bytes: format!("{n}\n").into() };
        stream.write_all(&frame(&words)).unwrap();
        drop(stream);
        expected.push_str(&format!("{n}\n"));
    }
    until("all of it was heard", || {
        std::fs::read_to_string(held.file("heard")).is_ok_and(|heard| heard == expected)
    })
    .await;
}

#[tokio::test]
async fn an_unknown_frame_is_answered_and_the_connection_lives() {
    let held = Held::start(ECHO).await;
    let mut stream = UnixStream::connect(held.folder().socket()).unwrap();
    stream.write_all(&frame(&ToHolder::Hello(Hello { version: 1, min_version: 1, after: 0 }))).unwrap();
    assert!(matches!(hear(&mut stream), Some(ToHub::Welcome(_))));
    stream.write_all(b"\x04\0\0\0\x3fabc").unwrap();
    assert_eq!(hear(&mut stream), Some(ToHub::Unsupported { kind: 0x3f }));
    stream.write_all(&frame(&ToHolder::Status)).unwrap();
    assert!(matches!(hear(&mut stream), Some(ToHub::Status(report)) if report.hub_attached));
}

#[tokio::test]
async fn a_write_beyond_the_limit_is_refused_on_both_sides() {
    let held = Held::start(ECHO).await;
    let mut hub = held.attach(0).await;
    let big = bytes::Bytes::from(vec![b'x'; MAX_WRITE_BYTES + 1]);
    assert!(hub.connection.write(1, None, big.clone()).await.is_err());
    assert!(hub.connection.write(1, Some("a b"), "x\n".into()).await.is_err());
    hub.connection.send(&ToHolder::Write { tag: 5, delivery: None, bytes: big }).await.unwrap();
    let Some(HolderEvent::Written(written)) = within(hub.events.next()).await else { panic!("no answer") };
    assert_eq!(written.tag, 5);
    hub.connection.write(6, None, "x\n".into()).await.unwrap();
    assert_eq!(line(&mut hub.events).await, (1, "x".to_owned()));
}

#[tokio::test]
async fn the_files_are_the_owners_alone_and_one_folder_has_one_holder() {
    let held = Held::start(ECHO).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = held.folder();
    assert_eq!(mode(folder.path()), 0o700);
    for path in [folder.spec(), folder.socket(), folder.journal(), folder.path().join("pid")] {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let again = || spawn(program(), spec(held.data(), ECHO, quick()));
    assert!(matches!(again().await, Err(SpawnError::Folder(FolderError::Taken(_)))));
    assert!(forget(folder).is_err());
    // Nor does another agent move in where one has lived.
    held.attach(0).await.connection.end(None, true).await.unwrap();
    held.gone().await;
    assert!(matches!(again().await, Err(SpawnError::Folder(FolderError::Used(_)))));
    forget(folder).unwrap();
    let second = again().await.unwrap();
    attach(folder, 0).await.unwrap().connection.end(None, true).await.unwrap();
    until("the second holder has gone", || !second.folder.is_alive().unwrap()).await;
}

#[tokio::test]
async fn nobody_waits_for_a_holder_that_is_stopped_and_full() {
    let held = Held::start(ECHO).await;
    let hub = held.attach(0).await;
    let holder = rustix::process::Pid::from_raw(hub.welcome.holder_pid).unwrap();
    rustix::process::kill_process(holder, rustix::process::Signal::STOP).unwrap();
    let address = socket2::SockAddr::unix(held.folder().socket()).unwrap();
    // Whoever has gone again still has his place before a holder that has not looked.
    let comes_in = || {
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket.connect(&address).is_ok()
    };
    assert!((0..100_000).any(|_| !comes_in()), "the holder takes any number");
    let refused = within(attach(held.folder(), 0)).await;
    assert!(
        matches!(&refused, Err(AttachError::Connect(error)) if error.kind() == std::io::ErrorKind::WouldBlock)
    );
    rustix::process::kill_process(holder, rustix::process::Signal::CONT).unwrap();
    let end = tokio::time::Instant::now() + PATIENCE;
    while attach(held.folder(), 0).await.is_err() {
        assert!(tokio::time::Instant::now() < end, "the holder goes on");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// Something that greets a hub as a holder does, and gives its end of the connection away.
fn greet_as_holder(folder: &Folder) -> std::thread::JoinHandle<UnixStream> {
    let listener = UnixListener::bind(folder.socket()).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let hello = frame(&ToHolder::Hello(Hello { version: PROTOCOL_VERSION, min_version: 1, after: 0 }));
        stream.read_exact(&mut vec![0; hello.len()]).unwrap();
        let mut welcome = Vec::new();
        ToHub::Welcome(Welcome {
            version: PROTOCOL_VERSION,
            holder_pid: 1,
            agent_pid: 2,
            first_line: 1,
            next_line: 1,
            exited: false,
            open_questions: 0,
        })
        .encode(&mut welcome)
        .unwrap();
        stream.write_all(&welcome).unwrap();
        stream
    })
}

#[tokio::test]
async fn who_speaks_to_a_holder_that_goes_is_told_whether_it_may_have_heard() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path());
    let holder = greet_as_holder(&folder);
    let mut hub = within(attach(&folder, 0)).await.unwrap();
    let socket = holder.join().unwrap();
    // More than a socket takes, so the rest waits.
    let long = hub.connection.write(1, None, vec![b'x'; MAX_WRITE_BYTES].into());
    let (sent, ()) = within(async { tokio::join!(long, async { drop(socket) }) }).await;
    assert_eq!(sent, Err(CommandError::Broke));
    assert_eq!(within(hub.connection.write(2, None, "x\n".into())).await, Err(CommandError::Closed));

    std::fs::remove_file(folder.socket()).unwrap();
    let holder = greet_as_holder(&folder);
    let mut hub = within(attach(&folder, 0)).await.unwrap();
    drop(holder.join().unwrap());
    assert_eq!(within(hub.connection.write(1, None, "x\n".into())).await, Err(CommandError::Closed));
}

#[tokio::test]
async fn a_data_folder_with_a_long_path_works() {
    let data = tempfile::tempdir().unwrap();
    let deep = data.path().join("d".repeat(120)).join("e".repeat(120));
    std::fs::create_dir_all(&deep).unwrap();
    let handle = spawn(program(), spec(&deep, ECHO, quick())).await.unwrap();
    let mut hub = attach(&handle.folder, 0).await.unwrap();
    hub.connection.write(1, None, "x\n".into()).await.unwrap();
    assert_eq!(line(&mut hub.events).await, (1, "x".to_owned()));
    hub.connection.end(None, true).await.unwrap();
    until("the holder has gone", || !handle.folder.is_alive().unwrap()).await;
}
