//! Reading what an entry of type `worker` says of the machines that run its server.

use super::fields::Reader;
use crate::entry::{Transport, WorkerOptions};
use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};

impl Reader<'_> {
    /// The keys that mean something to such an entry. Other entries may have them too,
    /// where they are another program's.
    pub(super) fn worker(&mut self, object: &Object<'_>) {
        let mut options = WorkerOptions::default();
        for property in &object.properties {
            let (key, value) = (property.name.as_str(), &property.value);
            if !WorkerOptions::KEYS.contains(&key) {
                continue;
            }
            self.entry.unknown.shift_remove(key);
            if matches!(value, Value::NullKeyword(_)) {
                continue;
            }
            match key {
                "server" => options.server = self.text(key, value),
                "workers" => options.workers = self.strings(key, value).unwrap_or_default(),
                "labels" => options.labels = self.table(key, value),
                "copies" => options.copies = self.copies(key, value),
                _ => options.runs = self.runs(key, value),
            }
        }
        if options.server.is_some() && options.runs.is_some() {
            let hint = "with `runs` it has its own name there: leave `server` out";
            let at = object.range().start;
            self.fault(at, Some("server"), "cannot stand beside `runs`", Some(hint));
        }
        if options.server.as_deref() == Some("") {
            let hint = "name a server of the worker's settings, or leave it out";
            let at = object.range().start;
            self.fault(at, Some("server"), "is empty", Some(hint));
        }
        self.entry.worker = options;
    }

    /// What workers start. It is read again where it is started; here it is only said what
    /// is wrong with it.
    fn runs(&mut self, key: &str, value: &Value<'_>) -> Option<serde_json::Value> {
        let Value::Object(object) = value else {
            let hint = r#"write {"command": "…", "args": ["…"]}"#;
            self.mistyped(key, value, "an object", hint);
            return None;
        };
        let mut inner = self.within();
        for property in &object.properties {
            let name = property.name.as_str();
            if !WorkerOptions::RUNS.contains(&name) {
                let hint = format!("it can have {}", WorkerOptions::RUNS.join(", "));
                let at = property.range.start;
                inner.fault(at, Some(name), "is not possible here", Some(&hint));
            }
        }
        // What it cannot have could have such an entry in it again.
        if inner.entry.faults.is_empty() {
            inner.object(object);
        }
        if inner.entry.transport != Transport::Stdio {
            let hint = "a worker starts a program: write `command`";
            let at = object.range().start;
            inner.fault(at, Some("type"), "must be stdio", Some(hint));
        }
        for mut fault in inner.entry.faults {
            let field = fault.field.take();
            fault.field = Some(match field {
                Some(field) => format!("{key}.{field}"),
                None => key.to_owned(),
            });
            if !self.entry.faults.contains(&fault) {
                self.entry.faults.push(fault);
            }
        }
        Some(value.clone().into())
    }

    fn copies(&mut self, key: &str, value: &Value<'_>) -> Option<u32> {
        let number = match value {
            Value::NumberLit(number) => number.value.parse().ok(),
            _ => None,
        };
        let possible = 1..=WorkerOptions::COPIES;
        let number = number.filter(|number| possible.contains(number));
        if number.is_none() {
            let expected = format!("a whole number from 1 to {}", WorkerOptions::COPIES);
            let hint = "leave it out where any number of workers may run it at a time";
            self.mistyped(key, value, &expected, hint);
        }
        number
    }
}
