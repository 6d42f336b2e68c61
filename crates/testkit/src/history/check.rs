//! The promises, decided from what was noted.

use super::{Note, Op, What, Who};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long after a gateway is well again a connection may still break: what it had
/// begun to read when it was hurt is noted later than it happened.
const AFTERMATH: Duration = Duration::from_secs(5);

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Nothing was ever said about a request, although nobody hurt the gateway, or
    /// although its client could come back for the answer and did.
    AnswerLost(Op),
    /// A request ended more than once.
    AnsweredTwice(Op),
    /// A request was carried out more than once.
    EffectTwice(Op),
    /// A request has a result and was never carried out.
    ResultWithoutEffect(Op),
    /// A client got the result of another request.
    WrongClient(Op),
    /// A client heard a step after one that it never heard, or a result without all
    /// steps before it.
    EventLost(Op),
    /// A client heard a step again.
    EventTwice(Op),
    /// A client was told that its session is unknown, which has not ended.
    SessionLost(Who),
}

/// What is known of one request.
#[derive(Debug, Default)]
struct Request {
    asked: Option<Duration>,
    steps: u64,
    ends: usize,
    results: usize,
    broke: Option<Duration>,
    effects: usize,
    heard: Vec<u64>,
}

/// Every promise that was broken, in order.
pub fn check(notes: &[Note]) -> Vec<Violation> {
    let mut found = BTreeSet::new();
    let requests = gather(notes, &mut found);
    let troubles = troubles(notes);
    for (op, request) in &requests {
        judge(*op, request, &troubles, &mut found);
    }
    sessions(notes, &mut found);
    found.into_iter().collect()
}

fn gather(notes: &[Note], found: &mut BTreeSet<Violation>) -> BTreeMap<Op, Request> {
    let mut requests: BTreeMap<Op, Request> = BTreeMap::new();
    for note in notes {
        match &note.what {
            What::Asked { op, steps, .. } => {
                let request = requests.entry(*op).or_default();
                (request.asked, request.steps) = (note.at, *steps);
            }
            What::Answered { op, names, .. } => {
                let request = requests.entry(*op).or_default();
                request.ends += 1;
                request.results += 1;
                if names != op {
                    found.insert(Violation::WrongClient(*op));
                }
            }
            What::Told { op, .. } => requests.entry(*op).or_default().ends += 1,
            What::Broke { op, .. } => requests.entry(*op).or_default().broke = note.at,
            What::Heard { op, step, .. } => requests.entry(*op).or_default().heard.push(*step),
            What::Did { op } => requests.entry(*op).or_default().effects += 1,
            What::Unknown { .. } | What::Ended { .. } | What::Hurt | What::Well => {}
        }
    }
    requests
}

fn judge(
    op: Op,
    request: &Request,
    troubles: &[(Duration, Duration)],
    found: &mut BTreeSet<Violation>,
) {
    if request.ends > 1 {
        found.insert(Violation::AnsweredTwice(op));
    }
    if request.effects > 1 {
        found.insert(Violation::EffectTwice(op));
    }
    if request.results > 0 && request.effects == 0 {
        found.insert(Violation::ResultWithoutEffect(op));
    }
    if request.ends == 0 {
        let excused = match (request.asked, request.broke) {
            (Some(asked), Some(broke)) => troubles
                .iter()
                .any(|(from, to)| asked <= *to && *from <= broke),
            _ => false,
        };
        if !excused {
            found.insert(Violation::AnswerLost(op));
        }
    }
    let mut expected = 1;
    for step in &request.heard {
        if *step > expected {
            found.insert(Violation::EventLost(op));
        }
        if *step < expected {
            found.insert(Violation::EventTwice(op));
        }
        expected = expected.max(step + 1);
    }
    if request.results > 0 && expected <= request.steps {
        found.insert(Violation::EventLost(op));
    }
}

/// From when to when somebody hurt the gateway.
fn troubles(notes: &[Note]) -> Vec<(Duration, Duration)> {
    let mut troubles = Vec::new();
    let mut since = None;
    for note in notes {
        match note.what {
            What::Hurt => since = since.or(note.at),
            What::Well => {
                if let (Some(from), Some(to)) = (since.take(), note.at) {
                    troubles.push((from, to + AFTERMATH));
                }
            }
            _ => {}
        }
    }
    troubles.extend(since.map(|from| (from, Duration::MAX)));
    troubles
}

fn sessions(notes: &[Note], found: &mut BTreeSet<Violation>) {
    let mut ended = BTreeSet::new();
    for note in notes {
        match &note.what {
            What::Ended { who } => {
                ended.insert(*who);
            }
            What::Unknown { who } if !ended.contains(who) => {
                found.insert(Violation::SessionLost(*who));
            }
            _ => {}
        }
    }
}
