//! Everything that a page tells the reader to type is typed here, in a home of
//! its own, and what the page shows is what appears.
//!
//! A page is one sitting: its blocks run in order. In a block marked `console`
//! a line that begins with `$ ` is typed, and the lines below it are what
//! appears (`...` stands for any lines). `console background` goes on until the
//! page ends; `console exit=N` ends with N. A block with `file=PATH` is a file
//! that the reader writes. `SWITCHBOARD_WRITE_DOCS=1` writes what appears into
//! the pages instead of comparing it.

use crate::support::pages;

use pages::Page;
use regex::Regex;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_readme() {
    Page::read(&root().join("README.md")).run();
}

/// One test for each page, so that they run side by side and fail by name.
macro_rules! pages {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            Page::read(&root().join("docs/guide").join($file)).run();
        })*

        #[test]
        fn no_page_is_left_out() {
            let tested = [$($file),*];
            let folder = fs::read_dir(root().join("docs/guide")).unwrap();
            for entry in folder {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(tested.contains(&name.as_str()), "docs/guide/{name} has no test");
            }
        }
    };
}

pages! {
    the_list_of_pages: "README.md",
    first_steps: "first-steps.md",
    servers_and_scopes: "servers-and-scopes.md",
    permissions_and_policy: "permissions-and-policy.md",
    signing_in: "signing-in.md",
    the_gateway: "gateway.md",
    the_library: "library.md",
    writing_tools: "writing-tools.md",
    own_server: "own-server.md",
    troubleshooting: "troubleshooting.md",
}

/// Commands that no test types, and why.
const NOT_TYPED: [(&str, &str); 12] = [
    (
        "cargo xtask test",
        "runs this test; continuous integration runs it",
    ),
    ("cargo build", "has been done when this runs"),
    ("cargo nextest run", "runs this test"),
    ("cargo xtask conformance", "part of cargo xtask test"),
    ("cargo xtask ci", "continuous integration runs it"),
    ("cargo xtask bench", "measures for minutes"),
    (
        "cargo xtask bench-instructions",
        "runs everything in valgrind",
    ),
    ("cargo xtask deny", "part of cargo xtask ci"),
    ("cargo xtask docs", "writes the pages"),
    (
        "switchboard login docs",
        "needs a browser and a server: signin.rs",
    ),
    (
        "switchboard login docs --no-browser",
        "needs a person and a server: signin.rs",
    ),
    ("switchboard logout docs", "needs a server: signin.rs"),
];

/// All pages that people write, and whether what they say is typed.
fn all_pages() -> Vec<(PathBuf, bool)> {
    let mut found: Vec<(PathBuf, bool)> = ["README.md", "CONTRIBUTING.md"]
        .map(|page| (root().join(page), page == "README.md"))
        .into();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_page = path.extension().is_some_and(|extension| extension == "md");
            if path.is_dir() && !path.ends_with("reference") {
                folders.push(path);
            } else if is_page {
                found.push((path, folder.ends_with("guide")));
            }
        }
    }
    found
}

/// A block that tells the reader to type something is typed by the tests above,
/// or it is named here; one that shows settings shows settings that work.
#[test]
fn no_block_is_left_out() {
    let schema = root().join("docs/reference/settings.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (file, is_typed) in all_pages() {
        let page = Page::read(&file);
        for (info, lines) in page.blocks() {
            let kind = info.split_whitespace().next().unwrap_or_default();
            let text = lines.join("\n");
            let known = match kind {
                "console" => is_typed,
                "rust" => info.contains("source="),
                "json" if info.contains("file=") => is_typed,
                "json" => serde_json::from_str(&text).is_ok_and(|value| is_config(&value, &schema)),
                "text" => true,
                _ => lines.iter().all(|line| {
                    let command = line.split(" #").next().unwrap_or_default().trim();
                    let command = command.split(" --quick").next().unwrap_or_default();
                    NOT_TYPED.iter().any(|(known, _)| *known == command)
                }),
            };
            if !known {
                wrong.push(format!("{}: ```{info}\n{text}", file.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "nobody types this:\n{}",
        wrong.join("\n\n")
    );
}

/// Whether this is settings, or the entry of a server, with no key that is not known.
fn is_config(value: &Value, schema: &Value) -> bool {
    let knows = |known: &Value| {
        let mut keys = value.as_object().into_iter().flat_map(|value| value.keys());
        keys.all(|key| known["properties"].get(key).is_some())
    };
    let settings = match knows(schema) {
        true => value.clone(),
        false if knows(&schema["$defs"]["server"]) => json!({"mcpServers": {"a": value}}),
        false => return false,
    };
    jsonschema::is_valid(schema, &settings)
}

/// What is named in the middle of a text exists: each command, and each option
/// of the command that it is named with.
#[test]
fn every_command_and_option_in_a_text_exists() {
    let help = |args: &[&str]| {
        let program = env!("CARGO_BIN_EXE_switchboard");
        let said = Command::new(program).args(args).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let commands = help(&["--help"]);
    let (_, commands) = commands.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    let mut options: HashMap<String, String> = names
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(|name| (name.to_owned(), help(&[name, "--help"])))
        .collect();
    options.insert("--version".into(), String::new());
    assert!(options.contains_key("up"), "{options:?}");
    let spans = Regex::new("`([^`]+)`").unwrap();
    let flag = Regex::new("--[a-z][a-z-]*").unwrap();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (file, _) in all_pages() {
        let prose = Page::read(&file).prose();
        for span in spans.captures_iter(&prose) {
            let text = span[1].split_whitespace().collect::<Vec<_>>().join(" ");
            let is_whole = text.starts_with("switchboard ");
            let ours = text.strip_prefix("switchboard ").unwrap_or(&text);
            // What comes after is another program's.
            let ours = ours.split(" -- ").next().unwrap_or_default();
            let name = ours.split(' ').next().unwrap_or_default();
            let fault = match options.get(name) {
                Some(help) => flag
                    .find_iter(ours)
                    .map(|flag| flag.as_str())
                    .find(|flag| {
                        name != *flag
                            && !help.contains(&format!("{flag} "))
                            && !help.contains(&format!("{flag}\n"))
                    })
                    .map(|flag| format!("{name} has no {flag}")),
                None if is_whole && !name.starts_with('-') => {
                    Some(format!("there is no command {name}"))
                }
                None => None,
            };
            seen += usize::from(options.contains_key(name));
            wrong.extend(fault.map(|fault| format!("{}: `{text}`: {fault}", file.display())));
        }
    }
    assert!(seen > 30, "only {seen} commands were found in the texts");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
