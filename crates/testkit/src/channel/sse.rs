//! A client over HTTP+SSE.

use super::{Channel, Order};
use crate::http_client::HttpClient;
use http::Method;
use tokio::sync::mpsc::unbounded_channel;

impl Channel {
    /// A client of the stream at `http://…/sse`.
    ///
    /// # Panics
    /// When there is no stream, or it names no endpoint first.
    pub async fn sse(url: &str, headers: &[(&str, &str)]) -> Self {
        let client = |url: &str| {
            let start = HttpClient::new(url);
            headers
                .iter()
                .fold(start, |client, (name, value)| client.header(name, value))
        };
        let mut opening = client(url);
        let accept = [("accept", "text/event-stream")];
        let mut stream = opening.open(Method::GET, &accept, "").await;
        assert_eq!(stream.status, 200, "no stream");
        let first = stream.next().await.expect("a first event");
        assert_eq!(first.name.as_deref(), Some("endpoint"));
        let path = String::from_utf8(first.data.unwrap_or_default()).expect("a path");
        let mut posting = client(&format!("http://{}{path}", opening.authority())).keep_alive();
        let (orders, mut sending) = unbounded_channel();
        let (received, incoming) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(order) = sending.recv().await {
                if let Order::Send(message) = order {
                    let sent = posting.try_send(Method::POST, &[], message.to_string().into());
                    if sent.await.is_err() {
                        return;
                    }
                }
            }
        });
        let reading = tokio::spawn(async move {
            while let Some(event) = stream
                .next_within(std::time::Duration::from_secs(3600))
                .await
            {
                if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                    let _ = received.send(event.json());
                }
            }
        });
        Self::over(orders, incoming).keeping(Reading(reading.abort_handle()))
    }
}

/// The stream ends with the client.
struct Reading(tokio::task::AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}
