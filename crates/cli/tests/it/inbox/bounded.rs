//! How much can wait at once.

use super::Stage;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

/// The 65th question of a principal is refused, and says which cap it met; what waits is
/// answered as ever.
#[tokio::test]
async fn so_many_of_one_principal_and_no_more() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut calls = JoinSet::new();
    for _ in 0..64 {
        let mut client = stage.legacy(&json!({})).await;
        client.deadline = Duration::from_secs(120);
        calls.spawn(async move { client.call("count", json!({})).await });
    }
    let limit = tokio::time::Instant::now() + super::LONG;
    while stage.waiting().await.len() < 64 {
        assert!(tokio::time::Instant::now() < limit, "not all of them wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut client = stage.legacy(&json!({})).await;
    let answer = client.call("count", json!({})).await;
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(
        told.contains("too many questions of this principal"),
        "{told}"
    );
    for question in stage.waiting().await {
        let (status, _) = stage.answer(&question, &json!({"action": "allow"})).await;
        assert_eq!(status, 200);
    }
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert_eq!(stage.counted().await, "64");
}
