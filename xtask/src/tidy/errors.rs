//! Errors are types.

use super::tree::Tree;
use super::{Finding, Rule};

/// Errors that are texts.
pub const ERRORS: Rule = Rule {
    name: "errors",
    why: "an error is a type: a text can be shown, and nothing else. Whoever has to decide by it \
          would have to read it",
    check: errors,
};

fn errors(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            if is_prose(&line.bare) {
                found.push(Finding::at(path, line.number, "an error that is a String"));
            }
        }
    }
    found
}

/// Whether a line has a `Result` whose error is a text.
pub fn is_prose(code: &str) -> bool {
    let mut results = code.split("Result<").skip(1);
    results.any(|rest| error_of(rest) == Some("String"))
}

/// The second of the types in angle brackets, behind the first of which `rest` begins.
fn error_of(rest: &str) -> Option<&str> {
    let (mut depth, mut begins) = (0, None);
    for (at, sign) in rest.char_indices() {
        match sign {
            // What an arrow ends with is no bracket.
            '>' if rest[..at].ends_with('-') => {}
            '<' | '(' | '[' => depth += 1,
            '>' if depth == 0 => return begins.map(|begins: usize| rest[begins..at].trim()),
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => begins = Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_a_text_is_found_wherever_it_stands() {
        for code in [
            "pub fn a() -> Result<u8, String> {}",
            "fn b() -> &'static Result<HashMap<String, u8>, String> {",
            "    connected: Result<bool, String>,",
            "let check = || -> Result<(String, String), String> {",
        ] {
            assert!(is_prose(code), "{code}");
        }
        for code in [
            "fn a() -> Result<HashMap<String, String>, Fault> {}",
            "fn b() -> Result<String> {}",
            "fn c() -> Option<(u8, String)> {}",
            "fn d() -> Result<String, Box<dyn Fn() -> String>> {}",
        ] {
            assert!(!is_prose(code), "{code}");
        }
    }

    #[test]
    fn tests_and_what_says_why_are_free() {
        let tree = Tree::planted(&[
            ("crates/a/src/lib.rs", "fn a() -> Result<u8, String> {}\n"),
            (
                "crates/a/src/b.rs",
                "// tidy: a macro of another crate wants it\nfn b() -> Result<u8, String> {}\n",
            ),
            ("crates/a/src/tests.rs", "fn c() -> Result<u8, String> {}\n"),
        ]);
        let found = errors(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path, "crates/a/src/lib.rs");
    }
}
