//! A large answer that is handed over before its end. Its connection is its own: whoever
//! takes it drives it, one piece at a time, and it waits for them.

use super::{
    answer::{Answer, BodyError, reserve},
    link::Shared,
};
use crate::{
    begun::{Begun, BrokenOff, Came},
    budget::Budget,
    limits,
};
use futures_util::stream;
use std::sync::Arc;
use switchboard_wire::{Passing, limits::PASS_FROM};

/// An answer of which the beginning has come.
struct Coming {
    shared: Arc<Shared>,
    answer: Answer,
    passing: Passing,
    came: usize,
}

/// Reads the beginning of an answer that may be large: as much as has to be there before
/// anything of it is handed over, or all of it.
pub(super) async fn beginning(shared: &Shared, answer: &mut Answer) -> Result<Vec<u8>, BodyError> {
    let mut buffer = Vec::new();
    if answer.left().is_some() {
        drop(reserve(&shared.budget, PASS_FROM).await);
        buffer = shared.budget.buffer(piece(&shared.budget));
    }
    while buffer.len() < PASS_FROM && !answer.is_ended() {
        let (has_begun, stall) = (!buffer.is_empty(), shared.options.body_stall);
        answer.read_more(&mut buffer, has_begun, stall).await?;
    }
    Ok(buffer)
}

/// How much is read at once: more than little, as long as little is held. Each piece is read,
/// written and woken for by itself.
fn piece(budget: &Budget) -> usize {
    match budget.used() < budget.cap() / 2 {
        true => limits::PASSED_PIECE,
        false => limits::PASSED_PIECE_CROWDED,
    }
}

/// Hands an answer over that begins so.
pub(super) fn hand_over(
    shared: &Arc<Shared>,
    answer: Answer,
    beginning: Vec<u8>,
    passing: Passing,
) -> Begun {
    let came = beginning.len();
    let length = answer.left().map(|left| left + came as u64);
    let id = passing.id_span();
    let beginning = shared.budget.hold(beginning);
    let coming = Coming {
        shared: shared.clone(),
        answer,
        passing,
        came,
    };
    let rest = stream::unfold(Some(coming), |coming: Option<Coming>| async move {
        let (came, coming) = coming?.next().await;
        Some((came, coming))
    });
    Begun::new(beginning, id, length, Box::pin(rest))
}

impl Coming {
    /// The next piece, and what reads the one after it.
    async fn next(mut self) -> (Result<Came, BrokenOff>, Option<Self>) {
        match self.piece().await {
            Err(fault) => (Err(fault), None),
            Ok(came) if came.ended.is_none() => (Ok(came), Some(self)),
            Ok(came) => {
                let Self { shared, answer, .. } = self;
                answer.finish(&shared.pool);
                (Ok(came), None)
            }
        }
    }

    async fn piece(&mut self) -> Result<Came, BrokenOff> {
        let Self {
            shared,
            answer,
            passing,
            came,
        } = self;
        let (budget, options) = (&shared.budget, &shared.options);
        let mut buffer = budget.buffer(piece(budget));
        let lost = |fault: BodyError| BrokenOff::Lost(fault.to_string());
        while buffer.is_empty() && !answer.is_ended() {
            let read = answer
                .read_more(&mut buffer, true, options.body_stall)
                .await;
            read.map_err(lost)?;
        }
        *came += buffer.len();
        if *came > options.message_cap {
            return Err(lost(BodyError::TooLarge(options.message_cap)));
        }
        passing.feed(&buffer)?;
        // The last piece goes on only if all of it was well: its reader may stop there.
        let ended = match answer.is_ended() {
            true => Some(passing.end()?),
            false => None,
        };
        let bytes = budget.hold(buffer);
        Ok(Came { bytes, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_much_is_held_little_is_read_at_once() {
        let budget = Budget::new(4 * limits::PASSED_PIECE);
        let held = budget.hold(vec![0; limits::PASSED_PIECE]);
        assert_eq!(piece(&budget), limits::PASSED_PIECE);
        let more = budget.hold(vec![0; limits::PASSED_PIECE]);
        assert_eq!(piece(&budget), limits::PASSED_PIECE_CROWDED);
        drop((held, more));
        assert_eq!(piece(&budget), limits::PASSED_PIECE);
    }
}
