//! A way between two places that can be closed: then nothing passes, in either direction,
//! and nobody is told, as where a network has come apart.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A way that leads to one place. It ends when it is dropped.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Gate {
    /// A way to this place, which is open.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn to(place: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let (is_open, open) = watch::channel(true);
        let place = place.to_owned();
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (open, place) = (open.clone(), place.clone());
                tokio::spawn(async move { pass(near, &place, open).await.ok() });
            }
        });
        Self {
            address,
            is_open,
            accepting,
        }
    }

    /// `127.0.0.1:PORT`, where it begins.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// From now on nothing passes.
    pub fn close(&self) {
        self.is_open.send_replace(false);
    }

    /// From now on all passes again, also what has waited.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn pass(near: TcpStream, place: &str, mut open: watch::Receiver<bool>) -> io::Result<()> {
    until_open(&mut open).await;
    let far = TcpStream::connect(place).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = far.into_split();
    let there = copy(from_near, to_far, open.clone());
    let back = copy(from_far, to_near, open);
    tokio::try_join!(there, back).map(|_| ())
}

async fn copy(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut open: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut block = vec![0; 16 * 1024];
    loop {
        let n = from.read(&mut block).await?;
        until_open(&mut open).await;
        if n == 0 {
            return to.shutdown().await;
        }
        to.write_all(&block[..n]).await?;
    }
}

async fn until_open(open: &mut watch::Receiver<bool>) {
    // One that has gone stays as it was.
    let _ = open.wait_for(|is_open| *is_open).await;
}
