//! Entries that lead to Switchboard itself. A client's own entry for us is
//! often in the files that we read; following it would never end.

use crate::entry::{Entry, Scope, Transport};
use std::path::Path;

/// Whether the entry is one that `up` gave to a client: an address on this
/// machine with a client key in its path, which only a gateway of ours has.
/// What the user types (`--mcp-config`) is meant.
pub fn is_our_address(entry: &Entry) -> bool {
    let Some(url) = entry
        .url
        .as_deref()
        .filter(|_| entry.scope != Scope::Dynamic)
    else {
        return false;
    };
    let rest = url.strip_prefix("http://").unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost" | "[::1]") && path.starts_with("/mcp/@")
}

/// Whether the entry starts this program as a gateway. Other uses of it
/// (`switchboard builtin system`) are servers like any other.
pub fn starts_switchboard(entry: &Entry, own_program: Option<&Path>) -> bool {
    if entry.transport != Transport::Stdio {
        return false;
    }
    let Some(command) = entry.command.as_deref().map(Path::new) else {
        return false;
    };
    let called_like_us = command
        .file_stem()
        .is_some_and(|stem| stem == "switchboard");
    let is_us = own_program
        .is_some_and(|own| std::fs::canonicalize(command).is_ok_and(|found| found == own));
    (called_like_us || is_us) && gateway_command(&entry.args)
}

/// Whether arguments of ours ask for a gateway. In doubt they do: a server that
/// is left out is a smaller harm than one that starts itself without end.
fn gateway_command(args: &[String]) -> bool {
    args.iter().any(|arg| arg == "serve" || arg == "up")
        && !args
            .iter()
            .any(|arg| matches!(arg.as_str(), "builtin" | "completions" | "man"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Source;

    fn entry(command: &str, args: &[&str]) -> Entry {
        let mut entry = Entry::at("x", Scope::Dynamic, Source::Ours, 1);
        entry.command = Some(command.to_owned());
        entry.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        entry
    }

    #[test]
    fn only_gateways_of_ours_are_skipped() {
        for (command, args, expected) in [
            ("switchboard", &["serve"][..], true),
            ("/usr/bin/switchboard", &["mcp", "serve"], true),
            ("switchboard.exe", &["--log", "info", "serve"], true),
            ("switchboard", &["up"], true),
            ("switchboard", &["builtin", "system"], false),
            ("switchboard", &[], false),
            ("npx", &["serve"], false),
        ] {
            assert_eq!(
                starts_switchboard(&entry(command, args), None),
                expected,
                "{command} {args:?}"
            );
        }
        let own = std::fs::canonicalize("/bin/sh").unwrap();
        assert!(starts_switchboard(
            &entry("/bin/sh", &["serve"]),
            Some(&own)
        ));
    }

    #[test]
    fn the_entry_that_a_client_has_for_us() {
        for (scope, url, expected) in [
            (Scope::User, "http://127.0.0.1:3700/mcp/@k3y", true),
            (Scope::User, "http://localhost:3701/mcp/@k3y/files", true),
            (Scope::User, "http://127.0.0.1:3700/mcp", false),
            (Scope::User, "https://example.com/mcp/@k3y", false),
            (Scope::Dynamic, "http://127.0.0.1:3700/mcp/@k3y", false),
        ] {
            let mut entry = Entry::at("x", scope, Source::Ours, 1);
            entry.url = Some(url.to_owned());
            assert_eq!(is_our_address(&entry), expected, "{url}");
        }
    }
}
