//! What the stand-in shows: servers, calls, questions, as the API's types have them.

use crate::stand_in::State;
use serde_json::{Value, json};
use switchboard_api::{
    calls::{Call, Copies, Crossed, Detail, Edit, Made},
    insight::{Bill, Line, List, Metrics, TapState, Times, Unused},
    questions::{Change, Kind, Question},
    servers::{self, Done, Listed, Process, SignIn, SignInStep, Stderr},
    settings::{Audit, Elsewhere, Entry, File, Importable, Imports, Proposed, Settings, Token},
    state::{Client, Document, GatewayInfo, Seen, Server},
    tools::Tool,
};

pub(crate) fn seen(word: &str) -> Seen {
    Seen {
        word: word.into(),
        at: Some(1_700_000_000_000),
        ..Seen::default()
    }
}

pub(crate) fn server(name: &str, state: &str) -> Server {
    Server {
        name: name.into(),
        segment: name.into(),
        scope: "user".into(),
        file: Some("/home/ada/settings.json".into()),
        line: Some(3),
        transport: "stdio".into(),
        target: format!("run {name}"),
        state: seen(state),
        sign_in: seen("none-needed"),
        usable: seen("yes"),
        tools: Some(2),
        resources: Some(1),
        prompts: Some(1),
        tokens: Some(300),
        ..Server::default()
    }
}

pub(crate) fn tool(server: &str, name: &str, schema: Value) -> Tool {
    Tool {
        server: server.into(),
        name: name.into(),
        shown: format!("{server}__{name}"),
        canonical: format!("mcp__{server}__{name}"),
        description: Some(format!("What {name} is for.")),
        definition: Some(json!({"name": name, "inputSchema": schema})),
        tokens: 100,
        decision: "allow".into(),
        ..Tool::default()
    }
}

pub(crate) fn call(id: u64, server: &str, name: &str) -> Call {
    Call {
        id,
        at: 1_700_000_000_000 + id * 1000,
        principal: "laptop".into(),
        client: Some("agent".into()),
        origin: "client".into(),
        server: Some(server.into()),
        method: "tools/call".into(),
        name: Some(name.into()),
        client_era: "legacy".into(),
        server_era: Some("modern".into()),
        outcome: "ok".into(),
        took: Some(5000),
        at_server: Some(4000),
        bytes_out: 1234,
        kept: true,
        repeatable: true,
        ..Call::default()
    }
}

pub(crate) fn question(id: &str, kind: Kind, answers: &[&str]) -> Question {
    Question {
        id: id.into(),
        kind,
        status: "open".into(),
        at: 1_700_000_000_000,
        server: Some("one".into()),
        client: Some("agent".into()),
        title: format!("A question of the kind {kind:?}"),
        answers: answers.iter().map(|&answer| answer.into()).collect(),
        ..Question::default()
    }
}

pub(crate) fn change(of: &str, before: &str, after: &str) -> Change {
    Change {
        of: of.into(),
        path: "/description".into(),
        before: Some(before.into()),
        after: Some(after.into()),
        warnings: vec!["tells a model what to do".into()],
    }
}

pub(crate) fn document(state: &State) -> Document {
    Document {
        revision: 1,
        gateway: GatewayInfo {
            version: "1.2.3".into(),
            address: "http://127.0.0.1:3700".into(),
            since: 1_700_000_000_000,
            edits: true,
            ..GatewayInfo::default()
        },
        servers: state.servers.clone(),
        clients: vec![Client {
            name: Some("agent".into()),
            principal: "laptop".into(),
            era: "legacy".into(),
            ..Client::default()
        }],
        waiting: state
            .questions
            .iter()
            .filter(|one| one.status == "open")
            .count(),
        tap: tap(false),
        breakpoints: state.breakpoints.clone(),
    }
}

pub(crate) fn tap(armed: bool) -> TapState {
    TapState {
        armed,
        capacity: 1000,
        ..TapState::default()
    }
}

/// Both sides of a call: its name is another one at the server, and marked.
pub(crate) fn detail(call: &Call) -> Detail {
    let name = call.name.clone().unwrap_or_default();
    let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": format!("one__{name}"), "arguments": {"path": "/tmp/a", "limit": 3}}}).to_string();
    let sent = asked.replace("one__", "");
    let at = sent.find(&format!("\"{name}\"")).unwrap_or_default();
    let said = json!({"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "the first answer"}]}}).to_string();
    let crossed = |edge: &str, kind: &str, at: u64, text: &str| Crossed {
        at,
        edge: edge.into(),
        kind: kind.into(),
        bytes: text.len() as u64,
        text: Some(text.to_owned()),
        ..Crossed::default()
    };
    let to_server = Crossed {
        edits: vec![Edit {
            path: "/params/name".into(),
            what: "changed".into(),
            span: Some((at, at + name.len() + 2)),
            before: Some(format!("\"one__{name}\"")),
            after: Some(format!("\"{name}\"")),
            row: Some("tool names".into()),
        }],
        made_of: Some(0),
        ..crossed("to-server", "request", 100, &sent)
    };
    Detail {
        call: call.clone(),
        messages: vec![
            crossed("from-client", "request", 0, &asked),
            to_server,
            crossed("from-server", "result", 4000, &said),
            Crossed {
                made_of: Some(2),
                ..crossed("to-client", "result", 5000, &said)
            },
        ],
        copies: Copies {
            command: Some("switchboard call one tool".into()),
            ..Copies::default()
        },
        ..Detail::default()
    }
}

pub(crate) fn made(id: u64, text: &str) -> Made {
    Made {
        id,
        call: call(id, "one", "echo"),
        result: Some(json!({"content": [{"type": "text", "text": text}]})),
        ..Made::default()
    }
}

pub(crate) fn server_detail(state: &State, name: &str) -> servers::Detail {
    let found = state.servers.iter().find(|server| server.segment == name);
    servers::Detail {
        server: found.cloned().unwrap_or_default(),
        hello: Some(json!({"serverInfo": {"name": name}})),
        explained: vec![format!("{name} is used")],
        entry: Some(json!({"command": name})),
        isolation: "shared".into(),
        processes: vec![Process {
            pid: 42,
            memory: Some(1_000_000),
            ..Process::default()
        }],
        ..servers::Detail::default()
    }
}

pub(crate) fn stderr() -> Stderr {
    Stderr {
        lines: vec!["a line of its log".into()],
        cut: false,
    }
}

pub(crate) fn listed(state: &State, name: &str, list: &str) -> Listed {
    let items = match list {
        "tools" => {
            let own = state.tools.iter().filter(|tool| tool.server == name);
            own.filter_map(|tool| tool.definition.clone()).collect()
        }
        "resources" => vec![json!({"uri": "file:///a.txt", "name": "a.txt"})],
        "prompts" => {
            vec![json!({"name": "review", "arguments": [{"name": "branch", "required": true}]})]
        }
        _ => Vec::new(),
    };
    Listed { items, cut: false }
}

pub(crate) fn done(state: &State, name: &str, verb: &str) -> Done {
    Done {
        server: server_detail(state, name).server,
        did: format!("{verb} of {name} is done"),
        open: None,
    }
}

pub(crate) fn settings(state: &State) -> Settings {
    let entry = |server: &Server| Entry {
        name: server.name.clone(),
        file: "/home/ada/settings.json".into(),
        line: 3,
        scope: "user".into(),
        entry: json!({"command": server.name}),
        status: "used".into(),
        why: None,
    };
    Settings {
        files: vec![File {
            path: "/home/ada/settings.json".into(),
            scope: "user".into(),
            exists: true,
            writable: true,
        }],
        entries: state.servers.iter().map(entry).collect(),
        faults: Vec::new(),
    }
}

pub(crate) fn proposed(text: &str) -> Proposed {
    Proposed {
        name: "new".into(),
        entry: json!({"command": text}),
        explained: vec![format!("would run {text}")],
        replaces: None,
    }
}

pub(crate) fn tokens() -> Vec<Token> {
    vec![Token {
        name: "laptop".into(),
        sessions: 1,
        ..Token::default()
    }]
}

pub(crate) fn metrics(state: &State) -> Metrics {
    let times = || Times {
        p50: Some(200),
        p99: Some(900),
        buckets: vec![(100, 3), (200, 8), (400, 2)],
        ..Times::default()
    };
    let line = |tool: &Tool| Line {
        server: tool.server.clone(),
        method: "tools/call".into(),
        tool: Some(tool.name.clone()),
        calls: 13,
        errors: 1,
        classes: vec![("timeout".into(), 1)],
        ours: times(),
        theirs: times(),
        tokens: 10,
        ..Line::default()
    };
    Metrics {
        seconds: 60.0,
        lines: state.tools.iter().map(line).collect(),
        budget: (1, 1000),
        ..Metrics::default()
    }
}

pub(crate) fn bill(state: &State) -> Bill {
    let unused = |tool: &Tool| Unused {
        server: tool.server.clone(),
        tool: tool.canonical.clone(),
        tokens: tool.tokens,
    };
    let unused: Vec<Unused> = state.tools.iter().map(unused).collect();
    Bill {
        lists: vec![List {
            principal: "laptop".into(),
            tools: unused.len(),
            tokens: 1000,
            unused_tokens: 700,
            unused,
            defer: Some("switchboard defer".into()),
            hide: None,
        }],
        days: 30,
    }
}

pub(crate) fn audit() -> Audit {
    Audit {
        records: vec![
            json!({"at": "2026-01-01T00:00:00Z", "event": "call", "principal": "laptop"}),
            json!({
                "at": "2026-01-01T00:00:00Z", "event": "call", "principal": "claude-desktop",
                "outcome": "ok", "server": "a-server-with-a-rather-long-name",
                "tool": "list_issues_of_a_repository",
            }),
        ],
        more: false,
        kept: true,
    }
}

pub(crate) fn sign_in() -> SignIn {
    let step = |what: &str, status: Option<u16>| SignInStep {
        what: what.into(),
        at: 1_700_000_000_000,
        took: 12,
        method: "POST".into(),
        url: "https://as.example/token".into(),
        sent: vec!["grant_type: authorization_code".into()],
        status,
        answered: vec!["error: invalid_client".into()],
        fault: status
            .filter(|status| *status >= 400)
            .map(|_| "invalid_client".into()),
    };
    SignIn {
        steps: vec![
            step("metadata", Some(200)),
            step("authorize", None),
            step("token", Some(401)),
        ],
        outcome: "failed".into(),
        fault: Some("the token was not had".into()),
        remedy: Some("sign in again".into()),
    }
}

pub(crate) fn imports() -> Imports {
    Imports {
        servers: vec![Importable {
            from: Elsewhere {
                client: "cursor".into(),
                file: "/home/ada/.cursor/mcp.json".into(),
                name: "files".into(),
            },
            name: "files".into(),
            entry: json!({"command": "npx"}),
            explained: vec!["would run npx".into()],
            ..Importable::default()
        }],
        faults: Vec::new(),
    }
}
