//! A way to whoever serves a client: lines in, lines out.

use crate::{
    attached::{Attached, PROMPT},
    limits,
};
use std::{fmt, io};
use switchboard_gateway::faces::http::{ATTACH_ANNOUNCEMENT, ATTACH_PROTOCOL};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Both directions of it.
pub(crate) struct Way {
    pub(super) read: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) write: Box<dyn AsyncWrite + Send + Unpin>,
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Way")
    }
}

impl Way {
    /// Over a pair of streams.
    pub(crate) fn streams(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            read: Box::new(read),
            write: Box::new(write),
        }
    }

    /// Asks a gateway to be let in; `segment` names the one server that the client
    /// wants, if so, and `announcement` is what it is told when it has come in.
    pub(crate) async fn to_gateway(
        gateway: &Attached,
        segment: Option<&str>,
        announcement: Option<&str>,
    ) -> io::Result<Self> {
        let opening = open(gateway, segment, announcement);
        timeout(PROMPT, opening)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

async fn open(
    gateway: &Attached,
    segment: Option<&str>,
    announcement: Option<&str>,
) -> io::Result<Way> {
    let address = &gateway.running.address;
    let mut stream = TcpStream::connect(address).await?;
    let _ = stream.set_nodelay(true);
    let path = segment
        .map(|segment| format!("/{segment}"))
        .unwrap_or_default();
    let query = announcement
        .map(|text| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair(ATTACH_ANNOUNCEMENT, text);
            format!("?{}", query.finish())
        })
        .unwrap_or_default();
    let token = gateway
        .client_token()
        .map(|token| format!("Authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    let request = format!(
        "GET /attach{path}{query} HTTP/1.1\r\nHost: {address}\r\n{token}Connection: Upgrade\r\n\
         Upgrade: {ATTACH_PROTOCOL}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    let end = loop {
        if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if head.len() > limits::RELAY_HEAD_BYTES || stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    // What came right after the handshake.
    let early = head.split_off(end);
    if !head.starts_with(b"HTTP/1.1 101 ") {
        let first = String::from_utf8_lossy(&head);
        let first = first.lines().next().unwrap_or_default().to_owned();
        return Err(io::Error::other(first));
    }
    let (read, write) = stream.into_split();
    Ok(Way::streams(io::Cursor::new(early).chain(read), write))
}
