//! Questions across eras: a tool that asks, in both cross pairs.

use crate::support::dialogue::{self, ASKING};
use serde_json::{Value, json};
use switchboard_testkit::world::{
    Client, Gateway, address, command, echo, echo_http, servers, stdio_client,
};
use switchboard_testkit::{LEGACY, Program, bin, text_of};

/// The echo server of one era, as a process and at an address.
async fn echoes(era: &str) -> (Vec<Value>, Program) {
    let remote = echo_http(&["--era", era]);
    let there = address(&remote).await;
    (vec![echo(&["--era", era]), there], remote)
}

async fn asks(modern_client: bool) {
    let era = if modern_client { "legacy" } else { "modern" };
    let (entries, _remote) = echoes(era).await;
    for mut entry in entries {
        // A client's roots reach only a server that it does not share.
        entry["isolation"] = "session".into();
        let gateway = Gateway::start(&servers([("echo", entry)])).await;
        let mut client = Client::new(&gateway, "/mcp/@one/echo", modern_client).await;
        for (tool, method, word) in ASKING {
            let (questions, answer) = dialogue::call(&mut client, tool, json!({})).await;
            assert_eq!(questions.len(), 1, "{tool}: {questions:?} {answer}");
            assert_eq!(questions[0]["method"], method);
            assert!(text_of(&answer).contains(word), "{tool}: {answer}");
        }
        // What does not ask crosses as well.
        assert_eq!(client.call("echo", json!({"nonce": "n"})).await, "n");
        let read = client
            .result("resources/read", json!({"uri": "echo://1"}))
            .await;
        assert_eq!(read["contents"][0]["text"], "echo 1");
    }
}

#[tokio::test]
async fn a_modern_client_of_a_legacy_server() {
    asks(true).await;
}

#[tokio::test]
async fn a_legacy_client_of_a_modern_server() {
    asks(false).await;
}

#[tokio::test]
async fn both_over_stdio() {
    for (modern, era) in [(true, "legacy"), (false, "modern")] {
        let mut client = stdio_client(&servers([("echo", echo(&["--era", era]))]));
        if !modern {
            client.initialize(LEGACY).await;
        }
        for (tool, method, word) in ASKING {
            let (questions, answer) = dialogue::call_stdio(&mut client, modern, tool).await;
            assert_eq!(questions.len(), 1, "{tool}: {questions:?} {answer}");
            assert_eq!(questions[0]["method"], method);
            assert!(text_of(&answer).contains(word), "{tool}: {answer}");
        }
    }
}

/// A ticket is good once, for its own call.
#[tokio::test]
async fn a_ticket_is_good_once_and_for_its_own_call() {
    let gateway = Gateway::start(&servers([("echo", echo(&["--era", "legacy"]))])).await;
    let mut client = Client::new(&gateway, "/mcp/echo", true).await;
    let call = json!({"name": "elicit", "arguments": {"message": "colour?"}});
    let first = client.request("tools/call", call.clone()).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let mut retry = call.clone();
    dialogue::retry(&mut retry, &first["result"], &mut Vec::new());
    let mut other = retry.clone();
    other["arguments"]["message"] = "password?".into();
    let mut altered = retry.clone();
    altered["requestState"] = format!("{}x", retry["requestState"].as_str().unwrap()).into();
    for wrong in [other, altered] {
        let answer = client.request("tools/call", wrong).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = client.request("tools/call", retry.clone()).await;
    assert!(text_of(&answer).contains("blue"), "{answer}");
    let answer = client.request("tools/call", retry).await;
    assert_eq!(answer["error"]["code"], -32602, "replayed: {answer}");
}

/// The interactive tools of the conformance server, the fixture of the suite.
#[tokio::test]
async fn the_fixture_asks_across_eras() {
    for (modern, era) in [(true, "legacy"), (false, "modern")] {
        let remote = Program::new(bin("conformance-server"))
            .args(["--http", "0", "--era", era])
            .spawn();
        let entries = [
            command("conformance-server", ["--stdio", "--era", era]),
            address(&remote).await,
        ];
        for entry in entries {
            let gateway = Gateway::start(&servers([("fixture", entry)])).await;
            let mut client = Client::new(&gateway, "/mcp/fixture", modern).await;
            let tools = client.list("tools/list", "tools", "name").await;
            let (tool, arguments) = if modern {
                ("test_elicitation", json!({"message": "who?"}))
            } else {
                ("test_input_required_result_elicitation", json!({}))
            };
            assert!(tools.iter().any(|name| name == tool), "{tools:?}");
            let (questions, answer) = dialogue::call(&mut client, tool, arguments).await;
            assert!(!questions.is_empty(), "{answer}");
            assert!(answer.get("result").is_some(), "{answer}");
            assert_ne!(answer["result"]["isError"], true, "{answer}");
        }
    }
}
