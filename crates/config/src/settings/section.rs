//! One object of a settings file, each part of which is read by itself: what is wrong with
//! one says nothing about the others.

use crate::{fault::Fault, read::Doc};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A section that is being read.
pub(super) struct Section<'a, 'd> {
    doc: &'a Doc<'d>,
    name: &'static str,
    faults: Vec<Fault>,
}

impl<'a, 'd> Section<'a, 'd> {
    /// The section of this name, which can have these keys, such as in `example`. What was
    /// found wrong so far where there is nothing to be read.
    pub(super) fn open(
        doc: &'a Doc<'d>,
        name: &'static str,
        keys: &[&str],
        example: &str,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = doc.unclear(&[], &[name]);
        match doc.value(&[name]) {
            None => return Err(faults),
            Some((Value::Object(all), _)) => {
                faults.extend(doc.doubled(&[name]));
                for key in all.keys().filter(|key| !keys.contains(&key.as_str())) {
                    let line = doc.value(&[name, key]).map_or(0, |(_, line)| line);
                    let problem = format!("`{name}.{key}` is not known");
                    let hint = format!("it can have {}", keys.join(", "));
                    faults.push(doc.fault_at(line, problem, Some(hint)));
                }
            }
            Some((other, line)) => {
                let problem = format!("`{name}` must be an object, found {other}");
                let hint = format!("write {example}");
                faults.push(doc.fault_at(line, problem, Some(hint)));
                return Err(faults);
            }
        }
        Ok(Self { doc, name, faults })
    }

    /// Reads one part of it.
    pub(super) fn part<T: DeserializeOwned>(mut self, key: &str, to: &mut Option<T>) -> Self {
        let (doc, name) = (self.doc, self.name);
        let Some((value, line)) = doc.value(&[name, key]) else {
            return self;
        };
        self.faults.extend(doc.doubled(&[name, key]));
        match serde_json::from_value(value) {
            Ok(read) => *to = read,
            Err(error) => {
                let problem = format!("`{name}.{key}`: {error}");
                let hint = "docs/reference/settings.md says what it can have".to_owned();
                self.faults.push(doc.fault_at(line, problem, Some(hint)));
            }
        }
        self
    }

    /// What is wrong with it.
    pub(super) fn faults(self) -> Vec<Fault> {
        self.faults
    }
}
