//! A server's own errors, for people.

use crate::failure::{Code, Failure};
use serde_json::Value;
use switchboard::{
    host::NOT_ALLOWED,
    wire::{Message, code},
};

/// The failure that a server's error is. What its code may mean besides is said after what
/// the server says.
pub fn failure(server: &str, message: &Message) -> Failure {
    let text = message
        .error_text()
        .unwrap_or_else(|| "the server gave no reason".to_owned());
    let code = message.error_code();
    let number = code.map(|code| format!(" ({code})")).unwrap_or_default();
    let text = format!("server {server:?} answered with an error{number}: {text}");
    let failure = Failure::new(Code::Answered, text);
    match code.and_then(|code| Some((code, code::possible_meaning(code)?))) {
        Some((code, meaning)) => failure.hint(format!("by {code} servers may mean {meaning}")),
        None => failure,
    }
}

/// The failure that it is where the gateway in between did not let the call through: the
/// server has not answered then.
pub fn refused(message: &Message) -> Option<Failure> {
    let body: Value = serde_json::from_slice(message.body()).ok()?;
    let is_refused = body["data"]["refused"] == NOT_ALLOWED;
    let text = message.error_text().filter(|_| is_refused)?;
    Some(Failure::new(Code::NotPermitted, text))
}
