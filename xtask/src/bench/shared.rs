//! `cargo xtask bench-instructions --shared`: what a call does that cores have to agree
//! about: locks that it takes, atomics that it changes, tasks that it starts and wakes.
//!
//! Counted by callgrind in the program as the tests build it: there each of these is a
//! function of its own, which an optimiser would dissolve. How often they are called is the
//! same in a release, except for what it finds to be superfluous. A count says nothing
//! about who else is at the same place: the table names the places, so that one can tell.
//! What wraps a lock or an atomic is no place: whoever called that is, and where several did,
//! each gets its part by how often it called.

use super::callgrind::called;
use super::instructions::{Parts, Programs, stdio};
use super::subjects::upstream;
use crate::{paths, table::Table};
use anyhow::Result;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

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
            "std::sync::poison::mutex::Mutex<T>::try_lock",
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
            // Of these a compiler may put the above into the method itself.
            "::fetch_add",
            "::fetch_sub",
            "::fetch_or",
            "::fetch_and",
            "::fetch_xor",
            "::fetch_max",
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

/// What only wraps locks and atomics, and their methods in one another, by how names begin.
const WRAPPERS: [&str; 12] = [
    "core::",
    "std::",
    "alloc::",
    "lock_api::",
    "parking_lot::",
    "parking_lot_core::",
    "tokio::loom::",
    "tokio::util::",
    "tokio::runtime::task::",
    "bytes::",
    "futures_core::",
    "atomic_waker::",
];

/// How far up whoever called is looked for behind wrappers.
const STEPS: usize = 8;

/// How often, by who called.
type Places = BTreeMap<String, f64>;

/// Who called whom, by who was called.
type Callers<'a> = HashMap<&'a str, Vec<(&'a str, u64)>>;

/// Counts both ways, and prints a table of sums and one of places for each.
pub fn run(built: Option<&str>) -> Result<()> {
    let profile = built.unwrap_or("debug");
    let programs = Programs::of(profile)?;
    let scratch = paths::scratch("shared")?;
    let running = upstream(&programs.server, &scratch)?;
    let ways: [(&str, Value); 2] = [
        ("HTTP to stdio", stdio(&programs.server)),
        ("HTTP to HTTP", json!({"type": "http", "url": running.url})),
    ];
    println!("for one call of 200 bytes ({profile}, {CALLS} calls):");
    for (way, entry) in ways {
        let keep = scratch.join(way.replace(' ', "-"));
        let parts = Parts {
            program: &programs.gateway,
            load: &programs.load,
            entries: json!({"echo": entry}),
            path: "/mcp/echo",
            asks: Vec::new(),
            clients: 1,
            calls: CALLS,
            valgrind: &[],
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
        add(&text, &mut kinds);
    }
    Ok(kinds)
}

/// Adds what one process did.
fn add(text: &str, kinds: &mut [(&'static str, Places)]) {
    let calls = called(text);
    let mut callers = Callers::new();
    for (caller, callee, times) in &calls {
        callers.entry(callee).or_default().push((caller, *times));
    }
    for (caller, callee, times) in &calls {
        for ((_, names), (_, places)) in KINDS.iter().zip(&mut *kinds) {
            let is_one = |names: &[&str], it: &str| names.iter().any(|name| it.contains(name));
            // One of them may be made of another.
            if is_one(names, callee) && !is_one(names, caller) {
                spread(&callers, caller, *times as f64, STEPS, places);
            }
        }
    }
}

/// Counts for a place, or for those who called it where it is a wrapper.
fn spread(callers: &Callers<'_>, place: &str, times: f64, steps: usize, into: &mut Places) {
    let name = place.trim_start_matches(['<', '&']);
    let is_wrapper = WRAPPERS.iter().any(|begin| name.starts_with(begin));
    let above = callers.get(place).filter(|_| is_wrapper && steps > 0);
    let above = above.into_iter().flatten().filter(|(by, _)| *by != place);
    let all: u64 = above.clone().map(|(_, times)| times).sum();
    if all == 0 {
        *into.entry(short(place)).or_default() += times;
        return;
    }
    for (by, part) in above {
        let times = times * *part as f64 / all as f64;
        spread(callers, by, times, steps - 1, into);
    }
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
        let all: f64 = places.values().sum();
        table.row([(*kind).into(), format!("{:.2}", all / CALLS as f64)]);
    }
    table
}

fn shown(places: &Places) -> Table {
    let mut table = Table::new(["place", "for each call"]);
    let mut places: Vec<_> = places.iter().collect();
    places.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (place, times) in places.into_iter().take(SHOWN) {
        table.row([place.clone(), format!("{:.2}", times / CALLS as f64)]);
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

    #[test]
    fn wrappers_are_no_places() {
        // Two callers of one wrapper, one of which called it three times as often.
        let lock = "lock_api::mutex::Mutex<R,T>::lock";
        let text = format!(
            "fn=(1) tokio::loom::std::mutex::Mutex<T>::lock\n1 1\ncfn=(2) {lock}\ncalls=8 0\n1 1\n\
             fn=(3) ours::seldom\ncfn=(1)\ncalls=2 0\n1 1\n\
             fn=(4) ours::often\ncfn=(1)\ncalls=6 0\n1 1\n\
             fn=(2)\ncfn=(5) core::sync::atomic::AtomicU8::fetch_add\ncalls=8 0\n1 1\n"
        );
        let mut kinds: Vec<_> = KINDS
            .iter()
            .map(|(kind, _)| (*kind, Places::new()))
            .collect();
        add(&text, &mut kinds);
        let places = |seldom, often| {
            Places::from([
                ("ours::seldom".to_owned(), seldom),
                ("ours::often".to_owned(), often),
            ])
        };
        assert_eq!(kinds[0], ("locks taken", places(2.0, 6.0)));
        assert_eq!(kinds[2], ("atomics changed", places(2.0, 6.0)));
    }
}
