//! A call during which the server wants something of its client, in each era
//! and on each transport.

use serde_json::{Value, json};
use switchboard_testkit::world::Client;
use switchboard_testkit::{StdioClient, with_meta};

/// What the client answers to a question.
pub fn answer_to(method: &str) -> Value {
    match method {
        "elicitation/create" => json!({"action": "accept", "content": {"answer": "blue"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "green"}, "model": "m"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///red"}]}),
        other => panic!("nobody can answer {other}"),
    }
}

/// The tools of the echo server that ask, what they ask, and a word of the answer.
pub const ASKING: [(&str, &str, &str); 3] = [
    ("elicit", "elicitation/create", "blue"),
    ("sample", "sampling/createMessage", "green"),
    ("roots", "roots/list", "red"),
];

/// Calls a tool and answers what is asked on the way; the questions and the answer.
pub async fn call(client: &mut Client, tool: &str, arguments: Value) -> (Vec<Value>, Value) {
    let params = json!({"name": tool, "arguments": arguments});
    if client.modern {
        let mut questions = Vec::new();
        let mut params = params;
        for _ in 0..5 {
            let answer = client.request("tools/call", params.clone()).await;
            if answer["result"]["resultType"] != "input_required" {
                return (questions, answer);
            }
            retry(&mut params, &answer["result"], &mut questions);
        }
        panic!("asked for ever: {questions:?}");
    }
    let mut stream = client.stream("tools/call", params).await;
    if !stream.is_events() {
        let body = stream.body().await;
        return (Vec::new(), serde_json::from_slice(&body).expect("JSON"));
    }
    let mut questions = Vec::new();
    loop {
        let message = stream.message().await.expect("an answer before the end");
        match message.get("method").and_then(Value::as_str) {
            Some(method) if message.get("id").is_some() => {
                let reply =
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": answer_to(method)});
                assert_eq!(client.http.post(reply.to_string()).await.status, 202);
                questions.push(message);
            }
            Some(_) => {}
            None => return (questions, message),
        }
    }
}

/// The same over stdio.
pub async fn call_stdio(client: &mut StdioClient, modern: bool, tool: &str) -> (Vec<Value>, Value) {
    let mut params = json!({"name": tool, "arguments": {}});
    if !modern {
        client.on_request(|method, _| json!({"result": answer_to(method)}));
        let answer = client.request("tools/call", params).await;
        return (std::mem::take(&mut client.requests), answer);
    }
    let mut questions = Vec::new();
    for _ in 0..5 {
        let answer = client
            .request("tools/call", with_meta(params.clone()))
            .await;
        if answer["result"]["resultType"] != "input_required" {
            return (questions, answer);
        }
        retry(&mut params, &answer["result"], &mut questions);
    }
    panic!("asked for ever: {questions:?}");
}

/// Makes params those of the retry with all answers.
pub fn retry(params: &mut Value, result: &Value, questions: &mut Vec<Value>) {
    let asked = result["inputRequests"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut responses = json!({});
    for (key, question) in asked {
        let method = question["method"].as_str().unwrap_or_default();
        responses[key] = answer_to(method);
        questions.push(question);
    }
    params["inputResponses"] = responses;
    params["requestState"] = result["requestState"].clone();
}
