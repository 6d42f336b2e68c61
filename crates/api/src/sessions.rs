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

    /// The most that any of these words gives.
    pub fn most<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        words.filter_map(Self::named).max().unwrap_or_default()
    }
}

/// `POST session`: the code from the address that `up` printed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Enter {
    /// The code. It is good once, for a minute.
    pub code: String,
}

/// The answer to `GET session/ways`: how people come in, for whoever has not yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Ways {
    /// The host of the identity provider at which people sign in, where there is one.
    pub provider: Option<String>,
}

/// `POST session/begin`: a sign-in at the identity provider.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Begin {
    /// The page that it comes back to: `https://host:port/`, as it is registered there. It is
    /// the page that asks.
    pub back: String,
}

/// The answer to [`Begin`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Begun {
    /// The identity provider's page, to go to.
    pub open: String,
    /// What it sends back as `state`. Whoever began keeps it, and goes on with nothing else.
    pub state: String,
    /// What ends the sign-in besides. It is in no address: whoever began keeps it, and shows
    /// it to nobody but the gateway.
    pub secret: String,
}

/// `POST session/finish`: what the identity provider sent the browser back with.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Finish {
    /// The page that it came back to, as it was begun.
    pub back: String,
    /// What it was begun with.
    pub state: String,
    /// What came with that.
    pub secret: String,
    /// The code that is exchanged for a token.
    pub code: String,
    /// Who sent it, where that was said (`iss`).
    pub iss: Option<String>,
}

/// `POST session/renew`: a newer token of the identity provider's.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Renew {
    /// What came with the last one. It is good until a newer one has come.
    pub renewal: String,
    /// Whether no newer one is wanted: somebody signs out.
    pub end: bool,
}

/// The answer to [`Enter`], [`Finish`] and [`Renew`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Entered {
    /// What to send as `Authorization: Bearer …` from now on. Of a code: ends with the
    /// gateway, with `DELETE session`, or when it was not used for a day. Of an identity
    /// provider: its own token, which ends when it says.
    pub token: String,
    /// Who that is.
    pub me: Me,
    /// When it ends, in milliseconds since 1970, where that is known.
    pub until: Option<u64>,
    /// What `POST session/renew` has a newer one for, where the identity provider gives one.
    pub renewal: Option<String>,
}

/// The answer to `POST codes`: a fresh single-use code, for a browser or a screen.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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

crate::fill::fields! {
    Entered { token, me, until, renewal }
    Code { code, address, seconds }
    Me { principal, role, may_approve }
}

crate::fill::words!(Role);
