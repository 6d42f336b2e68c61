//! One gateway takes another's place without a moment in which nobody listens: the one
//! that runs hands its sockets over to the new one, which serves on them, and says so;
//! then the old one ends in good order. Where the new one fails before that, the old one
//! never stopped.

use crate::{limits, listen::Open, running};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, IoSlice, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
};
use switchboard_tasks as tasks;
use tokio::net::UnixListener;

const TAKE: &[u8] = b"take\n";
const READY: &[u8] = b"ready\n";

/// What is said beside the sockets.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    /// Whose sessions these are.
    life: Option<String>,
}

/// A gateway that would hand its sockets over.
#[derive(Debug)]
pub(crate) struct Handing {
    path: PathBuf,
    listener: UnixListener,
    sockets: Vec<OwnedFd>,
    life: Option<String>,
}

impl Handing {
    /// Waits for somebody at the place that belongs to this process.
    pub(crate) fn open(folder: &Path, open: &[Open], life: Option<String>) -> io::Result<Self> {
        let path = place(
            folder,
            i32::try_from(std::process::id()).unwrap_or_default(),
        );
        let _ = fs::remove_file(&path);
        let sockets = open.iter().take(limits::HANDED);
        let sockets = sockets.map(|open| open.listener.as_fd().try_clone_to_owned());
        Ok(Self {
            sockets: sockets.collect::<io::Result<_>>()?,
            listener: UnixListener::bind(&path)?,
            path,
            life,
        })
    }

    /// Returns when somebody serves in our place.
    pub(crate) async fn taken(&self) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(limits::HANDOVER_PAUSE).await;
                continue;
            };
            let is_ours = stream
                .peer_cred()
                .is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
            if !is_ours {
                continue;
            }
            let sockets = self.sockets.iter().map(OwnedFd::try_clone);
            let (Ok(stream), Ok(sockets)) = (stream.into_std(), sockets.collect()) else {
                continue;
            };
            let life = self.life.clone();
            let handed = tasks::blocking(move || hand(&stream, &sockets, life)).await;
            match handed {
                Ok(Ok(())) => return,
                Ok(Err(fault)) => tracing::info!(%fault, "nobody took our place after all"),
                Err(_) => {}
            }
        }
    }
}

impl Drop for Handing {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Hands the sockets over, and waits until they are served.
fn hand(stream: &UnixStream, sockets: &Vec<OwnedFd>, life: Option<String>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(limits::HANDOVER))?;
    expect(stream, TAKE)?;
    let said = serde_json::to_vec(&Said { life })?;
    let length = u32::try_from(said.len()).map_err(io::Error::other)?;
    let fds: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(limits::HANDED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let head = length.to_be_bytes();
    let parts = [IoSlice::new(&head)];
    sendmsg(stream, &parts, &mut control, SendFlags::empty())?;
    (&*stream).write_all(&said)?;
    expect(stream, READY)
}

fn expect(mut stream: &UnixStream, word: &[u8]) -> io::Result<()> {
    let mut read = vec![0; word.len()];
    stream.read_exact(&mut read)?;
    match read == word {
        true => Ok(()),
        false => Err(io::Error::other("it says something else")),
    }
}

/// Sockets of a gateway that runs, which ends once it hears that they are served.
#[derive(Debug)]
pub struct TakenOver {
    stream: UnixStream,
    pub(crate) sockets: Vec<TcpListener>,
    /// Whose sessions come along.
    pub(crate) life: Option<String>,
}

impl TakenOver {
    /// Asks the gateway of this process for its sockets.
    pub fn from(folder: &Path, pid: i32) -> io::Result<Self> {
        let stream = UnixStream::connect(place(folder, pid))?;
        stream.set_read_timeout(Some(limits::HANDOVER))?;
        (&stream).write_all(TAKE)?;
        let mut head = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(limits::HANDED))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut head)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
        recvmsg(&stream, &mut parts, &mut control, flags)?;
        let mut sockets = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                sockets.extend(fds.map(TcpListener::from));
            }
        }
        let length = u32::from_be_bytes(head).min(limits::HANDOVER_BYTES);
        let mut said = vec![0; length as usize];
        (&stream).read_exact(&mut said)?;
        let Said { life } = serde_json::from_slice(&said)?;
        if sockets.is_empty() {
            return Err(io::Error::other("it has no sockets"));
        }
        Ok(Self {
            stream,
            sockets,
            life,
        })
    }

    /// The same without the sockets: who says when they are served.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            stream: self.stream.try_clone()?,
            sockets: Vec::new(),
            life: None,
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.sockets.iter().map(TcpListener::local_addr);
        addresses.filter_map(Result::ok).collect()
    }

    /// They are served from now on: the other ends.
    pub fn ready(&self) -> io::Result<()> {
        (&self.stream).write_all(READY)
    }
}

fn place(folder: &Path, pid: i32) -> PathBuf {
    folder.join(format!("{pid}.{}", running::SOCKET))
}
