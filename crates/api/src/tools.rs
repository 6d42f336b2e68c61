//! All tools: `GET tools?server=…`, `POST tools/rules` (allow, ask, deny, hide; with the difference
//! first), `POST forms` (a schema as fields), `POST validate`, `POST complete`.

use crate::settings::Written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET tools`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tools {
    /// Those of a server together.
    pub tools: Vec<Tool>,
}

/// One tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tool {
    /// The server.
    pub server: String,
    /// The name that its server gave it.
    pub name: String,
    /// The name that clients of the aggregate see.
    pub shown: String,
    /// The name that rules are written in.
    pub canonical: String,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The definition, as the server wrote it.
    pub definition: Option<Value>,
    /// What the definition costs a model: an estimate.
    pub tokens: usize,
    /// How often it was called since the gateway began.
    pub calls: u64,
    /// How many of those failed.
    pub errors: u64,
    /// When it was last called, in milliseconds since 1970; of the last 30 days.
    pub last: Option<u64>,
    /// Microseconds that half of the calls took.
    pub p50: Option<u64>,
    /// Microseconds that 99 of 100 took.
    pub p99: Option<u64>,
    /// `allow`, `ask`, `deny`.
    pub decision: String,
    /// The rule that decides.
    pub rule: Option<String>,
    /// `pinned`, `changed`, or nothing.
    pub pin: Option<String>,
    /// Whether clients see it.
    pub hidden: bool,
    /// Whether it says that it changes nothing.
    pub read_only: bool,
}

/// `POST tools/rules`: writes rules into the user's settings. Without `confirm` nothing is
/// written and the difference is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// Canonical names.
    pub tools: Vec<String>,
    /// `allow`, `ask`, `deny`, `hide`, or `none` to take away what was written.
    pub decision: String,
    /// The digest that the difference came with.
    pub confirm: Option<String>,
}

/// The answer to [`Rule`] is a [`Written`].
pub type Ruled = Written;

/// `POST forms`: a schema as fields, by the one walk that the page, the screen and
/// `switchboard call` share.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Form {
    /// The schema.
    pub schema: Value,
    /// The value so far.
    pub value: Option<Value>,
}

/// The answer to [`Form`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Fields {
    /// The whole, as one field.
    pub root: Field,
    /// What is wrong with the value.
    pub faults: Vec<Fault>,
}

/// One field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Field {
    /// Where it goes, as a JSON pointer.
    pub path: String,
    /// Its key.
    pub key: String,
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`, `null`, `choice` (one of
    /// `options`), `enum`, `json` (drawn as text of JSON).
    pub kind: String,
    /// What to call it.
    pub label: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it must be there.
    pub required: bool,
    /// Whether it may be null.
    pub nullable: bool,
    /// What it is where nothing is given.
    pub default: Option<Value>,
    /// The values that it may have.
    pub values: Vec<Value>,
    /// What each of them is called, where they have names.
    pub labels: Vec<String>,
    /// The members of an object.
    pub fields: Vec<Self>,
    /// What each of an array's is like.
    pub item: Option<Box<Self>>,
    /// The ways that a choice offers.
    pub options: Vec<Self>,
    /// `date-time`, `email`, `uri`, `password`, `byte`, …
    pub format: Option<String>,
    /// Bounds, pattern and lengths, as the schema has them.
    pub bounds: Option<Value>,
    /// Whether keys that are not named may be added.
    pub open: bool,
    /// The schema of it, for what is drawn as JSON.
    pub schema: Option<Value>,
}

/// Something that is wrong with a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ValueFault")]
pub struct Fault {
    /// Where, as a JSON pointer.
    pub path: String,
    /// What.
    pub error: String,
}

/// `POST validate`: a tool's arguments, by the same validator as a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Validate {
    /// The schema.
    pub schema: Value,
    /// The value.
    pub value: Value,
}

/// The answer to [`Validate`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Validated {
    /// None where it is valid.
    pub faults: Vec<Fault>,
    /// Patterns of the schema, the first few, that were not looked at: they need an engine
    /// that may take for ever. The server judges those.
    pub unchecked: Vec<String>,
}

crate::fill::fields! {
    Tools { tools }
    Tool {
        server, name, shown, canonical, title, description, definition, tokens, calls, errors, last,
        p50, p99, decision, rule, pin, hidden, read_only,
    }
    Fields { root, faults }
    Field {
        path, key, kind, label, description, required, nullable, default, values, labels, fields,
        item, options, format, bounds, open, schema,
    }
    Fault { path, error }
    Validated { faults, unchecked }
}
