//! A snippet that somebody pasted, as a page in the web shows it: a client's JSON, TOML
//! or YAML, a part of it, a command line, or an address.

use super::{Found, plain_name, servers, toml};
use crate::clients::{Client, ClientFile, Format, Homes};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use switchboard_local::yaml;

/// What a snippet was understood as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Which form it was taken for.
    pub form: String,
    /// The servers in it: name, entry, what became of its fields in words.
    pub servers: Vec<Server>,
    /// What was not understood.
    pub faults: Vec<String>,
}

/// A server of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// The entry as we would write it.
    pub entry: Value,
    /// What the user has to know.
    pub notes: Vec<String>,
}

/// Reads a snippet of whatever form.
pub fn read(text: &str, homes: &Homes) -> Read {
    let text = text.trim();
    if text.is_empty() {
        return fault("nothing", "there is nothing in it".to_owned());
    }
    if is_address(text) {
        return address(text);
    }
    if text.starts_with('{') || text.starts_with('"') || text.starts_with("//") {
        return json_text(text, homes);
    }
    if text.starts_with('[') || text.contains("\n[") {
        return match toml::read(text) {
            Ok(whole) => of_clients(&whole, Format::Toml, homes).unwrap_or_else(|| {
                fault(
                    "toml",
                    "it has no servers where a client looks for them".to_owned(),
                )
            }),
            Err((_, problem)) => fault("toml", problem),
        };
    }
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end().ends_with(':')
        && let Ok(Some(whole)) = yaml::read(text)
    {
        return of_clients(&whole, Format::Yaml, homes).unwrap_or_else(|| {
            fault(
                "yaml",
                "it has no servers where a client looks for them".to_owned(),
            )
        });
    }
    command_line(text)
}

fn fault(form: &str, problem: String) -> Read {
    Read {
        form: form.to_owned(),
        faults: vec![problem],
        ..Read::default()
    }
}

fn is_address(text: &str) -> bool {
    let schemes = ["http://", "https://", "ws://", "wss://"];
    !text.contains(char::is_whitespace) && schemes.iter().any(|scheme| text.starts_with(scheme))
}

fn address(text: &str) -> Read {
    let kind = if text.starts_with("ws") { "ws" } else { "http" };
    let host = text.split("://").nth(1).unwrap_or_default();
    let host = host.split(['/', ':', '?']).next().unwrap_or_default();
    // `mcp.example.com` is example's.
    let parts: Vec<&str> = host
        .split('.')
        .filter(|part| *part != "mcp" && *part != "www")
        .collect();
    let name = parts.first().copied().unwrap_or("server");
    Read {
        form: "address".to_owned(),
        servers: vec![Server {
            name: plain_name(name),
            entry: json!({ "type": kind, "url": text }),
            notes: Vec::new(),
        }],
        faults: Vec::new(),
    }
}

fn json_text(text: &str, homes: &Homes) -> Read {
    let parse = |text: &str| super::parse(text, &PathBuf::from("snippet.json"));
    // A part of a file may be cut out without its braces.
    let whole = match parse(text) {
        Ok(whole) => whole,
        Err(first) => match parse(&format!("{{{}}}", text.trim_end_matches(','))) {
            Ok(whole) => whole,
            Err(_) => return fault("json", first.problem.clone()),
        },
    };
    if let Some(read) = of_clients(&whole, Format::Json, homes) {
        return read;
    }
    let Some(members) = whole.as_object() else {
        return fault("json", "it is no object".to_owned());
    };
    let is_entry = |value: &Value| {
        let keys = ["command", "url", "cmd", "serverUrl", "httpUrl", "uri"];
        keys.iter().any(|key| value.get(key).is_some()) || value["type"] == "builtin"
    };
    let named: Map<String, Value> = if is_entry(&whole) {
        let name = members
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("server");
        Map::from_iter([(name.to_owned(), whole.clone())])
    } else {
        let entries = members.iter().filter(|(_, value)| is_entry(value));
        entries
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    if named.is_empty() {
        return fault(
            "json",
            "it has no servers where a client looks for them".to_owned(),
        );
    }
    let whole = json!({ "mcpServers": named });
    let mut read = of_clients(&whole, Format::Json, homes).unwrap_or_default();
    read.form = "entry".to_owned();
    read
}

/// The servers where one of the clients with this format has them. Of those that would
/// find any, the one that loses the least is taken.
fn of_clients(whole: &Value, format: Format, homes: &Homes) -> Option<Read> {
    let mut best: Option<(usize, &'static str, Vec<Found>)> = None;
    for client in Client::all() {
        for file in client.files(homes) {
            if Format::of(&file.path) != format {
                continue;
            }
            let file = ClientFile {
                workspace: false,
                ..file
            };
            let found = servers(client, whole, &file, homes);
            if found.is_empty() {
                continue;
            }
            let lost = found
                .iter()
                .map(|one| one.counts()[2] + usize::from(one.left_out.is_some()))
                .sum();
            if best.as_ref().is_none_or(|(least, ..)| lost < *least) {
                best = Some((lost, client.title(), found));
            }
        }
    }
    let (_, form, found) = best?;
    let mut read = Read {
        form: form.to_owned(),
        ..Read::default()
    };
    for one in found {
        if let Some(why) = one.left_out {
            read.faults.push(format!("{}: {why}", one.name));
            continue;
        }
        let lost = one.fields.iter().filter_map(|field| match &field.became {
            super::Became::Lost(why) if why != super::ONLY_SHOWN => {
                Some(format!("{} is lost: {why}", field.name))
            }
            _ => None,
        });
        let notes = one.notes.iter().cloned().chain(lost).collect();
        read.servers.push(Server {
            name: one.name,
            entry: one.entry,
            notes,
        });
    }
    Some(read)
}

/// A command as it is typed: the server's own, or one that adds it to some client.
fn command_line(text: &str) -> Read {
    let joined = text.replace("\\\n", " ");
    let Some(mut words) = words(joined.lines().next().unwrap_or_default()) else {
        return fault("command", "a quotation mark is not closed".to_owned());
    };
    if words.first().is_some_and(|word| word == "$") {
        words.remove(0);
    }
    let adds = words.iter().take(4).position(|word| word == "add");
    let own = match adds {
        Some(at) if words.len() > at + 1 && words[0] != "npx" => return added(&words[at + 1..]),
        _ => words,
    };
    let Some(program) = own.first() else {
        return fault("command", "there is nothing in it".to_owned());
    };
    let name = named_after(&own).unwrap_or(program);
    Read {
        form: "command".to_owned(),
        servers: vec![Server {
            name: plain_name(name),
            entry: json!({ "type": "stdio", "command": program, "args": own[1..] }),
            notes: Vec::new(),
        }],
        faults: Vec::new(),
    }
}

/// `add NAME [options] -- COMMAND`, as several clients have it.
fn added(words: &[String]) -> Read {
    let (mut env, mut headers) = (Map::new(), Map::new());
    let (mut kind, mut rest): (Option<String>, Vec<String>) = (None, Vec::new());
    let mut faults = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().unwrap_or_default();
        match word.as_str() {
            "-e" | "--env" => match value().split_once('=') {
                Some((key, value)) => drop(env.insert(key.to_owned(), value.into())),
                None => faults.push(format!("{word} wants NAME=VALUE")),
            },
            "-H" | "--header" => match value().split_once(':') {
                Some((key, value)) => drop(headers.insert(key.to_owned(), value.trim().into())),
                None => faults.push(format!("{word} wants NAME: VALUE")),
            },
            "-t" | "--transport" => kind = Some(value()),
            "-s" | "--scope" => drop(value()),
            "--" => rest.extend(words.by_ref().cloned()),
            word if word.starts_with('-') && rest.len() < 2 => {
                faults.push(format!("{word} is not known"));
            }
            word => rest.push(word.to_owned()),
        }
    }
    let [name, target, args @ ..] = rest.as_slice() else {
        return fault("command", "it names no server and command".to_owned());
    };
    let entry = if is_address(target) {
        let kind = kind.unwrap_or_else(|| {
            if target.starts_with("ws") {
                "ws"
            } else {
                "http"
            }
            .to_owned()
        });
        let mut entry = json!({ "type": kind, "url": target });
        if !headers.is_empty() {
            entry["headers"] = headers.into();
        }
        entry
    } else {
        let mut entry = json!({ "type": "stdio", "command": target, "args": args });
        if !env.is_empty() {
            entry["env"] = env.into();
        }
        entry
    };
    Read {
        form: "command".to_owned(),
        servers: vec![Server {
            name: plain_name(name),
            entry,
            notes: Vec::new(),
        }],
        faults,
    }
}

/// What a command is named after: the package or file that it runs.
fn named_after(words: &[String]) -> Option<&str> {
    let runners = [
        "npx", "bunx", "uvx", "pipx", "node", "python", "python3", "docker", "deno", "uv",
    ];
    let is_runner = runners.contains(&words[0].as_str());
    let skip = ["run", "dlx", "exec", "tool", "-m"];
    let own = |word: &&String| !word.starts_with('-') && !skip.contains(&word.as_str());
    let word = match is_runner {
        true => words[1..].iter().find(own)?,
        false => &words[0],
    };
    let last = word.rsplit('/').next()?;
    let last = last
        .split('@')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(last);
    let name = last
        .trim_start_matches("server-")
        .trim_start_matches("mcp-server-");
    let name = name
        .trim_start_matches("mcp-")
        .trim_end_matches("-mcp")
        .trim_end_matches("-server");
    Some(name.split('.').next().unwrap_or(name)).filter(|name| !name.is_empty())
}

/// Words as a shell takes them: blanks, quotation marks, backslashes. Nothing is filled in.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut all, mut word, mut open) = (Vec::new(), None::<String>, None::<char>);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (open, c) {
            (Some(mark), c) if c == mark => open = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().push(rest.next()?),
            (None, '\'' | '"') => {
                open = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => all.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    open.is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn one(text: &str) -> (String, String, Value) {
        let mut read = read(text, &Homes::at(Path::new("/home/ada")));
        assert_eq!(read.servers.len(), 1, "{text}: {read:?}");
        let server = read.servers.remove(0);
        (read.form, server.name, server.entry)
    }

    #[test]
    fn what_people_paste_is_understood() {
        let (form, name, entry) = one("https://mcp.example.com/v1");
        assert_eq!((form.as_str(), name.as_str()), ("address", "example"));
        assert_eq!(entry["url"], "https://mcp.example.com/v1");
        let (_, name, entry) = one("npx -y @modelcontextprotocol/server-memory --x 'a b'");
        assert_eq!(name, "memory");
        assert_eq!(
            entry["args"],
            json!(["-y", "@modelcontextprotocol/server-memory", "--x", "a b"])
        );
        let (_, name, entry) = one("claude mcp add gh -e TOKEN=x -- docker run -i gh");
        assert_eq!((name.as_str(), &entry["env"]["TOKEN"]), ("gh", &json!("x")));
        assert_eq!(entry["command"], "docker");
        let (_, name, entry) =
            one("claude mcp add --transport http linear https://mcp.linear.app/mcp");
        assert_eq!((name.as_str(), &entry["type"]), ("linear", &json!("http")));
    }

    #[test]
    fn files_of_clients_and_parts_of_them() {
        let inner = r#""time": { "command": "uvx", "args": ["mcp-server-time"] }"#;
        for text in [
            format!(r#"{{ "mcpServers": {{ {inner} }} }}"#),
            format!(r#"{{ "servers": {{ {inner} }} }}"#),
            format!(r#""mcpServers": {{ {inner} }},"#),
            format!("{{ {inner} }}"),
            inner.to_owned(),
        ] {
            let (_, name, entry) = one(&text);
            assert_eq!(
                (name.as_str(), &entry["command"]),
                ("time", &json!("uvx")),
                "{text}"
            );
        }
        let (_, _, entry) = one(r#"{ "command": "uvx", "args": ["x"] }"#);
        assert_eq!(entry["command"], "uvx");
        let (_, name, entry) = one("[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"docs\"]\n");
        assert_eq!((name.as_str(), &entry["args"]), ("docs", &json!(["docs"])));
    }

    #[test]
    fn what_is_none_of_these_is_said() {
        for text in ["", "{", "{}", "[x", "'open", "{\"a\": 1}"] {
            let read = read(text, &Homes::at(Path::new("/home/ada")));
            assert!(
                read.servers.is_empty() && !read.faults.is_empty(),
                "{text}: {read:?}"
            );
        }
    }
}
