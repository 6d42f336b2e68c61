//! The files that the rules look at, as they are on disk or as a test plants them.

use super::source::{self, Line};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files by their path from the root of the workspace.
#[derive(Default)]
pub struct Tree {
    texts: BTreeMap<String, String>,
    /// All paths, those of other kinds of files included, and of folders.
    paths: BTreeSet<String>,
    rust: BTreeMap<String, Vec<Line>>,
    /// Files and folders that `#[cfg(test)] mod name;` leads to.
    tests: BTreeSet<String>,
}

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 4] = ["target", ".git", "node_modules", "target-release"];

impl Tree {
    /// Reads the workspace.
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if FOREIGN.contains(&name.as_ref()) {
                    continue;
                }
                let shown = path.strip_prefix(root).unwrap_or(&path);
                let shown = shown.to_string_lossy().into_owned();
                tree.paths.insert(shown.clone());
                if path.is_dir() {
                    folders.push(path);
                } else if ["rs", "md", "toml"].iter().any(|end| is(&shown, end)) {
                    let text = std::fs::read_to_string(&path).with_context(|| shown.clone())?;
                    tree.texts.insert(shown, text);
                }
            }
        }
        tree.understand();
        Ok(tree)
    }

    /// A tree of these files.
    #[cfg(test)]
    pub fn planted(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.texts.insert((*path).to_owned(), (*text).to_owned());
            for folder in Path::new(path).ancestors() {
                tree.paths.insert(folder.to_string_lossy().into_owned());
            }
        }
        tree.understand();
        tree
    }

    fn understand(&mut self) {
        for (path, text) in &self.texts {
            if is(path, "rs") {
                self.tests.extend(test_modules(path, text));
                self.rust.insert(path.clone(), source::lines(text));
            }
        }
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_end_matches('/'))
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// All files that end so, with their texts.
    pub fn files<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files = self.texts.iter().filter(move |(path, _)| is(path, end));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files of one name in a folder and below it.
    pub fn named(&self, name: &str, below: &str) -> bool {
        let mut paths = self.paths.iter().filter(|path| path.starts_with(below));
        paths.any(|path| path.rsplit('/').next() == Some(name))
    }

    /// What is shipped: the sources of all crates but those for development.
    pub fn product(&self) -> impl Iterator<Item = (&str, &[Line])> {
        let files = self.rust.iter().filter(|(path, _)| self.is_product(path));
        files.map(|(path, lines)| (path.as_str(), lines.as_slice()))
    }

    /// All Rust files, tests included.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &[Line])> {
        let files = self.rust.iter();
        files.map(|(path, lines)| (path.as_str(), lines.as_slice()))
    }

    fn is_product(&self, path: &str) -> bool {
        let Some((name, rest)) = crate_of(path) else {
            return false;
        };
        name != "testkit" && rest.starts_with("src/") && !self.is_test(path)
    }

    /// Whether a file is nothing but tests.
    pub fn is_test(&self, path: &str) -> bool {
        let is_named = path.ends_with("/tests.rs") || path.contains("/tests/");
        let mut folders = Path::new(path).ancestors();
        is_named || folders.any(|folder| self.tests.contains(folder.to_string_lossy().as_ref()))
    }
}

fn is(path: &str, end: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == end)
}

/// The crate that a file is in, by its folder, and the path within.
pub fn crate_of(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("crates/")?.split_once('/')
}

/// Where the modules are that a file has for its tests alone.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let file = Path::new(path);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let folder = file.parent().unwrap_or(Path::new(""));
    let folder = match stem.as_ref() {
        "mod" | "lib" | "main" => folder.to_owned(),
        stem => folder.join(stem),
    };
    let mut found = Vec::new();
    let mut before = "";
    for line in text.lines().map(str::trim) {
        let name = line
            .strip_prefix("mod ")
            .and_then(|it| it.strip_suffix(';'));
        if let Some(name) = name.filter(|_| before == "#[cfg(test)]") {
            let module = folder.join(name).to_string_lossy().into_owned();
            found.push(format!("{module}.rs"));
            found.push(module);
        }
        before = line;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_no_product() {
        let tree = Tree::planted(&[
            ("crates/host/src/a.rs", "#[cfg(test)]\nmod support;\n"),
            ("crates/host/src/a/support.rs", ""),
            ("crates/host/src/a/tests.rs", ""),
            ("crates/host/tests/b.rs", ""),
            ("crates/testkit/src/lib.rs", ""),
            ("xtask/src/main.rs", ""),
        ]);
        let found: Vec<_> = tree.product().map(|(path, _)| path).collect();
        assert_eq!(found, ["crates/host/src/a.rs"]);
        assert!(tree.has("crates/host/src/a"));
    }
}
