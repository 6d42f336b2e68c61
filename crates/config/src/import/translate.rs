//! From each client's words to ours, by its table.

use super::{Became, Field, Object, variables};
use crate::{
    clients::{Client, ClientFile, FIELDS, Homes, Meaning, Spelling, Unit},
    env_file,
};
use serde_json::{Value, json};
use std::path::Path;

/// An entry on its way.
#[derive(Default)]
pub(super) struct Translated {
    pub(super) entry: Object,
    pub(super) fields: Vec<Field>,
    pub(super) notes: Vec<String>,
    pub(super) left_out: Option<String>,
    /// How the address is reached where no type is given.
    by_url: Option<&'static str>,
    /// Which of our fields came from which of theirs, unchanged so far.
    from: Vec<(String, String)>,
}

/// Kinds of extensions that are parts of a client.
const PARTS: [&str; 4] = ["builtin", "platform", "frontend", "inline_python"];

/// One entry in our shape.
pub(super) fn entry(
    client: Client,
    written: &Object,
    whole: &Value,
    file: &ClientFile,
    homes: &Homes,
) -> Translated {
    let mut found = Translated::default();
    for (name, value) in written {
        let own = client.fields().iter().find(|(known, _)| known == name);
        let meaning = own.or_else(|| FIELDS.iter().find(|(known, _)| known == name));
        let became = match meaning {
            _ if value.is_null() => Became::Taken,
            None => Became::Lost("it is not known".to_owned()),
            Some((_, meaning)) => found.take(*meaning, name, value, file, homes),
        };
        found.fields.push(Field {
            name: name.clone(),
            became,
        });
    }
    found.settle(client, written);
    let ground = variables::Ground {
        spelling: client.variables(),
        inputs: whole.get("inputs").or_else(|| whole["mcp"].get("inputs")),
        folder: file.path.parent().unwrap_or(Path::new("/")),
        workspace: file.workspace,
    };
    if client.variables() == Spelling::None {
        variables::plain_text(written, &mut found.notes);
    }
    let changed = variables::translate(&mut found.entry, &ground, &mut found.notes);
    for key in changed {
        let from: Vec<String> = found
            .from
            .iter()
            .filter(|(ours, _)| *ours == key)
            .map(|(_, theirs)| theirs.clone())
            .collect();
        for field in &mut found.fields {
            if from.contains(&field.name) && field.became == Became::Taken {
                field.became = Became::Translated("${…}".to_owned());
            }
        }
    }
    found
}

impl Translated {
    fn take(
        &mut self,
        meaning: Meaning,
        name: &str,
        value: &Value,
        file: &ClientFile,
        homes: &Homes,
    ) -> Became {
        match meaning {
            Meaning::Same => self.same(name, name, value),
            Meaning::Called(ours) => self.same(ours, name, value),
            Meaning::Needless => Became::Taken,
            // A list of nothing says nothing; one client writes some of them by itself.
            Meaning::Lost(_) if value.as_array().is_some_and(Vec::is_empty) => Became::Taken,
            Meaning::Lost(why) => Became::Lost(why.to_owned()),
            Meaning::Transport => self.transport(value),
            Meaning::Command => self.command(name, value),
            Meaning::HttpUrl | Meaning::Url | Meaning::SseUrl => self.address(meaning, name, value),
            Meaning::Timeout(unit) => self.timeout(unit, value),
            Meaning::StartTimeout => Became::Lost(
                "MCP_TIMEOUT says for all servers how long a start may take".to_owned(),
            ),
            Meaning::Enabled => match value.as_bool() {
                Some(true) => Became::Taken,
                Some(false) => self.put("disabled", true.into()),
                None => wrong("true or false"),
            },
            Meaning::Allow | Meaning::AllowSome => self.allow(meaning, value),
            Meaning::Deny => match texts(value) {
                Some(tools) if tools.is_empty() => Became::Taken,
                Some(tools) => {
                    self.tools("deny", &tools);
                    Became::Translated("tools.deny".to_owned())
                }
                None => wrong("a list of names"),
            },
            Meaning::EnvFile => self.env_file(value, file, homes),
            Meaning::EnvNames => self.env_names(value),
            Meaning::SecretNames => self.secret_names(value),
            Meaning::BearerVariable => match value.as_str() {
                Some(variable) => {
                    self.inner("headers")["Authorization"] =
                        format!("Bearer ${{{variable}}}").into();
                    Became::Translated("headers.Authorization".to_owned())
                }
                None => wrong("the name of a variable"),
            },
            Meaning::HeaderVariables => self.header_variables(value),
            Meaning::Oauth(names) => self.oauth(names, name, value),
            Meaning::Scopes => {
                self.inner("oauth")["scopes"] = value.clone();
                Became::Translated("oauth.scopes".to_owned())
            }
            Meaning::RequestOptions => self.request_options(name, value),
        }
    }

    /// Takes a value as it is; numbers where texts are wanted become texts.
    fn same(&mut self, ours: &str, theirs: &str, value: &Value) -> Became {
        let mut value = value.clone();
        let mut spelled = false;
        match (ours, &mut value) {
            ("disabled" | "alwaysLoad", value) if !value.is_boolean() => {
                return wrong("true or false");
            }
            ("disabled", Value::Bool(false)) => return Became::Taken,
            ("env" | "headers", Value::Object(pairs)) => {
                pairs.retain(|_, value| !value.is_null());
                for value in pairs.values_mut() {
                    spelled |= spell(value);
                }
                if let Some(Value::Object(before)) = self.entry.get(ours) {
                    let mut both = before.clone();
                    both.extend(std::mem::take(pairs));
                    *pairs = both;
                }
            }
            ("args", Value::Array(items)) => {
                for item in items.iter_mut() {
                    spelled |= spell(item);
                }
                if let Some(Value::Array(before)) = self.entry.get(ours) {
                    let mut both = before.clone();
                    both.append(items);
                    *items = both;
                }
            }
            ("env" | "headers", _) => return wrong("an object"),
            ("args", _) => return wrong("a list"),
            _ => {}
        }
        self.entry.insert(ours.to_owned(), value);
        self.from.push((ours.to_owned(), theirs.to_owned()));
        if ours != theirs || spelled {
            Became::Translated(ours.to_owned())
        } else {
            Became::Taken
        }
    }

    fn put(&mut self, ours: &str, value: Value) -> Became {
        self.entry.insert(ours.to_owned(), value);
        Became::Translated(ours.to_owned())
    }

    /// The object of ours in which something is put.
    fn inner(&mut self, ours: &str) -> &mut Value {
        self.entry.entry(ours).or_insert_with(|| json!({}))
    }

    fn transport(&mut self, value: &Value) -> Became {
        let Some(kind) = value.as_str() else {
            return wrong("a text");
        };
        let ours = match kind {
            "stdio" | "local" => "stdio",
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote" => "http",
            "sse" => "sse",
            "ws" | "websocket" => "ws",
            part if PARTS.contains(&part) => {
                self.left_out = Some(format!("it is a part of the client itself ({part})"));
                return Became::Lost("it is a part of the client itself".to_owned());
            }
            _ => return Became::Lost(format!("{kind:?} is no known transport")),
        };
        self.entry.insert("type".to_owned(), ours.into());
        if ours == kind {
            Became::Taken
        } else {
            Became::Translated(format!("type: {ours}"))
        }
    }

    fn command(&mut self, name: &str, value: &Value) -> Became {
        match value {
            Value::String(_) => self.same("command", name, value),
            Value::Array(words) => {
                let Some((first, rest)) = words.split_first() else {
                    return Became::Lost("it is empty".to_owned());
                };
                self.same("command", name, first);
                let later = self.entry.shift_remove("args");
                self.same("args", name, &rest.into());
                if let Some(later) = later {
                    self.same("args", name, &later);
                }
                Became::Translated("command, args".to_owned())
            }
            Value::Object(parts) => {
                let mut lost = Vec::new();
                for (part, value) in parts.iter().filter(|(_, value)| !value.is_null()) {
                    match part.as_str() {
                        "path" | "command" => self.same("command", name, value),
                        "args" | "arguments" => self.same("args", name, value),
                        "env" => self.same("env", name, value),
                        other => {
                            lost.push(other.to_owned());
                            Became::Taken
                        }
                    };
                }
                if lost.is_empty() {
                    Became::Translated("command, args, env".to_owned())
                } else {
                    Became::Lost(format!("{} in it is not known", lost.join(", ")))
                }
            }
            _ => wrong("a text"),
        }
    }

    fn address(&mut self, meaning: Meaning, name: &str, value: &Value) -> Became {
        let Some(url) = value.as_str() else {
            return wrong("an address");
        };
        let by = match meaning {
            Meaning::HttpUrl => "http",
            _ if url.starts_with("ws://") || url.starts_with("wss://") => "ws",
            Meaning::SseUrl => "sse",
            _ => "http",
        };
        if self.entry.contains_key("url")
            && self.by_url == Some("http")
            && meaning != Meaning::HttpUrl
        {
            return Became::Lost("there is another address, which counts".to_owned());
        }
        self.by_url = Some(by);
        if meaning == Meaning::HttpUrl {
            self.entry.insert("type".to_owned(), "http".into());
        }
        self.same("url", name, value)
    }

    fn timeout(&mut self, unit: Unit, value: &Value) -> Became {
        let Some(number) = value.as_f64().filter(|number| *number > 0.0) else {
            return wrong("a time above 0");
        };
        let milliseconds = match unit {
            Unit::Milliseconds => number,
            Unit::Seconds => number * 1000.0,
        };
        // A whole number, for which every client's largest time has room.
        self.entry
            .insert("timeout".to_owned(), json!(milliseconds.ceil() as u64));
        match unit {
            Unit::Milliseconds => Became::Taken,
            Unit::Seconds => Became::Translated("timeout in milliseconds".to_owned()),
        }
    }

    fn allow(&mut self, meaning: Meaning, value: &Value) -> Became {
        let all = value.as_str() == Some("*");
        match texts(value) {
            _ if all => Became::Taken,
            Some(tools) if tools.iter().any(|tool| tool == "*") => Became::Taken,
            Some(tools) if tools.is_empty() && meaning == Meaning::AllowSome => Became::Taken,
            Some(tools) => {
                self.tools("allow", &tools);
                Became::Translated("tools.allow".to_owned())
            }
            None => wrong("a list of names"),
        }
    }

    /// Adds to a list of tools.
    pub(super) fn tools(&mut self, list: &str, names: &[String]) {
        let lists = self.inner("tools");
        let mut both: Vec<Value> = lists[list].as_array().cloned().unwrap_or_default();
        for name in names {
            // Some clients let arguments follow.
            let name = name.split('(').next().unwrap_or_default();
            if !both.iter().any(|known| known == name) {
                both.push(name.into());
            }
        }
        lists[list] = both.into();
    }

    /// A file of the user's own is read at each start. What a repository names is
    /// read now, so that whoever approves the server sees it; and only where it lies in
    /// the repository, since it could name any file that the user can read.
    fn env_file(&mut self, value: &Value, file: &ClientFile, homes: &Homes) -> Became {
        let Some(path) = value.as_str() else {
            return wrong("a path");
        };
        if !file.workspace {
            return self.same("envFile", "envFile", value);
        }
        let project = homes.project().unwrap_or(Path::new("/"));
        let place = path.replace("${workspaceFolder}", &project.display().to_string());
        let place = project.join(place);
        let is_inside = |place: &Path| {
            let (place, project) = (place.canonicalize().ok()?, project.canonicalize().ok()?);
            Some(place.starts_with(project))
        };
        if is_inside(&place) == Some(false) {
            let why = format!("{path} does not lie in the project, whose file could name anything");
            return Became::Lost(why);
        }
        match env_file::read(&place) {
            Ok(pairs) => {
                let env = self.inner("env");
                let count = pairs.len();
                for (name, value) in pairs {
                    if env.get(&name).is_none() {
                        env[name.as_str()] = value.into();
                    }
                }
                Became::Translated(format!("env, as {path} is now: {count} variables"))
            }
            Err(error) => Became::Lost(format!("{path}: {error}")),
        }
    }

    fn env_names(&mut self, value: &Value) -> Became {
        let Some(items) = value.as_array() else {
            return wrong("a list of names");
        };
        for item in items {
            if let Some(name) = item.as_str().or_else(|| item["name"].as_str()) {
                let text = format!("${{{name}}}");
                self.inner("env")[name] = text.into();
            }
        }
        Became::Translated("env".to_owned())
    }

    fn secret_names(&mut self, value: &Value) -> Became {
        let Some(names) = texts(value) else {
            return wrong("a list of names");
        };
        if names.is_empty() {
            return Became::Taken;
        }
        for name in names {
            self.notes.push(format!(
                "set the variable {name}: the client keeps its value among its own secrets"
            ));
            let text = format!("${{{name}}}");
            self.inner("env")[name.as_str()] = text.into();
        }
        Became::Translated("env".to_owned())
    }

    fn header_variables(&mut self, value: &Value) -> Became {
        let Some(named) = value.as_object() else {
            return wrong("an object");
        };
        for (header, name) in named {
            let text = format!("${{{}}}", name.as_str().unwrap_or_default());
            self.inner("headers")[header.as_str()] = text.into();
        }
        Became::Translated("headers".to_owned())
    }

    fn oauth(&mut self, names: &[(&str, &str)], theirs: &str, value: &Value) -> Became {
        match value {
            Value::Object(fields) => {
                let mut lost = Vec::new();
                let mut renamed = theirs != "oauth";
                for (field, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                    match names.iter().find(|(known, _)| known == field) {
                        Some((_, ours)) => {
                            renamed |= ours != field;
                            self.inner("oauth")[*ours] = value.clone();
                        }
                        // It says that a sign-in may happen, which is so anyway.
                        None if field == "enabled" && *value == Value::Bool(true) => {}
                        None => lost.push(field.clone()),
                    }
                }
                match (lost.is_empty(), renamed) {
                    (false, _) => {
                        Became::Lost(format!("{} in it has no place here", lost.join(", ")))
                    }
                    (true, true) => Became::Translated("oauth".to_owned()),
                    (true, false) => Became::Taken,
                }
            }
            Value::Bool(true) => Became::Taken,
            Value::Bool(false) => {
                Became::Lost("no sign-in begins here before you ask for one".to_owned())
            }
            _ => wrong("an object"),
        }
    }

    fn request_options(&mut self, name: &str, value: &Value) -> Became {
        let Some(options) = value.as_object() else {
            return wrong("an object");
        };
        let mut lost = Vec::new();
        for (option, value) in options {
            match option.as_str() {
                "headers" if value.is_object() => {
                    self.same("headers", name, value);
                }
                "timeout" if value.is_number() => {
                    self.timeout(Unit::Milliseconds, value);
                }
                other => lost.push(other.to_owned()),
            }
        }
        if lost.is_empty() {
            Became::Translated("headers, timeout".to_owned())
        } else {
            Became::Lost(format!("{} in it has no place here", lost.join(", ")))
        }
    }

    /// Says the type, which not all of them do, and puts it first.
    fn settle(&mut self, client: Client, written: &Object) {
        let has = |key: &str| self.entry.get(key).is_some_and(Value::is_string);
        let kind = match self.entry.get("type").and_then(Value::as_str) {
            Some(kind) => kind.to_owned(),
            None if has("command") => "stdio".to_owned(),
            None => match self.by_url {
                Some(by) => by.to_owned(),
                None => {
                    let of_extension = written.contains_key("settings");
                    let why = match of_extension || client.as_str() == "zed" {
                        true => format!("an extension of {} starts it", client.title()),
                        false => "it has neither a program nor an address".to_owned(),
                    };
                    self.left_out.get_or_insert(why);
                    return;
                }
            },
        };
        let rest = std::mem::take(&mut self.entry);
        self.entry.insert("type".to_owned(), kind.into());
        self.entry
            .extend(rest.into_iter().filter(|(key, _)| key != "type"));
    }
}

/// A number or truth value as the text that it is written as.
fn spell(value: &mut Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) => {
            *value = value.to_string().into();
            true
        }
        _ => false,
    }
}

fn wrong(expected: &str) -> Became {
    Became::Lost(format!("it is not {expected}"))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    Some(
        items
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
    )
}
