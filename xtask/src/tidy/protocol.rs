//! The protocol has one place: names of methods and codes of errors in `wire`, and
//! what differs between its eras at the edges.

use super::tree::{Tree, crate_of};
use super::{Finding, Rule};

/// Names of methods.
pub const METHODS: Rule = Rule {
    name: "methods",
    why: "only `wire` spells methods: one that is spelled twice is one day spelled in two ways. \
          Use wire::Method",
    check: methods,
};

/// Codes of errors.
pub const CODES: Rule = Rule {
    name: "codes",
    why: "only `wire` knows error codes: the revisions disagree about them, and one place has \
          to say which is meant. Use wire::code",
    check: codes,
};

/// Eras.
pub const ERAS: Rule = Rule {
    name: "eras",
    why: "era differences end at the adapters: what lies between them works for both eras \
          because it does not ask",
    check: eras,
};

const LIST: &str = "crates/wire/src/method.rs";

fn methods(tree: &Tree) -> Vec<Finding> {
    let list = tree.text(LIST).unwrap_or_default();
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.trim().split_once(" = \"")?.1.strip_suffix("\","))
        // A word alone may mean anything.
        .filter(|name| name.contains('/') || *name == "initialize")
        .collect();
    let mut found = Vec::new();
    if names.len() < 10 && tree.has(LIST) {
        found.push(Finding::at(
            LIST,
            0,
            "the list of methods is not found here",
        ));
    }
    for (path, lines) in others(tree) {
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            let spelled = names.iter().find(|name| {
                let quoted = format!("\"{name}\"");
                let is_it =
                    |text: &String| text == *name || text.replace("\\\"", "\"").contains(&quoted);
                line.texts.iter().any(is_it)
            });
            if let Some(name) = spelled {
                found.push(Finding::at(path, line.number, format!("spells {name:?}")));
            }
        }
    }
    found
}

fn codes(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in others(tree) {
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            if let Some(code) = code_in(&line.code) {
                found.push(Finding::at(
                    path,
                    line.number,
                    format!("knows the code {code}"),
                ));
            }
        }
    }
    found
}

/// Something like -32601 in a line of code.
fn code_in(code: &str) -> Option<String> {
    let plain = code.replace('_', "");
    plain.match_indices("-32").find_map(|(at, _)| {
        let digits: String = plain[at + 1..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        (digits.len() == 5).then(|| format!("-{digits}"))
    })
}

/// Where the era of a peer is asked for.
const ADAPTERS: [&str; 13] = [
    // What a revision is, and the setting that chooses one.
    "crates/wire/src/version.rs",
    "crates/config/src/read/",
    // Towards servers.
    "crates/transport/src/http/",
    "crates/transport/src/link.rs",
    "crates/host/src/upstream/",
    "crates/host/src/bridge/",
    "crates/host/src/catalog/",
    "crates/host/src/exchange/crossing.rs",
    "crates/host/src/mirror.rs",
    // Ends of the wire themselves: a server that is played, a client that verifies.
    "crates/record/src/cassette/",
    // Towards clients.
    "crates/gateway/src/session/",
    "crates/gateway/src/faces/",
    "crates/switchboard/src/server/",
];

fn eras(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        if ADAPTERS.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            let asks = ["Era::Legacy", "Era::Modern", "is_modern()", "is_legacy()"];
            if asks.iter().any(|ask| line.bare.contains(ask)) {
                found.push(Finding::at(path, line.number, "asks for the era"));
            }
        }
    }
    found
}

/// What is shipped, but `wire`.
fn others(tree: &Tree) -> impl Iterator<Item = (&str, &[super::source::Line])> {
    let is_wire = |path: &str| crate_of(path).is_some_and(|(name, _)| name == "wire");
    tree.product().filter(move |(path, _)| !is_wire(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS_RS: &str = "methods! {\n    ToolsCall = \"tools/call\",\n    Ping = \"ping\",\n\
        A = \"a/a\",\n B = \"a/b\",\n C = \"a/c\",\n D = \"a/d\",\n E = \"a/e\",\n F = \"a/f\",\n \
        G = \"a/g\",\n H = \"a/h\",\n I = \"a/i\",\n}\n";

    #[test]
    fn a_method_that_is_spelled_elsewhere_is_found() {
        let tree = Tree::planted(&[
            (LIST, METHODS_RS),
            (
                "crates/host/src/a.rs",
                "// \"tools/call\" may be spoken of\nlet a = \"tools/call\";\nlet p = \"ping\";\n\
                 let b = \"{\\\"method\\\":\\\"tools/call\\\"}\";\n#[cfg(test)]\nmod t { const A: &str = \"tools/call\"; }\n",
            ),
        ]);
        let lines: Vec<_> = methods(&tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [2, 4]);
    }

    #[test]
    fn a_code_that_is_known_elsewhere_is_found() {
        let text = "let a = -32601; // -32602\nlet b = -32_603;\nlet c = \"-32000 in a text\";\n\
                    let d = -320;\nlet e = -32700; // tidy: a reason\n";
        let tree = Tree::planted(&[
            ("crates/host/src/a.rs", text),
            ("crates/wire/src/error.rs", text),
        ]);
        let lines: Vec<_> = codes(&tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }

    #[test]
    fn whoever_asks_for_an_era_between_the_adapters_is_found() {
        let text = "if era == Era::Modern {}\n";
        let tree = Tree::planted(&[
            ("crates/host/src/call.rs", text),
            ("crates/host/src/upstream/a.rs", text),
        ]);
        let found = eras(&tree);
        assert_eq!(
            found,
            [Finding::at(
                "crates/host/src/call.rs",
                1,
                "asks for the era"
            )]
        );
    }
}
