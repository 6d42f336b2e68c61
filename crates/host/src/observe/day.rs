//! The time of day of a moment. A call takes both, and a clock costs as much as a hundred
//! other instructions: of two that were read together one tells the other for a while.

use crate::limits;
use std::{cell::Cell, time::SystemTime};
use tokio::time::Instant;

thread_local! {
    /// The two as they were read last by this thread.
    static READ: Cell<Option<(Instant, SystemTime)>> = const { Cell::new(None) };
}

/// What time it is at this moment, which is now or nearly. Whoever sets the clock is
/// followed a moment later.
pub(super) fn time_of(now: Instant) -> SystemTime {
    told(READ.get(), now).unwrap_or_else(|| {
        let time = SystemTime::now();
        READ.set(Some((now, time)));
        time
    })
}

/// What two clocks that were read together tell of another moment, if that is soon after.
fn told(read: Option<(Instant, SystemTime)>, now: Instant) -> Option<SystemTime> {
    let (then, time) = read?;
    let since = now.checked_duration_since(then)?;
    (since < limits::CLOCK_KEPT).then(|| time + since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_goes_on_with_the_moment_and_is_read_again() {
        let (then, time) = (Instant::now(), SystemTime::now());
        let step = Duration::from_micros(7);
        let read = Some((then, time));
        assert_eq!(told(read, then + step), Some(time + step));
        assert_eq!(told(read, then + limits::CLOCK_KEPT), None);
        // What is earlier is no reason to guess.
        assert_eq!(told(Some((then + step, time)), then), None);
        assert_eq!(told(None, then), None);
        let before = SystemTime::now();
        READ.set(None);
        assert!(time_of(Instant::now()) >= before);
        assert!(READ.get().is_some());
    }
}
