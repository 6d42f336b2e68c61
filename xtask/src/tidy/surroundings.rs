//! What is outside of this process is asked in few places: programs, the working
//! directory, the environment, the platform.

use super::source::Line;
use super::tree::Tree;
use super::{Finding, Rule};

/// Starting programs.
pub const PROCESSES: Rule = Rule {
    name: "processes",
    why: "processes are started in `process` alone: it sees to it that none outlives us, and \
          that none gets our environment",
    check: processes,
};

/// The working directory.
pub const DIRECTORY: Rule = Rule {
    name: "directory",
    why: "only the program asks where it was started: to a library the directory is given, or \
          it would find other files than its caller meant",
    check: directory,
};

/// The environment.
pub const ENVIRONMENT: Rule = Rule {
    name: "environment",
    why: "variables are read by the program, by `config` and for children; what else reads them \
          cannot be told otherwise by its caller",
    check: environment,
};

/// Platforms.
pub const PLATFORMS: Rule = Rule {
    name: "platforms",
    why: "code that no build ever sees is not there: everything is Unix, and what differs \
          between Linux and macOS says `target_os`",
    check: platforms,
};

/// Bans.
pub const BANS: Rule = Rule {
    name: "bans",
    why: "what clippy.toml forbids is denied by each crate of the product: the lint is off for \
          tests, so a crate that does not say so is not held to anything",
    check: bans,
};

/// Whoever may start programs, and which.
const STARTERS: [(&str, &str); 7] = [
    ("crates/process/src/", "servers, and our own two parents"),
    ("crates/transport/src/process/", "servers"),
    ("crates/transport/src/keeper/", "our own two parents"),
    (
        "crates/auth/src/browser.rs",
        "the system's browser, for a page to sign in at",
    ),
    (
        "crates/auth/src/helper.rs",
        "an entry's `headersHelper`, in a room of `process`",
    ),
    (
        "crates/cli/src/commands/ui/child.rs",
        "this very program, with a command that was typed on the screen",
    ),
    (
        "crates/cli/src/commands/service.rs",
        "the system's manager of services, which then starts us",
    ),
];

fn processes(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        if STARTERS.iter().any(|(place, _)| path.starts_with(place)) || !imports_command(lines) {
            continue;
        }
        look(
            &mut found,
            path,
            lines,
            &["Command::new("],
            "starts a program",
        );
    }
    found
}

/// Whether `Command` is the system's here: builtin has another of that name.
fn imports_command(lines: &[Line]) -> bool {
    let all: String = lines.iter().map(|line| line.bare.as_str()).collect();
    let mut places = all.match_indices("process::").map(|(at, _)| &all[at + 9..]);
    places.any(|after| match after.strip_prefix('{') {
        Some(list) => list
            .split('}')
            .next()
            .is_some_and(|it| it.contains("Command")),
        None => after.starts_with("Command"),
    })
}

fn directory(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        if path.starts_with("crates/cli/src/") {
            continue;
        }
        let asks = ["env::current_dir", "env::set_current_dir"];
        look(
            &mut found,
            path,
            lines,
            &asks,
            "asks for the working directory",
        );
    }
    found
}

/// Whoever may read variables, and which.
const READERS: [(&str, &str); 8] = [
    (
        "crates/cli/src/",
        "the program: it hands them to the library",
    ),
    (
        "crates/config/src/environment.rs",
        "what `${NAME}` in an entry means",
    ),
    (
        "crates/process/src/",
        "what children get of them, and who we are to our keeper",
    ),
    ("crates/transport/src/process/", "what children get of them"),
    ("crates/transport/src/keeper/", "who we are to our keeper"),
    (
        "crates/tasks/src/",
        "RUST_BACKTRACE, and a panic that a test asks for",
    ),
    (
        "crates/gateway/src/faces/http/passing.rs",
        "how long a client may not read, where a test cannot wait for as long",
    ),
    (
        "crates/builtin/src/system/",
        "a server that tells them to whoever may ask",
    ),
];

fn environment(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        if READERS.iter().any(|(place, _)| path.starts_with(place)) {
            continue;
        }
        let asks = ["env::var(", "env::var_os(", "env::vars(", "env::vars_os("];
        look(&mut found, path, lines, &asks, "reads a variable");
    }
    found
}

fn bans(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        let root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        // It is there to start tasks.
        let is_free = path.starts_with("crates/tasks/");
        let denies = |line: &Line| line.bare.contains("deny(clippy::disallowed_methods");
        if root && !is_free && !lines.iter().any(denies) {
            found.push(Finding::at(
                path,
                1,
                "does not deny clippy::disallowed_methods",
            ));
        }
    }
    found
}

fn platforms(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.rust().filter(|(path, _)| !path.starts_with("xtask/")) {
        let asks = [
            "cfg(windows",
            "cfg!(windows",
            "cfg(unix",
            "cfg!(unix",
            "not(unix",
            "not(windows",
        ];
        look(
            &mut found,
            path,
            lines,
            &asks,
            "is for a platform that is not meant",
        );
    }
    found
}

fn look(found: &mut Vec<Finding>, path: &str, lines: &[Line], signs: &[&str], what: &str) {
    for line in lines.iter().filter(|line| line.excuse.is_none()) {
        if signs.iter().any(|sign| line.bare.contains(sign)) {
            found.push(Finding::at(path, line.number, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let found = check(&Tree::planted(files));
        found.into_iter().map(|it| (it.path, it.line)).collect()
    }

    #[test]
    fn a_program_that_is_started_elsewhere_is_found() {
        let text = "use tokio::process::{Child, Command};\nlet a = Command::new(\"a\");\n";
        let own = "use crate::command::Command;\nlet a = Command::new(manifest);\n";
        let files = [
            ("crates/host/src/a.rs", text),
            ("crates/builtin/src/a.rs", own),
            ("crates/transport/src/process/a.rs", text),
        ];
        assert_eq!(
            lines_of(processes, &files),
            [("crates/host/src/a.rs".to_owned(), 2)]
        );
        let whole = [(
            "crates/host/src/a.rs",
            "let a = std::process::Command::new(\"a\");\n",
        )];
        assert_eq!(lines_of(processes, &whole).len(), 1);
    }

    #[test]
    fn whoever_asks_for_the_directory_or_a_variable_is_found() {
        let text = "let a = std::env::current_dir();\nlet b = std::env::var(\"A\");\ncommand.current_dir(folder);\n";
        let files = [
            ("crates/host/src/a.rs", text),
            ("crates/cli/src/a.rs", text),
        ];
        assert_eq!(
            lines_of(directory, &files),
            [("crates/host/src/a.rs".to_owned(), 1)]
        );
        assert_eq!(
            lines_of(environment, &files),
            [("crates/host/src/a.rs".to_owned(), 2)]
        );
    }

    #[test]
    fn a_crate_that_denies_nothing_is_found() {
        let denies = "#![cfg_attr(not(test), deny(clippy::disallowed_methods))]\n";
        let files = [
            ("crates/host/src/lib.rs", denies),
            ("crates/new/src/lib.rs", "mod a;\n"),
        ];
        assert_eq!(
            lines_of(bans, &files),
            [("crates/new/src/lib.rs".to_owned(), 1)]
        );
    }

    #[test]
    fn code_for_another_platform_is_found() {
        let text = "#[cfg(windows)]\nfn a() {}\n#[cfg(target_os = \"linux\")]\nfn b() {}\n#[cfg(not(unix))]\nfn c() {}\n";
        let found = lines_of(platforms, &[("crates/host/src/a.rs", text)]);
        assert_eq!(found.iter().map(|it| it.1).collect::<Vec<_>>(), [1, 5]);
    }
}
