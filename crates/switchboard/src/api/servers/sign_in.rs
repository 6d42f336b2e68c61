//! `GET servers/{segment}/sign-in`: why a sign-in does not work out, step by step.

use super::super::answer::{Answer, Reply};
use crate::roster::Member;
use switchboard_api::servers::{SignIn, SignInStep};
use switchboard_auth::Ended;
use switchboard_local::secret;

/// What helps where a step failed.
const REMEDIES: [(&str, &str); 6] = [
    (
        "challenge",
        "the server does not answer: is its address right, and is it reached from here?",
    ),
    (
        "resource",
        "the server does not say where to sign in: name its authorization server in the entry, \
         \"oauth\": {\"authServerMetadataUrl\": \"…\"}",
    ),
    (
        "metadata",
        "the authorization server does not describe itself: name the address of its metadata in \
         the entry, \"oauth\": {\"authServerMetadataUrl\": \"…\"}",
    ),
    (
        "registration",
        "it lets nobody register: make a client there by hand, and name it in the entry, \
         \"oauth\": {\"clientId\": \"…\"}",
    ),
    (
        "authorize",
        "nobody came back from the page: open it once more, or paste the address that the \
         browser ended at",
    ),
    (
        "token",
        "it did not take the code or the client: sign out and in again; a client with a secret \
         has it in the entry's \"oauth\"",
    ),
];

pub(super) fn answer(member: &Member) -> Answer {
    let Some(authority) = &member.authority else {
        return Reply::json(&SignIn {
            outcome: "none".to_owned(),
            ..SignIn::default()
        });
    };
    let (steps, ended) = authority.journal().read();
    let steps = steps.into_iter().map(|step| SignInStep {
        what: step.what.to_owned(),
        at: step.at,
        took: step.took,
        method: step.method,
        url: step.url,
        sent: step.sent,
        status: step.status,
        answered: step.answered,
        fault: step.fault,
    });
    let steps: Vec<SignInStep> = steps.collect();
    let (outcome, fault, remedy) = match ended {
        None if steps.is_empty() => ("none", None, None),
        None => ("under-way", None, None),
        Some(Ended::SignedIn) => ("done", None, None),
        Some(Ended::Failed { why, at }) => {
            let last = at.or(steps.last().map(|step| step.what.as_str()));
            let why = secret::text(&why).into_owned();
            ("failed", Some(why), last.and_then(remedy))
        }
    };
    Reply::json(&SignIn {
        steps,
        outcome: outcome.to_owned(),
        fault,
        remedy,
    })
}

/// What helps with the step that it ended at.
fn remedy(step: &str) -> Option<String> {
    let found = REMEDIES.iter().find(|(what, _)| *what == step);
    found.map(|(_, text)| (*text).to_owned())
}
