//! Tools that send notifications: progress, log messages, changes of the
//! lists. And the one that drops its own connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::{argument, text};
use crate::changes::Change;
use crate::exchange::{Exchange, Stop};
use crate::log_level::LogLevel;
use crate::outlet::Outlet;

/// Between two notifications of one call.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn call(
    exchange: &Exchange,
    name: &str,
    arguments: &Value,
) -> Result<Option<Value>, Stop> {
    let server = &exchange.server;
    let result = match name {
        "test_tool_with_logging" | "test_logging_tool" => {
            exchange.log(LogLevel::INFO, "Tool execution started").await;
            sleep(PAUSE).await;
            exchange.log(LogLevel::INFO, "Tool processing data").await;
            sleep(PAUSE).await;
            exchange
                .log(LogLevel::INFO, "Tool execution completed")
                .await;
            text("Tool with logging executed successfully")
        }
        "test_tool_with_progress" => {
            exchange.progress(0, 100, "Started").await;
            sleep(PAUSE).await;
            exchange.progress(50, 100, "Half way").await;
            sleep(PAUSE).await;
            exchange.progress(100, 100, "Done").await;
            text("Tool with progress executed successfully")
        }
        "test_reconnection" => {
            disconnect(exchange);
            sleep(2 * PAUSE).await;
            text("Reconnection test completed: this came after the stream was closed")
        }
        "test_trigger_tool_change" => {
            flip(&server.extra_tool);
            server.changes.publish(&Change::Tools);
            text("The list of tools has changed")
        }
        "test_trigger_prompt_change" => {
            flip(&server.extra_prompt);
            server.changes.publish(&Change::Prompts);
            text("The list of prompts has changed")
        }
        "test_trigger_resource_change" => {
            flip(&server.extra_resource);
            server.changes.publish(&Change::Resources);
            text("The list of resources has changed")
        }
        "test_update_resource" => {
            let uri = argument(arguments, "uri")?;
            server.changes.publish(&Change::Resource(uri.to_owned()));
            text(format!("{uri} has changed"))
        }
        "test_close_subscriptions" => {
            server.changes.close_all().await;
            text("All subscriptions have been ended")
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// Closes the connection but not the stream, where the client is able to come
/// back: it needs the priming event's id for that.
fn disconnect(exchange: &Exchange) {
    if let (Some(session), Outlet::Stream(stream)) = (exchange.session(), &exchange.outlet)
        && session.revision.primes_streams()
    {
        stream.disconnect();
    }
}

fn flip(flag: &AtomicBool) {
    flag.fetch_xor(true, Ordering::Relaxed);
}
