//! What was decided is what the server reads, whatever its parser: requests that
//! some readers take for others reach nobody, and everything else crosses.

use crate::support::crossing::{self, Recorder, Side};
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::world::{self, config, run, switchboard};
use switchboard_testkit::{
    LEGACY, Launch, StdioClient,
    one_reading::{Go, Reader, Seen, Speller},
    record, with_meta,
};

const RESULT: &str = r#"{"resultType":"complete","content":[],"messages":[],"contents":[]}"#;
pub(super) const TOOLS: &str = r#"{"tools":[{"name":"ok","inputSchema":{}},{"name":"delete_all","inputSchema":{}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;

/// A client of a gateway whose server writes down what reaches it.
pub(super) struct Wired {
    pub(super) client: StdioClient,
    pub(super) recorder: Recorder,
    sent: u32,
}

pub(super) fn script(tools: &str) -> Vec<Value> {
    let mut script = vec![json!({"method": "tools/list", "reply": tools})];
    for method in [
        "tools/call",
        "prompts/get",
        "resources/read",
        "com.example/wipe",
    ] {
        script.push(json!({"method": method, "reply": RESULT}));
    }
    script
}

pub(super) fn launch(entry: &Value, permissions: &Value, args: &[&str]) -> Launch {
    let launch = switchboard();
    let folder = launch.home().join(".config/switchboard");
    fs::create_dir_all(&folder).unwrap();
    let settings = json!({ "permissions": permissions }).to_string();
    fs::write(folder.join("settings.json"), settings).unwrap();
    launch
        .args(["--mcp-config", &config(&json!({ "odd": entry }))])
        .args(args)
}

impl Wired {
    async fn new(permissions: &Value, args: &[&str]) -> Self {
        Self::at(Side::Stdio, &script(TOOLS), false, permissions, args).await
    }

    pub(super) async fn at(
        side: Side,
        script: &[Value],
        modern: bool,
        permissions: &Value,
        args: &[&str],
    ) -> Self {
        let recorder = Recorder::new(side, script, modern).await;
        let args: Vec<&str> = ["serve", "--only", "odd"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let launch = launch(&recorder.entry, permissions, &args);
        let mut client = StdioClient::new(launch.spawn());
        if !modern {
            client.initialize(LEGACY).await;
        }
        Self {
            client,
            recorder,
            sent: 0,
        }
    }

    /// Sends a request as it is written and gives the answer.
    pub(super) async fn send(&mut self, request: &str) -> Value {
        self.client.send_raw(request).await;
        serde_json::from_slice(&self.client.next_raw().await).unwrap()
    }

    /// What has reached the server, once it has got everything that was sent.
    pub(super) async fn reached(&mut self) -> Vec<String> {
        self.sent += 1;
        let mark = format!("mark {}", self.sent);
        let answer = self.client.call("ok", json!({ "mark": mark })).await;
        assert!(answer.get("result").is_some(), "{answer}");
        let all = record::read(&self.recorder.record).unwrap();
        all.into_iter()
            .map(|message| String::from_utf8_lossy(&message).into_owned())
            .collect()
    }
}

/// Each asks, in some reader's eyes, for what is denied.
const HOSTILE: &[(i64, &str)] = &[
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","Name":"delete_all","arguments":{}}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"Name":"delete_all","arguments":{}}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","NAME":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","\u004eame":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","n\u0061me":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","argumentſ":{"x":"delete_all"}}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","tas\u212a":{"x":"delete_all"}}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":["delete_all",{"x":1}]"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"arguments":{"x":"delete_all"}}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":null,"arguments":{"x":"delete_all"}}"#,
    ),
    (
        -32602,
        r#""method":"prompts/get","params":{"Name":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"resources/read","params":{"URI":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"resources/read","params":{"uri":"x","Uri":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tasks/get","params":{"taskId":"x","taskid":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"ok","Name":"delete_all"},"argument":{}}"#,
    ),
    (
        -32602,
        r#""method":"completion/complete","params":{"ref":{"type":"ref/resource","name":"ok","uri":"delete_all"},"argument":{}}"#,
    ),
    (
        -32600,
        r#""method":"resources/list","Method":"tools/call","params":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":"tools/list","method":"tools/call","params":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":"tools/call","params":{"name":"ok"},"paramſ":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":"tools/call","params":{"name":"ok"},"ıd":"delete_all""#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","name\u0000":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","name\u0000x":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","\ufeffname":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","na\u0001me":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","name\ud800":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"ok","name ":"delete_all"}"#,
    ),
    (
        -32602,
        r#""method":"tools/call","params":{"name":"delete_all\u0000"}"#,
    ),
    (
        -32602,
        r#""method":"prompts/get","params":{"name":"delete_all\u0000"}"#,
    ),
    (
        -32602,
        r#""method":"resources/read","params":{"uri":"delete_all\u0000.txt"}"#,
    ),
    (
        -32602,
        r#""method":"tasks/get","params":{"taskId":"delete_all\u0000"}"#,
    ),
    (
        -32602,
        r#""method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"delete_all\u0000"},"argument":{}}"#,
    ),
    (
        -32602,
        r#""method":"completion/complete","params":{"ref":{"type":"ref/prompt\u0000","name":"delete_all"},"argument":{}}"#,
    ),
    (
        -32600,
        r#""method":"tools/list","params":{"name":"delete_all"},"method\u0000":"tools/call""#,
    ),
    (
        -32600,
        r#""method":"tools/call\u0000","params":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":"tools/call\ud800","params":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":" tools/call","params":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":"Tools/Call","params":{"name":"delete_all"}"#,
    ),
    (
        -32600,
        r#""method":"prompts/get","params":{"name":"pp"},"method\u0000x":"tools/call","params\u0000":{"name":"delete_all"}"#,
    ),
];

#[tokio::test]
async fn what_some_reader_takes_for_something_else_reaches_nobody() {
    let denied = json!({"deny": ["mcp__odd__delete_all"]});
    let mut wired = Wired::new(&denied, &[]).await;
    for &(code, members) in HOSTILE {
        let answer = wired
            .send(&format!(r#"{{"jsonrpc":"2.0","id":7,{members}}}"#))
            .await;
        assert_eq!(answer["error"]["code"], code, "{members}: {answer}");
    }
    // A request that comes as a notification is decided by nobody.
    let notice = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_all"}}"#;
    wired.client.send_raw(notice).await;
    let reached = wired.reached().await;
    let bad = reached
        .iter()
        .find(|message| message.contains("delete_all"));
    assert_eq!(bad, None);
}

/// Over all servers at once, where names are ours.
#[tokio::test]
async fn nor_among_several_servers() {
    let recorder = Recorder::new(Side::Stdio, &script(TOOLS), false).await;
    let denied = json!({"deny": ["mcp__odd__delete_all"]});
    let launch = switchboard();
    let folder = launch.home().join(".config/switchboard");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("settings.json"),
        json!({ "permissions": denied }).to_string(),
    )
    .unwrap();
    let servers = json!({"odd": recorder.entry, "e": world::echo(&[])});
    let args = ["--mcp-config", &config(&servers), "serve"];
    let mut client = StdioClient::new(launch.args(args).spawn());
    client.initialize(LEGACY).await;
    for &(code, members) in HOSTILE {
        let members = members.replace(r#""name":"ok""#, r#""name":"odd__ok""#);
        let request = format!(r#"{{"jsonrpc":"2.0","id":7,{members}}}"#);
        client.send_raw(request).await;
        let answer: Value = serde_json::from_slice(&client.next_raw().await).unwrap();
        assert_eq!(answer["error"]["code"], code, "{members}: {answer}");
    }
    let answer = client.call("odd__ok", json!({})).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let all = record::read(&recorder.record).unwrap();
    assert!(
        !all.iter()
            .any(|message| crossing::contains(message, "delete_all"))
    );
}

#[tokio::test]
async fn who_is_asked_is_shown_what_is_sent() {
    let asks = json!({"ask": ["mcp__odd__delete_all"]});
    let mut wired = Wired::new(&asks, &[]).await;
    for params in [
        r#"{"name":"delete_all","arguments":{"path":"a"},"arguments":{"path":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"path":"a","path":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"path":"a","Path":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"deep":[{"x":{"path":"a","\u0050ath":"b"}}]}}"#,
        r#"{"name":"delete_all","arguments":{"path":"a","path\u0000":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"path":"a","path\u0000x":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"\u1e9e":"a","\u00df":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"p\ud800":"a","\u0070\uD800":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"p\ud800":"a","p\ufffd":"b"}}"#,
        r#"{"name":"delete_all","arguments":{"path":"a","\ufeffpath":"b"}}"#,
    ] {
        // Nobody is asked: the next that comes is the refusal.
        let request = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":PARAMS}"#;
        let answer = wired.send(&request.replace("PARAMS", params)).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    let reached = wired.reached().await;
    assert!(!reached.iter().any(|message| message.contains("delete_all")));
    // What is asked about is what is sent.
    let asked = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let shown = asked.clone();
    wired.client.on_request(move |_, params| {
        *shown.lock().unwrap() = params["message"].as_str().unwrap().to_owned();
        json!({"result": {"action": "accept", "content": {"answer": "yes, this time"}}})
    });
    let answer = wired
        .client
        .call("delete_all", json!({"path": "/etc/x"}))
        .await;
    assert!(answer.get("result").is_some(), "{answer}");
    assert!(
        asked.lock().unwrap().contains(r#"{"path":"/etc/x"}"#),
        "{asked:?}"
    );
    // Where nobody is asked they are data.
    let odd = r#"{"a":1,"a":2,"A":{"b":1,"\u0042":2}}"#;
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{{"name":"ok","arguments":{odd}}}}}"#
    );
    let answer = wired.send(&request).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let reached = wired.reached().await;
    assert!(
        reached.iter().any(|message| message.contains(odd)),
        "{reached:?}"
    );
}

#[tokio::test]
async fn methods_that_nobody_knows_pass_in_two_modes_only() {
    for (mode, passes) in [
        ("client", true),
        ("bypassPermissions", true),
        ("read-only", false),
        ("default", false),
        ("auto", false),
    ] {
        let allowed = json!({"allow": ["mcp__odd__ok"]});
        let tools = TOOLS.replace(
            r#""name":"ok","#,
            r#""name":"ok","annotations":{"readOnlyHint":true},"#,
        );
        let args = ["--permission-mode", mode];
        let mut wired = Wired::at(Side::Stdio, &script(&tools), false, &allowed, &args).await;
        let request = r#"{"jsonrpc":"2.0","id":7,"method":"com.example/wipe","params":{}}"#;
        let answer = wired.send(request).await;
        assert_eq!(answer.get("result").is_some(), passes, "{mode}: {answer}");
        if !passes {
            let text = answer["error"]["message"].as_str().unwrap();
            assert!(
                text.contains("client") && text.contains("bypassPermissions"),
                "{text}"
            );
        }
        let notice = r#"{"jsonrpc":"2.0","method":"com.example/wiped","params":{}}"#;
        wired.client.send_raw(notice).await;
        let reached = wired.reached().await;
        let arrived = reached
            .iter()
            .any(|message| message.contains("com.example/wipe"));
        assert_eq!(arrived, passes, "{mode}: {reached:?}");
    }
}

/// Lists, answers and questions of a server that its client could read otherwise.
#[tokio::test]
async fn what_a_server_says_has_one_reading_too() {
    let tools = r#"{"tools":[{"name":"ok","inputSchema":{}},{"name":"shown","Name":"hidden","inputSchema":{}},{"name":"twice","inputSchema":{},"inputSchema":{}},{"name":"hints","inputSchema":{},"annotations":{"readOnlyHint":false,"ReadOnlyHint":true}}]}"#;
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"a","Message":"b","requestedSchema":{}}}"#;
    let mut answers = script(tools);
    answers.insert(
        0,
        json!({"method": "tools/call", "match": "\"asks\"", "before": [ask], "reply": RESULT}),
    );
    answers.insert(0, json!({"method": "tools/call", "match": "\"unclear\"", "message": r#"{"jsonrpc":"2.0","id":@ID@,"result":{},"Result":{}}"#}));
    let none = json!({});
    let mut wired = Wired::at(Side::Stdio, &answers, false, &none, &[]).await;
    let listed = wired.client.request("tools/list", json!({})).await;
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ok"], "{listed}");

    let answer = wired.client.call("ok", json!({"x": "unclear"})).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["data"]["server"], "odd", "{answer}");

    wired
        .client
        .on_request(|method, _| panic!("{method} reached the client"));
    let answer = wired.client.call("ok", json!({"x": "asks"})).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let reached = wired.reached().await;
    let refused = reached
        .iter()
        .find(|message| message.contains(r#""id":"q""#));
    assert!(refused.unwrap().contains("-32602"), "{reached:?}");

    // Named and counted, and why.
    for (tool, why) in [
        ("shown", "\"name\""),
        ("twice", "duplicate key"),
        ("hints", "readOnlyHint"),
    ] {
        let name = format!("mcp__odd__{tool}");
        let explained = run(launch(&wired.recorder.entry, &none, &["explain", &name])).await;
        let said = format!("{}{}", explained.out, explained.err);
        assert!(said.contains("left out"), "{explained:?}");
        assert!(said.contains("list of tools: 3"), "{explained:?}");
        assert!(said.contains(why), "{explained:?}");
    }
}

#[tokio::test]
async fn a_list_that_could_be_read_in_two_ways_is_its_servers_error() {
    for tools in [
        r#"{"tools":[{"name":"ok","inputSchema":{}}],"Tools":[]}"#,
        r#"{"tools":[],"tools":[{"name":"ok","inputSchema":{}}]}"#,
    ] {
        // With and without a rule: what is hidden must not come back so.
        for permissions in [json!({}), json!({"deny": ["mcp__odd__delete_all"]})] {
            let mut wired = Wired::at(Side::Stdio, &script(tools), false, &permissions, &[]).await;
            let listed = wired.client.request("tools/list", json!({})).await;
            assert_eq!(listed["error"]["code"], -32603, "{tools}: {listed}");
        }
    }
}

/// The argument that a header repeats must be one to every reader.
#[tokio::test]
async fn a_header_repeats_no_argument_that_is_there_twice() {
    let tools = r#"{"tools":[{"name":"ok","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;
    let none = json!({});
    let mut wired = Wired::at(Side::Http, &script(tools), true, &none, &[]).await;
    let call = |arguments: &str| {
        let params = with_meta(json!({"name": "ok"})).to_string();
        let params = params.replacen('{', &format!(r#"{{"arguments":{arguments},"#), 1);
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
    };
    for arguments in [
        r#"{"region":"a","region":"b"}"#,
        r#"{"region":"a","Region":"b"}"#,
        r#"{"REGION":"b"}"#,
        r#"{"region":"a","reg\u0131on":"b"}"#,
        r#"{"region":"a","region\u0000":"b"}"#,
        r#"{"region":"a","region\ud800":"b"}"#,
    ] {
        let answer = wired.send(&call(arguments)).await;
        assert_eq!(answer["error"]["code"], -32020, "{arguments}: {answer}");
    }
    let answer = wired
        .send(&call(r#"{"region":"a","other":1,"Other":2}"#))
        .await;
    assert!(answer.get("result").is_some(), "{answer}");
    let all = record::read(&wired.recorder.record).unwrap();
    let calls: Vec<_> = all
        .iter()
        .filter(|message| crossing::contains(message, "tools/call"))
        .collect();
    assert_eq!(calls.len(), 1, "only the clear one arrived");
}

/// Requests in every spelling: all readers agree about each that arrives, and none
/// sees what is denied.
#[tokio::test]
async fn all_readers_agree_about_what_arrives() {
    const REQUESTS: usize = 600;
    let denied = json!({"deny": ["mcp__odd__delete_all"]});
    let mut wired = Wired::new(&denied, &[]).await;
    let mut speller = Speller::new(3, &["ok", "delete_all"]);
    for _ in 0..REQUESTS {
        let request = speller.request();
        wired.client.send_raw(&request).await;
        // Each is answered, and by nothing else than one message.
        let _ = wired.client.next_raw().await;
    }
    wired.reached().await;
    let arrived: Vec<Vec<u8>> = record::read(&wired.recorder.record)
        .unwrap()
        .into_iter()
        .filter(|message| !message.contains(&b'\n'))
        .collect();
    assert!(arrived.len() > REQUESTS / 10, "{} arrived", arrived.len());
    let by_go = Go::build().read(&arrived);
    for (message, by_go) in arrived.iter().zip(by_go) {
        let by_go = by_go.acted_on();
        for reader in Reader::ALL {
            let seen = reader.read(message).acted_on();
            let text = String::from_utf8_lossy(message);
            assert_eq!(seen, by_go, "{reader:?} and Go differ about {text}");
        }
        let is_ruled = |seen: &Seen| {
            let prompt = seen
                .reference
                .as_ref()
                .is_some_and(|(kind, _)| kind == "ref/prompt");
            seen.name.is_some() || prompt
        };
        assert!(
            !(is_ruled(&by_go) && by_go.asks_for("delete_all")),
            "{}",
            String::from_utf8_lossy(message)
        );
    }
}
