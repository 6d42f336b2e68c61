//! What an answer means to whoever asked.

use super::{
    super::{
        answer::No,
        spliced::{self, Written},
    },
    put_back,
};
use serde_json::{Value, json};
use std::sync::LazyLock;
use switchboard_api::questions::{Answer, Kind, Question};
use switchboard_host::{Verdict, desk::Given};
use switchboard_local::secret;
use switchboard_model::{Validators, Verdict as Fits, limits::PATIENT_VALIDATION};
use switchboard_wire::{ErrorObject, code, reading::ambiguous_key};

/// What is held, and what it is to be, as they were written.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) held: Option<&'a str>,
    pub(super) given: Option<&'a str>,
}

/// What is passed on. A form that does not fit its schema is told before anybody else
/// could have answered. `whole` is the question with what was not shown of it; `with_secrets`,
/// whether whoever answers may change a call that has some.
pub(super) async fn of(
    question: &Question,
    whole: &Question,
    said: &Answer,
    texts: Texts<'_>,
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
            let content = edited(question, whole, said, texts, with_secrets)?;
            Given::Result(format!("{{\"action\":\"edit\",\"content\":{content}}}"))
        }
        _ => Given::Result(json!({ "action": said.action }).to_string()),
    })
}

/// The text of what is held, as it is to be: what was left alone stands as it was written.
fn edited(
    question: &Question,
    whole: &Question,
    said: &Answer,
    texts: Texts<'_>,
    with_secrets: bool,
) -> Result<String, No> {
    let wrong = |text: &str| No::invalid(text).field("/content");
    let given = said.content.clone();
    let given = given.ok_or_else(|| wrong("edit needs what it is to be as content"))?;
    let nothing = Value::Null;
    let shown = question.about.as_ref().unwrap_or(&nothing);
    let about = whole.about.as_ref().unwrap_or(&nothing);
    // What was shown as it is written is read as that is.
    let (given, written) = match (&given, shown) {
        (Value::String(text), Value::String(_)) => {
            let read = serde_json::from_str::<Value>(text);
            let read = read.map_err(|fault| wrong(&fault.to_string()))?;
            (read, Some(text.clone()))
        }
        _ => (given, texts.given.map(str::to_owned)),
    };
    let (shown, about) = (as_read(shown), as_read(about));
    let (content, back) = put_back::changed(given.clone(), &shown, &about)?;
    // Where the rest of it goes elsewhere, they go along.
    if back > 0 && !with_secrets {
        return Err(No::not_allowed(
            "this has secrets of another's in it: to change what is sent with them wants the role admin",
        )
        .hint("release or refuse it"));
    }
    if !content.is_object() {
        return Err(wrong(
            "what is held is an object: arguments, a result, an error",
        ));
    }
    let is_error = question.point.as_deref() == Some("error");
    let is_code = content["code"].as_i64();
    let is_code = is_code.is_some_and(|code| i32::try_from(code).is_ok());
    if is_error && !(is_code && content["message"].is_string()) {
        return Err(wrong(
            "an error has a whole number of 32 bits as code and a text as message",
        ));
    }
    let of = |value, text| Written { value, text };
    let held = texts
        .held
        .filter(|text| ambiguous_key(text.as_bytes()).is_none());
    let held = held
        .filter(|_| about.is_object())
        .map(|text| of(&about, text));
    let given = written.as_deref().map(|text| of(&given, text));
    Ok(spliced::text(&content, given, held))
}

/// What is shown as it is written, as it is read, where all readers agree.
fn as_read(value: &Value) -> Value {
    let text = value.as_str();
    let text = text.filter(|text| ambiguous_key(text.as_bytes()).is_none());
    let read = text.and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_else(|| value.clone())
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
