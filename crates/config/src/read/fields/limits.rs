//! What a server may use: how long its process is kept unused, and how much of the
//! machine its processes may take together.

use super::Reader;
use crate::usage;
use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};

impl Reader<'_> {
    pub(super) fn idle_timeout(&mut self, key: &str, value: &Value<'_>) {
        let read = usage::idle(&value.clone().into());
        if read.is_none() {
            self.mistyped(key, value, usage::IDLE, usage::WRITE_IDLE);
        }
        self.entry.idle_timeout = read;
    }

    /// `limits: {memory, cpu, processes}`.
    pub(super) fn limits(&mut self, value: &Value<'_>) {
        let Value::Object(object) = value else {
            return self.mistyped("limits", value, "an object", usage::WRITE_LIMITS);
        };
        self.each_limit(object);
    }

    fn each_limit(&mut self, object: &Object<'_>) {
        for property in &object.properties {
            let (name, value) = (property.name.as_str(), &property.value);
            let field = format!("limits.{name}");
            let plain: serde_json::Value = value.clone().into();
            let caps = &mut self.entry.limits;
            let (read, expected) = match name {
                "memory" => {
                    caps.memory = usage::bytes(&plain);
                    (caps.memory.is_some(), "a size such as \"512 MiB\"")
                }
                "cpu" => {
                    caps.cpu = usage::thousandths(&plain);
                    (caps.cpu.is_some(), "a number of processor cores above 0")
                }
                "processes" => {
                    caps.processes = usage::count(&plain);
                    (caps.processes.is_some(), "a whole number above 0")
                }
                _ => {
                    let hint = "only `memory`, `cpu` and `processes` mean something here";
                    self.fault(property.range.start, Some(&field), "is unknown", Some(hint));
                    continue;
                }
            };
            if !read {
                let problem = format!("must be {expected}, found {}", value.text_of());
                let at = value.range().start;
                self.fault(at, Some(&field), &problem, Some(usage::WRITE_LIMITS));
            }
        }
    }
}

/// A value as it is shown where it makes no sense.
trait TextOf {
    fn text_of(&self) -> String;
}

impl TextOf for Value<'_> {
    fn text_of(&self) -> String {
        serde_json::Value::from(self.clone()).to_string()
    }
}
