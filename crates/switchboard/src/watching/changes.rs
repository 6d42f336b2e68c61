//! What is configured, as it may be recorded, and what changed of it.

use crate::pipeline::{Config, Options};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use switchboard_config::{Standing, redacted};
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
        let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for rule in &look.permissions.rules {
            let key = format!("permissions.{} in {}", rule.list, file_of(&rule.rule.place));
            rules.entry(key).or_default().push(rule.rule.text.clone());
        }
        for (key, rules) in rules {
            all.insert(key, rules.join(", "));
        }
        if let Some(mode) = &look.permissions.mode {
            let key = format!("permissions.defaultMode in {}", file_of(&mode.place));
            all.insert(key, mode.text.clone());
        }
        all.insert("observe".to_owned(), format!("{:?}", look.observe));
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

/// The file of a place, without its line: moving an entry is no change.
fn file_of(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => file,
        _ => place,
    }
}
