//! Breakpoints: `GET breakpoints`, `POST breakpoints`, `DELETE breakpoints/{id}`,
//! `DELETE breakpoints`. What they hold is a question of the kind `held`, which
//! `POST questions/{id}` lets go, changes or refuses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where on its way something is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BreakpointAt")]
pub enum At {
    /// A call, before it goes to its server.
    #[default]
    Call,
    /// Its answer, before that goes to its client.
    Result,
    /// Both.
    Both,
}

/// One breakpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Breakpoint {
    /// Its id.
    pub id: u64,
    /// Which calls it holds.
    pub filter: String,
    /// Where.
    pub at: At,
    /// Who has set it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub since: u64,
    /// How often it held something.
    pub hits: u64,
}

/// `GET breakpoints`, and the answer where one is set or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Breakpoints {
    /// All of them, in the order in which they were set. Where there are none nothing is held.
    pub breakpoints: Vec<Breakpoint>,
    /// When they are removed unless somebody looks, in milliseconds since 1970; nothing while
    /// somebody does.
    pub until: Option<u64>,
    /// How much is held now.
    pub held: usize,
    /// How much could not be held, since there was no room for it.
    pub missed: u64,
}

/// `POST breakpoints`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SetBreakpoint {
    /// Which calls.
    pub filter: String,
    /// Where they are held.
    pub at: At,
}

crate::fill::fields! {
    Breakpoint { id, filter, at, by, since, hits }
    Breakpoints { breakpoints, until, held, missed }
}

crate::fill::words!(At);
