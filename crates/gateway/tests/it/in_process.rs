//! The in-process transport on either side, with every other one on the other
//! side: the nine pairs that the tests of the running program cannot make.

#![allow(clippy::print_stdout, reason = "says which pair is under way")]

use http::Uri;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use switchboard_gateway::{Door, Gateway, GatewayOptions, faces};
use switchboard_host::{Host, Remote, ServerSpec, Target, permission::Rules};
use switchboard_process::ServerCommand;
use switchboard_testkit::{Channel, LEGACY, Order, Program, bin, text_of, tour, with_meta};
use switchboard_transport::{
    Budget,
    in_process::{self, End},
};
use switchboard_wire::{Payload, name::Style};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    sync::mpsc::unbounded_channel,
};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    InProcess,
    Stdio,
    Http,
    Sse,
    Ws,
}

const ALL: [Carrier; 5] = [
    Carrier::InProcess,
    Carrier::Stdio,
    Carrier::Http,
    Carrier::Sse,
    Carrier::Ws,
];

/// The echo server over this transport; the program where it runs by itself.
async fn upstream(carrier: Carrier, era: &'static str) -> (Target, Option<Program>) {
    let flag = match carrier {
        Carrier::InProcess => {
            let serve = move |end| {
                linked(end, era);
                Ok(())
            };
            return (Target::Linked(Arc::new(serve)), None);
        }
        Carrier::Stdio => {
            let args = ["--stdio", "--era", era].map(Into::into).to_vec();
            let program = bin("echo-server").into();
            return (
                Target::Stdio(ServerCommand {
                    program,
                    args,
                    ..ServerCommand::default()
                }),
                None,
            );
        }
        Carrier::Http => "--http",
        Carrier::Sse => "--sse",
        Carrier::Ws => "--ws",
    };
    let program = Program::new(bin("echo-server"))
        .args([flag, "0", "--era", era])
        .spawn();
    let url = program.url().await;
    let at = |text: String| Remote::new(text.parse::<Uri>().expect("an address"));
    let target = match carrier {
        Carrier::Sse => Target::Sse(at(url.replace("/mcp", "/sse"))),
        Carrier::Ws => Target::Ws(at(url.replace("http://", "ws://"))),
        _ => Target::Http(at(url)),
    };
    (target, Some(program))
}

/// Serves one end with all that the echo server can do: its lines become messages.
fn linked(end: End, era: &'static str) {
    let mut program = Program::new(bin("echo-server"))
        .args(["--stdio", "--era", era])
        .spawn();
    let (stdin, stdout) = (program.stdin.take(), program.stdout.take());
    let (mut stdin, stdout) = (stdin.expect("stdin"), stdout.expect("stdout"));
    let End {
        sender,
        mut receiver,
    } = end;
    tokio::spawn(async move {
        while let Some(bytes) = receiver.next().await {
            let line = [&bytes[..], b"\n"].concat();
            if stdin.write_all(&line).await.is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = sender.send(Payload::from(line));
        }
        drop(program);
    });
}

/// A client of the gateway over this transport.
async fn downstream(carrier: Carrier, gateway: Arc<Gateway>, stop: CancellationToken) -> Channel {
    let (orders, mut sending) = unbounded_channel();
    let (received, incoming) = unbounded_channel();
    match carrier {
        Carrier::InProcess => {
            let (ours, theirs) = in_process::pair();
            tokio::spawn(async move {
                faces::in_process::serve(gateway, theirs, "tester".into(), Some("e"), stop).await;
            });
            let End {
                sender,
                mut receiver,
            } = ours;
            tokio::spawn(async move {
                while let Some(order) = sending.recv().await {
                    if let Order::Send(message) = order {
                        let message: Value = message;
                        let _ = sender.send(Payload::from(message.to_string()));
                    }
                }
            });
            tokio::spawn(async move {
                while let Some(bytes) = receiver.next().await {
                    let _ = received.send(serde_json::from_slice(&bytes).expect("JSON"));
                }
            });
            Channel::over(orders, incoming)
        }
        Carrier::Stdio => {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let (read, write) = tokio::io::split(theirs);
            tokio::spawn(faces::stdio::serve_streams(gateway, read, write, stop));
            let (read, mut write) = tokio::io::split(ours);
            tokio::spawn(async move {
                while let Some(order) = sending.recv().await {
                    if let Order::Send(message) = order {
                        let _ = write.write_all(format!("{message}\n").as_bytes()).await;
                    }
                }
                let _ = write.shutdown().await;
            });
            tokio::spawn(async move {
                let mut lines = BufReader::new(read).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let _ = received.send(serde_json::from_str(&line).expect("JSON"));
                }
            });
            Channel::over(orders, incoming)
        }
        Carrier::Http | Carrier::Sse | Carrier::Ws => {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let door = Door {
                open: true,
                ..Door::default()
            };
            tokio::spawn(faces::http::serve(gateway, listener, door, stop));
            match carrier {
                Carrier::Http => Channel::http(&format!("http://{address}/mcp/e"), &[]),
                Carrier::Sse => Channel::sse(&format!("http://{address}/sse/e"), &[]).await,
                _ => Channel::ws(&format!("ws://{address}/ws/e"), &[]).await,
            }
        }
    }
}

struct Pair {
    client: Channel,
    gateway: Arc<Gateway>,
    stop: CancellationToken,
    _server: Option<Program>,
}

async fn pair(down: Carrier, up: Carrier, era: &'static str) -> Pair {
    let (target, server) = upstream(up, era).await;
    let host = Host::new(
        vec![ServerSpec::new("e", target)],
        Rules::everything_allowed(),
        Style::default(),
        Budget::default(),
    );
    let options = GatewayOptions {
        single: Some("e".into()),
        ..GatewayOptions::default()
    };
    let gateway = Gateway::new(host, options);
    let stop = CancellationToken::new();
    let client = downstream(down, gateway.clone(), stop.clone()).await;
    Pair {
        client,
        gateway,
        stop,
        _server: server,
    }
}

/// The pairs with the in-process transport on at least one side.
fn pairs() -> impl Iterator<Item = (Carrier, Carrier)> {
    let all = ALL.into_iter().flat_map(|down| ALL.map(|up| (down, up)));
    all.filter(|(down, up)| *down == Carrier::InProcess || *up == Carrier::InProcess)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn legacy() {
    for (down, up) in pairs() {
        println!("legacy: {down:?} → {up:?}");
        let mut pair = pair(down, up, "legacy").await;
        let hello = pair.client.initialize(LEGACY).await;
        assert_eq!(hello["serverInfo"]["name"], "echo-server");
        tour::legacy(&mut pair.client).await;
        if down == Carrier::InProcess {
            goes_away(&mut pair).await;
        }
        dies(&mut pair, up, |params| params).await;
        pair.stop.cancel();
        pair.gateway.host().close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modern() {
    let modern = |(down, up): &(Carrier, Carrier)| *down != Carrier::Sse && *up != Carrier::Sse;
    for (down, up) in pairs().filter(modern) {
        println!("modern: {down:?} → {up:?}");
        let mut pair = pair(down, up, "modern").await;
        tour::modern(&mut pair.client, down == Carrier::Http).await;
        dies(&mut pair, up, with_meta).await;
        pair.stop.cancel();
        pair.gateway.host().close().await;
    }
}

/// Another client's call is given up when its end of the pair is dropped.
async fn goes_away(pair: &mut Pair) {
    let before = tour::counter(&mut pair.client, "cancelled").await;
    let mut leaving = downstream(Carrier::InProcess, pair.gateway.clone(), pair.stop.clone()).await;
    leaving.initialize(LEGACY).await;
    leaving.start(
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 60_000}}),
    );
    tour::until_one_sleeps(&mut pair.client, |params| params).await;
    drop(leaving);
    tour::until(&mut pair.client, "cancelled", before + 1).await;
}

async fn dies(pair: &mut Pair, up: Carrier, dress: fn(Value) -> Value) {
    let call = |name: &str, arguments: Value| dress(json!({"name": name, "arguments": arguments}));
    let client = &mut pair.client;
    let answer = client.request("tools/call", call("pid", json!({}))).await;
    let pid = text_of(&answer).parse().expect("a pid");
    let id = client.start("tools/call", call("count", json!({"delayMs": 60_000})));
    tokio::time::sleep(Duration::from_millis(150)).await;
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it was there");
    let reply = client.response(id).await;
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    let again = call("echo", json!({"nonce": "again"}));
    let reply = client.request("tools/call", again).await;
    match up {
        Carrier::InProcess | Carrier::Stdio => assert_eq!(text_of(&reply), "again"),
        _ => assert!(reply["error"].is_object(), "{reply}"),
    }
}
