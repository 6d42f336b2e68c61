//! `/api/v1` of a running gateway, as plain values: what it is asked, what it answers,
//! who may. The gateway, the commands, the terminal screen and the page in a browser share these
//! types, and `docs/reference/api.md`, `docs/reference/openapi.json` and the page's own
//! types are written from them. No I/O.
//!
//! | module | what |
//! |---|---|
//! | [`routes`] | every route, with who may use it |
//! | [`state`] | the whole as one document: gateway, servers, clients |
//! | [`events`] | what changed, as a stream |
//! | [`calls`] | calls: the list, one with both its sides, making one, making it again |
//! | [`breakpoints`] | calls that are held on their way |
//! | [`apps`] | pages of servers, for a frame |
//! | [`filter`] | which calls are wanted: one language for everybody |
//! | [`questions`] | what waits for a person, and answers |
//! | [`servers`] | one server: what it said, what it lists, what can be done with it |
//! | [`tools`] | all tools of all servers, forms and values |
//! | [`settings`] | what is configured where, changes with their difference, tokens, pins |
//! | [`insight`] | times, and what lists cost a model |
//! | [`sessions`] | coming in |
//! | [`fill`] | reading answers |
//! | [`reference`] | what is written from these types |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod apps;
pub mod breakpoints;
pub mod calls;
pub mod events;
pub mod fill;
pub mod filter;
pub mod insight;
pub mod limits;
pub mod questions;
pub mod reference;
pub mod routes;
pub mod servers;
pub mod sessions;
pub mod settings;
pub mod state;
pub mod tools;

use schemars::JsonSchema;
use serde::Serialize;

/// What every path begins with.
pub const PREFIX: &str = "/api/v1/";

/// Why something was not done. Every answer with a status of 400 or more is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Refused {
    /// What is wrong, for a person.
    pub error: String,
    /// A word for it that programs go by: `not-found`, `not-allowed`, `invalid`,
    /// `conflict`, `confirm`, `too-large`, `too-many`, `gone`, `unavailable`, `broken`.
    pub code: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The field that is wrong, as a JSON pointer.
    pub field: Option<String>,
}

crate::fill::fields! {
    Refused { error, code, hint, field }
}
