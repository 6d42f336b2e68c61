//! What a handler may return.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// The result of a call, put together piece by piece. Simple ones need none of
/// it: a handler may return a text, [`Json`], or a `Result` of either.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Answer {
    content: Vec<Value>,
    structured: Option<Value>,
    is_error: bool,
}

impl Answer {
    /// An answer without content yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tool could not do what it was asked to, and why: a result that the
    /// model reads, so that it can try something else.
    pub fn error(why: impl Into<String>) -> Self {
        let mut answer = Self::new().text(why);
        answer.is_error = true;
        answer
    }

    /// One more text.
    pub fn text(self, text: impl Into<String>) -> Self {
        let text: String = text.into();
        self.with(json!({"type": "text", "text": text}))
    }

    /// One more image, such as `image/png`.
    pub fn image(self, mime: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.with(json!({"type": "image", "mimeType": mime, "data": STANDARD.encode(bytes)}))
    }

    /// One more sound, such as `audio/wav`.
    pub fn audio(self, mime: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.with(json!({"type": "audio", "mimeType": mime, "data": STANDARD.encode(bytes)}))
    }

    /// A link to something that can be read at an address.
    pub fn link(self, uri: &str, name: &str) -> Self {
        self.with(json!({"type": "resource_link", "uri": uri, "name": name}))
    }

    /// The text of something that has an address.
    pub fn resource(self, uri: &str, mime: &str, text: impl Into<String>) -> Self {
        let text: String = text.into();
        let resource = json!({"uri": uri, "mimeType": mime, "text": text});
        self.with(json!({"type": "resource", "resource": resource}))
    }

    /// One more block of content, as it is in the protocol.
    pub fn with(mut self, block: Value) -> Self {
        self.content.push(block);
        self
    }

    /// What programs read of it. Clients that do not know structured results get
    /// the same as text, unless there is other content.
    pub fn structured(mut self, value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => self.structured = Some(value),
            Err(fault) => return Self::error(format!("the result cannot be written: {fault}")),
        }
        self
    }

    /// As it is in the protocol.
    pub(super) fn to_json(&self) -> Value {
        let mut content = self.content.clone();
        if let Some(value) = self.structured.as_ref().filter(|_| content.is_empty()) {
            content.push(json!({"type": "text", "text": value.to_string()}));
        }
        let mut result = json!({ "content": content });
        // Only objects have a place there in every revision.
        if let Some(value) = self.structured.as_ref().filter(|value| value.is_object()) {
            result["structuredContent"] = value.clone();
        }
        if self.is_error {
            result["isError"] = true.into();
        }
        result
    }
}

/// A structured result of a type.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

/// What can be the result of a call. An error is a result, too, which says that
/// the tool failed and why.
pub trait IntoAnswer {
    /// The result.
    fn into_answer(self) -> Answer;
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Answer {
        self
    }
}

impl IntoAnswer for String {
    fn into_answer(self) -> Answer {
        Answer::new().text(self)
    }
}

impl IntoAnswer for &str {
    fn into_answer(self) -> Answer {
        Answer::new().text(self)
    }
}

impl IntoAnswer for () {
    fn into_answer(self) -> Answer {
        Answer::new()
    }
}

impl<T: Serialize> IntoAnswer for Json<T> {
    fn into_answer(self) -> Answer {
        Answer::new().structured(self.0)
    }
}

impl<T: IntoAnswer, E: fmt::Display> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Answer {
        match self {
            Ok(good) => good.into_answer(),
            Err(why) => Answer::error(why.to_string()),
        }
    }
}
