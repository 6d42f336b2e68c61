//! Large answers in a file while too many bytes are in memory: a client that
//! reads slowly must not cost the others their memory.

use super::body::Body;
use crate::limits;
use bytes::Bytes;
use futures_util::Stream;
use std::{
    io::{self, Seek, Write},
    pin::Pin,
    task::{Context, Poll, ready},
};
use switchboard_tasks as tasks;
use switchboard_transport::Share;
use switchboard_wire::Payload;
use tokio::io::{AsyncRead, ReadBuf};

/// A payload in an unnamed file that only we can open.
pub(super) struct Spooled {
    file: tokio::fs::File,
    left: u64,
    /// Where the next piece is being read to. What has been read is handed on as it is.
    piece: Vec<u8>,
}

/// The body for a payload: from memory if there is room, else from a file.
pub(super) async fn body(payload: Payload, share: &Share) -> Body {
    if payload.len() < limits::SPOOL_FROM || share.has_room() {
        return Body::from(payload);
    }
    let (kept, left) = (payload.clone(), payload.len() as u64);
    let written = tasks::blocking(move || write(&payload)).await;
    match written {
        Ok(Ok(file)) => {
            drop(kept);
            Body::File(Spooled {
                file: tokio::fs::File::from_std(file),
                left,
                piece: Vec::new(),
            })
        }
        Ok(Err(fault)) => {
            tracing::warn!(%fault, "a large answer could not be moved to a file; it stays in memory");
            Body::from(kept)
        }
        Err(_) => Body::from(kept),
    }
}

fn write(payload: &Payload) -> io::Result<std::fs::File> {
    // Unlinked from the start, readable by nobody else.
    let mut file = tempfile::tempfile()?;
    for piece in payload.pieces() {
        file.write_all(piece)?;
    }
    file.rewind()?;
    Ok(file)
}

impl Spooled {
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}

impl Stream for Spooled {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let this = &mut *self;
        if this.piece.is_empty() {
            this.piece = vec![
                0;
                limits::SPOOL_CHUNK
                    .min(usize::try_from(this.left).unwrap_or(limits::SPOOL_CHUNK))
            ];
        }
        let mut buffer = ReadBuf::new(&mut this.piece);
        if let Err(fault) = ready!(Pin::new(&mut this.file).poll_read(context, &mut buffer)) {
            return Poll::Ready(Some(Err(fault)));
        }
        let read = buffer.filled().len();
        if read == 0 {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        let mut piece = std::mem::take(&mut this.piece);
        piece.truncate(read);
        this.left = this.left.saturating_sub(read as u64);
        Poll::Ready(Some(Ok(Bytes::from(piece))))
    }
}
