//! What pages name is there.

use super::tree::Tree;
use super::{Finding, Rule};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Links between pages.
pub const LINKS: Rule = Rule {
    name: "links",
    why: "a link on a page leads to a file of this tree",
    check: links,
};

/// Files in the text of pages.
pub const PATHS: Rule = Rule {
    name: "paths",
    why: "a file that a page names is where the page says: whoever looks for it there is sent \
          into the void otherwise",
    check: paths,
};

/// Walks through the sources.
pub const WALKS: Rule = Rule {
    name: "walks",
    why: "a walk of ARCHITECTURE.md is under 25 files: what takes more cannot be followed, and \
          wants a shorter way rather than a longer list",
    check: walks,
};

/// The map.
pub const MAP: Rule = Rule {
    name: "map",
    why: "ARCHITECTURE.md has at most 40 words and 38 rows of where to look: what needs more \
          wants better names",
    check: map,
};

/// Pages in the comments of sources.
pub const SOURCES: Rule = Rule {
    name: "sources",
    why: "a page that a comment names is in this tree: nobody can read another",
    check: sources,
};

fn links(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.files("md") {
        for (n, line) in prose(text) {
            for link in line.split("](").skip(1) {
                let target = link.split([')', '#']).next().unwrap_or_default();
                if target.is_empty() || target.contains("://") {
                    continue;
                }
                let folder = Path::new(path).parent().unwrap_or(Path::new(""));
                if !tree.has(&plain(&folder.join(target))) {
                    found.push(Finding::at(path, n, format!("leads to {target}")));
                }
            }
        }
    }
    found
}

/// A path without `..`.
fn plain(path: &Path) -> String {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out.to_string_lossy().into_owned()
}

/// Where a path on a page may begin.
const TOPS: [&str; 6] = [
    "crates/",
    "docs/",
    "xtask/",
    "conformance/",
    ".ci/",
    ".config/",
];

/// Pages that speak of the sources all the time, and so leave out `crates/`.
const OF_SOURCES: [&str; 4] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/design/contract.md",
    "docs/design/faults.md",
];

fn paths(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (page, text) in tree.files("md") {
        let is_of_sources =
            OF_SOURCES.contains(&page) || page.starts_with("docs/design/decisions/");
        // What was true of a version stays as it was written.
        if page == "CHANGELOG.md" {
            continue;
        }
        for (n, line) in prose(text) {
            let mut folder = String::new();
            for span in line.split('`').skip(1).step_by(2) {
                let Some(path) = path_in(span) else { continue };
                let is_named = TOPS.iter().any(|top| path.starts_with(top));
                if is_named && let Some((parent, _)) = path.rsplit_once('/') {
                    parent.clone_into(&mut folder);
                }
                let is_known = if is_named || !is_of_sources {
                    !is_named || tree.has(path)
                } else {
                    is_there(tree, path, &mut folder)
                };
                if !is_known {
                    found.push(Finding::at(page, n, format!("names {path}")));
                }
            }
        }
    }
    found
}

/// A file of a crate, as `host/src/call.rs`, or one beside the file that was named
/// last on the line, as `slot.rs`.
fn is_there(tree: &Tree, path: &str, folder: &mut String) -> bool {
    let is_rust = path.ends_with(".rs") || path.ends_with('/');
    let full = format!("crates/{path}");
    if tree.has(&full) {
        let parent = match path.ends_with('/') {
            true => full.trim_end_matches('/'),
            false => full.rsplit_once('/').map_or("", |(parent, _)| parent),
        };
        parent.clone_into(folder);
        return true;
    }
    if !is_rust || tree.has(path) || tree.has(&format!("{folder}/{path}")) {
        return true;
    }
    // `contents/ground.rs` behind `approval/contents.rs`, `keyed.rs` behind `server.rs`.
    let mut above = Path::new(folder.as_str()).ancestors();
    let name = path.trim_end_matches('/');
    match name.contains('/') {
        true => above.any(|above| tree.has(&plain(&above.join(path)))),
        false => tree.named(name, folder),
    }
}

/// What in a span may be a path: no pattern, no command, nobody's home.
fn path_in(span: &str) -> Option<&str> {
    let span = span.split("::").next().unwrap_or_default();
    let odd = [' ', '*', '{', '<', '~', '$', '…', '(', '=', '"', ','];
    let is_path = span.contains('/') || span.ends_with(".rs");
    let is_odd = span.contains(odd) || span.contains("NAME") || span.contains("//");
    (is_path && !is_odd && !span.starts_with(['/', '-', '@'])).then_some(span)
}

const MAP_PAGE: &str = "ARCHITECTURE.md";
/// The most words that have to be explained.
const WORDS: usize = 40;
/// The most rows of where to look.
const ROWS: usize = 38;

fn map(tree: &Tree) -> Vec<Finding> {
    let words = table(tree, "Words");
    // Words that are explained together are in one row.
    let words = words.iter().filter_map(|row| row.split('|').nth(1));
    let words: usize = words.map(|some| some.split(',').count()).sum();
    let rows = rows(tree).len();
    let counted = [(words, WORDS, "words"), (rows, ROWS, "rows")];
    let over = counted.iter().filter(|(count, most, _)| count > most);
    over.map(|(count, most, what)| {
        Finding::at(MAP_PAGE, 0, format!("has {count} {what} of at most {most}"))
    })
    .collect()
}

/// The rows of the table that says where what is.
pub fn rows(tree: &Tree) -> Vec<&str> {
    table(tree, "Where to look")
}

/// The rows of the first table of a section, without its head.
fn table<'a>(tree: &'a Tree, section: &str) -> Vec<&'a str> {
    let text = tree.text(MAP_PAGE).unwrap_or_default();
    let (_, section) = text
        .split_once(&format!("\n## {section}\n"))
        .unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.skip(2).collect()
}

/// The most files of one walk.
const WALK: usize = 24;

fn walks(tree: &Tree) -> Vec<Finding> {
    let page = MAP_PAGE;
    let text = tree.text(page).unwrap_or_default();
    let section = text.split("\n## Three walks\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut found = Vec::new();
    for walk in section.split("\n**").skip(1) {
        let name = walk.split("**").next().unwrap_or_default();
        let files: BTreeSet<&str> = walk
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| span.ends_with(".rs"))
            .map(|path| path.rsplit("src/").next().unwrap_or(path))
            .collect();
        if files.len() > WALK {
            let what = format!("{name} goes through {} files", files.len());
            found.push(Finding::at(page, 0, what));
        }
    }
    found
}

fn sources(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.files("rs") {
        // Its own tests plant what is not there.
        if path.starts_with("xtask/src/tidy/") {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            for page in alone(line).filter(|page| !tree.named(page, "")) {
                found.push(Finding::at(path, n + 1, format!("names {page}")));
            }
            for named in line.split("docs/").skip(1) {
                let end =
                    named.find(|sign: char| !(sign.is_alphanumeric() || "/-_.".contains(sign)));
                let page = named[..end.unwrap_or(named.len())].trim_end_matches('.');
                if page.ends_with(".md") && !tree.has(&format!("docs/{page}")) {
                    found.push(Finding::at(path, n + 1, format!("names docs/{page}")));
                }
            }
        }
    }
    found
}

/// The pages that a comment names without their folder. One in capitals is a kind of
/// file.
fn alone(line: &str) -> impl Iterator<Item = &str> {
    let comment = line.trim_start().strip_prefix("//").unwrap_or_default();
    let spans = comment.split('`').skip(1).step_by(2);
    spans.filter(|span| {
        let is_page = span
            .strip_suffix(".md")
            .is_some_and(|name| !name.is_empty());
        is_page && !span.contains(|sign: char| "/* ".contains(sign) || sign.is_uppercase())
    })
}

/// The lines of a page that are not part of a block, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(n, line)| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            return None;
        }
        (!inside).then_some((n + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_rows_are_few() {
        let page = |words: &str, rows: usize| {
            let rows = "| a | b |\n".repeat(rows);
            format!(
                "# x\n\n## Words\n\n| word | means |\n|---|---|\n| {words} | x |\n\n## Where to look\n\n| a | b |\n|---|---|\n{rows}\n## Next\n\n| c |\n"
            )
        };
        let wrong =
            |words: &str, rows| map(&Tree::planted(&[(MAP_PAGE, &page(words, rows))])).len();
        let many = vec!["a"; WORDS + 1].join(", ");
        assert_eq!(wrong("a, b", ROWS), 0);
        assert_eq!((wrong("a", ROWS + 1), wrong(&many, 1)), (1, 1));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let page = "[a](b.md) [c](../ARCHITECTURE.md#x) [d](gone.md) [e](https://x/y.md)\n";
        let tree = Tree::planted(&[
            ("docs/a.md", page),
            ("docs/b.md", ""),
            ("ARCHITECTURE.md", ""),
        ]);
        assert_eq!(
            links(&tree),
            [Finding::at("docs/a.md", 1, "leads to gone.md")]
        );
    }

    #[test]
    fn a_path_that_is_not_there_is_found() {
        let page = "`host/src/call.rs`, `slot.rs`, `call/route.rs`; `host/src/gone.rs`, `lost.rs`, `xtask/src/no.rs`\n\
                    ```text\n`host/src/shown.rs`\n```\n`tools/call`\n";
        let tree = Tree::planted(&[
            ("ARCHITECTURE.md", page),
            ("crates/host/src/call.rs", ""),
            ("crates/host/src/call/route.rs", ""),
            ("crates/host/src/slot.rs", ""),
        ]);
        let found: Vec<_> = paths(&tree).into_iter().map(|it| it.what).collect();
        assert_eq!(
            found,
            [
                "names host/src/gone.rs",
                "names lost.rs",
                "names xtask/src/no.rs"
            ]
        );
    }

    #[test]
    fn a_walk_that_is_too_long_is_found() {
        let files = |count: usize| {
            (0..count)
                .map(|n| format!("`a{n}.rs` "))
                .collect::<String>()
        };
        let (long, short) = (files(25), files(24));
        let page =
            format!("# x\n\n## Three walks\n\n**A call**: {long}\n\n**An entry**: {short}\n");
        let tree = Tree::planted(&[("ARCHITECTURE.md", &page)]);
        let found = walks(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "A call goes through 25 files");
    }

    #[test]
    fn a_page_that_a_comment_names_and_nobody_has_is_found() {
        let text = "//! See `docs/a.md`.\n// docs/gone.md has it\n// `a.md`, `rules.md` §3\n";
        let tree = Tree::planted(&[("crates/host/src/a.rs", text), ("docs/a.md", "")]);
        let found: Vec<_> = sources(&tree)
            .into_iter()
            .map(|it| (it.line, it.what))
            .collect();
        let expected = [(2, "names docs/gone.md"), (3, "names rules.md")];
        assert_eq!(found, expected.map(|(line, what)| (line, what.to_owned())));
    }
}
