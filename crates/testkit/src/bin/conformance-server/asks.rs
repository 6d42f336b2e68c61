//! What a server can ask of a client: elicitation, sampling, roots.

use serde_json::{Map, Value, json};

/// One question, with the key under which its answer is filed.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) key: String,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

impl Ask {
    /// A form for the user; `schema` describes its fields.
    pub(crate) fn form(key: &str, message: impl Into<String>, schema: Value) -> Self {
        Self {
            key: key.to_owned(),
            method: "elicitation/create",
            params: json!({ "message": message.into(), "requestedSchema": schema }),
        }
    }

    /// A form with a single required text field.
    pub(crate) fn text_field(key: &str, message: &str, field: &str) -> Self {
        Self::form(
            key,
            message,
            json!({
                "type": "object",
                "properties": { field: { "type": "string" } },
                "required": [field],
            }),
        )
    }

    /// A form with a single required yes or no.
    pub(crate) fn yes_or_no(key: &str, message: impl Into<String>, field: &str) -> Self {
        Self::form(
            key,
            message,
            json!({
                "type": "object",
                "properties": { field: { "type": "boolean" } },
                "required": [field],
            }),
        )
    }

    /// An address for the user to visit.
    pub(crate) fn url(key: &str, message: &str, url: &str) -> Self {
        Self {
            key: key.to_owned(),
            method: "elicitation/create",
            params: json!({ "mode": "url", "message": message, "url": url }),
        }
    }

    /// A completion by the client's model.
    pub(crate) fn sampling(key: &str, prompt: &str, max_tokens: u32) -> Self {
        Self {
            key: key.to_owned(),
            method: "sampling/createMessage",
            params: json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
                "maxTokens": max_tokens,
            }),
        }
    }

    /// The client's roots.
    pub(crate) fn roots(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            method: "roots/list",
            params: json!({}),
        }
    }

    /// The capability that the client must have declared.
    pub(crate) fn required(&self) -> Value {
        match self.method {
            "sampling/createMessage" => json!({ "sampling": {} }),
            "roots/list" => json!({ "roots": {} }),
            _ if self.is_url() => json!({ "elicitation": { "url": {} } }),
            _ => json!({ "elicitation": {} }),
        }
    }

    /// Whether `capabilities` (the client's) allow this question.
    pub(crate) fn allowed_by(&self, capabilities: &Value) -> bool {
        match self.method {
            "sampling/createMessage" => capabilities["sampling"].is_object(),
            "roots/list" => capabilities["roots"].is_object(),
            _ if self.is_url() => capabilities["elicitation"]["url"].is_object(),
            // An empty declaration means forms.
            _ => capabilities["elicitation"]
                .as_object()
                .is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url")),
        }
    }

    fn is_url(&self) -> bool {
        self.params["mode"] == "url"
    }
}

/// The `inputRequests` member that asks these questions.
pub(crate) fn input_requests<'a>(asks: impl IntoIterator<Item = &'a Ask>) -> Map<String, Value> {
    asks.into_iter()
        .map(|ask| {
            let request = json!({ "method": ask.method, "params": ask.params });
            (ask.key.clone(), request)
        })
        .collect()
}
