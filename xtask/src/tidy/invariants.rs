//! Each invariant of `ARCHITECTURE.md` says what holds it, and that exists.

use super::tree::Tree;
use super::{Finding, RULES, Rule};

/// Who holds what.
pub const HELD: Rule = Rule {
    name: "invariants",
    why: "an invariant that nothing holds is a wish: each says `tidy NAME`, `clippy NAME`, or \
          names the test or the type that would fail without it",
    check: held,
};

const PAGE: &str = "ARCHITECTURE.md";

fn held(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(PAGE).unwrap_or_default();
    let lints = tree.text("Cargo.toml").unwrap_or_default();
    let bans = tree.text("clippy.toml").unwrap_or_default();
    let mut found = Vec::new();
    for (n, invariant) in bullets(text) {
        let Some((_, holders)) = invariant.split_once("Held by ") else {
            found.push(Finding::at(PAGE, n, "an invariant without `Held by`"));
            continue;
        };
        for holder in holders.split('`').skip(1).step_by(2) {
            let exists = match holder.split_once(' ') {
                Some(("tidy", rule)) => RULES.iter().any(|it| it.name == rule),
                Some(("clippy", lint)) => {
                    lints.contains(&format!("\n{lint} = ")) || bans.contains(lint)
                }
                _ => is_in_tree(tree, holder),
            };
            if !exists {
                found.push(Finding::at(PAGE, n, format!("nothing is called {holder}")));
            }
        }
        if !holders.contains('`') {
            found.push(Finding::at(PAGE, n, "says of nobody that it holds it"));
        }
    }
    if found.is_empty() && bullets(text).len() < 5 && tree.has("clippy.toml") {
        found.push(Finding::at(PAGE, 0, "has no list of invariants"));
    }
    found
}

/// `path::name` of a test or type, the path from `crates/`.
fn is_in_tree(tree: &Tree, holder: &str) -> bool {
    let Some((path, name)) = holder.split_once("::") else {
        return tree.has(holder) || tree.has(&format!("crates/{holder}"));
    };
    let text = tree.text(&format!("crates/{path}")).unwrap_or_default();
    ["fn ", "struct ", "enum "]
        .iter()
        .any(|kind| text.contains(&format!("{kind}{name}")))
}

/// The list under "Invariants", each in one piece, with the line it begins on.
fn bullets(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (n, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == "## Invariants";
        } else if inside && line.starts_with("- ") {
            found.push((n + 1, line.to_owned()));
        } else if let Some((_, last)) = found.last_mut().filter(|_| inside && !line.is_empty()) {
            last.push(' ');
            last.push_str(line.trim());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invariant_that_nothing_holds_is_found() {
        let page = "## Invariants\n\n- One. Held by `tidy methods` and\n  `clippy print_stdout`.\n\
                    - Two. Held by `host/src/call.rs::Permitted`, `host/tests/a.rs::it_holds`.\n\
                    - Three.\n- Four. Held by `tidy gone`.\n- Five. Held by `host/tests/a.rs::no`.\n";
        let tree = Tree::planted(&[
            (PAGE, page),
            (
                "Cargo.toml",
                "[workspace.lints.clippy]\nprint_stdout = \"deny\"\n",
            ),
            ("crates/host/src/call.rs", "pub struct Permitted(());\n"),
            ("crates/host/tests/a.rs", "#[test]\nfn it_holds() {}\n"),
        ]);
        let lines: Vec<_> = held(&tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [6, 7, 8]);
    }
}
