//! The shape that every answer must have: a result is an object, an error has a
//! code and a message. What is in them is between client and server, and so is
//! the result of a method that we do not know.

use crate::limits;
use switchboard_wire::{
    Kind, Message, Method,
    json::{self, ValueKind},
};

/// What is wrong with an answer to a request of this method, if anything is.
pub(super) fn fault(message: &Message, method: Method) -> Option<String> {
    let body = message.body();
    let kind = ValueKind::of(body);
    match message.kind() {
        Kind::Response if method == Method::Other => None,
        Kind::Response if kind != Some(ValueKind::Object) => Some(format!(
            "its result is {}, and must be an object",
            shown(kind, body)
        )),
        Kind::Error if kind != Some(ValueKind::Object) => Some(format!(
            "its error is {}, and must be an object",
            shown(kind, body)
        )),
        Kind::Error => error_fault(body).map(|what| {
            format!(
                "its error {what}: {}",
                beginning(&String::from_utf8_lossy(body))
            )
        }),
        _ => None,
    }
}

fn error_fault(body: &[u8]) -> Option<String> {
    let [code, message] = match json::fields(body, ["code", "message"]) {
        Ok(found) => found,
        Err(fault) => return Some(fault.to_string()),
    };
    let Some(code) = code else {
        return Some("has no \"code\"".into());
    };
    let number = std::str::from_utf8(code.of(body)).ok();
    let number = number.and_then(|code| code.parse::<f64>().ok());
    if ValueKind::of(code.of(body)) != Some(ValueKind::Number)
        || number.is_none_or(|code| code.fract() != 0.0)
    {
        return Some("has a \"code\" that is no whole number".into());
    }
    match message {
        None => Some("has no \"message\"".into()),
        Some(message) if ValueKind::of(message.of(body)) != Some(ValueKind::String) => {
            Some("has a \"message\" that is no string".into())
        }
        Some(_) => None,
    }
}

fn shown(kind: Option<ValueKind>, body: &[u8]) -> String {
    match kind {
        Some(ValueKind::Null) => "null".into(),
        Some(ValueKind::Array) => "an array".into(),
        _ => beginning(&String::from_utf8_lossy(body)),
    }
}

/// The beginning of a text, on one line.
pub(super) fn beginning(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(limits::WRONG_SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(limits::WRONG_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rest: &str) -> Option<String> {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{rest}}}");
        fault(&Message::parse(text.into()).unwrap(), Method::ToolsCall)
    }

    #[test]
    fn the_result_of_what_we_do_not_know_is_not_ours_to_judge() {
        let text = r#"{"jsonrpc":"2.0","id":1,"result":null}"#;
        let message = Message::parse(text.into()).unwrap();
        assert_eq!(fault(&message, Method::Other), None);
        assert!(fault(&message, Method::Ping).is_some());
    }

    #[test]
    fn what_every_client_can_read_passes() {
        for well in [
            r#""result":{}"#,
            r#""result": {"x":null} "#,
            r#""error":{"code":-32000,"message":""}"#,
            r#""error":{"message":"m","data":[1],"code":1,"more":2}"#,
            r#""error":{"message":"m","code":-32001.0}"#,
        ] {
            assert_eq!(of(well), None, "{well}");
        }
    }

    #[test]
    fn what_clients_stumble_over_is_named() {
        for (bad, named) in [
            (r#""result":null"#, "its result is null"),
            (r#""result":[]"#, "its result is an array"),
            (r#""result":"text""#, "text"),
            (r#""result":5"#, "its result is 5"),
            (r#""error":null"#, "its error is null"),
            (r#""error":"boom""#, "boom"),
            (r#""error":{"message":"boom"}"#, "no \"code\""),
            (r#""error":{"code":1.5,"message":"boom"}"#, "whole number"),
            (r#""error":{"code":"1","message":"boom"}"#, "whole number"),
            (r#""error":{"code":1}"#, "no \"message\""),
            (r#""error":{"code":1,"message":{}}"#, "no string"),
            (r#""error":{"code":1,"code":2,"message":"m"}"#, "code"),
        ] {
            let said = of(bad).expect(bad);
            assert!(said.contains(named), "{bad}: {said}");
        }
    }
}
