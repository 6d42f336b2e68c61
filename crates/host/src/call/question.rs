//! The question to somebody who has to say yes to a call first.

use crate::{
    client::Client,
    error::CallError,
    exchange::{Consent, can_be_asked},
    host::Host,
    limits,
    permission::{FOR_PROJECTS, What},
    upstream::Server,
};
use std::sync::Arc;
use switchboard_wire::{Message, Method, code, json, reading::ambiguous_key};

/// What somebody has to say yes to first.
pub(super) struct Question {
    pub(super) consent: Arc<Consent>,
    pub(super) definition: Option<String>,
}

/// Refuses arguments that do not say the same to everybody: the server must get
/// what somebody said yes to.
pub(super) fn say_one_thing(arguments: Option<&[u8]>) -> Result<(), CallError> {
    let Some(key) = arguments.and_then(ambiguous_key) else {
        return Ok(());
    };
    let key: String = key.chars().take(80).collect();
    let text = format!(
        "Invalid params: somebody has to say yes to this call, and its arguments hold the key \
         {key:?} twice, or in a spelling that some readers take for another; write it once and plainly"
    );
    Err(CallError::refused(code::INVALID_PARAMS, text))
}

/// The question, if there is anybody to put it to.
pub(super) fn question(
    host: &Host,
    client: &Client,
    server: &Server,
    what: What<'_>,
    arguments: Option<&[u8]>,
    reason: String,
) -> Result<Question, CallError> {
    let guard = host.guard();
    let tool = what.name().unwrap_or_default();
    let canonical = match what {
        What::Resource(uri) => uri.to_owned(),
        _ => guard.canonical(client, server, tool),
    };
    let every_time = guard.asks_every_time(client, server, what);
    if !can_be_asked(client) && !client.asked_at().asks_inbox() {
        let remedy = if every_time {
            "an ask rule of Switchboard's settings covers it".to_owned()
        } else {
            let project = match guard.rules().is_from_project(server.name()) {
                true => FOR_PROJECTS,
                false => "",
            };
            format!(
                "to allow it, put \"{project}{canonical}\" into permissions.allow of Switchboard's settings"
            )
        };
        return Err(CallError::NotAllowed {
            what: what.of_server(server.name()),
            reason: format!(
                "somebody has to say yes first, and nobody can be asked here (a client can be if it declares elicitation, and a person if askAt names the inbox); {remedy}"
            ),
        });
    }
    let consent = Consent {
        server: server.name().to_string(),
        kind: what.kind(),
        tool: tool.to_owned(),
        canonical,
        reason,
        hints: guard.annotations(client, server, tool).words(),
        arguments: arguments.map(|text| String::from_utf8_lossy(text).into_owned()),
        may_remember: !every_time,
    };
    // A person who cannot see all of it cannot say yes to it. Whoever is at a
    // terminal of ours turns pages.
    let length = consent.text().len();
    if !client.decides && length > limits::CONSENT_BYTES {
        return Err(CallError::NotAllowed {
            what: what.of_server(server.name()),
            reason: format!(
                "somebody has to see its arguments and say yes first, and a question of {length} bytes is more than a client is asked to show ({} bytes)",
                limits::CONSENT_BYTES
            ),
        });
    }
    Ok(Question {
        definition: guard.definition(client, server, tool),
        consent: Arc::new(consent),
    })
}

/// What a question shows besides the name.
pub(super) fn shown(message: &Message) -> Option<&[u8]> {
    let (key, absent): (_, Option<&[u8]>) = match message.method() {
        Method::ToolsCall | Method::PromptsGet => ("arguments", Some(b"{}")),
        Method::Complete => ("argument", None),
        _ => return None,
    };
    match json::field(message.body(), key) {
        Ok(Some(span)) => Some(span.of(message.body())),
        Ok(None) => absent,
        // What cannot be read in one way is shown as it is.
        Err(_) => Some(message.body()),
    }
}
