use super::*;
use crate::{Kind, Message};
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #[test]
    fn any_message_makes_valid_json_that_says_it_back(
        code in any::<i64>(), message in any::<String>(), id in any::<String>(), data in any::<Option<String>>(),
    ) {
        let mut error = ErrorObject::new(code, message.clone());
        if let Some(data) = &data {
            error = error.with_data(json!({ "data": data }));
        }
        let id = Id::string(&id);
        let bytes = error.response(Some(&id)).into_bytes();
        let tree: Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(&tree["jsonrpc"], "2.0");
        prop_assert_eq!(&tree["id"], &id.as_text());
        prop_assert_eq!(&tree["error"]["code"], code);
        prop_assert_eq!(&tree["error"]["message"], &message);
        prop_assert_eq!(tree["error"].get("data").cloned(), data.map(|data| json!({ "data": data })));

        let read = Message::error(Some(&id), &error);
        prop_assert_eq!(read.raw(), &bytes);
        prop_assert_eq!(read.kind(), Kind::Error);
        prop_assert_eq!(read.id(), Some(id));
        prop_assert_eq!(read.error_code(), Some(code));
        prop_assert_eq!(read.error_text(), Some(message));
    }
}

#[test]
fn hostile_text_stays_inside_its_string() {
    for message in [
        "\",\"code\":0,\"x\":\"",
        "\\",
        "\\\"",
        "\u{0}\u{1}\u{1f}\u{7f}",
        "line\r\nline\u{2028}",
        "}{",
        "\u{1b}[2J\u{202e}",
    ] {
        let json = ErrorObject::new(code::INTERNAL, message).to_json();
        assert!(!json.bytes().any(|byte| byte < 0x20), "{json}");
        let tree: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(tree, json!({ "code": -32603, "message": message }));
    }
}

#[test]
fn without_an_id_the_answer_carries_null() {
    let bytes = ErrorObject::new(code::PARSE, "no")
        .response(None)
        .into_bytes();
    assert_eq!(
        &bytes[..],
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#
    );
    let read = Message::parse(bytes).unwrap();
    assert_eq!((read.kind(), read.id()), (Kind::Error, None));
}

#[test]
fn an_id_is_echoed_byte_for_byte() {
    for token in [
        "1",
        "1.0",
        "\"1\"",
        "1e400",
        "-0",
        "9007199254740993",
        r#""\ud800""#,
        r#""\u0031""#,
    ] {
        let request =
            Message::parse(format!(r#"{{"jsonrpc":"2.0","id":{token},"method":"ping"}}"#).into())
                .unwrap();
        let bytes = ErrorObject::new(0, "")
            .response(request.id().as_ref())
            .into_bytes();
        assert_eq!(
            bytes,
            format!(r#"{{"jsonrpc":"2.0","id":{token},"error":{{"code":0,"message":""}}}}"#)
        );
    }
}
