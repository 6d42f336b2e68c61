use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

proptest! {
    #[test]
    fn our_numbers_read_back(value in any::<u64>()) {
        let id = Id::number(value);
        prop_assert_eq!(id.as_number(), Some(value));
        prop_assert_eq!(id.as_text(), value.to_string());
    }

    #[test]
    fn a_string_id_says_its_text_and_is_never_our_number(value in any::<String>()) {
        let id = Id::string(&value);
        prop_assert_eq!(id.as_text(), value);
        prop_assert_eq!(id.as_number(), None);
    }

    #[test]
    fn a_token_is_our_number_only_if_we_would_write_it_so(token in "[-+0-9.eE \"]{0,22}") {
        let expected = token.parse::<u64>().ok().filter(|value| value.to_string() == token);
        prop_assert_eq!(own_number(token.as_bytes()), expected);
    }
}

#[test]
fn the_ends_of_the_range_are_ours_and_what_is_beyond_is_not() {
    assert_eq!(own_number(b"0"), Some(0));
    assert_eq!(own_number(b"18446744073709551615"), Some(u64::MAX));
    for other in [
        "18446744073709551616",
        "99999999999999999999",
        "100000000000000000000",
        "",
        "00",
        "01",
        "-1",
        "+1",
    ] {
        assert_eq!(own_number(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn ids_are_the_same_only_if_their_bytes_are() {
    let tokens = [
        "1",
        "1.0",
        "\"1\"",
        "1e0",
        "\"\\u0031\"",
        "9007199254740993",
        "9007199254740992",
        "-0",
        "0",
    ];
    let ids: HashSet<Id> = tokens
        .iter()
        .map(|token| Id::from_token(Bytes::from_static(token.as_bytes())))
        .collect();
    assert_eq!(ids.len(), tokens.len());
}
