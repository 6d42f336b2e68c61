//! What the client answers when a server asks: forms are accepted as they are.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use switchboard_agent::{Form, Operator, Question};
use switchboard_wire::ErrorObject;

/// Accepts every form with its defaults; yes and something short where there is none.
pub struct Accept;

impl Operator for Accept {
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        Box::pin(async { Ok(accepted(&question.params)) })
    }

    fn sample<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        let message = json!({"role": "assistant", "model": "none", "content": {"type": "text", "text": "Hello."}});
        Box::pin(std::future::ready(Ok(message)))
    }

    fn roots<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        Box::pin(std::future::ready(Ok(
            json!({"roots": [{"uri": "file:///", "name": "root"}]}),
        )))
    }
}

/// Answers with what it was given, by method.
pub struct Given(pub Value);

impl Given {
    fn answer(&self, method: &str) -> BoxFuture<'static, Result<Value, ErrorObject>> {
        Box::pin(std::future::ready(Ok(self.0[method].clone())))
    }
}

impl Operator for Given {
    fn elicit<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        self.answer("elicitation/create")
    }

    fn sample<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        self.answer("sampling/createMessage")
    }

    fn roots<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        self.answer("roots/list")
    }
}

/// The result that accepts an elicitation; what is no form is not.
pub fn accepted(params: &Value) -> Value {
    let Some(form) = Form::of(params) else {
        return json!({"action": "decline"});
    };
    let mut content = Map::new();
    for (name, schema) in form
        .fields()
        .filter(|(_, schema)| schema.get("default").is_none())
    {
        content.insert(name.into(), filler(schema));
    }
    json!({"action": "accept", "content": form.filled(content)})
}

/// Something that a field of this schema can hold.
pub fn filler(schema: &Value) -> Value {
    if let Some(first) = schema["enum"]
        .get(0)
        .or(schema["oneOf"].get(0).map(|option| &option["const"]))
    {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}
