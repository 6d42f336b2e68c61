//! What a thread makes, handed on piece by piece to whoever reads it: no faster than it is
//! read, and no longer than somebody reads.

use crate::limits;
use bytes::Bytes;
use std::{io, pin::Pin};
use tokio::{runtime::Handle, sync::mpsc, time::timeout};

/// Pieces, as they come.
pub(super) type Coming = Pin<Box<dyn futures_util::Stream<Item = io::Result<Bytes>> + Send>>;

/// What is handed on.
pub(super) enum Handed {
    /// The next of it.
    Piece(Bytes),
    /// That was all.
    End,
}

/// Where the thread puts it.
pub(super) struct Handing {
    /// What is too little to be handed on by itself.
    begun: String,
    to: mpsc::Sender<Handed>,
    runtime: Handle,
    is_taken: bool,
}

impl Handing {
    pub(super) fn new() -> (Self, mpsc::Receiver<Handed>) {
        let (to, handed) = mpsc::channel(1);
        let handing = Self {
            begun: String::new(),
            to,
            runtime: Handle::current(),
            is_taken: true,
        };
        (handing, handed)
    }

    /// Hands a text on; whether somebody wants more.
    pub(super) fn put(&mut self, text: &str) -> bool {
        self.begun.push_str(text);
        if self.begun.len() >= limits::API_PIECE {
            self.hand_on();
        }
        self.is_taken
    }

    /// That was all. Where somebody has taken too long they are not told so: it was not.
    pub(super) fn end(mut self) {
        if !self.begun.is_empty() {
            self.hand_on();
        }
        self.give(Handed::End);
    }

    fn hand_on(&mut self) {
        let piece = std::mem::take(&mut self.begun);
        self.give(Handed::Piece(piece.into()));
    }

    fn give(&mut self, handed: Handed) {
        if self.is_taken {
            let giving = async { timeout(limits::API_PIECE_TAKEN, self.to.send(handed)).await };
            self.is_taken = matches!(self.runtime.block_on(giving), Ok(Ok(())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_tasks as tasks;

    #[tokio::test]
    async fn what_is_put_comes_in_pieces_and_ends() {
        let (mut handing, mut handed) = Handing::new();
        let line = format!("{}\n", "x".repeat(999));
        let (lines, puts) = (500, line.clone());
        let made = tasks::blocking(move || {
            let all = (0..lines).all(|_| handing.put(&puts));
            handing.end();
            all
        });
        let (mut text, mut pieces) = (Vec::new(), 0);
        while let Some(Handed::Piece(piece)) = handed.recv().await {
            assert!(piece.len() < limits::API_PIECE + line.len());
            text.extend_from_slice(&piece);
            pieces += 1;
        }
        assert!(made.await.unwrap());
        assert_eq!((text.len(), pieces), (lines * line.len(), 8));
    }

    #[tokio::test]
    async fn nothing_more_is_made_for_who_has_left() {
        let (mut handing, handed) = Handing::new();
        drop(handed);
        let piece = "x".repeat(limits::API_PIECE);
        let made = tasks::blocking(move || {
            let is_wanted = handing.put(&piece);
            handing.end();
            is_wanted
        });
        assert!(!made.await.unwrap());
    }
}
