//! Patterns with `*`.

/// Whether the whole text fits: `*` stands for any run of characters, everything
/// else for itself. Steps through both at once, so that no pattern can make it slow.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_any_run_of_characters() {
        for (pattern, text) in [
            ("", ""),
            ("a", "a"),
            ("*", ""),
            ("*", "anything"),
            ("a*", "a"),
            ("a*c", "abc"),
            ("a*c", "acbc"),
            ("*b*", "abc"),
            ("**", "x"),
            ("ü*漢", "ü-漢"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", "ab"),
            ("a*a", "a"),
            ("a*b*b", "ab"),
            ("*b", "bc"),
            ("A", "a"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
