//! Every transport downstream with every transport upstream: the legacy era
//! over all of them, the modern one over those that exist in it.

use serde_json::Value;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::world::{CARRIERS, Carrier, Served, Upstream, kill};
use switchboard_testkit::{Channel, LEGACY, text_of, tour, with_meta};

#[tokio::test]
async fn legacy_clients_over_stdio() {
    legacy(Carrier::Stdio).await;
}

#[tokio::test]
async fn legacy_clients_over_http() {
    legacy(Carrier::Http).await;
}

#[tokio::test]
async fn legacy_clients_over_sse() {
    legacy(Carrier::Sse).await;
}

#[tokio::test]
async fn legacy_clients_over_websocket() {
    legacy(Carrier::Ws).await;
}

async fn legacy(down: Carrier) {
    for up in CARRIERS {
        println!("legacy: {down:?} → {up:?}");
        let upstream = Upstream::start(up, &["--era", "legacy"]).await;
        let mut gateway = Served::start(down, &upstream).await;
        let mut client = gateway.client().await;
        let hello = client.initialize(LEGACY).await;
        assert_eq!(hello["serverInfo"]["name"], "echo-server");
        tour::legacy(&mut client).await;
        if down != Carrier::Stdio {
            client_goes_away(&mut gateway, &mut client, down).await;
        }
        server_dies(&mut client, up, |params| params).await;
    }
}

/// What a client had under way when its connection went is given up, where
/// there is no way to come back for it; others do not notice.
async fn client_goes_away(gateway: &mut Served, staying: &mut Channel, down: Carrier) {
    let before = tour::counter(staying, "cancelled").await;
    let mut leaving = gateway.client().await;
    leaving.initialize(LEGACY).await;
    leaving.start(
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 60_000}}),
    );
    tour::until_one_sleeps(staying, |params| params).await;
    drop(leaving);
    if down == Carrier::Http {
        // A legacy client may come back for its answer.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(tour::counter(staying, "cancelled").await, before);
    } else {
        tour::until(staying, "cancelled", before + 1).await;
    }
}

/// A call that was running ends at once with an error; afterwards a process is
/// started again, and a server that is gone is said to be.
async fn server_dies(client: &mut Channel, up: Carrier, dress: fn(Value) -> Value) {
    let call = |name: &str, arguments: Value| dress(json!({"name": name, "arguments": arguments}));
    let answer = client.request("tools/call", call("pid", json!({}))).await;
    let pid = text_of(&answer).to_owned();
    let id = client.start("tools/call", call("count", json!({"delayMs": 60_000})));
    tokio::time::sleep(Duration::from_millis(150)).await;
    kill(&pid);
    let reply = client.response(id).await;
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    let again = call("echo", json!({"nonce": "again"}));
    let reply = client.request("tools/call", again).await;
    if up == Carrier::Stdio {
        assert_eq!(text_of(&reply), "again");
    } else {
        assert!(
            reply["error"]["message"].as_str().is_some_and(|text| {
                [
                    "is not connected",
                    "not sent",
                    "closed the connection",
                    // It left on a connection of which nobody had heard yet that it is dead:
                    // it could have been carried out, and is not sent twice.
                    "broke before the answer",
                    // What got lost before counts: the connection may be given up meanwhile.
                    "went away during the call",
                ]
                .iter()
                .any(|reason| text.contains(reason))
            }),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn modern_clients() {
    let carriers = [Carrier::Stdio, Carrier::Http, Carrier::Ws];
    for down in carriers {
        for up in carriers {
            println!("modern: {down:?} → {up:?}");
            let upstream = Upstream::start(up, &["--era", "modern"]).await;
            let mut gateway = Served::start(down, &upstream).await;
            let mut client = gateway.client().await;
            tour::modern(&mut client, down == Carrier::Http).await;
            if down != Carrier::Stdio {
                modern_client_goes_away(&mut gateway, &mut client, down).await;
            }
            server_dies(&mut client, up, with_meta).await;
        }
    }
}

/// In this era a closed stream is a cancellation, over every transport.
async fn modern_client_goes_away(gateway: &mut Served, staying: &mut Channel, down: Carrier) {
    let count = async |client: &mut Channel| {
        let params = json!({"name": "cancelled", "arguments": {}});
        let answer = client.modern("tools/call", params).await;
        text_of(&answer).parse::<u64>().expect("a number")
    };
    let before = count(staying).await;
    let mut leaving = gateway.client().await;
    let slow = json!({"name": "sleep", "arguments": {"ms": 60_000}});
    let id = leaving.start("tools/call", with_meta(slow));
    tokio::time::sleep(Duration::from_millis(300)).await;
    if down == Carrier::Http {
        leaving.cancel(id, true);
    }
    drop(leaving);
    for _ in 0..200 {
        if count(staying).await > before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server never heard that the call was given up ({down:?})");
}

/// Modern clients of servers that have only the other era.
#[tokio::test]
async fn modern_clients_of_legacy_servers() {
    for down in [Carrier::Http, Carrier::Ws] {
        for up in [Carrier::Sse, Carrier::Ws] {
            println!("bridged: {down:?} → {up:?}");
            let upstream = Upstream::start(up, &["--era", "legacy"]).await;
            let mut gateway = Served::start(down, &upstream).await;
            let mut client = gateway.client().await;
            tour::modern(&mut client, down == Carrier::Http).await;
        }
    }
}
