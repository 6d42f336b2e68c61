use super::*;

#[test]
fn what_a_terminal_would_obey_is_written_out() {
    for (text, expected) in [
        ("plain ü 漢字 🦀", "plain ü 漢字 🦀"),
        (
            "\u{1b}[31mred\u{1b}]0;title\u{7}",
            "\\u{1b}[31mred\\u{1b}]0;title\\u{7}",
        ),
        ("a\u{202e}b", "a\\u{202e}b"),
        ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
        ("\u{e0041}", "\\u{e0041}"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("a\r\nb", "a\\r\nb"),
    ] {
        assert_eq!(lines(text), expected);
    }
    assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
}
