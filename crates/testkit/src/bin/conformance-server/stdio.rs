//! stdio: one message a line, one client, one process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::conversation::Conversation;
use crate::rpc::RpcError;
use crate::server::Server;

/// Messages that wait to be written.
const MAX_QUEUED: usize = 256;
/// A longer line ends the conversation: its framing can no longer be trusted.
const MAX_LINE: u64 = 16 * 1024 * 1024;

/// Serves until stdin ends.
pub(crate) async fn serve(server: Arc<Server>) -> anyhow::Result<()> {
    let (queue, queued) = mpsc::channel(MAX_QUEUED);
    let writer = tokio::spawn(write(queued));
    let conversation = Conversation::new(server, queue);
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut input)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)
            .await?;
        if length == 0 {
            break;
        }
        anyhow::ensure!(
            line.ends_with(b"\n") || line.len() < usize::try_from(MAX_LINE)?,
            "a line of more than {MAX_LINE} bytes"
        );
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value) => conversation.take(value).await,
            Err(error) => conversation.refuse(RpcError::parse(error)).await,
        }
    }
    // What is still being worked on is dropped; what is already in the queue
    // gets the moment it needs to be written.
    conversation.close();
    drop(conversation);
    let _ = timeout(Duration::from_millis(100), writer).await;
    Ok(())
}

async fn write(mut queued: mpsc::Receiver<Value>) -> std::io::Result<()> {
    let mut output = tokio::io::stdout();
    while let Some(message) = queued.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}
