//! From each client's words to ours.

use super::{Client, Object};
use serde_json::{Value, json};

/// One entry; `None` where it is no MCP server.
pub(super) fn entry(client: Client, written: &Object, notes: &mut Vec<String>) -> Option<Object> {
    match client {
        Client::Codex => codex(written, notes),
        Client::Goose => goose(written),
        Client::OpenCode => opencode(written),
        Client::Zed => zed(written),
        Client::Gemini => gemini(written),
        _ => usual(written),
    }
}

/// The shape that most of them have.
fn usual(written: &Object) -> Option<Object> {
    let mut entry = written.clone();
    if let Some(url) = entry.shift_remove("serverUrl") {
        entry.entry("url").or_insert(url);
    }
    settle(entry)
}

/// Says the type, which not all of them do.
fn settle(mut entry: Object) -> Option<Object> {
    let has = |key: &str| entry.get(key).is_some_and(Value::is_string);
    let kind = match entry.get("type").and_then(Value::as_str) {
        Some("streamable-http" | "streamableHttp" | "streamable_http") => "http".to_owned(),
        Some(kind) => kind.to_owned(),
        None if has("command") => "stdio".to_owned(),
        None if has("url") => "http".to_owned(),
        None => return None,
    };
    entry.shift_remove("type");
    let mut typed = Object::new();
    typed.insert("type".to_owned(), kind.into());
    typed.extend(entry);
    Some(typed)
}

/// `url` is the older transport there, `httpUrl` the newer.
fn gemini(written: &Object) -> Option<Object> {
    let mut entry = written.clone();
    if let Some(url) = entry.shift_remove("httpUrl") {
        entry.insert("url".to_owned(), url);
        entry.insert("type".to_owned(), "http".into());
    } else if entry.contains_key("url") && !entry.contains_key("type") {
        entry.insert("type".to_owned(), "sse".into());
    }
    let allow = entry.shift_remove("includeTools");
    let deny = entry.shift_remove("excludeTools");
    tools(&mut entry, allow, deny);
    settle(entry)
}

/// The command can be an object of its own.
fn zed(written: &Object) -> Option<Object> {
    let mut entry = written.clone();
    entry.shift_remove("source");
    entry.shift_remove("settings");
    if let Some(Value::Object(command)) = entry.get("command").cloned() {
        entry.shift_remove("command");
        for (from, to) in [("path", "command"), ("args", "args"), ("env", "env")] {
            if let Some(value) = command.get(from).filter(|value| !value.is_null()) {
                entry.insert(to.to_owned(), value.clone());
            }
        }
    }
    off(&mut entry, "enabled");
    settle(entry)
}

fn opencode(written: &Object) -> Option<Object> {
    let mut entry = written.clone();
    match entry.shift_remove("type").as_ref().and_then(Value::as_str) {
        Some("remote") => entry.insert("type".to_owned(), "http".into()),
        _ => entry.insert("type".to_owned(), "stdio".into()),
    };
    if let Some(Value::Array(argv)) = entry.get("command").cloned() {
        let (command, args) = argv.split_first()?;
        entry.insert("command".to_owned(), command.clone());
        entry.insert("args".to_owned(), args.into());
    }
    if let Some(env) = entry.shift_remove("environment") {
        entry.insert("env".to_owned(), env);
    }
    off(&mut entry, "enabled");
    settle(entry)
}

fn goose(written: &Object) -> Option<Object> {
    let take = |key: &str| written.get(key).filter(|value| !value.is_null()).cloned();
    let pairs: &[(&str, &str)] = match written.get("type").and_then(Value::as_str)? {
        "stdio" => &[
            ("cmd", "command"),
            ("args", "args"),
            ("envs", "env"),
            ("cwd", "cwd"),
        ],
        "streamable_http" | "sse" => &[("uri", "url"), ("headers", "headers")],
        // Its own built-in extensions are no MCP servers of anybody's.
        _ => return None,
    };
    let mut entry = Object::new();
    entry.insert("type".to_owned(), written.get("type")?.clone());
    for (from, to) in pairs {
        if let Some(value) = take(from) {
            entry.insert((*to).to_owned(), value);
        }
    }
    // A number of seconds there.
    if let Some(seconds) = written
        .get("timeout")
        .and_then(Value::as_u64)
        .filter(|seconds| *seconds > 0)
    {
        entry.insert("timeout".to_owned(), seconds.saturating_mul(1000).into());
    }
    if written.get("enabled") == Some(&Value::Bool(false)) {
        entry.insert("disabled".to_owned(), true.into());
    }
    settle(entry)
}

fn codex(written: &Object, notes: &mut Vec<String>) -> Option<Object> {
    let mut entry = Object::new();
    for (from, to) in [
        ("command", "command"),
        ("args", "args"),
        ("env", "env"),
        ("cwd", "cwd"),
        ("url", "url"),
        ("http_headers", "headers"),
    ] {
        if let Some(value) = written.get(from) {
            entry.insert(to.to_owned(), value.clone());
        }
    }
    // Names of variables that are handed on.
    for name in strings(written.get("env_vars")) {
        let env = entry.entry("env").or_insert_with(|| json!({}));
        env[name.as_str()] = format!("${{{name}}}").into();
    }
    if let Some(name) = written.get("bearer_token_env_var").and_then(Value::as_str) {
        let headers = entry.entry("headers").or_insert_with(|| json!({}));
        headers["Authorization"] = format!("Bearer ${{{name}}}").into();
    }
    if let Some(Value::Object(named)) = written.get("env_http_headers") {
        let headers = entry.entry("headers").or_insert_with(|| json!({}));
        for (header, name) in named {
            headers[header.as_str()] = format!("${{{}}}", name.as_str().unwrap_or_default()).into();
        }
    }
    let seconds = written.get("tool_timeout_sec").and_then(Value::as_f64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        entry.insert(
            "timeout".to_owned(),
            json!((seconds * 1000.0).ceil() as u64),
        );
    }
    if written.contains_key("startup_timeout_sec") {
        notes.push("startup_timeout_sec is left out: MCP_TIMEOUT is for all servers".to_owned());
    }
    tools(
        &mut entry,
        written.get("enabled_tools").cloned(),
        written.get("disabled_tools").cloned(),
    );
    if written.get("enabled") == Some(&Value::Bool(false)) {
        entry.insert("disabled".to_owned(), true.into());
    }
    settle(entry)
}

fn tools(entry: &mut Object, allow: Option<Value>, deny: Option<Value>) {
    let mut lists = Object::new();
    for (key, list) in [("allow", allow), ("deny", deny)] {
        if let Some(list) = list.filter(Value::is_array) {
            lists.insert(key.to_owned(), list);
        }
    }
    if !lists.is_empty() {
        entry.insert("tools".to_owned(), Value::Object(lists));
    }
}

/// `enabled: false` is `disabled: true` here.
fn off(entry: &mut Object, key: &str) {
    if entry.shift_remove(key) == Some(Value::Bool(false)) {
        entry.insert("disabled".to_owned(), true.into());
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// `${env:X}` is `${X}` here. `${input:id}` asks a person there; here it is a
/// variable, which the user is told to set. `${userHome}` and `${workspaceFolder}`
/// are understood; what else editors fill in is not, and said so.
pub(super) fn variables(entry: &mut Object, inputs: Option<&Value>, notes: &mut Vec<String>) {
    for value in entry.values_mut() {
        each_string(value, &mut |text| {
            *text = text.replace("${env:", "${");
            while let Some(at) = text.find("${input:") {
                let rest = &text[at + "${input:".len()..];
                let Some(end) = rest.find('}') else { return };
                let id = rest[..end].to_owned();
                let variable = variable_name(&id);
                let about = inputs
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .find(|input| input["id"] == id.as_str())
                    .and_then(|input| input["description"].as_str())
                    .map(|about| format!(" ({about})"))
                    .unwrap_or_default();
                let note =
                    format!("set the variable {variable}{about}: it was asked for as input {id:?}");
                if !notes.contains(&note) {
                    notes.push(note);
                }
                *text = text.replace(&format!("${{input:{id}}}"), &format!("${{{variable}}}"));
            }
            for note in foreign(text) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        });
    }
}

/// What is to be said about the variables of editors in a text.
fn foreign(text: &str) -> Vec<String> {
    let inside = text.split("${").skip(1);
    let names = inside.filter_map(|rest| Some(rest.split_once('}')?.0));
    let note = |name: &str| match name {
        "workspaceFolder" => Some(
            "${workspaceFolder} is the folder that Switchboard is started in, or its repository"
                .to_owned(),
        ),
        name if name.contains(':') && !name.contains(":-") || EDITORS.contains(&name) => Some(
            format!("${{{name}}} means something to the editor alone: write what it stands for"),
        ),
        _ => None,
    };
    names.filter_map(note).collect()
}

/// Variables that editors fill in and nobody else.
const EDITORS: [&str; 9] = [
    "/",
    "pathSeparator",
    "workspaceFolderBasename",
    "workspaceRoot",
    "cwd",
    "file",
    "fileDirname",
    "execPath",
    "defaultBuildTask",
];

fn variable_name(id: &str) -> String {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let name: String = id.chars().map(upper).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        format!("INPUT_{name}")
    } else {
        name
    }
}

fn each_string(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(object) => object
            .values_mut()
            .for_each(|item| each_string(item, change)),
        _ => {}
    }
}

/// TOML as JSON; where it is wrong, and why.
pub(super) fn toml(text: &str) -> Result<Value, (usize, String)> {
    let document = text.parse::<toml_edit::DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, format!("not TOML: {}", error.message()))
    })?;
    Ok(value(&document))
}

/// A TOML document as the value that it says.
pub(crate) fn value(document: &toml_edit::DocumentMut) -> Value {
    table(document.as_table())
}

fn table(table: &dyn toml_edit::TableLike) -> Value {
    let pairs = table
        .iter()
        .filter_map(|(key, item)| Some((key.to_owned(), item_value(item)?)));
    Value::Object(pairs.collect())
}

fn item_value(item: &toml_edit::Item) -> Option<Value> {
    match item {
        toml_edit::Item::None => None,
        toml_edit::Item::Value(value) => Some(plain(value)),
        toml_edit::Item::Table(inner) => Some(table(inner)),
        toml_edit::Item::ArrayOfTables(tables) => {
            Some(tables.iter().map(|inner| table(inner)).collect())
        }
    }
}

fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => json!(*number.value()),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(plain).collect(),
        toml_edit::Value::InlineTable(inner) => table(inner),
    }
}
