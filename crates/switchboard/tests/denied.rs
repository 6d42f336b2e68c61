//! What a settings file denies is denied on every way from `Config::load` to a server:
//! to an agent, to clients of a gateway on streams, in this process and over HTTP, and
//! to whoever is led through a gateway that runs.

use serde_json::{Value, json};
use std::{fs, path::Path};
use switchboard::{
    Approved, Behind, Config, Fronted, Governed, Listen, Options, Purpose, Show, Status, Variables,
    agent::Nobody,
    host::{CallError, catalog::List, permission::Mode},
    tokens,
    transport::in_process::{self, End},
    wire::Payload,
};
use switchboard_testkit::{HttpClient, with_meta};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

/// Denied in the settings, and one that is not.
const DENIED: &str = "environment";
const ALLOWED: &str = "health";

/// A user's home and project, with a settings file.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::create_dir_all(home.path().join("project")).expect("a project");
        home.deny(&["mcp__system__environment"]);
        home
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn deny(&self, rules: &[&str]) {
        let folder = self.path().join(".config/switchboard");
        fs::create_dir_all(&folder).expect("a folder");
        let settings = json!({
            "mcpServers": {"system": {"type": "builtin"}},
            "permissions": {"deny": rules},
        });
        fs::write(folder.join("settings.json"), settings.to_string()).expect("settings");
    }

    fn options(&self) -> Options {
        let home = self.path().to_owned();
        let variables = Variables::new(move |name| match name {
            "HOME" => Some(home.clone().into()),
            _ => None,
        });
        Options::new(self.path().join("project"), variables)
    }

    fn approved(&self) -> Approved {
        let options = self.options();
        let config = Config::load(&options).expect("a configuration");
        config.approve(&options.approvals())
    }

    fn governed(&self, purpose: Purpose) -> Governed {
        let mode = (purpose == Purpose::Agent).then_some(Mode::Bypass);
        self.approved().govern(mode, purpose).expect("rules")
    }

    fn fronted(&self) -> Fronted {
        self.governed(Purpose::Gateway).gateway(show())
    }
}

fn show() -> Show {
    Show {
        word: "short".to_owned(),
        ..Show::default()
    }
}

/// What a client asks: for the list, for the tool that is denied, and for the other.
fn questions() -> [(&'static str, Value); 3] {
    let call = |tool: &str| json!({"name": format!("system__{tool}"), "arguments": {}});
    [
        ("tools/list", json!({})),
        ("tools/call", call(DENIED)),
        ("tools/call", call(ALLOWED)),
    ]
}

fn message(id: usize, method: &str, params: Value) -> String {
    let params = with_meta(params);
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn is_obeyed(way: &str, answers: &[Value]) {
    let [list, denied, allowed] = answers else {
        panic!("{way}: {answers:?}");
    };
    let tools = list["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("{way}: {list}"));
    let has = |tool: &str| {
        tools
            .iter()
            .any(|one| one["name"] == format!("system__{tool}"))
    };
    assert!(!has(DENIED) && has(ALLOWED), "{way}: {list}");
    assert!(denied["error"].is_object(), "{way}: {denied}");
    assert!(allowed["result"].is_object(), "{way}: {allowed}");
}

#[tokio::test]
async fn by_an_agent() {
    let home = Home::new();
    let governed = home.governed(Purpose::Agent);
    let agent = governed.agent().build().expect("an agent");
    let tools = agent.tools().await;
    assert!(tools.find("mcp__system__environment").is_none());
    assert!(tools.find("mcp__system__health").is_some());
    let call = |tool: &str| json!({"type": "tool_use", "id": "1", "name": tool, "input": {}});
    let denied = agent.call(&call("mcp__system__environment")).await;
    assert_eq!(denied["is_error"], true, "{denied}");
    let allowed = agent.call(&call("mcp__system__health")).await;
    assert_eq!(allowed.get("is_error"), None, "{allowed}");
    governed.close().await;
}

#[tokio::test]
async fn on_streams() {
    let home = Home::new();
    let (near, far) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(far);
    let stop = CancellationToken::new();
    let serve = home.fronted().streams(read, write, stop.clone());
    let talk = async {
        let (read, mut write) = tokio::io::split(near);
        let mut lines = BufReader::new(read).lines();
        let mut answers = Vec::new();
        for (id, (method, params)) in questions().into_iter().enumerate() {
            let line = message(id, method, params) + "\n";
            write.write_all(line.as_bytes()).await.expect("written");
            answers.push(loop {
                let line = lines.next_line().await.expect("read").expect("a line");
                let said: Value = serde_json::from_str(&line).expect("JSON");
                if said["id"] == id {
                    break said;
                }
            });
        }
        stop.cancel();
        answers
    };
    let (served, answers) = tokio::join!(serve, talk);
    served.expect("served");
    is_obeyed("streams", &answers);
}

#[tokio::test]
async fn in_this_process() {
    let home = Home::new();
    let (near, far) = in_process::pair();
    let stop = CancellationToken::new();
    let serve = home.fronted().in_process(far, "somebody", stop.clone());
    let talk = async {
        let End {
            sender,
            mut receiver,
        } = near;
        let mut answers = Vec::new();
        for (id, (method, params)) in questions().into_iter().enumerate() {
            let sent = sender.send(Payload::from(message(id, method, params)));
            sent.expect("sent");
            answers.push(loop {
                let bytes = receiver.next().await.expect("a message");
                let said: Value = serde_json::from_slice(&bytes).expect("JSON");
                if said["id"] == id {
                    break said;
                }
            });
        }
        stop.cancel();
        answers
    };
    let (served, answers) = tokio::join!(serve, talk);
    served.unwrap();
    is_obeyed("in process", &answers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_and_by_whoever_is_led_there() {
    let home = Home::new();
    let options = home.options();
    let listen = Listen {
        http: Some(([127, 0, 0, 1], 0).into()),
        ..Listen::default()
    };
    let doors = listen.doors(&options).expect("doors");
    let listening = home.fronted().listen(doors).expect("an address");
    let address = listening.places()[0].address();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(listening.serve(stop.clone()));

    let file = tokens::client_file(&options.dirs().expect("a home"));
    let token = fs::read_to_string(file).expect("a token");
    let mut client = HttpClient::new(&format!("http://{address}/mcp"));
    let bearer = format!("Bearer {}", token.trim());
    client.headers.insert("authorization".to_owned(), bearer);
    let mut answers = Vec::new();
    for (method, params) in questions() {
        answers.push(client.modern(method, params).await.message());
    }
    is_obeyed("HTTP", &answers);

    // A command that has the same servers is led through the gateway, under the same rules.
    let command = tokio::task::block_in_place(|| home.governed(Purpose::Command));
    assert!(command.via("system").is_some(), "{:?}", command.members());
    let caller = switchboard::Caller::new(command.host().clone());
    let Some(Status::Server(server)) = command.find("system").map(|found| &found.status) else {
        panic!("{:?}", command.members());
    };
    let met = caller.meet(server).await.expect("met");
    let tools = met.items(List::Tools).await.expect("tools");
    assert!(tools.iter().all(|tool| tool.key != DENIED), "{tools:?}");
    assert!(tools.iter().any(|tool| tool.key == ALLOWED), "{tools:?}");
    let denied = met.follow_tool(DENIED, "{}", &Nobody).await;
    assert!(
        matches!(denied, Err(CallError::NotPermitted { .. })),
        "{denied:?}"
    );
    command.close().await;

    // A client on streams would be attached to it, as long as it runs.
    let candidates = || {
        let make = || Ok::<_, std::io::Error>(home.fronted());
        let options = home.options();
        let behind = Behind {
            options: &options,
            any: None,
            make: &make,
        };
        tokio::task::block_in_place(|| behind.candidates(Some(&home.fronted())).len())
    };
    assert_eq!(candidates(), 1);
    stop.cancel();
    serving.await.expect("no panic").expect("served");
    assert_eq!(candidates(), 0, "it has ended");
}

#[test]
fn nothing_is_had_where_it_cannot_be_told_what_is_forbidden() {
    let home = Home::new();
    let file = home.path().join(".config/switchboard/settings.json");
    fs::write(
        file,
        r#"{"permissions": {"deny": "mcp__system__environment"}}"#,
    )
    .expect("settings");
    let options = home.options();
    let unusable = Config::load(&options).expect_err("its rules cannot be told");
    assert!(
        unusable.to_string().contains("permissions.deny"),
        "{unusable}"
    );
    assert!(Config::look(&options).lawful().is_err());
}
