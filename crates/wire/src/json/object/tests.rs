use super::*;
use crate::json::{
    check,
    tests::{array, gap, object, string, value},
};
use proptest::{collection::vec, prelude::*, sample::select};

fn read(source: &str) -> Vec<(&str, &str)> {
    members(source.as_bytes())
        .map(|member| {
            (
                &source[member.key.start..member.key.end],
                &source[member.value.start..member.value.end],
            )
        })
        .collect()
}

const KEYS: [&str; 3] = ["id", "method", "params"];

/// A key that is looked for, plainly or escaped, or any other.
fn key() -> impl Strategy<Value = String> {
    let known = ["\"id\"", "\"i\\u0064\"", "\"method\"", "\"params\""];
    prop_oneof![
        3 => select(known.to_vec()).prop_map(str::to_owned),
        1 => string(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn members_are_all_members_in_order_with_their_exact_bytes(
        list in vec((string(), value()), 0..6), gaps in vec(gap(), 25),
    ) {
        let source = object(&list, &gaps);
        let expected: Vec<_> = list.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        prop_assert_eq!(read(&source), expected);
    }

    #[test]
    fn elements_are_all_elements_in_order_with_their_exact_bytes(
        list in vec(value(), 0..6), gaps in vec(gap(), 13),
    ) {
        let source = array(&list, &gaps);
        let read: Vec<&str> = elements(source.as_bytes()).map(|span| &source[span.start..span.end]).collect();
        prop_assert_eq!(read, list);
    }

    #[test]
    fn one_pass_finds_what_a_check_and_a_search_find(
        list in vec((key(), value()), 0..6), gaps in vec(gap(), 25),
        around in (gap(), gap()), cut in any::<prop::sample::Index>(), whole in any::<bool>(),
    ) {
        let (before, after) = around;
        let mut source = format!("{before}{}{after}", object(&list, &gaps));
        if !whole {
            let at = cut.index(source.len());
            source.truncate((0..=at).rev().find(|at| source.is_char_boundary(*at)).unwrap());
        }
        let source = source.as_bytes();
        let apart = check(source).map_err(TextError::NotJson);
        let apart = apart.map(|(span, kind)| (span, kind, places(source, &KEYS)));
        let at_once = check_places(source, &KEYS).map(|(span, kind, found, _)| (span, kind, found));
        prop_assert_eq!(at_once, apart);
    }

    #[test]
    fn broken_text_ends_the_iteration_and_nothing_else(source in any::<Vec<u8>>()) {
        prop_assert!(members(&source).count() <= source.len());
        prop_assert!(elements(&source).count() <= source.len());
        let _ = fields(&source, ["a"]);
    }
}

#[test]
fn what_is_no_object_has_no_members() {
    for other in ["[{\"a\":1}]", "\"a\"", "1", "null", "", " "] {
        assert!(read(other).is_empty(), "{other}");
        assert_eq!(
            fields(other.as_bytes(), ["a"]),
            Err(FieldError::NotAnObject),
            "{other}"
        );
        assert_eq!(field(other.as_bytes(), "a"), Ok(None), "{other}");
    }
    assert_eq!(elements(b"{\"a\":1}").count(), 0);
}

#[test]
fn white_space_before_an_object_hides_no_field() {
    let source = b" \n{\"a\": 1}";
    assert_eq!(field(source, "a"), Ok(Some(Span::new(8, 9))));
    assert_eq!(members(source).count(), 1);
}

#[test]
fn fields_are_found_at_this_level_only() {
    let source = br#"{"x":{"a":1},"y":[{"a":2}],"a":3,"z":"\"a\":4"}"#;
    let span = field(source, "a").unwrap().unwrap();
    assert_eq!(span.of(source), b"3");
}

#[test]
fn an_escaped_spelling_is_the_same_key() {
    for source in [
        r#"{"na\u006de":1}"#,
        r#"{"\u006e\u0061\u006D\u0065":1}"#,
        r#"{"name":1}"#,
    ] {
        assert!(
            field(source.as_bytes(), "name").unwrap().is_some(),
            "{source}"
        );
    }
    let slash = r#"{"io.modelcontextprotocol\/clientInfo":1}"#;
    assert!(
        field(slash.as_bytes(), crate::meta::CLIENT_INFO)
            .unwrap()
            .is_some()
    );
}

#[test]
fn keys_that_only_resemble_are_other_keys() {
    for source in [
        r#"{"Name":1}"#,
        r#"{"name ":1}"#,
        r#"{"nam":1}"#,
        r#"{"name\u0000":1}"#,
        r#"{"name\ud800":1}"#,
        r#"{"na\\u006de":1}"#,
        "{\"na\u{200b}me\":1}",
        "{\"n\u{430}me\":1}",
        r#"{"":1}"#,
    ] {
        assert_eq!(field(source.as_bytes(), "name"), Ok(None), "{source}");
    }
}

#[test]
fn a_key_of_ours_that_comes_twice_is_refused_in_any_spelling() {
    for source in [
        r#"{"name":1,"name":1}"#,
        r#"{"name":1,"x":{},"na\u006de":2}"#,
        r#"{"n\u0061me":1,"\u006eame":2}"#,
        r#"{"name":null,"name":null}"#,
    ] {
        assert_eq!(
            field(source.as_bytes(), "name"),
            Err(Duplicate("name")),
            "{source}"
        );
    }
    let others = br#"{"x":1,"x":2,"name":3}"#;
    assert_eq!(field(others, "name").unwrap().unwrap().of(others), b"3");
}
