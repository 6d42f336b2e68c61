//! Notes of a real run, made wrong in one way each.

use super::{Note, Violation, What, Who};

/// A way in which a gateway could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An answer never comes.
    AnswerLost,
    /// An answer comes twice.
    AnswerTwice,
    /// A request is carried out twice.
    EffectTwice,
    /// A client gets another's answer.
    WrongClient,
    /// An event is left out.
    EventLost,
    /// An event comes again.
    EventTwice,
    /// A session is forgotten.
    SessionLost,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AnswerLost,
        Self::AnswerTwice,
        Self::EffectTwice,
        Self::WrongClient,
        Self::EventLost,
        Self::EventTwice,
        Self::SessionLost,
    ];
}

/// The same notes with this fault in them, and what is to be found.
///
/// # Panics
/// When nothing in the notes can be made wrong in this way.
pub fn doctored(notes: &[Note], fault: Fault) -> (Vec<Note>, Violation) {
    let mut notes = notes.to_vec();
    let find = |wanted: &dyn Fn(&What) -> bool| {
        let at = notes.iter().position(|note| wanted(&note.what));
        at.unwrap_or_else(|| panic!("nothing to make {fault:?} of"))
    };
    let answer = find(&|what| matches!(what, What::Answered { .. }));
    let What::Answered { op, who, .. } = notes[answer].what else {
        unreachable!("it was looked for")
    };
    let violation = match fault {
        Fault::AnswerLost => {
            notes.remove(answer);
            Violation::AnswerLost(op)
        }
        Fault::AnswerTwice => {
            let again = notes[answer].clone();
            notes.push(again);
            Violation::AnsweredTwice(op)
        }
        Fault::EffectTwice => {
            let what = What::Did { op };
            notes.push(Note { at: None, what });
            Violation::EffectTwice(op)
        }
        Fault::WrongClient => {
            let names = another(&notes, who);
            notes[answer].what = What::Answered { op, who, names };
            Violation::WrongClient(op)
        }
        Fault::EventLost | Fault::EventTwice => {
            let at = find(&|what| matches!(what, What::Heard { step: 1, .. }));
            let What::Heard { op, .. } = notes[at].what else {
                unreachable!("it was looked for")
            };
            if fault == Fault::EventLost {
                notes.remove(at);
                Violation::EventLost(op)
            } else {
                let again = notes[at].clone();
                notes.insert(at, again);
                Violation::EventTwice(op)
            }
        }
        Fault::SessionLost => {
            let what = What::Unknown { who };
            let at = notes[answer].at;
            notes.insert(answer, Note { at, what });
            Violation::SessionLost(who)
        }
    };
    (notes, violation)
}

/// A request of another client.
fn another(notes: &[Note], than: Who) -> u64 {
    let other = notes.iter().find_map(|note| match note.what {
        What::Asked { op, who, .. } if who != than => Some(op),
        _ => None,
    });
    other.expect("more than one client has asked")
}
