//! What people are used to from Claude Code, line by line as it was observed:
//! expansion, precedence, approval and policy. Each row says the line and shows
//! it on the real program; rows that begin with (!) are flaws there that must
//! not be found here.

use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};
use switchboard_testkit::world::{Ran, World};

const USER: &str = "home/.claude.json";
const OURS: &str = "home/.config/switchboard/settings.json";
const CLAUDE: &str = "home/.claude/settings.json";
const PROJECT: &str = "home/repo/.mcp.json";
const MANAGED_MCP: &str = "etc/managed-mcp.json";
const MANAGED: &str = "etc/managed-settings.json";

/// What is done with the files of a row, and what must come of it.
enum Then {
    /// `name scope state target` of every row of `list --no-connect`.
    Lists(&'static [&'static str]),
    /// The same after everything was approved.
    Approved(&'static [&'static str]),
    /// This command ends with this code, and says this.
    Says(&'static [&'static str], i32, &'static str),
}
use Then::{Approved, Lists, Says};

struct Row {
    line: &'static str,
    files: Vec<(&'static str, String)>,
    then: Then,
}

fn row(line: &'static str, files: &[(&'static str, Value)], then: Then) -> Row {
    let files = files
        .iter()
        .map(|(file, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (*file, text)
        })
        .collect();
    Row { line, files, then }
}

fn one(name: &str, command: &str) -> Value {
    json!({"mcpServers": {name: {"command": command}}})
}

fn local(command: &str) -> Value {
    json!({"projects": {"ROOT/home/repo": {"mcpServers": {"a": {"command": command}}}}})
}

fn both(first: &Value, second: &Value) -> Value {
    let mut all = first.as_object().unwrap().clone();
    all.extend(second.as_object().unwrap().clone());
    Value::Object(all)
}

fn check(rows: Vec<Row>) {
    for row in rows {
        let home = World::repository();
        for (file, text) in &row.files {
            home.write(file, text);
        }
        let line = row.line;
        match row.then {
            Says(args, code, text) => {
                let ran = home.show(args);
                assert_eq!(ran.code, Some(code), "{line}: {ran:?}");
                let said = format!("{}{}", ran.out, ran.err);
                assert!(said.contains(text), "{line}: {ran:?}");
            }
            Lists(expected) => assert_eq!(listed(&home), expected, "{line}"),
            Approved(expected) => {
                home.approve("all");
                assert_eq!(listed(&home), expected, "{line}");
            }
        }
        assert!(!home.path("started").exists(), "{line}");
    }
}

fn listed(home: &World) -> Vec<String> {
    let rows = home.show(&["list", "--no-connect", "--json"]).json();
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| {
        format!(
            "{} {} {} {}",
            row["name"], row["scope"], row["state"], row["target"]
        )
        .replace('"', "")
    })
    .collect()
}

#[test]
fn precedence() {
    check(vec![
        row(
            "local beats user",
            &[(USER, both(&one("a", "user"), &local("local")))],
            Lists(&["a local not-connected local", "a user shadowed user"]),
        ),
        row(
            "local beats project",
            &[(USER, local("local")), (PROJECT, one("a", "sh"))],
            Approved(&["a local not-connected local", "a project shadowed sh"]),
        ),
        row(
            "project beats user, if approved",
            &[(USER, one("a", "user")), (PROJECT, one("a", "sh"))],
            Approved(&["a project not-connected sh", "a user shadowed user"]),
        ),
        row(
            "user: ~/.claude/settings.json, below ~/.claude.json, below our own file",
            &[
                (CLAUDE, one("a", "settings")),
                (USER, one("a", "claude")),
                (OURS, one("a", "ours")),
            ],
            Lists(&[
                "a user shadowed settings",
                "a user shadowed claude",
                "a user not-connected ours",
            ]),
        ),
        row(
            "an unapproved project entry does not shadow a user one",
            &[(USER, one("a", "user")), (PROJECT, one("a", "sh"))],
            Lists(&["a project pending-approval sh", "a user not-connected user"]),
        ),
        row(
            "the whole entry wins: fields are not merged",
            &[
                (
                    USER,
                    json!({"mcpServers": {"a": {"command": "user", "args": ["more"]}}}),
                ),
                (OURS, one("a", "ours")),
            ],
            Lists(&["a user shadowed user more", "a user not-connected ours"]),
        ),
        row(
            "all parents' .mcp.json merge, the nearest wins",
            &[
                (PROJECT, json!({"mcpServers": {"a": {"command": "sh"}}})),
                (
                    "home/.mcp.json",
                    json!({"mcpServers": {"a": {"command": "ls"}, "far": {"command": "cat"}}}),
                ),
            ],
            Approved(&[
                "a project shadowed ls",
                "far project not-connected cat",
                "a project not-connected sh",
            ]),
        ),
        row(
            "in a git repository the local folder is its root",
            &[("home/repo/sub/x", json!("")), (USER, local("local"))],
            Says(
                &["-C", "sub", "list", "--no-connect"],
                0,
                "a  local  not connected",
            ),
        ),
        row(
            "--mcp-config beats user",
            &[
                (USER, one("a", "user")),
                ("home/repo/t.json", one("a", "typed")),
            ],
            Says(
                &["--mcp-config", "t.json", "explain", "a"],
                0,
                "a is used, as /home/repo/t.json:1 has it",
            ),
        ),
        row(
            "the later --mcp-config wins",
            &[
                ("home/repo/1.json", one("a", "x")),
                ("home/repo/2.json", one("a", "y")),
            ],
            Says(
                &[
                    "--mcp-config",
                    "1.json",
                    "--mcp-config",
                    "2.json",
                    "explain",
                    "a",
                ],
                0,
                "a is used, as /home/repo/2.json:1 has it",
            ),
        ),
        row(
            "--strict-mcp-config: nothing else",
            &[
                (USER, one("a", "user")),
                ("home/repo/t.json", one("b", "typed")),
            ],
            Says(
                &[
                    "--mcp-config",
                    "t.json",
                    "--strict-mcp-config",
                    "explain",
                    "a",
                ],
                2,
                "there is no server a",
            ),
        ),
        row(
            "a byte order mark is read; (!) so are comments and trailing commas",
            &[(
                USER,
                json!("\u{feff}{// mine\n\"mcpServers\": {\"a\": {\"command\": \"x\"},},}"),
            )],
            Lists(&["a user not-connected x"]),
        ),
        row(
            "one invalid server is skipped with a word, the rest load",
            &[(
                USER,
                json!({"mcpServers": {"bad": {"command": 1}, "a": {"command": "x"}}}),
            )],
            Lists(&["bad user failed ", "a user not-connected x"]),
        ),
        row(
            "(!) ws servers are in the list",
            &[(
                USER,
                json!({"mcpServers": {"w": {"type": "ws", "url": "wss://w/"}}}),
            )],
            Lists(&["w user not-connected wss://w/"]),
        ),
    ]);
}

#[test]
fn approval() {
    let list = json!({"enabledMcpjsonServers": ["a"]});
    let all = json!({"enableAllProjectMcpServers": true});
    let no = json!({"disabledMcpjsonServers": ["a"]});
    let mut rows = Vec::new();
    for (line, lists, state) in [
        (
            "enabledMcpjsonServers of the user's settings counts",
            &list,
            "not-connected",
        ),
        (
            "enableAllProjectMcpServers of the user's settings counts",
            &all,
            "not-connected",
        ),
        (
            "disabledMcpjsonServers of the user's settings counts",
            &no,
            "rejected",
        ),
    ] {
        let expected: &'static [&'static str] = match state {
            "rejected" => &["a project rejected sh"],
            _ => &["a project not-connected sh"],
        };
        let files = [(PROJECT, one("a", "sh")), (CLAUDE, lists.clone())];
        rows.push(row(line, &files, Lists(expected)));
    }
    // There: in a trusted folder. A folder is not trusted here: what is in it
    // could have been written by anybody.
    for file in [
        "home/repo/.claude/settings.json",
        "home/repo/.claude/settings.local.json",
    ] {
        for lists in [&list, &all] {
            rows.push(row(
                "the project's own lists approve nothing",
                &[(PROJECT, one("a", "sh")), (file, lists.clone())],
                Lists(&["a project pending-approval sh"]),
            ));
        }
        rows.push(row(
            "what the project's own lists refuse is refused",
            &[(PROJECT, one("a", "sh")), (file, no.clone())],
            Lists(&["a project rejected sh"]),
        ));
    }
    rows.push(row(
        "refusing beats approving",
        &[(PROJECT, one("a", "sh")), (CLAUDE, both(&list, &no))],
        Lists(&["a project rejected sh"]),
    ));
    rows.push(row(
        "(!) without a terminal nothing unapproved starts",
        &[(
            PROJECT,
            json!({"mcpServers": {"a": {"command": "touch", "args": ["ROOT/started"]}}}),
        )],
        Says(&["call", "a__x"], 5, "waits for your approval"),
    ));
    rows.push(row(
        "approve asks, and without a terminal wants the digest of what it showed",
        &[(PROJECT, one("a", "sh"))],
        Says(&["approve", "a"], 5, "switchboard approve a --digest "),
    ));
    check(rows);
}

#[test]
fn policy() {
    let servers = json!({"mcpServers": {"cmd": {"command": "npx", "args": ["-y", "pkg"]},
        "web": {"type": "http", "url": "https://a.corp.com/mcp"}}});
    let rules = |allowed: Option<Value>, denied: Value| {
        let mut rules = json!({"deniedMcpServers": denied});
        if let Some(allowed) = allowed {
            rules["allowedMcpServers"] = allowed;
        }
        [(USER, servers.clone()), (MANAGED, rules)]
    };
    const BOTH: &[&str] = &[
        "cmd user not-connected npx -y pkg",
        "web user not-connected https://a.corp.com/mcp",
    ];
    const CMD: &[&str] = &[
        "cmd user not-connected npx -y pkg",
        "web user denied https://a.corp.com/mcp",
    ];
    const WEB: &[&str] = &[
        "cmd user denied npx -y pkg",
        "web user not-connected https://a.corp.com/mcp",
    ];
    const NONE: &[&str] = &[
        "cmd user denied npx -y pkg",
        "web user denied https://a.corp.com/mcp",
    ];
    let name = |name: &str| json!({"serverName": name});
    let command = |words: &[&str]| json!({"serverCommand": words});
    let url = |url: &str| json!({"serverUrl": url});
    let allow = |rule: Value| Some(json!([rule]));
    let (cmd, web) = (command(&["npx", "-y", "pkg"]), url("https://*.corp.com/*"));
    check(vec![
        row("no lists: all", &rules(None, json!([])), Lists(BOTH)),
        row(
            "denied by name",
            &rules(None, json!([name("cmd")])),
            Lists(WEB),
        ),
        row("denied by command", &rules(None, json!([cmd])), Lists(WEB)),
        row(
            "a command is its whole argv",
            &rules(None, json!([command(&["npx"])])),
            Lists(BOTH),
        ),
        row(
            "denied by address with *",
            &rules(None, json!([web])),
            Lists(CMD),
        ),
        row(
            "allowed by name",
            &rules(allow(name("cmd")), json!([])),
            Lists(CMD),
        ),
        row(
            "deny beats allow",
            &rules(
                Some(json!([name("cmd"), name("web")])),
                json!([name("cmd")]),
            ),
            Lists(WEB),
        ),
        row(
            "with a command in the allow list a name no longer suffices for stdio",
            &rules(
                Some(json!([command(&["other"]), name("cmd"), name("web")])),
                json!([]),
            ),
            Lists(WEB),
        ),
        row(
            "a command in the allow list says nothing about remote servers",
            &rules(Some(json!([cmd, name("web")])), json!([])),
            Lists(BOTH),
        ),
        row(
            "with an address in the allow list a name no longer suffices for remote servers",
            &rules(
                Some(json!([
                    url("https://other.com/*"),
                    name("cmd"),
                    name("web")
                ])),
                json!([]),
            ),
            Lists(CMD),
        ),
        row(
            "an address in the allow list says nothing about stdio servers",
            &rules(Some(json!([web, name("cmd")])), json!([])),
            Lists(BOTH),
        ),
        row(
            "[]: nothing is allowed",
            &rules(Some(json!([])), json!([])),
            Lists(NONE),
        ),
        row(
            "(!) an address is matched by its host, not by its text",
            &[
                (
                    USER,
                    json!({"mcpServers": {"evil": {"type": "http", "url": "https://evil.com/?x=.corp.com/"}}}),
                ),
                (MANAGED, json!({"allowedMcpServers": [web]})),
            ],
            Lists(&["evil user denied https://evil.com/?x=.corp.com/"]),
        ),
        row(
            "add of a denied server says that it is blocked",
            &[(MANAGED, json!({"deniedMcpServers": [name("bad")]}))],
            Says(
                &["add", "bad", "x"],
                5,
                "blocked by /etc/managed-settings.json:1",
            ),
        ),
        row(
            "add of one that is not on the list says that it is not allowed",
            &[(MANAGED, json!({"allowedMcpServers": [name("good")]}))],
            Says(
                &["add", "bad", "x"],
                5,
                "is not in the list of allowed servers (/etc/managed-settings.json:1)",
            ),
        ),
        row(
            "the lists are read from managed-mcp.json, too",
            &[(
                MANAGED_MCP,
                json!({"mcpServers": {"bad": {"command": "x"}}, "deniedMcpServers": [name("bad")]}),
            )],
            Lists(&["bad enterprise denied x"]),
        ),
        row(
            "managed-mcp.json is exclusive",
            &[(USER, one("a", "user")), (MANAGED_MCP, one("m", "managed"))],
            Lists(&["m enterprise not-connected managed", "a user denied user"]),
        ),
        row(
            "managed-mcp.json is exclusive even if it is {}",
            &[(USER, one("a", "user")), (MANAGED_MCP, json!({}))],
            Lists(&["a user denied user"]),
        ),
        row(
            "with it add is refused",
            &[(MANAGED_MCP, json!({}))],
            Says(&["add", "n", "x"], 5, "/etc/managed-mcp.json"),
        ),
        row(
            "with it --mcp-config is refused",
            &[(MANAGED_MCP, json!({}))],
            Says(
                &[
                    "--mcp-config",
                    "{\"mcpServers\": {\"t\": {\"command\": \"x\"}}}",
                    "tools",
                ],
                5,
                "--mcp-config is not permitted: /etc/managed-mcp.json allows no other servers",
            ),
        ),
        row(
            "(!) a managed-mcp.json that cannot be read shuts everything",
            &[(USER, one("a", "user")), (MANAGED_MCP, json!("{"))],
            Says(&["tools"], 3, "/etc/managed-mcp.json:1:1: not JSON"),
        ),
        row(
            "(!) so does a managed-settings.json",
            &[(USER, one("a", "user")), (MANAGED, json!("{"))],
            Says(&["tools"], 3, "/etc/managed-settings.json:1:1: not JSON"),
        ),
        row(
            "allowManagedMcpServersOnly: the user's own list allows nothing",
            &[
                (USER, servers.clone()),
                (CLAUDE, json!({"allowedMcpServers": [name("cmd")]})),
                (
                    MANAGED,
                    json!({"allowedMcpServers": [name("web")], "allowManagedMcpServersOnly": true}),
                ),
            ],
            Lists(WEB),
        ),
    ]);
}

/// The first request to arrive, as it was sent; answered with an error.
fn hear(listener: TcpListener) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut byte = [0u8];
        while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        let _ = socket.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
        String::from_utf8(head).unwrap()
    })
}

/// What is written, and what arrives: in the command, an argument, a variable,
/// an address and a header.
#[test]
fn expansion() {
    const VARIABLES: [(&str, &str); 3] = [("V", "value"), ("EMPTY", ""), ("NESTED", "${V}")];
    for (line, written, arrives) in [
        ("${V}", "${V}", "value"),
        ("${V:-d} of one that is set", "${V:-d}", "value"),
        ("${V:-d} of one that is not", "${NONE:-d}", "d"),
        (
            "set but empty gives empty, not the default",
            "x${EMPTY:-d}",
            "x",
        ),
        ("$V stays as it is", "$V", "$V"),
        ("${V-x} stays as it is", "${V-x}", "${V-x}"),
        ("${V:-a:-b} gives a:-b", "${NONE:-a:-b}", "a:-b"),
        (
            "what a variable holds is not looked at again",
            "${NESTED}",
            "${V}",
        ),
        ("${env:V} is the same", "${env:V}", "value"),
    ] {
        let home = World::repository();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = hear(listener);
        let script = home.write(
            "script.sh",
            "#!/bin/sh\nprintf '%s|' \"$1\" \"$K\" > ROOT/seen\n",
        );
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        home.write(
            USER,
            json!({"mcpServers": {
                "local": {"command": "${SCRIPT}", "args": [written], "env": {"K": written}},
                "remote": {"type": "http", "url": format!("http://{address}/?q={written}"), "headers": {"X-K": format!("<{written}>")}}}})
            .to_string(),
        );
        let mut command = home.command(&["list", "--json"]);
        command.envs(VARIABLES).env("SCRIPT", &script);
        let ran = Ran::of(command.output().unwrap()).without(&home.root);
        let rows = ran.json();
        for row in rows.as_array().unwrap() {
            let target = row["target"].as_str().unwrap();
            assert!(!target.contains("value"), "shown as it is written: {row}");
        }
        assert_eq!(home.read("seen"), format!("{arrives}|{arrives}|"), "{line}");
        let head = heard.join().unwrap();
        let mut url = url::Url::parse("http://x/").unwrap();
        url.set_query(Some(&format!("q={arrives}")));
        let path = format!("/?{}", url.query().unwrap());
        assert!(head.contains(&format!(" {path} ")), "{line}: {head}");
        assert!(
            head.to_lowercase()
                .contains(&format!("x-k: <{}>\r\n", arrives.to_lowercase())),
            "{line}: {head}"
        );
    }
    // (!) A missing variable is not passed on: that one server fails, by name.
    for (field, entry) in [
        ("command", json!({"command": "${NONE}"})),
        ("args[0]", json!({"command": "x", "args": ["${NONE}"]})),
        ("env.K", json!({"command": "x", "env": {"K": "${NONE}"}})),
        ("cwd", json!({"command": "x", "cwd": "${NONE}"})),
        ("url", json!({"type": "http", "url": "https://${NONE}/"})),
        (
            "headers.H",
            json!({"type": "http", "url": "https://x/", "headers": {"H": "${NONE}"}}),
        ),
        (
            "headersHelper",
            json!({"type": "http", "url": "https://x/", "headersHelper": "h ${NONE}"}),
        ),
        (
            "oauth.clientId",
            json!({"type": "http", "url": "https://x/", "oauth": {"clientId": "${NONE}"}}),
        ),
    ] {
        let home = World::repository();
        let all = json!({"mcpServers": {"bad": entry, "good": {"command": "x"}}});
        home.write(USER, all.to_string());
        let rows = home.show(&["list", "--no-connect", "--json"]).ok().json();
        assert_eq!(rows[0]["state"], "failed", "{field}: {rows}");
        let reason = rows[0]["reason"].as_str().unwrap();
        assert!(
            reason.contains(&format!(
                "`{field}`: the environment variable NONE is not set"
            )),
            "{reason}"
        );
        assert_eq!(rows[1]["state"], "not-connected", "{field}: {rows}");
    }
}
