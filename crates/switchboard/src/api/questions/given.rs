//! What an answer means to whoever asked.

use super::{super::answer::No, put_back};
use serde_json::{Value, json};
use std::sync::LazyLock;
use switchboard_api::questions::{Answer, Kind, Question};
use switchboard_host::{Verdict, desk::Given};
use switchboard_local::secret;
use switchboard_model::{Validators, Verdict as Fits, limits::PATIENT_VALIDATION};
use switchboard_wire::{ErrorObject, code};

/// What is passed on. A form that does not fit its schema is told before anybody else
/// could have answered. `whole` is the question with what was not shown of it; `with_secrets`,
/// whether whoever answers may change a call that has some.
pub(super) async fn of(
    question: &Question,
    whole: &Question,
    said: &Answer,
    with_secrets: bool,
) -> Result<Given, No> {
    Ok(match question.kind {
        Kind::Permission => Given::Verdict(match said.action.as_str() {
            "allow" => Verdict::Once,
            "allow-always" => Verdict::Always,
            "deny-always" => Verdict::Never,
            _ => Verdict::No,
        }),
        Kind::Sampling if said.action == "accept" => Given::Result(sampled(said)?.to_string()),
        Kind::Sampling => {
            let text = "a person declined to answer";
            Given::Error(ErrorObject::new(code::INVALID_REQUEST, text))
        }
        Kind::Form if said.action == "accept" => {
            let mut content = said.content.clone().unwrap_or_else(|| json!({}));
            if let (Some(shown), Some(schema)) = (&question.schema, &whole.schema) {
                (content, _) = put_back::filled(content, shown, schema)?;
                filled(schema, &content).await?;
            }
            Given::Result(json!({ "action": "accept", "content": content }).to_string())
        }
        Kind::Held if said.action == "edit" => {
            let content = edited(question, whole, said, with_secrets)?;
            Given::Result(json!({ "action": "edit", "content": content }).to_string())
        }
        _ => Given::Result(json!({ "action": said.action }).to_string()),
    })
}

/// What is held, as it is to be.
fn edited(
    question: &Question,
    whole: &Question,
    said: &Answer,
    with_secrets: bool,
) -> Result<Value, No> {
    let wrong = |text: &str| No::invalid(text).field("/content");
    let given = said.content.clone();
    let given = given.ok_or_else(|| wrong("edit needs what it is to be as content"))?;
    let nothing = Value::Null;
    let shown = question.about.as_ref().unwrap_or(&nothing);
    let (content, back) =
        put_back::changed(given, shown, whole.about.as_ref().unwrap_or(&nothing))?;
    // Where the rest of it goes elsewhere, they go along.
    if back > 0 && !with_secrets {
        return Err(No::not_allowed(
            "this has secrets of another's in it: to change what is sent with them wants the role admin",
        )
        .hint("release or refuse it"));
    }
    let is_error = question.point.as_deref() == Some("error");
    let says_error = content["code"].is_i64() && content["message"].is_string();
    match (content.is_object(), is_error && !says_error) {
        (false, _) => Err(wrong(
            "what is held is an object: arguments, a result, an error",
        )),
        (true, true) => Err(wrong(
            "an error has a whole number as code and a text as message",
        )),
        (true, false) => Ok(content),
    }
}

/// A model's answer; a text alone is one that a person wrote.
fn sampled(said: &Answer) -> Result<Value, No> {
    let wrong = |text: &str| No::invalid(text).field("/content");
    match &said.content {
        Some(Value::String(text)) => Ok(json!({
            "role": "assistant",
            "content": { "type": "text", "text": text },
            "model": "human",
            "stopReason": "endTurn",
        })),
        Some(Value::Object(result)) => {
            if !result.contains_key("role") || !result.contains_key("content") {
                return Err(wrong("a model's answer has a role and a content"));
            }
            let mut result = result.clone();
            result.entry("model").or_insert_with(|| json!("human"));
            Ok(Value::Object(result))
        }
        _ => Err(wrong(
            "accept needs the model's answer as content: a text, or a result",
        )),
    }
}

/// Holds what was filled in to the form's schema.
async fn filled(schema: &Value, content: &Value) -> Result<(), No> {
    static VALIDATORS: LazyLock<Validators> = LazyLock::new(|| Validators::new(PATIENT_VALIDATION));
    if !content.is_object() {
        return Err(No::invalid("a form is filled in with an object").field("/content"));
    }
    let (schema, content) = (schema.to_string(), content.to_string());
    match VALIDATORS
        .check(schema.as_bytes(), content.as_bytes())
        .await
    {
        // It may say what was not shown.
        Fits::Invalid(invalid) => {
            let text = secret::text(&invalid.to_string()).into_owned();
            Err(No::invalid(text).field("/content"))
        }
        Fits::Valid | Fits::Unchecked(_) => Ok(()),
    }
}
