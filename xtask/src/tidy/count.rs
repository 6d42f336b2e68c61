//! `cargo xtask tidy --count`: the tree in numbers, for `docs/design/structure.md`.

use super::errors::is_prose;
use super::pages;
use super::tree::{Tree, crate_of};

/// What there is, with how much of it.
pub fn count(tree: &Tree) -> Vec<(&'static str, String)> {
    let mut sizes: Vec<usize> = tree.product().map(|(_, lines)| lines.len()).collect();
    sizes.sort_unstable();
    let at = |part: usize| {
        sizes
            .get(sizes.len() * part / 100)
            .copied()
            .unwrap_or_default()
    };
    let largest = sizes.last().copied().unwrap_or_default();
    let manifests = tree.files("toml").filter_map(|(path, _)| crate_of(path));
    let crates = manifests.filter(|(_, file)| *file == "Cargo.toml").count();
    vec![
        ("crates", crates.to_string()),
        ("files of the product", sizes.len().to_string()),
        (
            "their lines: median, ninetieth percent, largest",
            format!("{}, {}, {largest}", at(50), at(90)),
        ),
        ("test programs", programs(tree).to_string()),
        (
            "rows of the table of ARCHITECTURE.md",
            pages::rows(tree).len().to_string(),
        ),
        (
            "public functions that return `Result<_, String>`",
            prose(tree, true).to_string(),
        ),
        ("all functions that do", prose(tree, false).to_string()),
    ]
}

/// Each file of a crate's `tests`, and each folder there with a `main.rs`.
fn programs(tree: &Tree) -> usize {
    let files = tree.files("rs").filter(|(path, _)| {
        let parts: Vec<&str> = path.split('/').collect();
        matches!(
            parts[..],
            ["crates", _, "tests", _] | ["crates", _, "tests", _, "main.rs"]
        )
    });
    files.count()
}

/// Signatures whose error is a text.
fn prose(tree: &Tree, public: bool) -> usize {
    let mut count = 0;
    for (_, lines) in tree.product() {
        let mut is_public = false;
        for line in lines {
            let code = line.bare.trim_start();
            if code.contains("fn ") {
                is_public = code.starts_with("pub fn ") || code.starts_with("pub async fn ");
            }
            let returns = code.split_once("-> ").map(|(_, kind)| kind);
            let is_one = returns.is_some_and(is_prose);
            count += usize::from(is_one && (is_public || !public));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_counted() {
        let tree = Tree::planted(&[
            (
                "ARCHITECTURE.md",
                "# x\n\n## Where to look\n\n| a | b |\n|---|---|\n| c | d |\n",
            ),
            (
                "crates/a/src/lib.rs",
                "pub fn a() -> Result<u8, String> {}\nfn b(\n) -> Result<Vec<u8>, String> {}\nfn c() -> Result<(), Fault> {}\n",
            ),
            ("crates/a/tests/it/main.rs", ""),
            ("crates/a/tests/it/b.rs", ""),
            ("crates/a/tests/own.rs", ""),
        ]);
        assert_eq!((programs(&tree), pages::rows(&tree).len()), (2, 1));
        assert_eq!((prose(&tree, true), prose(&tree, false)), (1, 2));
    }
}
