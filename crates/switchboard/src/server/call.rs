//! What a handler can do while it works on a call.

use super::{JsonSchema, line::Line, tool::schema_of};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{fmt, sync::Arc};
use switchboard_wire::{Method, code};
use tokio_util::sync::CancellationToken;

/// One call of a tool. Clones are the same call.
#[derive(Clone)]
pub struct Call {
    pub(super) line: Arc<Line>,
    /// The number under which the other end knows it.
    pub(super) request: Option<u64>,
    pub(super) tool: Arc<str>,
    /// What progress is reported under, where somebody wants to hear of it.
    pub(super) token: Option<Value>,
    pub(super) over: CancellationToken,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// How much something in the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// The ordinary course of things.
    Info,
    /// Ordinary, but worth a look.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
    /// A part of the server fails.
    Critical,
    /// Somebody must do something at once.
    Alert,
    /// The server cannot be used.
    Emergency,
}

impl Level {
    /// All of them, the least important first.
    pub(super) const ALL: [(Self, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered<T> {
    /// The user answered.
    Accepted(T),
    /// The user said no.
    Declined,
    /// The user did not decide.
    Cancelled,
}

/// Why nobody could be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskFault {
    /// The client has no way to ask its user.
    #[error("the client cannot ask its user: {0}")]
    Unsupported(String),
    /// It failed.
    #[error("the question was not answered: {0}")]
    Failed(String),
    /// The answer is not of the type that was asked for.
    #[error("the answer does not fit: {0}")]
    Unfit(String),
}

impl Call {
    /// Tells how far the work is; `total` where that is known. Says nothing where
    /// nobody wants to hear of it.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let Some(token) = &self.token else { return };
        let mut params = json!({"progressToken": token, "progress": done});
        if let Some(total) = total {
            params["total"] = total.into();
        }
        if !message.is_empty() {
            params["message"] = message.into();
        }
        self.line.notify(Method::Progress, &params, self.request);
    }

    /// Writes to the client's log, unless it asked for more important things only.
    pub fn log(&self, level: Level, data: impl Into<Value>) {
        if self.line.hears(level) {
            let data: Value = data.into();
            let params = json!({"level": level.name(), "logger": &*self.tool, "data": data});
            self.line.notify(Method::LogMessage, &params, self.request);
        }
    }

    /// Whether the client has cancelled the call or gone away. The handler's
    /// future is dropped then; this is for what it has started elsewhere.
    pub fn is_cancelled(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Cancelled when the call is over, however it ended.
    pub fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// Asks the client's user to fill in a form: the fields of `T`, which are
    /// texts, numbers, booleans and choices.
    ///
    /// # Errors
    /// When nobody can be asked, or the answer does not fit.
    pub async fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        message: &str,
    ) -> Result<Answered<T>, AskFault> {
        let params = json!({"message": message, "requestedSchema": form(schema_of::<T>(true))});
        let answer = self.elicit(params).await?;
        answered(answer, |content| {
            serde_json::from_value(content).map_err(|fault| AskFault::Unfit(fault.to_string()))
        })
    }

    /// Sends the client's user to a page, for what must not pass through the
    /// client: passwords, payments. Accepted means that the user agreed to go
    /// there; what happens on the page is for the handler to find out, which then
    /// says that the page is [done](Page::done).
    ///
    /// # Errors
    /// When the client cannot open pages.
    pub async fn open_page(&self, message: &str, url: &str) -> Result<Answered<Page>, AskFault> {
        let id = self.line.new_id("page");
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        let answer = self.elicit(params).await?;
        let call = self.clone();
        answered(answer, |_| Ok(Page { call, id }))
    }

    async fn elicit(&self, params: Value) -> Result<Value, AskFault> {
        let asked = self
            .line
            .ask(Method::ElicitationCreate, &params, self.request);
        asked.await.map_err(|(number, text)| match number {
            code::METHOD_NOT_FOUND | code::INVALID_PARAMS => AskFault::Unsupported(text),
            _ => AskFault::Failed(text),
        })
    }
}

/// A page that a user went to.
#[derive(Debug)]
pub struct Page {
    call: Call,
    id: String,
}

impl Page {
    /// The user is done there: clients close what they show of it.
    pub fn done(self) {
        let params = json!({ "elicitationId": self.id });
        let line = &self.call.line;
        line.notify(Method::ElicitationComplete, &params, self.call.request);
    }
}

fn answered<T>(
    answer: Value,
    read: impl FnOnce(Value) -> Result<T, AskFault>,
) -> Result<Answered<T>, AskFault> {
    match answer["action"].as_str() {
        Some("accept") => read(answer["content"].clone()).map(Answered::Accepted),
        Some("decline") => Ok(Answered::Declined),
        Some("cancel") => Ok(Answered::Cancelled),
        _ => Err(AskFault::Unfit("it says neither yes nor no".to_owned())),
    }
}

/// A schema as forms have it: an object of plain fields, where one that may be
/// left out is not required, and is never null.
fn form(mut schema: Value) -> Value {
    let properties = schema["properties"].as_object_mut();
    for property in properties
        .into_iter()
        .flat_map(|fields| fields.values_mut())
    {
        if let Some(types) = property["type"].as_array() {
            let known = types.iter().find(|kind| **kind != "null").cloned();
            property["type"] = known.unwrap_or_else(|| "string".into());
        }
        if property["default"].is_null()
            && let Some(property) = property.as_object_mut()
        {
            property.shift_remove("default");
        }
    }
    let mut plain = json!({"type": "object", "properties": {}});
    for field in ["properties", "required"] {
        if !schema[field].is_null() {
            plain[field] = schema[field].take();
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Booking {
        /// How many.
        seats: u8,
        note: Option<String>,
        class: Class,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Class {
        First,
        Second,
    }

    #[test]
    fn forms_have_plain_fields() {
        let form = form(schema_of::<Booking>(true));
        assert_eq!(form["type"], "object");
        assert_eq!(form["required"], json!(["seats", "class"]));
        let fields = &form["properties"];
        assert_eq!(fields["seats"]["type"], "integer");
        assert_eq!(fields["seats"]["description"], "How many.");
        assert!(fields["seats"].get("format").is_none(), "{form}");
        assert_eq!(fields["note"], json!({"type": "string"}));
        assert_eq!(fields["class"]["enum"], json!(["first", "second"]));
        assert_eq!(form.as_object().map(serde_json::Map::len), Some(3));
    }
}
