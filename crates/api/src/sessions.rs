//! Coming in: a single-use code, a bearer, a role.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What somebody may do.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A client's token: what is its own.
    #[default]
    Own,
    /// Sees everything, changes nothing.
    Viewer,
    /// Answers questions, makes calls, starts and stops servers.
    Operator,
    /// Changes settings, tokens, rules; approves what is to be run.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Own, Self::Viewer, Self::Operator, Self::Admin];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// The role of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// `POST session`: the code from the address that `up` printed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Enter {
    /// The code. It is good once, for a minute.
    pub code: String,
}

/// The answer to [`Enter`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Entered {
    /// What to send as `Authorization: Bearer …` from now on. Ends with the gateway, with
    /// `DELETE session`, or when it was not used for a day.
    pub token: String,
    /// Who that is.
    pub me: Me,
}

/// The answer to `POST codes`: a fresh single-use code, for a browser or a screen.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Code {
    /// The code.
    pub code: String,
    /// The page's address with it.
    pub address: Option<String>,
    /// For how many seconds it is good.
    pub seconds: u32,
}

/// `GET session`: who asks, and what may be done.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Me {
    /// The principal; `control` for the control token and sessions opened with a code.
    pub principal: String,
    /// What may be done.
    pub role: Role,
    /// Whether entries with a command may be approved here: a session opened by a code,
    /// and nothing forbids it.
    pub may_approve: bool,
}
