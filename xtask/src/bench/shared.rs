//! `cargo xtask bench-instructions --shared`: what a call does that cores have to agree
//! about: locks that it takes, atomics that it changes, tasks that it starts and wakes.
//!
//! Counted by callgrind in the program as the tests build it: there each of these is a
//! function of its own, which an optimiser would dissolve. How often they are called is the
//! same in a release, except for what it finds to be superfluous. A count says nothing
//! about who else is at the same place: the table names the places, so that one can tell.

use super::callgrind::called;
use super::instructions::{Parts, stdio};
use super::subjects::upstream;
use crate::{paths, table::Table};
use anyhow::Result;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// Calls that are counted.
const CALLS: u64 = 200;
/// Places that are shown of each kind.
const SHOWN: usize = 24;

/// What is counted, by what the name of the called function has in it.
const KINDS: [(&str, &[&str]); 5] = [
    (
        "locks taken",
        &[
            "lock_api::mutex::Mutex<R,T>::lock",
            "lock_api::mutex::Mutex<R,T>::try_lock",
            "lock_api::rwlock::RwLock<R,T>::read",
            "lock_api::rwlock::RwLock<R,T>::write",
            "std::sync::poison::mutex::Mutex<T>::lock",
            "std::sync::poison::rwlock::RwLock<T>::read",
            "std::sync::poison::rwlock::RwLock<T>::write",
        ],
    ),
    (
        "locks waited for",
        &[
            "lock_slow",
            "lock_contended",
            "lock_exclusive_slow",
            "lock_shared_slow",
        ],
    ),
    (
        "atomics changed",
        &[
            "core::sync::atomic::atomic_add",
            "core::sync::atomic::atomic_sub",
            "core::sync::atomic::atomic_or",
            "core::sync::atomic::atomic_and",
            "core::sync::atomic::atomic_xor",
            "core::sync::atomic::atomic_swap",
            "core::sync::atomic::atomic_compare_exchange",
        ],
    ),
    (
        "tasks started",
        &["tokio::runtime::task::list::OwnedTasks<S>::bind"],
    ),
    (
        "tasks woken",
        &[
            "tokio::runtime::task::waker::wake_by_val",
            "tokio::runtime::task::waker::wake_by_ref",
        ],
    ),
];

/// How often, by who called.
type Places = BTreeMap<String, u64>;

/// Counts both ways, and prints a table of sums and one of places for each.
pub fn run(built: Option<&str>) -> Result<()> {
    let profile = built.unwrap_or("debug");
    let program = |name: &str| paths::program(profile, name);
    let (gateway, server, load) = (
        program("switchboard")?,
        program("echo-server")?,
        program("bench-load")?,
    );
    let scratch = paths::scratch("shared")?;
    let running = upstream(&server, &scratch)?;
    let ways: [(&str, Value); 2] = [
        ("HTTP to stdio", stdio(&server)),
        ("HTTP to HTTP", json!({"type": "http", "url": running.url})),
    ];
    println!("for one call of 200 bytes ({profile}, {CALLS} calls):");
    for (way, entry) in ways {
        let keep = scratch.join(way.replace(' ', "-"));
        let parts = Parts {
            program: &gateway,
            load: &load,
            entries: json!({"echo": entry}),
            path: "/mcp/echo",
            asks: Vec::new(),
            calls: CALLS,
        };
        parts.each(&[], Some(&keep))?;
        let counted = counted(&keep)?;
        println!("\n{way}\n\n{}", sums(&counted).render());
        for (kind, places) in &counted {
            println!("{kind}, by who does it:\n\n{}", shown(places).render());
        }
    }
    drop(running);
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// What callgrind wrote of all processes, by kind and place.
fn counted(folder: &Path) -> Result<Vec<(&'static str, Places)>> {
    let mut kinds: Vec<(&'static str, Places)> = KINDS
        .iter()
        .map(|(kind, _)| (*kind, Places::new()))
        .collect();
    for file in std::fs::read_dir(folder)? {
        let text = std::fs::read_to_string(file?.path())?;
        for (caller, callee, times) in called(&text) {
            for ((_, names), (_, places)) in KINDS.iter().zip(&mut kinds) {
                if names.iter().any(|name| callee.contains(name)) {
                    *places.entry(short(caller)).or_default() += times;
                }
            }
        }
    }
    Ok(kinds)
}

/// A function without what a compiler adds to tell it from others.
fn short(name: &str) -> String {
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|it| it.is_ascii_hexdigit());
    let name = match name.rsplit_once("::h") {
        Some((name, hash)) if is_hash(hash) => name,
        _ => name,
    };
    name.replace("{{closure}}", "…")
}

fn sums(counted: &[(&'static str, Places)]) -> Table {
    let mut table = Table::new(["what", "for each call"]);
    for (kind, places) in counted {
        let all: u64 = places.values().sum();
        table.row([(*kind).into(), format!("{:.2}", all as f64 / CALLS as f64)]);
    }
    table
}

fn shown(places: &Places) -> Table {
    let mut table = Table::new(["place", "for each call"]);
    let mut places: Vec<_> = places.iter().collect();
    places.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    for (place, times) in places.into_iter().take(SHOWN) {
        table.row([
            place.clone(),
            format!("{:.2}", *times as f64 / CALLS as f64),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_without_their_hashes() {
        assert_eq!(short("a::b::h0123456789abcdef"), "a::b");
        assert_eq!(short("a::help::{{closure}}"), "a::help::…");
        assert_eq!(
            short("a::help::{{closure}}::h0123456789abcdef"),
            "a::help::…"
        );
    }
}
