use super::*;
use crate::json::tests::{damaged, gap, value};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

fn accepts(source: impl AsRef<[u8]>) -> bool {
    check(source.as_ref()).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_value_is_accepted_and_its_span_is_the_value(
        before in gap(), text in value(), after in gap(),
    ) {
        let source = format!("{before}{text}{after}");
        let (span, kind) = check(source.as_bytes()).unwrap();
        prop_assert_eq!(span, Span::new(before.len(), before.len() + text.len()));
        prop_assert_eq!(Some(kind), ValueKind::of(text.as_bytes()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// serde_json's skipping parser has no depth limit, keeps lone surrogates
    /// and does not look at UTF-8: on shallow input the two must be the same.
    #[test]
    fn damaged_text_is_accepted_exactly_when_serde_json_skips_over_it(source in damaged()) {
        let theirs = serde_json::from_slice::<IgnoredAny>(&source);
        prop_assert_eq!(
            accepts(&source),
            theirs.is_ok(),
            "{:?}: ours {:?}, theirs {:?}",
            String::from_utf8_lossy(&source),
            check(&source),
            theirs,
        );
    }

    #[test]
    fn with_utf8_checked_we_accept_exactly_what_a_raw_value_accepts(source in damaged()) {
        let ours = std::str::from_utf8(&source).is_ok() && accepts(&source);
        prop_assert_eq!(ours, serde_json::from_slice::<&RawValue>(&source).is_ok());
    }

    #[test]
    fn any_bytes_are_judged_as_serde_json_judges_them(source in any::<Vec<u8>>()) {
        prop_assert_eq!(accepts(&source), serde_json::from_slice::<IgnoredAny>(&source).is_ok());
    }

    /// The fast paths read 8 and 64 bytes at once; every byte must be judged the
    /// same wherever it stands in them.
    #[test]
    fn string_bytes_are_judged_alike_at_every_position(
        mut inner in proptest::collection::vec(0x20u8..0xff, 0..300),
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        inner.retain(|byte| !matches!(byte, b'"' | b'\\'));
        let at = at.index(inner.len() + 1);
        inner.insert(at, byte);
        let source = [b"\"", inner.as_slice(), b"\""].concat();
        prop_assert_eq!(accepts(&source), serde_json::from_slice::<IgnoredAny>(&source).is_ok());
    }
}

#[test]
fn numbers_of_any_size_and_spelling_are_accepted() {
    for good in [
        "0",
        "-0",
        "1e400",
        "1E+400",
        "-1e-400",
        "0.1000",
        "1.0",
        "10",
        "9007199254740993",
        "123456789012345678901234567890",
        "0e0",
        "0.0",
        "-0.0e-0",
    ] {
        assert_eq!(
            check(good.as_bytes()),
            Ok((Span::new(0, good.len()), ValueKind::Number)),
            "{good}"
        );
    }
}

#[test]
fn numbers_that_rfc_8259_does_not_have_are_refused() {
    for bad in [
        "01",
        "-01",
        "00",
        "+1",
        ".5",
        "1.",
        "1.e5",
        "1e",
        "1e+",
        "-",
        "--1",
        "0x10",
        "1_000",
        "NaN",
        "Infinity",
        "-Infinity",
        "1 2",
        "١",
    ] {
        assert!(!accepts(bad), "{bad}");
    }
}

#[test]
fn literals_and_structures_must_be_complete() {
    for bad in [
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "tru",
        "truefalse",
        "[",
        "]",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,,2]",
        "[}",
        "{]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" 1}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "[1]]",
        "{}{}",
        "\"",
        "\"a",
        "'a'",
        "// c\n1",
        "[1,2",
        "{\"a\":[}",
        "[\"a\":1]",
        "\u{a0}1",
        "1\u{c}",
        "\u{b}1",
    ] {
        assert!(!accepts(bad), "{bad:?}");
    }
}

#[test]
fn control_characters_are_refused_in_strings_and_between_tokens() {
    for control in 0u8..0x20 {
        let inside = [b'"', control, b'"'];
        assert!(!accepts(inside), "{control:#x} in a string");
        let long = [b"\"12345678", [control].as_slice(), b"12345678\""].concat();
        assert!(!accepts(long), "{control:#x} in a long string");
        let between = [control, b'1'];
        let space = matches!(control, b' ' | b'\t' | b'\n' | b'\r');
        assert_eq!(accepts(between), space, "{control:#x} between tokens");
    }
    assert!(accepts("\"\u{7f}\u{80}\u{2028}\""));
}

#[test]
fn escapes_are_the_eight_of_the_rfc_and_four_hex_digits() {
    for good in [
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\u0000\uABCD\uabcd""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
    ] {
        assert!(accepts(good), "{good}");
    }
    for bad in [
        r#""\a""#,
        r#""\x41""#,
        r#""\u""#,
        r#""\u12""#,
        r#""\u123""#,
        r#""\u12G4""#,
        r#""\U0041""#,
        r#""\"#,
        r#""\u+123""#,
        r#""\u 123""#,
        r#""\'""#,
        "\"\\\n\"",
    ] {
        assert!(!accepts(bad), "{bad}");
    }
}

#[test]
fn a_byte_order_mark_is_not_white_space() {
    let fault = check("\u{feff}{}".as_bytes()).unwrap_err();
    assert_eq!((fault.what, fault.at), ("expected a value", 0));
    assert!(!accepts("{}\u{feff}"));
    assert!(accepts("\"\u{feff}\""));
}

#[test]
fn depth_1024_is_accepted_and_1025_refused() {
    for (open, close) in [
        ("[", "]"),
        ("{\"a\":", "}"),
        ("[{\"a\":", "}]"),
        (" [ ", "\n]"),
    ] {
        let levels = if open.starts_with("[{") { 2 } else { 1 };
        let nest = |times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
        assert!(accepts(nest(SCAN_DEPTH / levels)), "{open}");
        let one_more = format!("[{}]", nest(SCAN_DEPTH / levels));
        assert_eq!(
            check(one_more.as_bytes()).unwrap_err().what,
            "nested too deeply",
            "{open}"
        );
    }
    assert!(accepts("[".repeat(1024) + &"]".repeat(1024)));
    assert!(!accepts("[".repeat(1025) + &"]".repeat(1025)));
}

/// The limit is on what is open at once, not on how often something was opened.
#[test]
fn many_shallow_containers_are_not_deep() {
    let row = "[".repeat(1000) + &"]".repeat(1000);
    assert!(accepts(format!("[{}]", vec![row; 50].join(","))));
}

#[test]
fn the_kinds_of_open_containers_are_remembered_past_each_word_of_bits() {
    for depth in [63, 64, 65, 127, 128, 129, 1022] {
        let arrays = "[".repeat(depth);
        let good = format!("{arrays}{{\"a\":[]}}{}", "]".repeat(depth));
        assert!(accepts(&good), "{depth}");
        let swapped = format!("{arrays}{{\"a\":1]{}", "]".repeat(depth));
        assert!(!accepts(&swapped), "{depth}");
        // The same depth, first an object, then an array: the bit must be cleared.
        let again = format!("[{arrays}{{}},[]{}]", "]".repeat(depth));
        assert!(accepts(&again), "{depth}");
    }
}

#[test]
fn input_nested_100_000_deep_is_refused_without_using_the_stack() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let source = open.repeat(100_000);
        let fault = std::thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(move || check(source.as_bytes()).unwrap_err())
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(fault.what, "nested too deeply");
    }
}

/// Also where an escape is cut off: whoever shows the place may index with it.
#[test]
fn the_place_of_a_fault_is_never_past_the_end() {
    let source = br#"{"a\u0041":[1.5e+3,true,null,"\n"]}"#;
    for end in 0..source.len() {
        assert!(check(&source[..end]).unwrap_err().at <= end, "{end}");
    }
}

#[test]
fn the_fault_says_where() {
    assert_eq!(
        check(b"[1,x]").unwrap_err(),
        SyntaxError {
            what: "expected a value",
            at: 3
        }
    );
    assert_eq!(
        check(b"{\"a\":1]").unwrap_err(),
        SyntaxError {
            what: "expected , or }",
            at: 6
        }
    );
    assert_eq!(
        check(b"[1").unwrap_err(),
        SyntaxError {
            what: "unexpected end",
            at: 2
        }
    );
    assert_eq!(
        check(b"1 2").unwrap_err(),
        SyntaxError {
            what: "unexpected text after the value",
            at: 2
        }
    );
}

/// UTF-8 is the envelope's to check, once for the whole message: the scan alone lets it through.
#[test]
fn the_scan_does_not_look_at_utf8() {
    assert!(accepts(b"\"\xff\""));
    assert!(!accepts(b"\xff"));
}
