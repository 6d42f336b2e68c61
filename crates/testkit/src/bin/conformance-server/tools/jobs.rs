//! Tools that become tasks for clients with the tasks extension, and run to
//! their end within the call for all others.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::{argument, text};
use crate::asks::Ask;
use crate::exchange::{Exchange, State, Stop};
use crate::modern::require_tasks;
use crate::rpc::RpcError;

const MAX_SECONDS: f64 = 600.0;

pub(super) async fn call(
    exchange: &Exchange,
    name: &str,
    arguments: &Value,
) -> Result<Option<Value>, Stop> {
    let result = match name {
        "greet" => text(format!("Hello, {}!", argument(arguments, "name")?)),
        "slow_compute" => slow_compute(exchange, arguments).await?,
        "failing_job" => failing_job(exchange)?,
        "protocol_error_job" => protocol_error_job(exchange)?,
        "confirm_delete" => {
            let file = argument(arguments, "filename")?;
            let ask = Ask::yes_or_no("confirm", format!("Delete {file}?"), "confirm");
            let ending = format!("{file}: confirmed with");
            asking_job(exchange, vec![ask], ending).await?
        }
        "multi_input" => {
            let asks = vec![
                Ask::text_field("first", "What is the first name?", "name"),
                Ask::text_field("second", "What is the second name?", "name"),
            ];
            asking_job(exchange, asks, "Both inputs:".to_owned()).await?
        }
        "test_tool_with_task" => tool_with_task(exchange).await?,
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// What a task shows as the result of its call.
fn finished(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result
}

async fn slow_compute(exchange: &Exchange, arguments: &Value) -> Result<Value, Stop> {
    let seconds = arguments["seconds"]
        .as_f64()
        .unwrap_or(1.0)
        .clamp(0.0, MAX_SECONDS);
    let label = arguments["label"].as_str().unwrap_or("unnamed");
    let result = text(format!("Computed {label} for {seconds} s"));
    let duration = Duration::from_secs_f64(seconds);
    if seconds > 0.0 && exchange.takes_tasks() {
        let server = &exchange.server;
        let task = server.tasks.start(server, |_| async move {
            sleep(duration).await;
            Ok(finished(result))
        })?;
        return Ok(task);
    }
    sleep(duration).await;
    Ok(result)
}

/// Cannot be had without a task in the modern era.
fn failing_job(exchange: &Exchange) -> Result<Value, Stop> {
    let message = "The job failed, as it always does";
    if exchange.session().is_some() {
        return Err(Stop::Failed(message.to_owned()));
    }
    require_tasks(exchange)?;
    let server = &exchange.server;
    let task = server.tasks.start(server, |_| async move {
        sleep(Duration::from_secs(1)).await;
        let mut result = text(message);
        result["isError"] = true.into();
        Ok(finished(result))
    })?;
    Ok(task)
}

fn protocol_error_job(exchange: &Exchange) -> Result<Value, Stop> {
    let error = RpcError::internal("The job broke down, as it always does");
    if !exchange.takes_tasks() {
        return Err(error.into());
    }
    let server = &exchange.server;
    let task = server.tasks.start(server, |_| async move {
        sleep(Duration::from_millis(200)).await;
        Err(error)
    })?;
    Ok(task)
}

/// Asks all of `asks` at once and reports the answers.
async fn asking_job(exchange: &Exchange, asks: Vec<Ask>, ending: String) -> Result<Value, Stop> {
    if !exchange.takes_tasks() {
        let answers = exchange.gather(&asks, State::Sealed).await?;
        return Ok(text(format!("{ending} {}", Value::from(answers))));
    }
    if let Some(ask) = asks
        .iter()
        .find(|ask| !ask.allowed_by(exchange.capabilities()))
    {
        return Err(RpcError::missing_capability(ask.required()).into());
    }
    let server = &exchange.server;
    let task = server.tasks.start(server, |task| async move {
        let answers = task.gather(&asks).await;
        let text = text(format!("{ending} {}", Value::from(answers)));
        Ok(finished(text))
    })?;
    Ok(task)
}

/// First asks in rounds, then goes on as a task.
async fn tool_with_task(exchange: &Exchange) -> Result<Value, Stop> {
    if exchange.session().is_none() {
        require_tasks(exchange)?;
    }
    let ask = Ask::text_field("user_name", "What is your name?", "name");
    let answers = exchange.gather(&[ask], State::Sealed).await?;
    let name = &answers["user_name"]["content"]["name"];
    let result = text(format!("The task was done for {name}"));
    if exchange.session().is_some() {
        return Ok(result);
    }
    let server = &exchange.server;
    let task = server.tasks.start(server, |_| async move {
        sleep(Duration::from_millis(300)).await;
        Ok(finished(result))
    })?;
    Ok(task)
}
