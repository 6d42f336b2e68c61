//! What makes two entries the same server: all that is written, all that was
//! filled in, and the directory a process would start in. A gateway and a
//! command may each have read the configuration; only where they agree on this
//! does the one use the other's server. The same for rules: a client is led
//! through a gateway only where that permits just what it would itself.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;
use switchboard_config::{Permissions, Scope, Transport, expand::Expanded};
use switchboard_host::permission::Mode;
use switchboard_local::hex;

/// The identity of an entry. A hash: it holds secrets, and says none.
pub(crate) fn identity(entry: &Expanded, program: Option<&str>, directory: &Path) -> String {
    let mut hash = Hash::default();
    let mut add = |text: &str| hash.add(text);
    add(&entry.name);
    add(entry.transport.as_str());
    add(&entry.written.to_string());
    for text in [
        program,
        entry.command.as_deref(),
        entry.cwd.as_deref(),
        entry.url.as_deref(),
        entry.lock_folder.as_deref(),
        entry.builtin.as_deref(),
        entry.tls.ca.as_deref(),
        entry.tls.cert.as_deref(),
        entry.tls.key.as_deref(),
    ] {
        add(text.unwrap_or("\0"));
    }
    for list in [&entry.env, &entry.headers] {
        add(&list.len().to_string());
        for (name, value) in list {
            add(name);
            add(value);
        }
    }
    for argument in &entry.args {
        add(argument);
    }
    // The settings can say it for all, so it need not be in what is written.
    for name in entry.inherit_env.iter().flatten() {
        add(name);
    }
    add(&format!("{:?}", entry.inherit_env.as_ref().map(Vec::len)));
    if let Some(idle) = entry.idle_timeout {
        add(&format!("idle {idle}"));
    }
    // The user's own server is another than a project's that looks just like it,
    // and an approved one another than what it was before.
    add(if entry.inside { "inside" } else { "" });
    if entry.scope == Scope::Fleet {
        add("fleet");
    }
    for (path, content) in entry.bound.iter().flat_map(|bound| &bound.contents) {
        add(&path.display().to_string());
        add(&content.to_string());
    }
    if matches!(entry.transport, Transport::Stdio | Transport::Builtin) {
        add(&directory.display().to_string());
    }
    hash.text()
}

/// The identity of everything that settings say about who may do what, and of
/// the mode that holds: where it is the same, the same is permitted. Where the
/// words are written does not matter.
pub(crate) fn of_rules(permissions: &Permissions, mode: Mode) -> String {
    let Permissions {
        rules,
        mode: _, // It may have been overruled: `mode` is what holds.
        modes,
        trusted,
        pinning,
        managed_only,
    } = permissions;
    let mut hash = Hash::default();
    hash.add(&format!("{mode:?} {managed_only}"));
    hash.add(&format!(
        "{:?}",
        pinning.as_ref().and_then(|pins| pins.pinning)
    ));
    hash.add(&modes.len().to_string());
    for (principal, mode) in modes {
        hash.add(principal);
        hash.add(&mode.text);
    }
    hash.add(&trusted.len().to_string());
    for server in trusted {
        hash.add(&server.text);
    }
    for rule in rules.iter().filter(|rule| rule.is_for_us()) {
        hash.add(rule.list);
        hash.add(&rule.rule.text);
        // What a repository allows does not count.
        hash.add(if rule.inside { "inside" } else { "" });
    }
    hash.text()
}

/// What workers start for an entry, as a hash: the same at a replica and at a worker that
/// has it as it was signed.
pub(crate) fn of_runs(runs: &Value) -> String {
    let mut hash = Hash::default();
    hash.add(&runs.to_string());
    hash.text()
}

/// Over texts, each with its length, so that none runs into the next.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn text(self) -> String {
        hex(&self.0.finalize()[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_config::{Entry, Scope, Source, expand::expand};

    fn of(entry: &Entry, program: Option<&str>, directory: &Path) -> String {
        identity(&expand(entry, &|_| None).unwrap(), program, directory)
    }

    fn entry() -> Entry {
        let mut entry = Entry::at("a", Scope::User, Source::Ours, 1);
        entry.command = Some("x".into());
        entry.env = vec![("K".into(), "v".into())];
        entry
    }

    #[test]
    fn every_difference_counts() {
        let here = Path::new("/here");
        let same = of(&entry(), None, here);
        assert_eq!(same, of(&entry(), None, here));
        let mut changes: Vec<(Entry, Option<&str>, &Path)> = vec![
            (entry(), Some("/bin/x"), here),
            (entry(), None, Path::new("/there")),
        ];
        let mut changed = |change: fn(&mut Entry)| {
            let mut entry = entry();
            change(&mut entry);
            changes.push((entry, None, here));
        };
        changed(|entry| entry.name = "b".into());
        changed(|entry| entry.command = Some("y".into()));
        changed(|entry| entry.args = vec!["y".into()]);
        changed(|entry| entry.env = vec![("K".into(), "w".into())]);
        changed(|entry| entry.env = vec![("Kv".into(), String::new())]);
        changed(|entry| entry.headers = vec![("K".into(), "v".into())]);
        changed(|entry| entry.cwd = Some("/".into()));
        changed(|entry| entry.written = serde_json::json!({ "oauth": {} }));
        for (entry, program, directory) in changes {
            assert_ne!(same, of(&entry, program, directory), "{entry:?}");
        }
    }

    #[test]
    fn a_remote_server_is_the_same_everywhere() {
        let mut entry = entry();
        entry.transport = Transport::Http;
        let [here, there] = ["/here", "/there"].map(|folder| of(&entry, None, Path::new(folder)));
        assert_eq!(here, there);
    }
}
