//! MCP messages as values, without any I/O.
//!
//! A [`Message`] keeps the bytes that arrived and knows where its parts are.
//! What Switchboard must read it reads through small views ([`json`],
//! [`Params`]); what it must change it splices ([`Edits`]); everything else
//! stays the bytes that came. Method names, protocol revisions and error codes
//! are known here and nowhere else.

pub mod address;
pub mod error;
pub mod header;
pub mod id;
pub mod json;
pub mod limits;
pub mod message;
pub mod meta;
pub mod method;
pub mod name;
pub mod params;
pub mod payload;
pub mod reading;
pub mod version;

pub use error::{ErrorObject, code};
pub use id::Id;
pub use json::{Edits, Span};
pub use message::{Kind, Message, ParseError, Received};
pub use method::Method;
pub use params::{Named, Params};
pub use payload::Payload;
pub use version::{Era, Revision};
