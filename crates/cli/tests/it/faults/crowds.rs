//! Too much and too many: of bytes, of connections, of sessions, of processes.
//! One client or server that takes all it can get leaves the others what is theirs.

use http::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{self, Gateway, World, children, command, echo, kib, servers};
use switchboard_testkit::{HttpClient, LEGACY, Program, text_of};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const LONG: Duration = Duration::from_secs(240);

/// The bytes that a process has written so far.
pub(super) fn written(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|count| count.parse().ok())
        .unwrap_or_default()
}

async fn flooded(modern: bool) {
    let evil = command("evil-stdio", ["--mode", "large-notices"]);
    let gateway = Gateway::start(&servers([("evil", evil), ("echo", echo(&[]))])).await;
    let worker = gateway.worker().await;
    let mut other = gateway.legacy("/mcp/echo").await;
    other.call("echo", json!({"nonce": "0"})).await;
    let params = json!({"name": "strike", "arguments": {}, "_meta": {"progressToken": 1}});
    let mut client = gateway.client("/mcp/evil");
    // Nobody reads what comes on it.
    let _stream = if modern {
        client.modern_stream("tools/call", params).await
    } else {
        client.initialize(LEGACY).await;
        client.stream("tools/call", params).await
    };
    let evil = children(worker).into_iter().find(|pid| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains("large-notices")
    });
    let evil = evil.expect("the server that floods");
    // Fifty notices of 8 MiB, or it does not go on at all.
    let (deadline, mut most) = (Instant::now() + LONG, 0);
    while written(evil) < 400 << 20 {
        assert!(
            Instant::now() < deadline,
            "the flood has stopped at {}",
            written(evil)
        );
        let answer = other.call("echo", json!({"nonce": "1"})).await;
        assert_eq!(text_of(&answer), "1");
        // What is its own: how much of the program counts as well depends on who else runs it.
        most = most.max(kib(worker, "smaps_rollup", "Anonymous"));
    }
    eprintln!("figure: a flood of large notices cost {} MiB", most / 1024);
    assert!(most < 64 * 1024, "{} MiB", most / 1024);
}

#[tokio::test]
async fn a_flood_of_large_notices_towards_a_modern_client_that_does_not_read() {
    flooded(true).await;
}

#[tokio::test]
async fn a_flood_of_large_notices_towards_a_legacy_client_that_does_not_read() {
    flooded(false).await;
}

/// As many descriptors as we may have.
fn raise() {
    let given = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: given.maximum,
        maximum: given.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// How long the gateway takes to say that it is there.
async fn health(authority: &str) -> Duration {
    let started = Instant::now();
    let asked = async {
        let mut stream = TcpStream::connect(authority).await?;
        let text =
            format!("GET /healthz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = tokio::time::timeout(LONG, asked).await;
    let answer = answer.expect("an answer").expect("a connection");
    assert!(answer.ends_with("ok\n"), "{answer}");
    started.elapsed()
}

/// A door that has nothing else to do than to say that it is there.
async fn idle_door() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok\n").await;
        }
    });
    authority
}

/// Opens connections that say nothing, and asks for health all the while.
async fn crowd(authority: &str, many: usize) -> Vec<TcpStream> {
    let idle = idle_door().await;
    let (mut silent, mut asked, mut slow) = (Vec::new(), 0, Vec::new());
    let mut ask = async || {
        let (took, idle) = (health(authority).await, health(&idle).await);
        asked += 1;
        if took > Duration::from_secs(1) + idle * 10 {
            slow.push(took);
        }
    };
    for n in 0..many {
        silent.push(TcpStream::connect(authority).await.unwrap());
        if n % 50 == 49 {
            ask().await;
        }
    }
    for _ in 0..20 {
        ask().await;
    }
    // A machine with other things to do may miss it now and then; a gateway that
    // has no room misses it every time.
    assert!(
        slow.len() <= asked / 10,
        "{} of {asked}: {slow:?}",
        slow.len()
    );
    silent
}

#[tokio::test]
async fn silent_connections_keep_nobody_out_and_end_by_themselves() {
    raise();
    let gateway = Gateway::start(&servers([("echo", echo(&[]))])).await;
    let authority = gateway.authority().to_owned();
    let mut kept = gateway.legacy("/mcp").await.keep_alive();
    kept.request("ping", json!({})).await;
    let mut silent = crowd(&authority, 2_000).await;
    for stream in silent.iter_mut().step_by(100) {
        let ended = tokio::time::timeout(LONG, stream.read(&mut [0; 16])).await;
        // Closed, one way or the other.
        assert!(!matches!(ended.expect("it ends"), Ok(1..)));
    }
    // One that has asked something may pause for longer than that.
    kept.request("ping", json!({})).await;
    let soft = std::fs::read_to_string(format!("/proc/{}/limits", gateway.worker().await)).unwrap();
    let line = soft
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(
        numbers[0], numbers[1],
        "the soft limit is the hard one: {line}"
    );
}

#[tokio::test]
async fn idle_connections_give_way_where_descriptors_are_few() {
    raise();
    let config = world::config(&servers([("echo", echo(&[]))]));
    let program = Program::new("/bin/sh")
        .args(["-c", "ulimit -n 256; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .args(["--strict-mcp-config", "--mcp-config", &config]);
    let gateway = Gateway::launch(program).await;
    let authority = gateway.authority().to_owned();
    let _silent = crowd(&authority, 600).await;
    // Servers can still be started.
    let mut client = gateway.legacy("/mcp/echo").await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "1"})).await),
        "1"
    );
    let told = gateway.program.stderr();
    let told = told
        .lines()
        .filter(|line| line.contains("give way"))
        .count();
    assert!(
        (1..=4).contains(&told),
        "a line or two, not hundreds: {told}"
    );
}

/// Opens a session; its id, or the error.
async fn open(url: &str, token: &str) -> Result<String, Value> {
    let mut client = HttpClient::new(url).header("authorization", token);
    client.deadline = LONG;
    let params = json!({"protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let reply = client.post(hello.to_string()).await;
    let session = reply.header("mcp-session-id").map(str::to_owned);
    session.ok_or_else(|| reply.message())
}

#[tokio::test]
async fn one_principal_cannot_start_processes_without_end() {
    let mut own = echo(&[]);
    own["isolation"] = json!("session");
    let stage = World::with(&servers([("own", own)]));
    let gateway = stage.gateway().await;
    let url = format!("{}/mcp/own", gateway.url().await);
    let alice = format!("Bearer {}", stage.token("tokens/default"));
    let bob = stage.run(&["token", "create", "bob"]).await.ok();
    let bob = format!("Bearer {}", bob.out.trim());
    let (mut opened, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..150 {
        match open(&url, &alice).await {
            Ok(session) => opened.push(session),
            Err(error) => refused.push(error),
        }
    }
    assert_eq!(opened.len(), 64, "{:?}", refused.first());
    for error in &refused {
        let text = error["error"]["message"].as_str().unwrap();
        assert!(
            text.contains("copies of this server for single sessions"),
            "{error}"
        );
        assert!(text.contains("yours are 64"), "{error}");
    }
    // The other is served.
    let session = open(&url, &bob).await.expect("bob has room");
    let mut client = HttpClient::new(&url)
        .header("authorization", &bob)
        .header("mcp-session-id", &session)
        .header("mcp-protocol-version", LEGACY);
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "b"})).await),
        "b"
    );
    // What ends makes room.
    let mut ending = HttpClient::new(&url)
        .header("authorization", &alice)
        .header("mcp-session-id", &opened[0]);
    ending.send(Method::DELETE, &[], "").await;
    open(&url, &alice).await.expect("room again");
}

#[tokio::test]
async fn too_many_sessions_are_called_that() {
    raise();
    let stage = World::with(&servers([("system", json!({"type": "builtin"}))]));
    // Where nothing can be kept there are as many as memory has room for.
    stage.write("home/.local/state/switchboard/sessions", "in the way");
    let gateway = stage.gateway().await;
    let url = format!("{}/mcp/system", gateway.url().await);
    let alice = format!("Bearer {}", stage.token("tokens/default"));
    let bob = stage.run(&["token", "create", "bob"]).await.ok();
    let bob = format!("Bearer {}", bob.out.trim());
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (url, alice) = (url.clone(), alice.clone());
        running.spawn(async move {
            let mut client = HttpClient::new(&url)
                .header("authorization", &alice)
                .keep_alive();
            let params = json!({"protocolVersion": LEGACY, "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"}});
            let hello =
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
            let hello = hello.to_string();
            let mut opened = 0;
            loop {
                let reply = client.post(hello.clone()).await;
                if reply.header("mcp-session-id").is_none() {
                    return (opened, reply);
                }
                opened += 1;
                assert!(opened <= 5_000, "there is no end to it");
            }
        });
    }
    let ends = running.join_all().await;
    assert_eq!(ends.iter().map(|(opened, _)| opened).sum::<u32>(), 5_000);
    for (_, reply) in &ends {
        assert_eq!(reply.status, 503);
        let text = reply.message()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            text.starts_with("too many sessions: yours are 5000"),
            "{text}"
        );
    }
    open(&url, &bob).await.expect("bob has room");
}

#[tokio::test]
async fn a_file_with_too_many_servers_is_refused_and_costs_no_time() {
    let stage = World::with(&servers([("good", echo(&[]))]));
    let entries: serde_json::Map<String, Value> = (0..30_000)
        .map(|n| (format!("s{n}"), json!({"command": "x"})))
        .collect();
    let file = stage.home().join(".mcp.json");
    stage.write(&file, json!({ "mcpServers": entries }).to_string());
    let started = Instant::now();
    let ran = stage.run(&["explain", "good"]).await;
    let took = started.elapsed();
    eprintln!("figure: 30,000 entries cost {took:?}");
    assert!(
        ran.err
            .contains("it names 30000 servers, and at most 2000 are read from one file"),
        "{ran:?}"
    );
    assert!(took < Duration::from_secs(30), "{took:?}");
    // As many as may be are no trouble, though all have one name or none is like another.
    let entries: serde_json::Map<String, Value> = (0..2_000)
        .map(|n| (format!("s{n}"), json!({"command": "x"})))
        .collect();
    stage.write(&file, json!({ "mcpServers": entries }).to_string());
    let ran = stage.run(&["explain", "s1999"]).await;
    assert!(ran.out.contains("s1999"), "{ran:?}");
}
