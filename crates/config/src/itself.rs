//! Entries that start Switchboard itself. A client's own entry for us is
//! often in the files that we read; following it would never end.

use crate::entry::{Entry, Transport};
use std::path::Path;

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
    use crate::{entry::Scope, fault::Source};

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
}
