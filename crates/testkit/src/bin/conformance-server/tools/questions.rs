//! Tools that ask the client. In the legacy era the questions are requests of
//! ours, in the modern era InputRequiredResults; the code is the same.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{argument, text};
use crate::asks::Ask;
use crate::exchange::{Exchange, State, Stop};
use crate::rpc::{RpcError, notification};
use crate::server::random_id;

const SIGN_IN: &str = "https://conformance.example/sign-in";

pub(super) async fn call(
    exchange: &Exchange,
    name: &str,
    arguments: &Value,
) -> Result<Option<Value>, Stop> {
    let result = match name {
        "test_sampling" => {
            let ask = Ask::sampling("sampling", argument(arguments, "prompt")?, 100);
            let answer = one(exchange, ask, State::None).await?;
            text(format!(
                "LLM response: {}",
                plain(&answer["content"]["text"])
            ))
        }
        "test_missing_capability" => {
            // The legacy era has no error for it: there the question itself fails.
            if exchange.session().is_some() {
                let ask = Ask::sampling("capability", "Are you there?", 10);
                one(exchange, ask, State::None).await?;
            } else if !exchange.capabilities()["sampling"].is_object() {
                return Err(RpcError::missing_capability(json!({ "sampling": {} })).into());
            }
            text("The client supports sampling.")
        }
        "test_elicitation" => elicitation(exchange, argument(arguments, "message")?).await?,
        "test_elicitation_sep1034_defaults" => {
            elicited(exchange, "Please review the defaults", default_values()).await?
        }
        "test_elicitation_sep1330_enums" => {
            elicited(exchange, "Please choose options", enum_variants()).await?
        }
        "test_url_elicitation_required" => url_required(exchange).await?,
        "test_elicitation_url" => elicitation_by_url(exchange).await?,
        "test_list_roots" | "test_input_required_result_list_roots" => {
            let answer = one(exchange, Ask::roots("client_roots"), State::None).await?;
            text(format!("The client's roots: {}", answer["roots"]))
        }
        "test_streaming_elicitation" => {
            exchange.progress(1, 2, "Working").await;
            // Long enough for the answer to become a stream before it ends.
            sleep(Duration::from_millis(60)).await;
            let ask = Ask::text_field("detail", "What else should be known?", "detail");
            let answer = one(exchange, ask, State::None).await?;
            text(format!("Streamed with: {}", answer["content"]))
        }
        "test_input_required_result_elicitation" => {
            let ask = Ask::text_field("user_name", "What is your name?", "name");
            let answer = one(exchange, ask, State::None).await?;
            text(format!("Hello, {}!", plain(&answer["content"]["name"])))
        }
        "test_input_required_result_sampling" => {
            let prompt = "What is the capital of France?";
            let ask = Ask::sampling("capital_question", prompt, 100);
            let answer = one(exchange, ask, State::None).await?;
            text(plain(&answer["content"]["text"]))
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            let ask = Ask::yes_or_no("confirm", "Please confirm", "ok");
            let answer = one(exchange, ask, State::Sealed).await?;
            text(format!("state-ok: {answer}"))
        }
        "test_input_required_result_multiple_inputs" => {
            let asks = [
                Ask::text_field("user_name", "What is your name?", "name"),
                Ask::sampling("greeting", "Generate a greeting", 50),
                Ask::roots("client_roots"),
            ];
            let answers = exchange.gather(&asks, State::Sealed).await?;
            text(format!("All inputs: {}", Value::from(answers)))
        }
        "test_input_required_result_multi_round" => {
            let ask = Ask::text_field("step1", "Step 1: What is your name?", "name");
            let first = one(exchange, ask, State::Sealed).await?;
            let ask = Ask::text_field("step2", "Step 2: What is your favorite color?", "color");
            let second = one(exchange, ask, State::Sealed).await?;
            let name = plain(&first["content"]["name"]);
            let colour = plain(&second["content"]["color"]);
            text(format!("{name} likes {colour}"))
        }
        "test_interview" => interview(exchange).await?,
        "test_input_required_result_capabilities" => {
            let asks: Vec<_> = [
                Ask::text_field("user_name", "What is your name?", "name"),
                Ask::sampling("greeting", "Generate a greeting", 50),
                Ask::roots("client_roots"),
            ]
            .into_iter()
            .filter(|ask| ask.allowed_by(exchange.capabilities()))
            .collect();
            let answers = exchange.gather(&asks, State::None).await?;
            text(format!("Inputs: {}", Value::from(answers)))
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// Asks one question.
async fn one(exchange: &Exchange, ask: Ask, state: State) -> Result<Value, Stop> {
    let mut answers = exchange.gather(std::slice::from_ref(&ask), state).await?;
    Ok(answers.remove(&ask.key).unwrap_or_default())
}

/// A string without its quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

async fn elicitation(exchange: &Exchange, message: &str) -> Result<Value, Stop> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    let answer = one(exchange, Ask::form("user", message, schema), State::None).await?;
    let (action, content) = (plain(&answer["action"]), &answer["content"]);
    Ok(text(format!(
        "User response: action: {action}, content: {content}"
    )))
}

async fn elicited(exchange: &Exchange, message: &str, properties: Value) -> Result<Value, Stop> {
    let schema = json!({ "type": "object", "properties": properties, "required": [] });
    let answer = one(exchange, Ask::form("form", message, schema), State::None).await?;
    let (action, content) = (plain(&answer["action"]), &answer["content"]);
    Ok(text(format!(
        "Elicitation completed: action={action}, content={content}"
    )))
}

/// Legacy clients are also told when the visit has had its effect.
async fn elicitation_by_url(exchange: &Exchange) -> Result<Value, Stop> {
    let mut ask = Ask::url("visit", "Please sign in", SIGN_IN);
    let id = random_id();
    if exchange.session().is_some() {
        ask.params["elicitationId"] = id.as_str().into();
    }
    let answer = one(exchange, ask, State::Sealed).await?;
    if exchange.session().is_some() && answer["action"] == "accept" {
        let params = json!({ "elicitationId": id });
        let complete = notification("notifications/elicitation/complete", params);
        exchange.outlet.send(complete).await;
    }
    Ok(text(format!("Visit: {}", plain(&answer["action"]))))
}

/// 2025-11-25 could also refuse a call until an address has been visited; here
/// the session's second call is taken as proof of that.
async fn url_required(exchange: &Exchange) -> Result<Value, Stop> {
    let Some(session) = exchange.session() else {
        return elicitation_by_url(exchange).await;
    };
    if session.was_sent_to_url.swap(true, Ordering::Relaxed) {
        return Ok(text("The address has been visited."));
    }
    let mut elicitation = Ask::url("visit", "Please sign in", SIGN_IN).params;
    elicitation["elicitationId"] = random_id().into();
    let error = RpcError::new(-32042, "Visit the address, then call again")
        .with_data(json!({ "elicitations": [elicitation] }));
    Err(error.into())
}

/// A default for every primitive type (SEP-1034).
fn default_values() -> Value {
    json!({
        "name": { "type": "string", "description": "User name", "default": "John Doe" },
        "age": { "type": "integer", "description": "User age", "default": 30 },
        "score": { "type": "number", "description": "User score", "default": 95.5 },
        "status": {
            "type": "string",
            "description": "User status",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "description": "Verified or not", "default": true },
    })
}

/// All ways to write an enumeration (SEP-1330).
fn enum_variants() -> Value {
    let titled = |kind: &str| {
        json!([
            { "const": "value1", "title": format!("First {kind}") },
            { "const": "value2", "title": format!("Second {kind}") },
            { "const": "value3", "title": format!("Third {kind}") },
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}

/// A form, then the model's opinion, then a second form. Whatever is declined
/// or cancelled ends it with a word about where.
async fn interview(exchange: &Exchange) -> Result<Value, Stop> {
    let ask = Ask::text_field("first", "What is your name?", "name");
    let first = one(exchange, ask, State::Sealed).await?;
    if first["action"] != "accept" {
        return Ok(text(format!(
            "Ended at the first form: {}",
            plain(&first["action"])
        )));
    }
    let name = plain(&first["content"]["name"]);
    let ask = Ask::sampling("opinion", &format!("What suits {name}?"), 50);
    let opinion = one(exchange, ask, State::Sealed).await?;
    let opinion = plain(&opinion["content"]["text"]);
    let ask = Ask::text_field("second", &format!("Do you like {opinion}?"), "answer");
    let second = one(exchange, ask, State::Sealed).await?;
    if second["action"] != "accept" {
        return Ok(text(format!(
            "Ended at the second form: {}",
            plain(&second["action"])
        )));
    }
    let answer = plain(&second["content"]["answer"]);
    Ok(text(format!(
        "{name} was offered {opinion} and said {answer}"
    )))
}
