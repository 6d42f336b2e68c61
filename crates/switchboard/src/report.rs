//! How a server is doing, once it has been met: what `list` shows.

use crate::{
    used::used,
    wants_sign_in::{needs_auth, sign_in_hint},
};
use serde_json::value::RawValue;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_agent::{Caller, Dialogue};
pub use switchboard_api::servers::{Health, Report};
use switchboard_host::{
    CallError, Hello, Server, ServerState, Target,
    catalog::{Item, List},
};
use switchboard_local::secret;
use switchboard_model::cost as tool_cost;
use switchboard_wire::{json, meta};
use tokio::time::timeout;

/// Meets a server and counts what it has. `started` is when that began.
pub async fn report(caller: &Caller, server: &Arc<Server>) -> Report {
    let started = Instant::now();
    // Whoever wants to know how it is doing does not need it.
    if *server.state().borrow() == ServerState::Asleep {
        return asleep(caller, server);
    }
    let met = caller.meet(server).await;
    let mut report = match met {
        // Met or not: something of ours may stand in for it.
        _ if needs_auth(server) => Report {
            health: Health::NeedsAuth,
            reason: Some(sign_in_hint(server)),
            ..Report::default()
        },
        Ok(met) => {
            let allowed = server.spec.timeouts.connect;
            count(&met, allowed.saturating_sub(started.elapsed())).await
        }
        Err(fault) => unconnected(fault),
    };
    report.copies = copies(server);
    report.used = used(std::slice::from_ref(server)).await.pop().flatten();
    report.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    report
}

/// What is known of a server that does not run.
fn asleep(caller: &Caller, server: &Arc<Server>) -> Report {
    let met = caller.to(server);
    let tools = met.known_items(List::Tools);
    let hello = met.hello();
    let revision = hello.as_ref().map(|hello| hello.revision);
    Report {
        health: Health::Asleep,
        version: revision.map(|revision| revision.to_string()),
        era: revision.map(|revision| revision.era().to_string()),
        server_info: hello.as_ref().and_then(server_info),
        tokens: tools.as_ref().map(|tools| cost(&met, tools)),
        tools: tools.map(|tools| tools.len()),
        resources: met.known_items(List::Resources).map(|items| items.len()),
        prompts: met.known_items(List::Prompts).map(|items| items.len()),
        copies: copies(server),
        ..Report::default()
    }
}

fn unconnected(fault: CallError) -> Report {
    match fault {
        CallError::NotConnected { reason, .. } => failed(reason),
        fault => failed(fault.to_string()),
    }
}

fn failed(reason: String) -> Report {
    Report {
        reason: Some(secret::text(&reason).into_owned()),
        ..Report::default()
    }
}

async fn count(met: &Dialogue, left: Duration) -> Report {
    let connection = match met.connect().await {
        Ok(connection) => connection,
        Err(fault) => return unconnected(fault),
    };
    let size = async |list: List| match timeout(left, met.listing(list)).await {
        Ok(Ok(listing)) => Some(listing.items.len()),
        Ok(Err(fault)) => {
            tracing::warn!(server = %met.server().name(), %fault, "a list could not be fetched");
            None
        }
        Err(_) => None,
    };
    let tools = async { timeout(left, met.items(List::Tools)).await };
    // As many as may be used.
    let prompts = async {
        size(List::Prompts).await?;
        let items = met.items(List::Prompts).await.ok()?;
        Some(items.len())
    };
    let (tools, resources, prompts) = tokio::join!(tools, size(List::Resources), prompts);
    // What cannot say which tools it has is of no use, however well it shook hands.
    let tools = match tools {
        Ok(Ok(tools)) => tools,
        Ok(Err(CallError::Unreadable { reason, .. })) => return failed(reason),
        Ok(Err(fault)) => return failed(fault.to_string()),
        Err(_) => return failed("tools/list was not answered in time".to_owned()),
    };
    let mut remarks = met.server().remarks().all();
    remarks.extend(met.about_pins());
    Report {
        health: Health::Connected,
        reason: (!remarks.is_empty()).then(|| remarks.join("\n")),
        version: Some(connection.revision().to_string()),
        era: Some(connection.revision().era().to_string()),
        transport: connection.found_transport().map(str::to_owned),
        server_info: connection.hello().and_then(server_info),
        tools: Some(tools.len()),
        resources,
        prompts,
        ms: 0,
        tokens: Some(cost(met, &tools)),
        copies: None,
        used: None,
    }
}

/// How many copies of a server there are now. One inside the program is none of
/// its own.
pub fn copies(server: &Server) -> Option<usize> {
    let target = &server.spec.target;
    let counts = target.is_remote() || matches!(target, Target::Stdio(_) | Target::Far(_));
    counts.then(|| *server.copies().borrow())
}

/// The same in words, where there is more than the one that everybody expects.
pub fn several(copies: Option<usize>, is_process: bool) -> Option<String> {
    let what = if is_process {
        "processes"
    } else {
        "connections"
    };
    copies
        .filter(|copies| *copies > 1)
        .map(|copies| format!("{copies} {what}"))
}

fn cost(met: &Dialogue, tools: &[Arc<Item>]) -> usize {
    let server = met.server().name();
    let costs = tools.iter().map(|item| tool_cost(server, &item.raw));
    costs.sum()
}

/// What the server calls itself, as it wrote it. Modern servers say it in `_meta`.
fn server_info(hello: &Hello) -> Option<Box<RawValue>> {
    let result = &hello.result;
    let found = |source: &[u8], key: &'static str| {
        json::field(source, key)
            .ok()
            .flatten()
            .map(|span| span.of(source).to_vec())
    };
    let text = found(result, "serverInfo")
        .or_else(|| found(&found(result, "_meta")?, meta::SERVER_INFO))?;
    RawValue::from_string(String::from_utf8(text).ok()?).ok()
}
