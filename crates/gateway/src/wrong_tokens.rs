//! How many wrong tokens were shown lately: to this gateway, and, where it is one of
//! several, to the others, so that whoever guesses is as slow at all of them together as
//! at one. A good token is never counted, and never waits.

use crate::limits;
use parking_lot::Mutex;
use std::time::Instant;

/// Wrong tokens, as far as is known here.
#[derive(Debug, Default)]
pub struct WrongTokens(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// How many there were here, since when.
    here: Option<(Instant, u32)>,
    /// How many nobody else was told of, since when.
    untold: Option<(Instant, u32)>,
    /// How many others have seen in a second, and when that was heard.
    elsewhere: Option<(Instant, u32)>,
}

impl WrongTokens {
    /// One more. Whether somebody is guessing.
    pub(crate) fn count(&self) -> bool {
        let mut counted = self.0.lock();
        let recent = |at: &(Instant, u32)| at.0.elapsed() < limits::GUESSING;
        let (since, count) = counted
            .here
            .filter(recent)
            .unwrap_or_else(|| (Instant::now(), 0));
        counted.here = Some((since, count.saturating_add(1)));
        let untold = counted.untold.get_or_insert_with(|| (Instant::now(), 0));
        untold.1 = untold.1.saturating_add(1);
        // What was heard long ago, since nothing can be heard now, says nothing.
        let elsewhere = counted
            .elsewhere
            .filter(|(at, _)| at.elapsed() < limits::GUESSED_ELSEWHERE);
        let elsewhere = elsewhere.map_or(0, |(_, count)| count);
        count.saturating_add(elsewhere) >= limits::GUESSES
    }

    /// How many there were here in a second, since this was asked last.
    pub(crate) fn lately(&self) -> u32 {
        let mut counted = self.0.lock();
        let now = Instant::now();
        let Some((since, count)) = counted.untold.replace((now, 0)) else {
            return 0;
        };
        let seconds = now.duration_since(since).max(limits::GUESSING);
        let tenths = u64::try_from(seconds.as_millis() / 100).unwrap_or(u64::MAX);
        let in_a_second = (u64::from(count) * 10).div_ceil(tenths.max(1));
        u32::try_from(in_a_second).unwrap_or(u32::MAX)
    }

    /// How many others have seen in a second.
    pub(crate) fn elsewhere(&self, count: u32) {
        self.0.lock().elsewhere = Some((Instant::now(), count));
    }

    /// Nobody has guessed.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        *self.0.lock() = Counted::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_seen_counts_as_if_it_was_seen_here() {
        let alone = WrongTokens::default();
        let guesses: Vec<bool> = (0..=limits::GUESSES).map(|_| alone.count()).collect();
        assert!(guesses.last().is_some_and(|is| *is));
        assert!(!guesses[0]);
        let one_of_several = WrongTokens::default();
        one_of_several.elsewhere(limits::GUESSES);
        assert!(one_of_several.count());
        one_of_several.elsewhere(0);
        one_of_several.forget();
        assert!(!one_of_several.count());
        // Within a second they are all that there are; told once.
        assert_eq!(alone.lately(), limits::GUESSES + 1);
        assert_eq!(alone.lately(), 0);
    }
}
