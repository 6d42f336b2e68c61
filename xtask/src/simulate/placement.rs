//! Shared servers, each at the worker that the same rule gives at every replica: of those
//! that offer it, the one whose name and the server's together have the largest hash.

use super::dice::{Dice, mixed};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Workers that offer each server.
const OFFERED_BY: usize = 20;

/// How servers are spread, and how many move when workers go or come.
pub fn table(dice: &mut Dice) -> String {
    let mut table = Table::new([
        "workers",
        "servers",
        "mean a worker",
        "most",
        "without any",
        "moved when 1 % go",
        "moved when 1 % come",
    ]);
    for (workers, servers) in [
        (100, 1_000),
        (1_000, 10_000),
        (10_000, 10_000),
        (10_000, 100_000),
    ] {
        let names: Vec<u64> = (0..workers + workers / 100)
            .map(|_| dice.number())
            .collect();
        let (there, coming) = names.split_at(workers);
        let offers: Vec<Vec<u64>> = (0..servers)
            .map(|_| {
                (0..OFFERED_BY)
                    .map(|_| there[dice.below(workers)])
                    .collect()
            })
            .collect();
        let place = |server: usize, of: &[u64]| {
            let key = mixed(server as u64);
            of.iter().copied().max_by_key(|worker| mixed(worker ^ key))
        };
        let before: Vec<Option<u64>> = (0..servers).map(|it| place(it, &offers[it])).collect();
        let mut counts = BTreeMap::<u64, usize>::new();
        for worker in before.iter().flatten() {
            *counts.entry(*worker).or_default() += 1;
        }
        let gone: BTreeSet<u64> = there[..workers / 100].iter().copied().collect();
        let moved_away = (0..servers).filter(|&it| {
            let left: Vec<u64> = offers[it]
                .iter()
                .copied()
                .filter(|at| !gone.contains(at))
                .collect();
            place(it, &left) != before[it]
        });
        // A worker that comes offers as many servers as the others do.
        let share = OFFERED_BY as f64 / workers as f64;
        let mut moved_there = 0;
        for (it, was) in before.iter().enumerate() {
            let more = coming.iter().filter(|_| dice.wait(1.0) < share).copied();
            let all: Vec<u64> = offers[it].iter().copied().chain(more).collect();
            moved_there += usize::from(place(it, &all) != *was);
        }
        let percent = |count: usize| format!("{:.2} %", 100.0 * count as f64 / servers as f64);
        table.row([
            workers.to_string(),
            servers.to_string(),
            format!("{:.1}", servers as f64 / workers as f64),
            counts
                .values()
                .max()
                .copied()
                .unwrap_or_default()
                .to_string(),
            (workers - counts.len()).to_string(),
            percent(moved_away.count()),
            percent(moved_there),
        ]);
    }
    table.render()
}
