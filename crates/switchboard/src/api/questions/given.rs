//! What an answer means to whoever asked.

use super::super::answer::No;
use serde_json::{Value, json};
use std::sync::LazyLock;
use switchboard_api::questions::{Answer, Kind, Question};
use switchboard_host::{Verdict, desk::Given};
use switchboard_model::{Validators, Verdict as Fits, limits::PATIENT_VALIDATION};
use switchboard_wire::{ErrorObject, code};

/// What is passed on. A form that does not fit its schema is told before anybody else
/// could have answered.
pub(super) async fn of(question: &Question, said: &Answer) -> Result<Given, No> {
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
            let content = said.content.clone().unwrap_or_else(|| json!({}));
            if let Some(schema) = &question.schema {
                filled(schema, &content).await?;
            }
            Given::Result(json!({ "action": "accept", "content": content }).to_string())
        }
        _ => Given::Result(json!({ "action": said.action }).to_string()),
    })
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
        Fits::Invalid(invalid) => Err(No::invalid(invalid.to_string()).field("/content")),
        Fits::Valid | Fits::Unchecked(_) => Ok(()),
    }
}
