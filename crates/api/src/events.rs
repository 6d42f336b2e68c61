//! What changed, as a stream: `GET events?since=REVISION&topics=state,calls,questions&filter=…`
//! answers `text/event-stream`; each event's `id` is its revision and its `data` an [`Event`].
//! Without `since` it begins now. A stream that asks for what is not kept any more, or reads too
//! slowly, gets [`Event::Reset`] and has to `GET` anew. A question has no more than a list needs
//! where it is large (`partial`): `GET questions/{id}` has all of it.

use crate::{
    breakpoints::Breakpoints,
    calls::Call,
    insight::TapState,
    questions::Question,
    state::{Client, Server},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// A server is new, or something about it is.
    Server {
        /// As it is now.
        server: Box<Server>,
    },
    /// A server is not configured any more.
    ServerGone {
        /// Its name.
        name: String,
        /// The file that it was in: the same name may still stand in another.
        #[serde(default)]
        file: Option<String>,
    },
    /// What a server lists has changed.
    Listed {
        /// Its name.
        name: String,
        /// `tools`, `resources`, `prompts`.
        list: String,
    },
    /// Who is connected has changed.
    Clients {
        /// All of them.
        clients: Vec<Client>,
    },
    /// A call has begun, or has ended (only with the topic `calls`).
    Call {
        /// As it is now.
        call: Box<Call>,
    },
    /// A question is new, or has been answered (only with the topic `questions`).
    Question {
        /// As it is now; what is long is left out.
        question: Box<Question>,
        /// How many wait, of those that whoever listens may see.
        waiting: usize,
    },
    /// Messages are kept, or no longer.
    Tap {
        /// How it is now.
        tap: TapState,
    },
    /// Breakpoints are others than they were.
    Breakpoints {
        /// How they are now.
        breakpoints: Breakpoints,
    },
    /// A resource that somebody here subscribed to has changed.
    Updated {
        /// The server's name.
        name: String,
        /// The resource.
        uri: String,
    },
    /// Settings were read anew.
    Settings,
    /// Something is missing here: read the state again.
    Reset,
}
