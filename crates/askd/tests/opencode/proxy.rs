//! A wire between the hub and a server that a test can cut and hold. In: the address of the server. Out: an
//! address that behaves like it, until it is told otherwise.

use std::sync::Arc;

use anyhow::Result;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Whole,
    /// Nothing gets through, and what was connected is cut.
    Cut,
    /// Connections are taken and nothing ever comes.
    Silent,
}

pub struct Proxy {
    pub url: String,
    wire: Arc<watch::Sender<Wire>>,
}

impl Proxy {
    pub async fn start(server: &str, wire: Wire) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (wire, server) = (Arc::new(watch::Sender::new(wire)), server.replace("http://", ""));
        let changes = wire.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), changes.subscribe()));
            }
        });
        Ok(Self { url, wire })
    }

    /// Also for connections that are there already.
    pub fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }
}

async fn carry(mut client: TcpStream, server: String, mut wire: watch::Receiver<Wire>) {
    let now = *wire.borrow_and_update();
    let whole = async {
        if now == Wire::Whole
            && let Ok(mut server) = TcpStream::connect(server).await
        {
            drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
        } else if now == Wire::Silent {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = whole => {}
        // Whatever the wire becomes, what was on it is gone.
        _ = wire.changed() => {}
    }
}
