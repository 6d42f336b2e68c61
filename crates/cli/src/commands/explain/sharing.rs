//! The part of `explain` that is about who shares a server, and what that
//! means for it.

use super::there;
use crate::{commands::tools::one, context::Context, failure::Failure};
use switchboard::{
    Look,
    host::{Isolation, Target},
};

/// What there is to know about sharing a server that is in use, from its entry
/// and from what was seen of it; nothing is started.
pub fn notes(context: &Context, look: &Look, server: &str) -> Result<Vec<String>, Failure> {
    let governed = context.as_served(look)?;
    let server = one(&governed, server)?;
    let mut notes = Vec::new();
    if server.spec.isolation == Isolation::Session {
        notes.push(
            "each client has a copy of its own (\"isolation\": \"session\"); modern clients over HTTP \
             are told apart by their key, /mcp/@KEY, and those without one share a copy"
                .to_owned(),
        );
    } else if server.takes_turns() {
        notes.push(
            "it asked something while several clients had calls in flight, and did not say whose \
             question it was: since then its clients take turns. With \"isolation\": \"session\" in \
             its entry each client has a copy of its own, and none has to wait"
                .to_owned(),
        );
    }
    if server.speaks_both_eras() && matches!(server.spec.target, Target::Stdio(_)) {
        notes.push(
            "it speaks both eras of the protocol: clients of each have a process of their own \
             (\"era\": \"legacy\" or \"modern\" in its entry holds it to one)"
                .to_owned(),
        );
    }
    notes.extend(there::note(context, &server));
    Ok(notes)
}
