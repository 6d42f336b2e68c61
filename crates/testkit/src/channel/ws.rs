//! A client over WebSocket.

use super::{Channel, Order};
use futures_util::{SinkExt, StreamExt};
use http::header;
use tokio::net::TcpStream;
use tokio::sync::mpsc::unbounded_channel;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// A WebSocket to `ws://host:port/path` with these headers besides the subprotocol.
///
/// # Errors
/// When the handshake fails.
///
/// # Panics
/// When the address is none.
pub async fn dial_ws(
    url: &str,
    headers: &[(&str, &str)],
) -> Result<WebSocketStream<TcpStream>, tokio_tungstenite::tungstenite::Error> {
    let mut request = url.into_client_request()?;
    let mcp = http::HeaderValue::from_static("mcp");
    request
        .headers_mut()
        .insert(header::SEC_WEBSOCKET_PROTOCOL, mcp);
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().expect("a header's name");
        request
            .headers_mut()
            .insert(name, value.parse().expect("a header's value"));
    }
    let authority = request.uri().authority().expect("a host").to_string();
    let socket = TcpStream::connect(authority).await?;
    Ok(client_async(request, socket).await?.0)
}

impl Channel {
    /// A client of `ws://…`.
    ///
    /// # Panics
    /// When the handshake fails.
    pub async fn ws(url: &str, headers: &[(&str, &str)]) -> Self {
        let socket = dial_ws(url, headers).await.expect("the handshake succeeds");
        let (mut sink, mut stream) = socket.split();
        let (orders, mut sending) = unbounded_channel();
        let (received, incoming) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(order) = sending.recv().await {
                if let Order::Send(message) = order
                    && sink.send(Message::text(message.to_string())).await.is_err()
                {
                    return;
                }
            }
            let _ = sink.close().await;
        });
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if let Message::Text(text) = message
                    && let Ok(message) = serde_json::from_str(&text)
                {
                    let _ = received.send(message);
                }
            }
        });
        Self::over(orders, incoming)
    }
}
