//! Which crate may use which: as the table of `ARCHITECTURE.md` says.

use super::tree::{Tree, crate_of};
use super::{Finding, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// The direction of dependencies.
pub const DIRECTION: Rule = Rule {
    name: "direction",
    why: "crates depend on each other as the table of ARCHITECTURE.md says: what is below knows \
          nothing of what is above, so that each can be understood and used alone",
    check: direction,
};

/// What peers of tests are made of.
pub const PEERS: Rule = Rule {
    name: "peers",
    why: "testkit's peers use nothing of ours: a fault on both sides of a test would cancel \
          itself out. The conformance client is there to test the host",
    check: peers,
};

const PAGE: &str = "ARCHITECTURE.md";

/// What each crate of the table holds to, by the names of their folders.
fn table(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let section = text.split("\n## Crates").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut table = BTreeMap::new();
    for line in section.lines() {
        let cells: Vec<&str> = line
            .split(" | ")
            .map(|cell| cell.trim_matches(['|', ' ']))
            .collect();
        let [name, .., depends] = cells[..] else {
            continue;
        };
        if let Some(name) = name.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
            let depends = depends.split('`').skip(1).step_by(2);
            table.insert(name, depends.collect());
        }
    }
    table
}

fn direction(tree: &Tree) -> Vec<Finding> {
    let table = table(tree.text(PAGE).unwrap_or_default());
    let mut found = Vec::new();
    for (path, text) in tree.files("toml") {
        let Some((name, "Cargo.toml")) = crate_of(path) else {
            continue;
        };
        let Some(said) = table.get(name) else {
            let what = format!("the table of crates in {PAGE} has no row for `{name}`");
            found.push(Finding::at(path, 0, what));
            continue;
        };
        let used = used(text);
        let allowed = closure(&table, said);
        for (line, other) in &used {
            // testkit is for development, and looks at what it tests.
            let is_free = name == "testkit" || allowed.contains(other.as_str());
            if !is_free {
                let what =
                    format!("`{name}` uses `{other}`, which the table in {PAGE} does not allow");
                found.push(Finding::at(path, *line, what));
            }
        }
        for other in said {
            if !used.iter().any(|(_, it)| it == other) {
                let what = format!("`{name}` does not use `{other}`, although {PAGE} says so");
                found.push(Finding::at(path, 0, what));
            }
        }
    }
    found
}

/// The crates of ours that a manifest names for what is shipped.
fn used(manifest: &str) -> Vec<(usize, String)> {
    let (mut found, mut counts) = (Vec::new(), false);
    for (n, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
            continue;
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        let ours = match name {
            "switchboard" => Some("switchboard"),
            name => name.strip_prefix("switchboard-"),
        };
        if let Some(ours) = ours.filter(|_| counts) {
            found.push((n + 1, ours.to_owned()));
        }
    }
    found
}

/// These, and what they depend on in turn.
fn closure<'a>(
    table: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    named: &BTreeSet<&'a str>,
) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut next: Vec<&str> = named.iter().copied().collect();
    while let Some(name) = next.pop() {
        if all.insert(name) {
            next.extend(table.get(name).into_iter().flatten().copied());
        }
    }
    all
}

fn peers(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.rust() {
        let is_peer = path.starts_with("crates/testkit/src/")
            && !path.starts_with("crates/testkit/src/bin/conformance-client");
        if !is_peer {
            continue;
        }
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            let rest = line.bare.replace("switchboard_testkit", "");
            if rest.contains("switchboard_") || rest.contains("switchboard::") {
                found.push(Finding::at(
                    path,
                    line.number,
                    "uses what it is there to test",
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHITECTURE: &str = "# x\n\n## Crates\n\n| crate | holds | depends on |\n|---|---|---|\n\
        | `wire` | messages | – |\n| `transport` | links | `wire` |\n| `host` | calls | `transport` |\n\n## Other\n";

    fn manifest(depends: &str) -> String {
        format!(
            "[package]\nname = \"x\"\n\n[dependencies]\n{depends}\n[dev-dependencies]\nswitchboard-testkit.workspace = true\n"
        )
    }

    fn found(transport: &str, host: &str) -> Vec<String> {
        let (transport, host) = (manifest(transport), manifest(host));
        let tree = Tree::planted(&[
            (PAGE, ARCHITECTURE),
            ("crates/transport/Cargo.toml", &transport),
            ("crates/host/Cargo.toml", &host),
        ]);
        direction(&tree).into_iter().map(|it| it.what).collect()
    }

    #[test]
    fn a_dependency_the_wrong_way_is_found() {
        let wire = "switchboard-wire.workspace = true\n";
        let both = "switchboard-wire.workspace = true\nswitchboard-transport.workspace = true\n";
        assert!(found(wire, both).is_empty());
        let upwards = found(
            &format!("{wire}switchboard-host = {{ path = \"x\" }}\n"),
            both,
        );
        assert!(
            upwards[0].contains("`transport` uses `host`"),
            "{upwards:?}"
        );
        let missing = found(wire, wire);
        assert!(
            missing[0].contains("does not use `transport`"),
            "{missing:?}"
        );
        let tree = Tree::planted(&[(PAGE, ARCHITECTURE), ("crates/new/Cargo.toml", "")]);
        assert_eq!(direction(&tree).len(), 1);
    }

    #[test]
    fn a_peer_that_uses_what_it_tests_is_found() {
        let text = "use switchboard_testkit::record;\nuse switchboard_wire::Message;\n";
        let tree = Tree::planted(&[
            ("crates/testkit/src/a.rs", text),
            ("crates/testkit/src/bin/conformance-client/main.rs", text),
        ]);
        let found = peers(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].path.as_str(), found[0].line),
            ("crates/testkit/src/a.rs", 2)
        );
    }
}
