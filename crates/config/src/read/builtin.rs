//! Reading what an entry of type `builtin` says to its server.

use super::fields::Reader;
use crate::entry::BuiltinOptions;
use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};

impl Reader<'_> {
    /// The keys that mean something to built-in servers. Other entries may have
    /// them too, where they are another program's.
    pub(super) fn builtin(&mut self, object: &Object<'_>) {
        let mut options = BuiltinOptions::default();
        for property in &object.properties {
            let (key, value) = (property.name.as_str(), &property.value);
            if !BuiltinOptions::KEYS.contains(&key) {
                continue;
            }
            self.entry.unknown.shift_remove(key);
            if matches!(value, Value::NullKeyword(_)) {
                continue;
            }
            match key {
                "root" => options.roots.extend(self.text(key, value)),
                "roots" => options
                    .roots
                    .extend(self.strings(key, value).unwrap_or_default()),
                "allowProtected" => {
                    options.allow_protected = self.strings(key, value).unwrap_or_default();
                }
                "readOnly" => options.read_only = self.boolean(key, value).unwrap_or_default(),
                "enabled" => options.enabled = self.boolean(key, value).unwrap_or_default(),
                "data" => options.data = self.text(key, value),
                _ => options.folder = self.text(key, value),
            }
            let says = [&options.data, &options.folder];
            let empty = says.iter().any(|text| text.as_deref() == Some(""))
                || options.roots.iter().any(String::is_empty)
                || options.allow_protected.iter().any(String::is_empty);
            if empty {
                let hint = Some("name a directory; . is the working directory");
                self.fault(value.range().start, Some(key), "is empty", hint);
                return;
            }
        }
        self.entry.builtin_options = options;
    }
}
