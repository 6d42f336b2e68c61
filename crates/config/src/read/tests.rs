use super::*;
use crate::entry::{Isolation, Transport};
use switchboard_wire::Era;

fn source() -> Source {
    Source::File("/p/.mcp.json".into())
}

fn entries(text: &str) -> Vec<Entry> {
    read(text, &source(), Scope::Dynamic).unwrap()
}

/// The faults of the only entry.
fn faults(entry: &str) -> Vec<String> {
    let entries = entries(&format!("{{\"mcpServers\": {{\"a\": {entry}}}}}"));
    entries[0].faults.iter().map(ToString::to_string).collect()
}

#[test]
fn every_field_is_read() {
    let entry = &entries(
        r#"{
        // comments and trailing commas are fine
        "mcpServers": {
            "a": {
                "type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"K": "${K:-d}"}, "cwd": "/w",
                "timeout": 600000, "isolation": "session", "era": "legacy", "disabled": true,
                "tools": {"allow": ["x*"], "deny": ["y"]}, "oauth": {"clientId": "c"}, /* kept */ "odd": [1, 2.5],
            },
        },
    }"#,
    )[0];
    assert!(entry.faults.is_empty(), "{:?}", entry.faults);
    assert_eq!((entry.name.as_str(), entry.line), ("a", 4));
    assert_eq!(entry.transport, Transport::Stdio);
    assert_eq!(entry.command.as_deref(), Some("npx"));
    assert_eq!(entry.args, ["-y", "p"]);
    assert_eq!(entry.env, [("K".to_owned(), "${K:-d}".to_owned())]);
    assert_eq!(entry.cwd.as_deref(), Some("/w"));
    assert_eq!(entry.timeout, Some(600_000));
    assert_eq!(entry.isolation, Isolation::Session);
    assert_eq!(entry.era, Some(Era::Legacy));
    assert_eq!(entry.tools.allow.as_deref(), Some(&["x*".to_owned()][..]));
    assert_eq!(entry.tools.deny, ["y"]);
    assert!(entry.disabled);
    assert_eq!(
        serde_json::to_string(&entry.unknown).unwrap(),
        r#"{"odd":[1,2.5]}"#
    );
    assert_eq!(entry.oauth.client_id.as_deref(), Some("c"));
}

#[test]
fn transports_under_all_their_names() {
    for (entry, expected) in [
        (r#"{"command":"x"}"#, Transport::Stdio),
        (r#"{"url":"https://x/mcp"}"#, Transport::Http),
        (r#"{"url":"wss://x/mcp"}"#, Transport::Ws),
        (r#"{"type":"http","url":"u"}"#, Transport::Http),
        (r#"{"type":"streamable-http","url":"u"}"#, Transport::Http),
        (r#"{"type":"streamableHttp","url":"u"}"#, Transport::Http),
        (r#"{"type":"streamable_http","url":"u"}"#, Transport::Http),
        (r#"{"transport":"sse","url":"u"}"#, Transport::Sse),
        (r#"{"type":"ws","url":"u"}"#, Transport::Ws),
        (r#"{"type":"builtin"}"#, Transport::Builtin),
        (r#"{"builtin":"system"}"#, Transport::Builtin),
        (r#"{"type":null,"command":"x"}"#, Transport::Stdio),
    ] {
        let entry = &entries(&format!("{{\"mcpServers\": {{\"a\": {entry}}}}}"))[0];
        assert_eq!(
            (entry.transport, entry.faults.len()),
            (expected, 0),
            "{entry:?}"
        );
    }
}

#[test]
fn faults_say_where_what_and_what_would_be_right() {
    for (entry, expected) in [
        (
            r#"{"command": 7}"#,
            r#"/p/.mcp.json:1:34: server "a": `command`: must be a string, found a number; put it in double quotes"#,
        ),
        (
            r#"{"command": ["npx", "-y"]}"#,
            r#"/p/.mcp.json:1:34: server "a": `command`: must be a string, found a list; write the program as "command" and the rest as "args": ["…"]"#,
        ),
        (
            r#"{"command": "x", "args": "-y"}"#,
            r#"/p/.mcp.json:1:47: server "a": `args`: must be a list of strings, found a string; write ["…", "…"]"#,
        ),
        (
            r#"{"command": "x", "args": ["é", 3]}"#,
            r#"/p/.mcp.json:1:53: server "a": `args[1]`: must be a string, found a number; put it in double quotes"#,
        ),
        (
            r#"{"command": "x", "env": {"PORT": 3000}}"#,
            r#"/p/.mcp.json:1:55: server "a": `env.PORT`: must be a string, found a number; put it in double quotes"#,
        ),
        (
            r#"{"type": "tcp", "url": "u"}"#,
            r#"/p/.mcp.json:1:31: server "a": `type`: "tcp" is no known transport; known are stdio, http (also streamable-http, streamableHttp, streamable_http), sse, ws, sse-ide, ws-ide, builtin, worker"#,
        ),
        (
            r#"{"type": "stdio", "url": "u"}"#,
            r#"/p/.mcp.json:1:22: server "a": `command`: is missing; a stdio server needs the program to start"#,
        ),
        (
            r#"{"type": "http"}"#,
            r#"/p/.mcp.json:1:22: server "a": `url`: is missing; a server of type http needs its address"#,
        ),
        (
            r#"{"httpUrl": "u"}"#,
            r#"/p/.mcp.json:1:22: server "a": has neither `command` nor `url`; `httpUrl` is called `url` here"#,
        ),
        (
            r#"{"command": "x", "url": "u"}"#,
            r#"/p/.mcp.json:1:22: server "a": has both `command` and `url`; remove one of them, or say "type": "stdio" or "type": "http""#,
        ),
        (
            r#"{"command": "x", "era": "new"}"#,
            r#"/p/.mcp.json:1:46: server "a": `era`: "new" is not possible; write "legacy" or "modern""#,
        ),
        (
            r#"{"command": "x", "command": "y"}"#,
            r#"/p/.mcp.json:1:39: server "a": `command`: is written twice; keep one of the two"#,
        ),
        (
            r#"{"command": "x", "timeout": "1"}"#,
            r#"/p/.mcp.json:1:50: server "a": `timeout`: must be a whole number of milliseconds above 0, found a string; write 60000 for a minute"#,
        ),
        (
            r#""x""#,
            r#"/p/.mcp.json:1:22: server "a": expected an object, found a string; write {"command": "…"} or {"url": "…"}"#,
        ),
    ] {
        assert_eq!(faults(entry), [expected]);
    }
}

#[test]
fn all_faults_at_once_and_good_entries_stay() {
    let entries = entries(
        r#"{"mcpServers": {
            "bad": {"command": 1, "args": 2, "env": 3},
            "good": {"command": "x"},
            "worse": []
        }}"#,
    );
    let counts: Vec<(&str, usize)> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.faults.len()))
        .collect();
    assert_eq!(counts, [("bad", 3), ("good", 0), ("worse", 1)]);
}

#[test]
fn a_text_that_is_no_configuration() {
    for (text, expected) in [
        (
            "",
            r#"/p/.mcp.json:1:1: the file is empty; write {"mcpServers": {"name": {"command": "…"}}}"#,
        ),
        (
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\" \"x\"}\n}}",
            "/p/.mcp.json:3:21: not JSON: Expected colon after the string or word in object property; nothing in it counts until it is mended",
        ),
        (
            "[]",
            r#"/p/.mcp.json:1:1: expected an object, found a list; write {"mcpServers": {"name": {"command": "…"}}}"#,
        ),
        (
            r#"{"servers": {}}"#,
            r#"/p/.mcp.json:1:1: "mcpServers" is missing; this looks like a VS Code file; the key is called "mcpServers" here"#,
        ),
        (
            r#"{"mcpServers": []}"#,
            r#"/p/.mcp.json:1:16: "mcpServers" must be an object, found a list; write {"mcpServers": {"name": {"command": "…"}}}"#,
        ),
    ] {
        assert_eq!(
            read(text, &source(), Scope::Project)
                .unwrap_err()
                .to_string(),
            expected
        );
    }
    let deep = "[".repeat(100_000);
    assert!(
        read(&deep, &source(), Scope::Project)
            .unwrap_err()
            .problem
            .contains("nesting")
    );
    assert!(read("{}", &source(), Scope::Project).unwrap().is_empty());
    assert!(
        read("\u{feff}{\"mcpServers\":{}}", &source(), Scope::Project)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_built_in_servers_are_told() {
    let text = r#"{"mcpServers": {"a": {"type": "builtin", "builtin": "files", "root": "${R}", "roots": ["b"],
        "readOnly": true, "enabled": false, "data": "d", "folder": null, "other": 1},
        "b": {"command": "x", "root": "mine"}}}"#;
    let all = entries(text);
    let lookup = |name: &str| (name == "R").then(|| "/r".to_owned());
    let options = crate::expand::expand(&all[0], &lookup)
        .unwrap()
        .builtin_options
        .clone();
    assert_eq!(options.roots, ["/r", "b"]);
    assert!(options.read_only && !options.enabled);
    assert_eq!((options.data.as_deref(), options.folder), (Some("d"), None));
    let unknown: Vec<&String> = all[0].unknown.keys().collect();
    assert_eq!(unknown, ["other"]);
    // Elsewhere these keys are another program's.
    assert!(all[1].unknown.contains_key("root") && all[1].faults.is_empty());
    for wrong in [
        r#""root": 1"#,
        r#""roots": "x""#,
        r#""enabled": "yes""#,
        r#""folder": """#,
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"type": "builtin", {wrong}}}}}}}"#);
        assert_eq!(entries(&text)[0].faults.len(), 1, "{wrong}");
    }
}

#[test]
fn what_is_said_of_a_server_of_workers() {
    let text = r#"{"mcpServers": {"a": {"type": "worker", "server": "b", "workers": ["w*"],
        "labels": {"gpu": "yes"}, "copies": 2, "other": 1},
        "c": {"type": "worker"}, "d": {"command": "x", "labels": "mine"}}}"#;
    let all = entries(text);
    assert_eq!(all[0].target(), "worker b");
    let options = &all[0].worker;
    assert_eq!(options.workers, ["w*"]);
    assert_eq!(options.labels, [("gpu".to_owned(), "yes".to_owned())]);
    assert_eq!(options.copies, Some(2));
    let unknown: Vec<&String> = all[0].unknown.keys().collect();
    assert_eq!(unknown, ["other"]);
    assert_eq!((all[1].worker_server(), all[1].worker.copies), ("c", None));
    // Elsewhere these keys are another program's.
    assert!(all[2].unknown.contains_key("labels") && all[2].faults.is_empty());
    for wrong in [
        r#""server": """#,
        r#""workers": "x""#,
        r#""labels": ["gpu"]"#,
        r#""copies": 0"#,
        r#""copies": 65"#,
        r#""copies": "one""#,
        r#""runs": "npx""#,
        r#""server": "b", "runs": {"command": "x"}"#,
        r#""runs": {"command": "x", "inheritEnv": ["A"]}"#,
        r#""runs": {"command": "x", "env": {"A": "1", "A": "2"}}"#,
        r#""runs": {"args": []}"#,
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"type": "worker", {wrong}}}}}}}"#);
        assert_eq!(entries(&text)[0].faults.len(), 1, "{wrong}");
    }
}

#[test]
fn what_workers_start_is_kept_as_it_is_written_and_nests_no_deeper() {
    let text = r#"{"mcpServers": {"a": {"type": "worker",
        "runs": {"command": "x", "args": ["${A}"], "cwd": "/srv"}}}}"#;
    let all = entries(text);
    assert!(all[0].faults.is_empty(), "{:?}", all[0].faults);
    let runs = serde_json::json!({"command": "x", "args": ["${A}"], "cwd": "/srv"});
    assert_eq!(all[0].worker.runs.as_ref(), Some(&runs));
    assert_eq!(all[0].command, None);
    // However deep somebody nests them.
    let deep = r#"{"type": "worker", "runs": "#.repeat(100) + "{}" + &"}".repeat(100);
    let all = entries(&format!(r#"{{"mcpServers": {{"a": {deep}}}}}"#));
    let fields: Vec<_> = all[0].faults.iter().map(|it| it.field.as_deref()).collect();
    assert!(fields.contains(&Some("runs.runs")), "{fields:?}");
}

#[test]
fn what_is_there_twice_is_not_used_until_it_is_clear() {
    let text = "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"b\": {\"command\": \"x\"},\n\"\\u0061\": {\"command\": \"y\"}}}";
    let entries = entries(text);
    let said: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| entry.faults.iter().map(ToString::to_string).collect())
        .collect();
    assert!(said[1].is_empty(), "{said:?}");
    for (at, line, other) in [(0, ":2:", "line 4"), (2, ":4:", "line 2")] {
        let fault = &said[at][0];
        assert!(fault.contains("there twice"), "{fault}");
        assert!(fault.contains(line) && fault.contains(other), "{fault}");
        assert!(fault.contains("keep one of them"), "{fault}");
    }
    for (entry, field) in [
        (r#"{"command": "x", "command": "y"}"#, "`command`"),
        (
            r#"{"command": "x", "env": {"A": "1", "A": "2"}}"#,
            "`env.A`",
        ),
        (
            r#"{"url": "https://x/", "headers": {"A": "1", "A": "2"}}"#,
            "`headers.A`",
        ),
        (
            r#"{"url": "https://x/", "oauth": {"clientId": "1", "clientId": "2"}}"#,
            "`oauth.clientId`",
        ),
        (
            r#"{"command": "x", "odd": {"n": [{"k": 1, "k": 2}]}}"#,
            "`odd.n.k`",
        ),
    ] {
        let said = faults(entry);
        let is_told = |fault: &String| fault.contains(field) && fault.contains("written twice");
        assert!(said.iter().any(is_told), "{entry}: {said:?}");
    }
}
