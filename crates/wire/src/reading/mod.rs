//! One reading of a message: which keys are read, in which object.
//!
//! What is decided here must be what the peer acts on, whatever its parser. Some
//! parsers ignore the case of keys, some take the first of two equal keys and some
//! the last; to some a text ends at U+0000, and some leave out what is not seen. So in the objects of this table a key that we read stands there once
//! and in our spelling, or the message is refused. Everything that the table does
//! not name is data: it crosses as it is.

mod ambiguous;
mod spelling;

pub use ambiguous::ambiguous_key;
pub(crate) use spelling::taken_for;
pub use spelling::{Recognised, recognise, same_key, same_name, up_to_nul};

use crate::{
    json::{self, Span},
    meta,
    method::Method,
};

/// A key of ours that readers could disagree about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// It stands there twice.
    #[error("duplicate key {0:?}")]
    Twice(&'static str),
    /// It stands there in another spelling, which some readers take for it.
    #[error("a key that some readers take for {0:?}: write it exactly so, and once")]
    Misspelt(&'static str),
}

/// An object of a message in which we read something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// The message itself.
    Envelope,
    /// The parameters of a request or notification.
    Params(Method),
    /// `params._meta`
    Meta,
    /// The task that a message says it belongs to, in `_meta`.
    RelatedTask,
    /// What a client can do.
    Capabilities,
    /// How a client can be asked.
    ElicitationModes,
    /// What a completion is about: `params.ref`.
    Reference,
    /// How a call wants to be run as a task: `params.task`.
    Task,
    /// What a `subscriptions/listen` wants to hear of.
    Topics,
    /// What an older progress report says.
    ProgressValue,
    /// The result of a list.
    Page(Method),
    /// An item of the list that this method asks for.
    Item(Method),
    /// What a tool says of itself.
    Annotations,
    /// Whether a tool runs as a task.
    Execution,
}

const CAPABILITIES: &[(&str, Object)] = &[("elicitation", Object::ElicitationModes)];

impl Object {
    /// The table: the keys that anybody here reads in this object.
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Envelope => &["jsonrpc", "id", "method", "params", "result", "error"],
            Self::Params(method) => params_keys(method),
            Self::Meta => &[
                meta::PROGRESS_TOKEN,
                meta::PROTOCOL_VERSION,
                meta::CLIENT_CAPABILITIES,
                meta::CLIENT_INFO,
                meta::LOG_LEVEL,
                meta::SUBSCRIPTION_ID,
                meta::RELATED_TASK,
            ],
            Self::RelatedTask => &["taskId"],
            Self::Capabilities => &["elicitation", "sampling", "roots", "tasks", "extensions"],
            Self::ElicitationModes => &["form", "url"],
            Self::Reference => &["type", "name", "uri"],
            Self::Task => &["ttl"],
            Self::Topics => &[
                "toolsListChanged",
                "promptsListChanged",
                "resourcesListChanged",
                "resourceSubscriptions",
                "taskIds",
            ],
            Self::ProgressValue => &["kind", "percentage", "message"],
            Self::Page(method) => page_keys(method),
            Self::Item(method) => item_keys(method),
            Self::Annotations => &[
                "title",
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ],
            Self::Execution => &["taskSupport"],
        }
    }

    /// The object of the table that a key of this one holds.
    pub fn holds(self, key: &str) -> Option<Self> {
        let mut inner = self.inner().iter();
        inner.find(|(name, _)| *name == key).map(|(_, held)| *held)
    }

    /// Which of those keys hold objects of the table.
    const fn inner(self) -> &'static [(&'static str, Self)] {
        match self {
            Self::Params(Method::Initialize) => {
                &[("_meta", Self::Meta), ("capabilities", Self::Capabilities)]
            }
            Self::Params(Method::Complete) => &[("_meta", Self::Meta), ("ref", Self::Reference)],
            Self::Params(
                Method::ToolsCall | Method::ElicitationCreate | Method::SamplingCreateMessage,
            ) => &[("_meta", Self::Meta), ("task", Self::Task)],
            Self::Params(Method::Listen | Method::SubscriptionAcknowledged) => {
                &[("_meta", Self::Meta), ("notifications", Self::Topics)]
            }
            Self::Params(Method::DollarProgress) => {
                &[("_meta", Self::Meta), ("value", Self::ProgressValue)]
            }
            Self::Params(_) => &[("_meta", Self::Meta)],
            Self::Meta => &[
                (meta::CLIENT_CAPABILITIES, Self::Capabilities),
                (meta::RELATED_TASK, Self::RelatedTask),
            ],
            Self::Capabilities => CAPABILITIES,
            Self::Item(Method::ToolsList) => &[
                ("annotations", Self::Annotations),
                ("execution", Self::Execution),
            ],
            _ => &[],
        }
    }
}

/// What is read of each method's parameters. Of one that we do not know only
/// `_meta` is; the rest means nothing to us.
const fn params_keys(method: Method) -> &'static [&'static str] {
    match method {
        Method::Initialize => &["protocolVersion", "capabilities", "clientInfo", "_meta"],
        Method::ToolsCall => &[
            "name",
            "arguments",
            "_meta",
            "task",
            "requestState",
            "inputResponses",
        ],
        Method::PromptsGet => &[
            "name",
            "arguments",
            "_meta",
            "requestState",
            "inputResponses",
        ],
        Method::ResourcesRead => &["uri", "_meta", "requestState", "inputResponses"],
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe | Method::ResourceUpdated => {
            &["uri", "_meta"]
        }
        Method::Complete => &["ref", "argument", "context", "_meta"],
        Method::SetLevel => &["level", "_meta"],
        Method::LogMessage => &["level", "logger", "data", "_meta"],
        Method::Listen | Method::SubscriptionAcknowledged => &["notifications", "_meta"],
        Method::TasksGet | Method::TasksResult | Method::TasksCancel => &["taskId", "_meta"],
        Method::TasksUpdate => &["taskId", "inputResponses", "_meta"],
        Method::TaskStatus | Method::TaskNews => {
            &["taskId", "status", "inputRequests", "result", "_meta"]
        }
        Method::ToolsList
        | Method::ResourcesList
        | Method::ResourceTemplatesList
        | Method::PromptsList
        | Method::TasksList
        | Method::SkillsList => &["cursor", "_meta"],
        Method::ElicitationCreate => &[
            "message",
            "mode",
            "url",
            "elicitationId",
            "requestedSchema",
            "task",
            "_meta",
        ],
        Method::SamplingCreateMessage => &["task", "_meta"],
        Method::ElicitationComplete => &["elicitationId", "_meta"],
        Method::Cancelled => &["requestId", "_meta"],
        Method::CancelRequest => &["id", "_meta"],
        Method::Progress => &["progressToken", "progress", "_meta"],
        Method::DollarProgress => &["token", "value", "_meta"],
        Method::Other
        | Method::Ping
        | Method::Discover
        | Method::RootsList
        | Method::Initialized
        | Method::ToolsListChanged
        | Method::ResourcesListChanged
        | Method::PromptsListChanged
        | Method::RootsListChanged => &["_meta"],
    }
}

/// What is read of a list's result, beside its items.
const fn page_keys(method: Method) -> &'static [&'static str] {
    match method {
        Method::ToolsList => &["tools", "nextCursor", "ttlMs", "cacheScope"],
        Method::ResourcesList => &["resources", "nextCursor", "ttlMs", "cacheScope"],
        Method::ResourceTemplatesList => {
            &["resourceTemplates", "nextCursor", "ttlMs", "cacheScope"]
        }
        Method::PromptsList => &["prompts", "nextCursor", "ttlMs", "cacheScope"],
        Method::TasksList => &["tasks", "nextCursor"],
        _ => &[],
    }
}

/// What is read of a list's items.
const fn item_keys(method: Method) -> &'static [&'static str] {
    match method {
        Method::ToolsList => &[
            "name",
            "title",
            "description",
            "inputSchema",
            "outputSchema",
            "annotations",
            "execution",
            "_meta",
        ],
        Method::PromptsList => &["name", "title", "description", "arguments"],
        Method::ResourcesList => &["uri", "name", "title", "description", "mimeType"],
        Method::ResourceTemplatesList => {
            &["uriTemplate", "name", "title", "description", "mimeType"]
        }
        Method::TasksList => &["taskId"],
        _ => &[],
    }
}

/// The most keys that the table has for one object.
// tidy: the size of a table of ours
pub const MOST_KEYS: usize = 8;

/// Where the keys of an object are, in the order of [`Object::keys`].
pub type Places = [Option<Span>; MOST_KEYS];

/// Finds the keys of `object` in `source`, in one pass, and refuses what readers
/// could disagree about. A source that is no object holds none of them.
pub fn read(object: Object, source: &[u8]) -> Result<Places, Unclear> {
    json::places(source, object.keys())
}

/// The same for an object and those of the table inside it, without telling where.
pub fn check(object: Object, source: &[u8]) -> Result<(), Unclear> {
    let places = read(object, source)?;
    check_inner(object, source, &places)
}

/// Checks the objects of the table inside one that has been read.
pub fn check_inner(object: Object, source: &[u8], places: &Places) -> Result<(), Unclear> {
    for (key, place) in object.keys().iter().zip(places) {
        // The table is as deep as it is written; this goes no deeper.
        if let (Some(span), Some(inner)) = (place, object.holds(key)) {
            check(inner, span.of(source))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
