//! Accepts connections and serves the router over HTTP/1.1, within named limits, until told to stop.
//!
//! In: a door (the port, or the socket for programs of this user), the router, a token that says stop. Out:
//! nothing; it returns when every connection has ended or the patience for them is over.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::limits::{
    CONNECTION_BUFFER_BYTES, HEADER_PATIENCE, MAX_CONNECTIONS, MAX_LOCAL_CONNECTIONS, SHUTDOWN_PATIENCE,
};

/// The listener that accepted a request; every request has it in its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    Port {
        /// From this machine, as far as the address says.
        loopback: bool,
    },
    /// By the socket, from a process of the hub's own user.
    Socket,
}

/// A listener for connections.
pub trait Door: Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// Connections at one time. Each door has its own places: a flood at the port shuts out no program of
    /// this user.
    const PLACES: usize;

    /// The next connection; `None` if it was refused.
    fn accept(&self) -> impl Future<Output = io::Result<Option<(Self::Stream, Arrival)>>> + Send;
}

impl Door for TcpListener {
    type Stream = TcpStream;
    const PLACES: usize = MAX_CONNECTIONS;

    async fn accept(&self) -> io::Result<Option<(TcpStream, Arrival)>> {
        let (stream, peer) = Self::accept(self).await?;
        // Small answers must not wait for more bytes.
        drop(stream.set_nodelay(true));
        Ok(Some((stream, Arrival::Port { loopback: peer.ip().to_canonical().is_loopback() })))
    }
}

impl Door for UnixListener {
    type Stream = UnixStream;
    const PLACES: usize = MAX_LOCAL_CONNECTIONS;

    async fn accept(&self) -> io::Result<Option<(UnixStream, Arrival)>> {
        let (stream, _) = Self::accept(self).await?;
        let me = rustix::process::geteuid().as_raw();
        match stream.peer_cred() {
            Ok(peer) if peer.uid() == me => Ok(Some((stream, Arrival::Socket))),
            Ok(peer) => {
                tracing::warn!(
                    user = peer.uid(),
                    "a process of another user was turned away from the socket"
                );
                Ok(None)
            }
            Err(error) => {
                tracing::debug!(%error, "a connection to the socket ended before it was looked at");
                Ok(None)
            }
        }
    }
}

/// A connection's place at its listener; every request has it in its extensions. A change that outlives its
/// client keeps the place, so that clients which send a change and disconnect cannot make more tasks than
/// there are places.
#[derive(Clone)]
pub struct Place {
    _permit: Arc<OwnedSemaphorePermit>,
}

pub async fn serve<D: Door>(door: D, router: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(D::PLACES));
    serve_in(door, router, stop, places, SHUTDOWN_PATIENCE).await;
}

async fn serve_in<D: Door>(
    door: D,
    router: Router,
    stop: CancellationToken,
    places: Arc<Semaphore>,
    patience: Duration,
) {
    let graceful = GracefulShutdown::new();
    let cut = CancellationToken::new();
    loop {
        // This select also covers the wait for a place: a full listener must close too.
        let next = async { (Arc::clone(&places).acquire_owned().await, door.accept().await) };
        let (permit, accepted) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let Ok(permit) = permit else { break };
        let (stream, arrival) = match accepted {
            Ok(Some(accepted)) => accepted,
            Ok(None) => continue,
            Err(error) => {
                // Probably out of file descriptors: ending connections make room.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let router = router.clone();
        let place = Place { _permit: Arc::new(permit) };
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(arrival);
            request.extensions_mut().insert(place.clone());
            let mut answer = Box::pin(router.clone().oneshot(request.map(Body::new)));
            // hyper drops this future without one poll where the client's end came together with its request.
            // The first poll brings a change into its task, see `change`.
            let at_once = (&mut answer).now_or_never();
            async move {
                match at_once {
                    Some(answer) => answer,
                    None => answer.await,
                }
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .max_buf_size(CONNECTION_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        let cut = cut.clone();
        tokio::spawn(async move {
            // A client that disconnects or sends nonsense harms only itself.
            if let Some(Err(error)) = cut.run_until_cancelled(connection).await {
                tracing::debug!(%error, "a connection ended badly");
            }
        });
    }
    drop(door);
    if tokio::time::timeout(patience, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time and are cut");
        // A change that waits for the rest of its body ends with this; any other goes on to its end.
        cut.cancel();
    }
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::mpsc;

    use super::*;

    const HALF: &[u8] =
        b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 4\r\n\r\nab";

    /// For what happens at once.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A client's end of each connection of a door, which has as many connections as are put in.
    struct Row(tokio::sync::Mutex<mpsc::Receiver<tokio::io::DuplexStream>>);

    impl Door for Row {
        type Stream = tokio::io::DuplexStream;
        const PLACES: usize = 1;

        async fn accept(&self) -> io::Result<Option<(Self::Stream, Arrival)>> {
            match self.0.lock().await.recv().await {
                Some(stream) => Ok(Some((stream, Arrival::Socket))),
                None => std::future::pending().await,
            }
        }
    }

    async fn knock(row: &mpsc::Sender<tokio::io::DuplexStream>) -> tokio::io::DuplexStream {
        let (client, server) = tokio::io::duplex(4096);
        row.send(server).await.unwrap();
        client
    }

    #[tokio::test]
    async fn a_full_door_closes_and_cuts_clients_that_do_not_end() {
        let (row, connections) = mpsc::channel(8);
        let stop = CancellationToken::new();
        let (ended, mut ends) = mpsc::channel(1);
        let router = Router::new().route(
            "/",
            post(move |request: Request| async move {
                // As a change does: in a task that does not end with its connection.
                tokio::spawn(async move {
                    let _ = ended.send(false).await;
                    let body = axum::body::to_bytes(request.into_body(), 9).await;
                    ended.send(body.is_err()).await
                });
                std::future::pending::<()>().await;
            }),
        );
        let places = Arc::new(Semaphore::new(1));
        let door = Row(connections.into());
        let serving = tokio::spawn(serve_in(door, router, stop.clone(), places, Duration::from_millis(50)));
        let mut slow = knock(&row).await;
        slow.write_all(HALF).await.unwrap();
        let _waiting = knock(&row).await;
        assert_eq!(ends.recv().await, Some(false));
        stop.cancel();
        tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap();
        let half = tokio::time::timeout(PATIENCE, ends.recv()).await.unwrap();
        assert_eq!(half, Some(true), "the change that waited for the rest of its body has ended");
    }

    #[tokio::test]
    async fn a_change_that_outlives_its_client_keeps_the_place() {
        let (row, connections) = mpsc::channel(8);
        let (keep, mut kept) = mpsc::channel(8);
        let router = Router::new().route(
            "/",
            post(async move |request: Request| {
                drop(keep.send(request.extensions().get::<Place>().cloned()).await);
            }),
        );
        let places = Arc::new(Semaphore::new(1));
        let door = Row(connections.into());
        tokio::spawn(serve_in(door, router, CancellationToken::new(), places, PATIENCE));
        let mut client = knock(&row).await;
        client.write_all(HALF).await.unwrap();
        client.write_all(b"cd").await.unwrap();
        client.read_to_end(&mut Vec::new()).await.unwrap();
        let place = kept.recv().await.unwrap();
        let mut next = knock(&row).await;
        next.write_all(HALF).await.unwrap();
        // All that can go on without the place has done so.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(kept.try_recv().is_err(), "there is one place, and the change of a client that went has it");
        drop(place);
        assert!(kept.recv().await.is_some());
    }
}
