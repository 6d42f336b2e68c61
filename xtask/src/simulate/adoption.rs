//! A replica dies. Nobody takes its sessions over before it is known to be dead; whoever
//! asks for one meanwhile waits, and is sent away after a while, to come again. From then
//! on each first request of a session costs NATS a read and a write, which its leader does
//! one after the other.

use super::dice::Dice;
use crate::table::Table;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sessions of all replicas.
const SESSIONS: usize = 1_000_000;
/// After how long a replica is taken for dead whose address refuses connections.
const KNOWN: f64 = 4.0;
/// How long somebody who asks is waited with before it is told to come again.
const PATIENCE: f64 = 12.0;
/// When it comes again.
const AGAIN: f64 = 1.0;
/// Reads with a compare-and-set behind them that one stream of NATS does per second: somewhat
/// less than was measured of each on three nodes, with files synced by the system and each time.
const PAIRS: [(&str, f64); 2] = [("by the system", 5_000.0), ("each write", 2_000.0)];

/// What is known of one storm.
struct Storm {
    orphans: usize,
    /// Requests that waited when the replica was known to be dead.
    waited: usize,
    /// Those that were told to come again.
    sent_away: usize,
    /// When the last one was answered that had waited for a second.
    over: f64,
    /// The longest wait of a session, from its first request to its answer.
    longest: f64,
}

/// Storms of several sizes.
pub fn table(dice: &mut Dice) -> String {
    let mut table = Table::new([
        "replicas",
        "a session asks every",
        "synced",
        "streams",
        "sessions of the dead one",
        "waiting after 4 s",
        "told to come again",
        "longest wait",
        "nobody waits a second after",
    ]);
    for (replicas, every) in [(3, 10.0), (3, 60.0), (10, 10.0), (10, 60.0), (100, 10.0)] {
        for (synced, pairs) in PAIRS {
            for streams in [1, 8] {
                let rate = pairs * f64::from(streams);
                let storm = storm(dice, SESSIONS / replicas, every, rate);
                table.row([
                    replicas.to_string(),
                    format!("{every} s"),
                    synced.to_owned(),
                    streams.to_string(),
                    storm.orphans.to_string(),
                    storm.waited.to_string(),
                    storm.sent_away.to_string(),
                    format!("{:.1} s", storm.longest),
                    format!("{:.0} s", storm.over),
                ]);
            }
        }
    }
    table.render()
}

/// One dead replica: `orphans` sessions that each ask every so many seconds, and NATS that
/// moves so many per second.
fn storm(dice: &mut Dice, orphans: usize, every: f64, rate: f64) -> Storm {
    let mut storm = Storm {
        orphans,
        waited: 0,
        sent_away: 0,
        over: 0.0,
        longest: 0.0,
    };
    // Requests by when they come: microseconds, and when the session first asked.
    let micros = |seconds: f64| (seconds * 1e6) as u64;
    let mut coming: BinaryHeap<Reverse<(u64, u64)>> = (0..orphans)
        .map(|_| micros(dice.wait(every)))
        .map(|at| Reverse((at, at)))
        .collect();
    let mut free = micros(KNOWN);
    let takes = micros(1.0 / rate).max(1);
    while let Some(Reverse((at, first))) = coming.pop() {
        storm.waited += usize::from(at == first && at < micros(KNOWN));
        let begins = free.max(at);
        if begins + takes - at > micros(PATIENCE) {
            // It has stood in the line in vain, and does so again.
            storm.sent_away += 1;
            coming.push(Reverse((at + micros(PATIENCE + AGAIN), first)));
            continue;
        }
        free = begins + takes;
        let waited = (free - first) as f64 / 1e6;
        storm.longest = storm.longest.max(waited);
        if waited > 1.0 {
            storm.over = free as f64 / 1e6;
        }
    }
    storm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_room_nobody_waits_longer_than_it_takes_to_know() {
        let storm = storm(&mut Dice::new(1), 1_000, 10.0, 1e6);
        assert!(storm.sent_away == 0 && storm.longest < KNOWN + 0.01);
        assert!((300..360).contains(&storm.waited), "{}", storm.waited);
    }

    #[test]
    fn where_there_is_not_some_are_told_to_come_again_and_all_are_served() {
        let storm = storm(&mut Dice::new(1), 10_000, 1.0, 100.0);
        assert!(storm.sent_away > 0);
        assert!(storm.over >= 100.0, "{}", storm.over);
    }
}
