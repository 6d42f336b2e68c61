//! A server's own errors, for people.

use crate::failure::{Code, Failure};
use switchboard::wire::{Message, code};

/// The failure that a server's error is.
pub fn failure(server: &str, message: &Message) -> Failure {
    let text = message
        .error_text()
        .unwrap_or_else(|| "the server gave no reason".to_owned());
    let code = message
        .error_code()
        .map(|code| match code::possible_meaning(code) {
            Some(meaning) => format!(" ({code}, possibly {meaning})"),
            None => format!(" ({code})"),
        });
    let code = code.unwrap_or_default();
    let text = format!("server {server:?} answered with an error{code}: {text}");
    Failure::new(Code::Answered, text)
}
