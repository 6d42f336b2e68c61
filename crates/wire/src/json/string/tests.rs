use super::*;
use crate::json::{check, tests::string};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_quoted_text_reads_back_and_is_one_token(value in any::<String>()) {
        let token = quote(&value);
        prop_assert!(check(token.as_bytes()).is_ok());
        prop_assert_eq!(text(token.as_bytes()).map(Cow::into_owned), Some(value.clone()));
        prop_assert_eq!(serde_json::from_str::<String>(&token).unwrap(), value);
    }

    #[test]
    fn tokens_stand_for_the_text_that_serde_json_reads(token in string()) {
        let theirs = serde_json::from_str::<String>(&token).ok();
        prop_assert_eq!(text(token.as_bytes()).map(Cow::into_owned), theirs);
    }
}

#[test]
fn a_lone_surrogate_stands_for_no_text() {
    for token in [
        r#""\ud800""#,
        r#""a\udc00b""#,
        r#""\udc00\ud800""#,
        r#""\ud800\u0041""#,
    ] {
        assert_eq!(text(token.as_bytes()), None, "{token}");
    }
    assert_eq!(text(br#""\ud83d\ude00""#).as_deref(), Some("😀"));
}

#[test]
fn what_is_no_string_token_has_no_text() {
    for other in ["", "\"", "1", "null", "{}", "a\"", "\"a"] {
        assert_eq!(text(other.as_bytes()), None, "{other}");
    }
    assert_eq!(text(b"\"\xff\""), None);
    assert_eq!(text(b"\"\"").as_deref(), Some(""));
}

#[test]
fn every_control_character_is_escaped() {
    let all: String = (0u8..0x20).map(char::from).collect();
    let token = quote(&all);
    assert!(token.bytes().all(|byte| byte >= 0x20), "{token}");
    assert_eq!(text(token.as_bytes()).as_deref(), Some(all.as_str()));
}
