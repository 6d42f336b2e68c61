//! `env` of managed settings: what an administrator sets in our environment.
//! Three variables, which say how long and how much, count at once; any other
//! could lead a server or a secret somewhere else, so the user says yes to it
//! first, to this value of it.

use crate::{
    approval::{Store, StoreError},
    fault::Fault,
    read::Doc,
};
use serde_json::Value;
use std::{ffi::OsString, fmt, path::Path, sync::Arc};

/// What counts without a question.
pub(crate) const SAFE: [&str; 3] = ["MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "MAX_MCP_OUTPUT_TOKENS"];

/// A variable that an administrator sets.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// File and line.
    pub place: String,
}

impl fmt::Debug for Variable {
    // It may well be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.place)
    }
}

/// The variables of whoever runs us, as they are given to us: nothing here asks
/// the process. Without any there is no home, and there are no files.
#[derive(Clone, Default)]
pub struct Variables(Option<Arc<Find>>);

type Find = dyn Fn(&str) -> Option<OsString> + Send + Sync;

impl Variables {
    /// Those that `find` knows: `std::env::var_os`, for a program that is its user's.
    pub fn new(find: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<OsString> {
        self.0.as_ref()?(name)
    }
}

impl fmt::Debug for Variables {
    // What they hold is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}

/// The environment as it counts: what is given, and above it what the
/// administrator sets.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    given: Variables,
    set: Vec<Variable>,
    waiting: Vec<Variable>,
}

impl Environment {
    /// These variables, before any file was read.
    pub(crate) fn of(given: Variables) -> Self {
        Self {
            given,
            ..Self::default()
        }
    }

    /// A variable. What the administrator says is not changed by our surroundings.
    pub fn get(&self, name: &str) -> Option<String> {
        let set = self.set.iter().find(|variable| variable.name == name);
        set.map(|variable| variable.value.clone())
            .or_else(|| self.given.get(name)?.into_string().ok())
    }

    /// What the user has not said yes to.
    pub fn waiting(&self) -> &[Variable] {
        &self.waiting
    }

    /// Adds what a managed file says; later files win.
    pub(crate) fn add(&mut self, doc: &Doc<'_>, file: &str) -> Vec<Fault> {
        let Some((whole, line)) = doc.value(&["env"]) else {
            return Vec::new();
        };
        let hint = || Some(r#"write "env": {"NAME": "value"}"#.to_owned());
        let Value::Object(variables) = whole else {
            let problem = "`env` must be an object".to_owned();
            return vec![doc.fault_at(line, problem, hint())];
        };
        let mut faults = Vec::new();
        for (name, value) in variables {
            let (_, line) = doc.value(&["env", &name]).unwrap_or((Value::Null, line));
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_name = !name.is_empty()
                && name.chars().all(fits)
                && !name.starts_with(|c: char| c.is_ascii_digit());
            let value = match value {
                Value::String(value) if is_name && !value.contains('\0') => value,
                _ => {
                    let problem = format!("`env.{name}` must be a variable with text as its value");
                    faults.push(doc.fault_at(line, problem, hint()));
                    continue;
                }
            };
            for list in [&mut self.set, &mut self.waiting] {
                list.retain(|variable| variable.name != name);
            }
            let safe = SAFE.contains(&name.as_str());
            let to = if safe {
                &mut self.set
            } else {
                &mut self.waiting
            };
            to.push(Variable {
                name,
                value,
                place: format!("{file}:{line}"),
            });
        }
        faults
    }

    /// Lets count what the user has said yes to. An approval that cannot be read
    /// is none.
    pub(crate) fn settle(&mut self, approvals: &Path) {
        if self.waiting.is_empty() {
            return;
        }
        let store = Store::read(approvals).unwrap_or_default();
        let (set, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|variable| store.accepts(variable));
        self.waiting = waiting;
        self.set.extend::<Vec<_>>(set);
    }

    /// Keeps that the user said yes to all that waits.
    pub fn accept(&self, approvals: &Path) -> Result<(), StoreError> {
        Store::accept(approvals, &self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use crate::load::world::World;
    use serde_json::json;

    #[test]
    fn three_count_at_once_and_others_after_a_yes_to_their_value() {
        let world = World::new();
        let write = |proxy: &str| {
            let env = json!({"MCP_TIMEOUT": "1500", "MCP_TOOL_TIMEOUT": "2", "MAX_MCP_OUTPUT_TOKENS": "3", "CORP_PROXY": proxy});
            world.write("etc/managed-settings.json", &json!({ "env": env }));
        };
        write("a");
        let get = |name: &str| world.load().environment.get(name);
        for (name, value) in [
            ("MCP_TIMEOUT", "1500"),
            ("MCP_TOOL_TIMEOUT", "2"),
            ("MAX_MCP_OUTPUT_TOKENS", "3"),
        ] {
            assert_eq!(get(name).as_deref(), Some(value));
        }
        assert_eq!(get("CORP_PROXY"), None);
        let loaded = world.load();
        assert_eq!(loaded.environment.waiting()[0].name, "CORP_PROXY");
        let approvals = world.places.approvals();
        loaded.environment.accept(&approvals).unwrap();
        assert_eq!(get("CORP_PROXY").as_deref(), Some("a"));
        assert!(world.load().environment.waiting().is_empty());
        // Another value is another question, and decisions about servers stay.
        write("b");
        assert_eq!(get("CORP_PROXY"), None);
        // What is set by us counts less than what the administrator sets.
        world.write("etc/managed-settings.json", &json!({"env": {"PATH": "/x"}}));
        world.load().environment.accept(&approvals).unwrap();
        assert_eq!(get("PATH").as_deref(), Some("/x"));
    }

    #[test]
    fn it_is_the_administrators_alone_and_fills_in_variables() {
        let world = World::new();
        for file in [
            "home/.claude/settings.json",
            "home/.config/switchboard/settings.json",
            "home/repo/.claude/settings.json",
        ] {
            world.write(file, &json!({"env": {"MCP_TIMEOUT": "9"}}));
        }
        assert_eq!(world.load().environment.get("MCP_TIMEOUT"), None);
        world.write(
            "home/.claude.json",
            &json!({"mcpServers": {"a": {"url": "https://${CORP_HOST}/"}}}),
        );
        world.write(
            "etc/managed-settings.json",
            &json!({"env": {"CORP_HOST": "corp.example"}, "deniedMcpServers": [{"serverUrl": "https://corp.example/*"}]}),
        );
        assert_eq!(world.load().active().count(), 1);
        world
            .load()
            .environment
            .accept(&world.places.approvals())
            .unwrap();
        // Policy judges the address that it leads to.
        assert_eq!(world.load().active().count(), 0);
    }

    #[test]
    fn what_cannot_be_shuts_everything_like_any_fault_of_a_managed_file() {
        for env in [
            json!({"A": 1}),
            json!(["A"]),
            json!({"1A": "x"}),
            json!({"A B": "x"}),
        ] {
            let world = World::new();
            world.write("home/.claude.json", &crate::load::world::one("a", "x"));
            world.write("etc/managed-settings.json", &json!({ "env": env }));
            let loaded = world.load();
            assert_eq!(loaded.active().count(), 0, "{env}");
            let text = loaded.faults[0].1.to_string();
            assert!(
                text.contains("managed-settings.json:1: `env") && text.contains("; write \"env\""),
                "{text}"
            );
        }
    }
}
