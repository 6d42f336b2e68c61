//! Sessions that end, where that takes its time or cannot be written.

use crate::support::served::Served;
use http::{Method, StatusCode};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use switchboard_gateway::{GatewayOptions, Keeping};
use switchboard_ledger::{Clock, Faulty, Lives, Memory};
use switchboard_testkit::HttpClient;

async fn served() -> (Served, Arc<Faulty>) {
    let ledger = Arc::new(Faulty::new(Arc::new(Memory::new(Clock::wall()))));
    let keeping = Keeping::new(ledger.clone(), Lives::alone().unwrap());
    let options = GatewayOptions {
        keeping: Some(keeping),
        ..GatewayOptions::default()
    };
    (Served::with(&json!({}), options).await, ledger)
}

fn beside(served: &Served, client: &HttpClient) -> HttpClient {
    let mut other = served.client("/mcp");
    other.headers = client.headers.clone();
    other
}

async fn ping(client: &mut HttpClient) -> StatusCode {
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    client.post(ping.to_string()).await.status
}

/// A client asks for its stream again as soon as that ends, and it ends before it is
/// written that the session has.
#[tokio::test]
async fn nobody_brings_back_a_session_while_it_ends() {
    let (served, ledger) = served().await;
    let mut client = served.legacy("/mcp").await;
    let mut stream = beside(&served, &client).listen().await;
    ledger.removes_after(Duration::from_secs(1));
    let (mut deleting, mut reading) = (beside(&served, &client), beside(&served, &client));
    let asked = async {
        while stream.next().await.is_some() {}
        reading.listen().await.status
    };
    let (ended, again) = tokio::join!(deleting.send(Method::DELETE, &[], ""), asked);
    assert_eq!(ended.status, StatusCode::OK);
    assert_eq!(again, StatusCode::NOT_FOUND);
    assert_eq!(ping(&mut client).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_session_has_ended_although_that_cannot_be_written() {
    let (served, ledger) = served().await;
    let mut client = served.legacy("/mcp").await;
    assert_eq!(ping(&mut client).await, StatusCode::OK);
    ledger.is_away(true);
    let ended = client.send(Method::DELETE, &[], "").await;
    assert_eq!(ended.status, StatusCode::OK);
    assert_eq!(ping(&mut client).await, StatusCode::NOT_FOUND);
    ledger.is_away(false);
    assert_eq!(ping(&mut client).await, StatusCode::NOT_FOUND);
}
