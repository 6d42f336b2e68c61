//! What the page is made of: small, whole, and nothing that could run what it was sent.

use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use switchboard_console::FILES;

/// The most that all files may weigh, gzipped.
const MOST: usize = 120 * 1024;
/// The most lines that one file of ours may have.
const LINES: usize = 300;

/// The files that others wrote, as their packages have them.
const VENDORED: [(&str, &str); 5] = [
    // preact 11.2.0
    (
        "preact.mjs",
        "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
    ),
    (
        "hooks.mjs",
        "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4",
    ),
    // htm 3.1.1
    (
        "htm.mjs",
        "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    ),
    // @preact/signals 2.11.4
    (
        "signals.mjs",
        "ba8177597f45acaca4d05dcf3966b527d0a8264cfa2b0a87ace92dff324217f8",
    ),
    // @preact/signals-core 1.14.5
    (
        "signals-core.mjs",
        "0c80bc127d72ecb1496ef116ffddae75079829a3af01e7f417c8e5a6474c68b6",
    ),
];

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web")
}

/// Every file below `web/`, with its text.
fn texts() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => walk(&path, found),
                false => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    walk(&web(), &mut found);
    let named = |path: PathBuf| {
        let name = path.strip_prefix(web()).expect("below web/");
        let name = name.to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("text"))
    };
    found.into_iter().map(named).collect()
}

/// Those of them that we wrote and that a browser runs.
fn own() -> impl Iterator<Item = (String, String)> {
    let is_own = |(name, _): &(String, String)| name.ends_with(".js");
    texts().into_iter().filter(is_own)
}

#[test]
fn what_others_wrote_is_as_they_published_it() {
    let folder = web().join("console/vendor");
    for (name, hash) in VENDORED {
        let bytes = fs::read(folder.join(name)).expect(name);
        let is: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(is, hash, "{name}");
    }
    let all: BTreeSet<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().ends_with(".mjs"))
        .collect();
    assert_eq!(all.len(), VENDORED.len(), "{all:?}");
}

#[test]
fn all_files_together_are_small() {
    let weight: usize = FILES.iter().map(|file| file.gzipped.len()).sum();
    assert!(weight <= MOST, "{weight} bytes gzipped");
}

#[test]
fn no_file_is_long() {
    for (name, text) in own() {
        let lines = text.lines().count();
        assert!(lines <= LINES, "{name} has {lines} lines");
    }
}

#[test]
fn every_import_leads_to_a_file() {
    let page = fs::read_to_string(web().join("index.html")).expect("the page");
    let map = page.split_once("importmap\">").expect("an import map").1;
    let map = map.split_once("</script>").expect("its end").0;
    let map: serde_json::Value = serde_json::from_str(map).expect("JSON");
    let imports = map["imports"].as_object().expect("imports");
    let is_served = |path: &str| FILES.iter().any(|file| file.path == path);
    for target in imports.values() {
        assert!(is_served(target.as_str().expect("a path")), "{target}");
    }
    let mut seen = 0;
    for (name, text) in own() {
        for line in text.lines() {
            let Some((_, from)) = line.split_once(" from '") else {
                continue;
            };
            let target = from.split('\'').next().expect("a name");
            seen += 1;
            if imports.contains_key(target) {
                continue;
            }
            let base = Path::new("/").join(&name);
            let mut path = base.parent().expect("a folder").to_path_buf();
            for part in target.split('/') {
                match part {
                    "." => {}
                    ".." => assert!(path.pop(), "{name}: {target}"),
                    part => path.push(part),
                }
            }
            let path = path.to_string_lossy();
            assert!(is_served(&path), "{name} imports {target}");
        }
    }
    assert!(seen > 50, "only {seen} imports were found");
}

/// What would let text that came from elsewhere run, or reach elsewhere.
const FORBIDDEN: [&str; 14] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "dangerouslySetInnerHTML",
    "document.write",
    "eval(",
    "new Function",
    "document.cookie",
    "localStorage.setItem('switchboard.token",
    "createPolicy",
    "setAttribute('on",
    "javascript:",
    "EventSource",
    "http-equiv",
];

#[test]
fn nothing_in_it_runs_text() {
    for (name, text) in texts() {
        if name.contains("vendor/") {
            continue;
        }
        for word in FORBIDDEN {
            // A comment may say that it is not used.
            let used = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .any(|line| line.contains(word));
            assert!(!used, "{name} has {word}");
        }
        assert!(!text.contains(" onclick="), "{name} has an inline handler");
    }
}

#[test]
fn nothing_in_it_names_another_host() {
    for (name, text) in texts() {
        if name.contains("vendor/") || name.ends_with(".svg") {
            continue;
        }
        let mut rest = text.as_str();
        while let Some(at) = rest.find("://") {
            let after: String = rest[at + 3..]
                .chars()
                .take_while(|sign| sign.is_alphanumeric() || ".-$".contains(*sign))
                .collect();
            let is_fine =
                after.is_empty() || after.starts_with('$') || after.ends_with("example.com");
            assert!(is_fine, "{name} names {after}");
            rest = &rest[at + 3..];
        }
    }
}

/// What the page reads of the API is there: TypeScript holds its scripts to the types that
/// are written from the API's own.
#[test]
fn the_scripts_fit_the_types_of_the_api() {
    let needed = |name: &str| {
        std::env::var_os(name).unwrap_or_else(|| {
            panic!("NOT RUN: {name} is not set: run `cargo xtask test`, or set what `cargo xtask setup` prints as node and tsc")
        })
    };
    let checked = std::process::Command::new(needed("SWITCHBOARD_TEST_NODE"))
        .arg(needed("SWITCHBOARD_TEST_TSC"))
        .args([
            "--project",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tsconfig.json"),
        ])
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{said}");
}
