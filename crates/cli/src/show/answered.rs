//! A server's own errors, for people.

use crate::failure::{Code, Failure};
use switchboard::wire::Message;

/// The failure that a server's error is.
pub fn failure(server: &str, message: &Message) -> Failure {
    let text = message
        .error_text()
        .unwrap_or_else(|| "the server gave no reason".to_owned());
    let code = message.error_code().map(|code| match meaning(code) {
        Some(meaning) => format!(" ({code}, possibly {meaning})"),
        None => format!(" ({code})"),
    });
    let code = code.unwrap_or_default();
    let text = format!("server {server:?} answered with an error{code}: {text}");
    Failure::new(Code::Answered, text)
}

/// What servers may mean by codes that are theirs to choose. Nobody acts on
/// that: the documents disagree.
fn meaning(code: i64) -> Option<&'static str> {
    match code {
        -32000 => Some("\"Connection closed\""),
        -32001 => Some("\"Request timeout\""),
        -32002 => Some("\"Method not supported\" or \"Resource not found\""),
        -32003 => Some("\"Resource not found\""),
        _ => None,
    }
}
