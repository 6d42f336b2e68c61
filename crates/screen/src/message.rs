//! What happens to the screen, and what it wants done. Both are plain values: the screen
//! itself does nothing but change.

use crate::{ask::Ask, key::Key};
use std::time::Duration;
use switchboard_api::{Refused, events::Event};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Pasted(String),
    /// The terminal has another size: columns and rows.
    Resized(u16, u16),
    /// The gateway that is looked at.
    Linked(Link),
    /// The gateway says that something changed.
    Changed(Box<Event>),
    /// The gateway answers.
    Answered {
        /// What it was asked.
        ask: Box<Ask>,
        /// Its answer, as text of JSON: whoever takes it knows what it is.
        answer: Result<Vec<u8>, Refused>,
    },
    /// A command wrote something.
    Wrote {
        /// Which command.
        run: u64,
        /// The lines.
        lines: Vec<String>,
    },
    /// A command has ended.
    Ended {
        /// Which command.
        run: u64,
        /// Its exit code; none where a signal ended it.
        code: Option<i32>,
    },
    /// What `doctor` found.
    Examined {
        /// As it printed it.
        found: Vec<u8>,
        /// When it had looked, in milliseconds since 1970.
        at: u64,
    },
    /// `doctor` found nothing.
    NotExamined {
        /// Why not.
        why: String,
    },
    /// Something to say in one line.
    Told(String),
}

/// Which gateway is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// None yet.
    #[default]
    Looking,
    /// One that runs by itself.
    Attached {
        /// Where it listens.
        address: String,
    },
    /// One inside this very process, which ends with it.
    Inside,
    /// It went away; another one is waited for.
    Lost {
        /// Why.
        why: String,
    },
}

/// Something to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Ask the gateway; the answer comes as [`Message::Answered`].
    Ask(Ask),
    /// The same after a while.
    Later(Duration, Ask),
    /// Forget about the call that this page waits for.
    Abandon(u64),
    /// Run the program with these arguments; what it writes comes as [`Message::Wrote`].
    Run {
        /// A number for it.
        run: u64,
        /// Its arguments.
        words: Vec<String>,
    },
    /// Run it with the terminal, because it may ask something.
    RunOnTerminal(Vec<String>),
    /// End a command.
    Kill(u64),
    /// Run `doctor`; the answer comes as [`Message::Examined`] or [`Message::NotExamined`].
    Examine,
    /// Put something into the clipboard of the terminal.
    Copy(String),
    /// Open a page in the browser.
    Open(String),
    /// Stop, as Ctrl-Z has it.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// End.
    Quit,
}
