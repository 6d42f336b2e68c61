//! What is configured, as it may be recorded, and what changed of it.

use crate::pipeline::{Config, Options};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use switchboard_config::{Permissions, Standing, Written, redacted};
use switchboard_record::audit::Record;

/// All that is configured at one time: each part under a name, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(BTreeMap<String, String>);

impl Changes {
    /// As it is now.
    pub fn read(options: &Options) -> Self {
        let look = Config::look(options);
        let mut all = BTreeMap::new();
        for server in &look.servers {
            let entry = &server.entry;
            let standing = match &server.standing {
                Standing::Active => "in use",
                Standing::PendingApproval => "waits for approval",
                Standing::Rejected => "rejected",
                Standing::Disabled => "switched off",
                Standing::Denied(_) => "forbidden by policy",
                Standing::Itself | Standing::Shadowed(_) | Standing::Duplicate(_) => "not used",
            };
            let text = format!("{} ({standing})", redacted(&entry.written));
            all.insert(
                format!("server {} in {}", entry.name, file_of(&entry.place())),
                text,
            );
        }
        let mut lists = Lists::default();
        permissions(&look.permissions, &mut lists);
        for (list, rules) in [
            ("allowedMcpServers", look.policy.allowed.as_deref()),
            ("deniedMcpServers", Some(look.policy.denied.as_slice())),
        ] {
            for rule in rules.unwrap_or_default() {
                // What a rule is about is all of it but where it stands.
                let text = format!("{rule:?}").replace(&rule.place, "");
                lists.add(list, &rule.place, text);
            }
        }
        for off in &look.switched_off {
            lists.add("disabled", &off.place, off.name.clone());
        }
        all.extend(
            lists
                .0
                .into_iter()
                .map(|(key, list)| (key, list.join(", "))),
        );
        all.insert("observe".to_owned(), format!("{:?}", look.observe));
        // Neither says a secret.
        all.insert("signIn".to_owned(), format!("{:?}", look.sign_in));
        all.insert("folder".to_owned(), format!("{:?}", look.folder.trust));
        Self(all)
    }

    /// The record of what is another in `now`, if anything is.
    pub fn until(&self, now: &Self) -> Option<Record> {
        let (mut before, mut after) = (Map::new(), Map::new());
        let keys = self.0.keys().chain(now.0.keys());
        for key in keys {
            let (was, is) = (self.0.get(key), now.0.get(key));
            if was != is {
                let said = |it: Option<&String>| it.map_or(Value::Null, |it| json!(it));
                before.insert(key.clone(), said(was));
                after.insert(key.clone(), said(is));
            }
        }
        let record = Record::new("configuration");
        (!before.is_empty()).then(|| record.with("before", before).with("after", after))
    }
}

/// Words by the setting and the file that they stand in.
#[derive(Default)]
struct Lists(BTreeMap<String, Vec<String>>);

impl Lists {
    fn add(&mut self, setting: &str, place: &str, word: String) {
        let key = format!("{setting} in {}", file_of(place));
        self.0.entry(key).or_default().push(word);
    }

    fn written(&mut self, setting: &str, written: &Written) {
        self.add(setting, &written.place, written.text.clone());
    }
}

fn permissions(all: &Permissions, lists: &mut Lists) {
    for rule in &all.rules {
        lists.written(&format!("permissions.{}", rule.list), &rule.rule);
    }
    if let Some(mode) = &all.mode {
        lists.written("permissions.defaultMode", mode);
    }
    for (principal, mode) in &all.modes {
        lists.written(&format!("permissions.modes.{principal}"), mode);
    }
    for trusted in &all.trusted {
        lists.written("permissions.trustedServers", trusted);
    }
    if let Some(pins) = &all.pinning {
        lists.written("permissions.pins", &pins.written);
    }
    if all.managed_only {
        lists.add(
            "permissions",
            "the administrator",
            "managed rules only".to_owned(),
        );
    }
}

/// The file of a place, without its line: moving an entry is no change.
fn file_of(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => file,
        _ => place,
    }
}
