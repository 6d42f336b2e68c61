//! MCP messages as values, without any I/O.
//!
//! A [`Message`] keeps the bytes that arrived and knows where its parts are.
//! What Switchboard must read it reads through small views ([`json`],
//! [`Params`]); what it must change it splices ([`Edits`]); everything else
//! stays the bytes that came. Method names, protocol revisions and error codes
//! are known here and nowhere else.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod address;
mod cut;
mod error;
pub mod header;
mod id;
pub mod json;
pub mod limits;
mod message;
pub mod meta;
mod method;
pub mod name;
mod params;
mod passing;
mod payload;
pub mod reading;
pub mod trace;
mod version;

pub use address::embedded as embedded_v4;
pub use cut::{Cut, Whole};
pub use error::{ErrorObject, code};
pub use id::{Id, own_number};
pub use json::{Edits, Span};
pub use message::{Kind, Message, ParseError, Received, salvage_id};
pub use method::Method;
pub use params::{Named, Params};
pub use passing::Passing;
pub use payload::Payload;
pub use version::{Era, Revision};
