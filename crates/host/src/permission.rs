//! What may be seen and what may be reached: one function decides both.

use crate::upstream::ServerSpec;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// A tool, by the server's own name for it.
    Tool(&'a str),
    /// A prompt, likewise.
    Prompt(&'a str),
    /// A resource or template, by its URI.
    Resource(&'a str),
    /// Anything that names nothing.
    Method,
}

/// Whether `principal` may see and reach this at `server`. Lists hide what it
/// refuses, and requests for it end as if it were not there.
pub fn permitted(principal: &str, server: &ServerSpec, what: What<'_>) -> bool {
    let _ = principal;
    match what {
        What::Tool(name) => server.rooms.has(name),
        What::Prompt(_) | What::Resource(_) | What::Method => true,
    }
}
