//! One tour through everything that a pair of transports must carry, for tests
//! that run it over each of them.

use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::channel::Channel;
use crate::modern::with_meta;
use crate::program::DEADLINE;
use crate::stdio_client::text_of;

const LARGE: u64 = 5 * 1024 * 1024;

/// List, call, progress, cancel, a question, a changed list, a large result and
/// an error, as a legacy client of the echo server that has shaken hands.
///
/// # Panics
/// Where one of them goes wrong.
pub async fn legacy(client: &mut Channel) {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().expect("tools").len();
    assert!(tools > 10, "{listed}");
    let reply = client
        .call("echo", json!({"nonce": "grüße\u{1F44B}"}))
        .await;
    assert_eq!(text_of(&reply), "grüße\u{1F44B}");

    // Progress, under the client's own token.
    let params = json!({
        "name": "progress", "arguments": {"steps": 3, "intervalMs": 5},
        "_meta": {"progressToken": "mine"},
    });
    let reply = client.request("tools/call", params).await;
    assert_eq!(text_of(&reply), "3 steps");
    let seen: Vec<&Value> = progress(client);
    assert_eq!(seen.len(), 3, "{:?}", client.notifications);
    assert!(seen.iter().all(|params| params["progressToken"] == "mine"));

    // Cancellation reaches the server.
    let before = counter(client, "cancelled").await;
    let id = client.start(
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 60_000}}),
    );
    until_one_sleeps(client, |params| params).await;
    client.cancel(id, false);
    until(client, "cancelled", before + 1).await;

    // A question in the middle of a call.
    client.on_request(|method, params| {
        assert_eq!(method, "elicitation/create");
        assert_eq!(params["message"], "well?");
        json!({"result": {"action": "accept", "content": {"answer": "42"}}})
    });
    let reply = client.call("elicit", json!({"message": "well?"})).await;
    assert!(text_of(&reply).contains("42"), "{reply}");

    // The list changes.
    client.call("change_list", json!({})).await;
    client
        .notification("notifications/tools/list_changed")
        .await;
    let listed = client.request("tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"].as_array().expect("tools").len(),
        tools + 1
    );

    let reply = client.call("payload", json!({"bytes": LARGE})).await;
    assert!(
        text_of(&reply).len() as u64 >= LARGE - 1024,
        "{}",
        text_of(&reply).len()
    );

    let error = client
        .request("tools/call", json!({"name": "nothing", "arguments": {}}))
        .await;
    assert_eq!(error["error"]["code"], -32602, "{error}");
}

/// The same as a modern client. `closes_to_cancel`: over HTTP a request is given
/// up by closing its stream.
///
/// # Panics
/// Where one of them goes wrong.
pub async fn modern(client: &mut Channel, closes_to_cancel: bool) {
    let found = client.modern("server/discover", json!({})).await;
    assert!(found["result"]["supportedVersions"].is_array(), "{found}");
    let listed = client.modern("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().expect("tools").len();
    let reply = client
        .modern("tools/call", call("echo", json!({"nonce": "n"})))
        .await;
    assert_eq!(text_of(&reply), "n");

    let mut params = call("progress", json!({"steps": 3, "intervalMs": 5}));
    params["_meta"] = json!({"progressToken": 7});
    let reply = client.modern("tools/call", params).await;
    assert_eq!(text_of(&reply), "3 steps");
    assert_eq!(progress(client).len(), 3, "{:?}", client.notifications);

    let asked = client
        .modern("tools/call", call("elicit", json!({"message": "well?"})))
        .await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"]
        .as_object()
        .expect("questions");
    let key = requests.keys().next().expect("a question").clone();
    let mut again = call("elicit", json!({"message": "well?"}));
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"answer": "42"}}});
    let reply = client.modern("tools/call", again).await;
    assert!(text_of(&reply).contains("42"), "{reply}");

    let sleeping = with_meta(call("sleep", json!({"ms": 60_000})));
    let id = client.start("tools/call", sleeping);
    until_one_sleeps(client, with_meta).await;
    client.cancel(id, closes_to_cancel);
    for _ in 0..100 {
        let reply = client
            .modern("tools/call", call("cancelled", json!({})))
            .await;
        if text_of(&reply) == "1" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let reply = client
        .modern("tools/call", call("cancelled", json!({})))
        .await;
    assert_eq!(text_of(&reply), "1");

    let filter = json!({"notifications": {"toolsListChanged": true}});
    client.start("subscriptions/listen", with_meta(filter));
    client
        .notification("notifications/subscriptions/acknowledged")
        .await;
    client
        .modern("tools/call", call("change_list", json!({})))
        .await;
    client
        .notification("notifications/tools/list_changed")
        .await;
    let listed = client.modern("tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"].as_array().expect("tools").len(),
        tools + 1
    );

    let reply = client
        .modern("tools/call", call("payload", json!({"bytes": LARGE})))
        .await;
    assert!(text_of(&reply).len() as u64 >= LARGE - 1024);
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn progress(client: &Channel) -> Vec<&Value> {
    let seen = client.notifications.iter();
    seen.filter(|notice| notice["method"] == "notifications/progress")
        .map(|notice| &notice["params"])
        .collect()
}

/// What a counter of the server's says.
///
/// # Panics
/// When it says no number.
pub async fn counter(client: &mut Channel, tool: &str) -> u64 {
    text_of(&client.call(tool, json!({})).await)
        .parse()
        .expect("a number")
}

/// Waits until the server has a call in its hands that can be cancelled.
///
/// # Panics
/// When it has none after a while.
pub async fn until_one_sleeps(client: &mut Channel, dress: fn(Value) -> Value) {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        let asked = dress(call("cancelled", json!({"sleeping": true})));
        let reply = client.request("tools/call", asked).await;
        if text_of(&reply) != "0" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the call has not reached the server");
}

/// Waits until a counter of the server's says this.
///
/// # Panics
/// When it does not.
pub async fn until(client: &mut Channel, tool: &str, wanted: u64) {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        if counter(client, tool).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{tool} is {}, not {wanted}", counter(client, tool).await);
}
