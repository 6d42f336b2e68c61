//! Reading what an entry of type `worker` says of the machines that run its server.

use super::fields::Reader;
use crate::entry::WorkerOptions;
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
                _ => options.copies = self.copies(key, value),
            }
        }
        if options.server.as_deref() == Some("") {
            let hint = "name a server of the worker's settings, or leave it out";
            let at = object.range().start;
            self.fault(at, Some("server"), "is empty", Some(hint));
        }
        self.entry.worker = options;
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
