//! A webhook that is told what waits, and the address at which that is answered once.

use super::{LONG, Stage, calling, text};
use hmac::{Hmac, KeyInit, Mac};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sha2_of_hmac::Sha256;
use std::sync::{Arc, Mutex};
use switchboard_testkit::{HttpClient, world::until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const SECRET: &str = "a secret of the webhook's own";

/// What the webhook got: the head and the body of each request, as they came.
#[derive(Clone, Default)]
struct Got(Arc<Mutex<Vec<(String, String)>>>);

impl Got {
    /// Those that came, once there are so many.
    async fn all(&self, many: usize) -> Vec<(String, String)> {
        let found = until(LONG, || {
            let got = self.0.lock().unwrap();
            (got.len() >= many).then(|| got.clone())
        });
        found.await.expect("the webhook is told")
    }
}

/// A receiver that refuses the first requests so often.
async fn receiver(refuses: usize) -> (String, Got) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    let got = Got::default();
    let kept = got.clone();
    tokio::spawn(async move {
        let mut left = refuses;
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut text = Vec::new();
            let (head, body) = loop {
                let mut chunk = [0; 4096];
                let read = stream.read(&mut chunk).await.unwrap_or(0);
                text.extend_from_slice(&chunk[..read]);
                let all = String::from_utf8_lossy(&text).into_owned();
                if let Some((head, body)) = all.split_once("\r\n\r\n") {
                    let length = header(head, "content-length").unwrap_or_default();
                    if body.len() >= length.parse().unwrap_or(0) || read == 0 {
                        break (head.to_owned(), body.to_owned());
                    }
                }
            };
            kept.0.lock().unwrap().push((head, body));
            let status = match left {
                0 => "204 No Content",
                _ => "503 Service Unavailable",
            };
            left = left.saturating_sub(1);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, got)
}

fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned())
}

async fn stage(refuses: usize) -> (Stage, Got) {
    let (address, got) = receiver(refuses).await;
    let webhook = json!({"address": address, "secret": SECRET});
    let stage = Stage::new(&json!({"askAt": "inbox", "webhook": webhook}), &[]).await;
    (stage, got)
}

/// Answers at the address that the webhook was told.
async fn post(address: &str, answer: &Value) -> (StatusCode, Value) {
    let mut client = HttpClient::new(address);
    let json = [("content-type", "application/json")];
    let reply = client.send(Method::POST, &json, answer.to_string()).await;
    let said = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    (reply.status, said)
}

fn told(body: &str) -> (Value, String) {
    let told: Value = serde_json::from_str(body).unwrap();
    let answer = told["answer"].as_str().unwrap().to_owned();
    (told, answer)
}

/// The signature is what another implementation computes; it is tried again until it is taken.
#[tokio::test]
async fn it_is_signed_and_tried_again() {
    let (stage, got) = stage(2).await;
    let mut client = stage.legacy(&json!({})).await;
    let called = tokio::spawn(async move {
        client
            .call("count", json!({"canary": "in-the-arguments"}))
            .await
    });
    let all = got.all(3).await;
    for (head, body) in &all {
        let timestamp = header(head, "switchboard-timestamp").unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("{timestamp}.{body}").as_bytes());
        let expected: String = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let signature = header(head, "switchboard-signature").unwrap();
        assert_eq!(signature, format!("v1={expected}"));
        assert!(!body.contains("in-the-arguments"), "{body}");
    }
    let (told, address) = told(&all[2].1);
    assert_eq!(told["question"]["name"], "count");
    let (status, said) = post(&address, &json!({"action": "allow"})).await;
    assert_eq!(
        (status.as_u16(), said),
        (200, json!({"status": "answered"}))
    );
    assert_eq!(text(&called.await.unwrap()), "1");
    // Once.
    let (status, said) = post(&address, &json!({"action": "allow"})).await;
    assert_eq!((status.as_u16(), &said["code"]), (410, &json!("gone")));
    assert_eq!(stage.counted().await, "1");
    let ran = stage.world.run(&["audit", "--json"]).await.ok();
    assert!(ran.out.contains("\"by\":\"webhook\""), "{}", ran.out);
}

/// Each address is for its own question, and is over with it.
#[tokio::test]
async fn an_address_answers_its_own_question_in_its_time() {
    let (stage, got) = stage(0).await;
    let first = calling(stage.legacy(&json!({})).await, "count");
    let (_, at_first) = told(&got.all(1).await[0].1);
    let second = calling(stage.legacy(&json!({})).await, "count");
    let (asked, at_second) = told(&got.all(2).await[1].1);
    assert_ne!(at_first, at_second);
    // Somebody else answers the second: its address is of no use any more.
    stage
        .answer(&asked["question"], &json!({"action": "deny"}))
        .await;
    assert!(second.await.unwrap().get("error").is_some());
    assert!(!first.is_finished(), "the first is another question");
    let (status, _) = post(&at_second, &json!({"action": "allow"})).await;
    assert_eq!(status, 410);
    // What is no answer uses nothing up; a guessed address is none.
    let (status, _) = post(&at_first, &json!({"action": "perhaps"})).await;
    assert_eq!(status, 400);
    let guessed = at_first.rsplit_once('/').unwrap().0.to_owned() + "/0123456789abcdef";
    let (status, _) = post(&guessed, &json!({"action": "allow"})).await;
    assert_eq!(status, 410);
    let (status, _) = post(&at_first, &json!({"action": "allow"})).await;
    assert_eq!(status, 200);
    assert_eq!(text(&first.await.unwrap()), "1");
    assert_eq!(stage.counted().await, "1");
}
