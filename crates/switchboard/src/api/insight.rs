//! Times, what lists cost a model, and how much is logged.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    calls,
};
use crate::watching::Uses;
use std::{collections::BTreeSet, sync::Arc};
use switchboard_api::insight::{Bill, List as Listed, Log, Metrics, SetLog, TapState, Unused};
use switchboard_host::catalog::{List, Merged};
use switchboard_model::cost;
use switchboard_process as process;
use switchboard_record::{audit::Record, tap::quoted};

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    match ask.route.path {
        "metrics" => metrics(api, ask).await,
        "log" => log(api, ask),
        _ => bill(api).await,
    }
}

/// Whether messages are kept.
pub(super) fn tap(api: &Api) -> TapState {
    calls::state(api)
}

/// `GET metrics`.
async fn metrics(api: &Api, ask: &Ask) -> Answer {
    let counting = api.watching.counting();
    let counting = counting.ok_or_else(|| {
        No::unavailable("this gateway counts nothing").hint("it was started with --metrics off")
    })?;
    let (seconds, lines) = counting.calls().lines();
    let budget = api.host.budget();
    // What processes use is read from files.
    let own = calls::shortly(&api.looks, &ask.who, process::own_usage).await?;
    Reply::json(&Metrics {
        seconds,
        lines,
        in_flight: budget.calls(),
        parked: ask.here.parked,
        budget: (budget.used() as u64, budget.cap() as u64),
        memory: Some(own.memory),
    })
}

/// `GET log`, `POST log`.
fn log(api: &Api, ask: &Ask) -> Answer {
    let log = api.watching.log.as_ref();
    if ask.route.verb == "POST" {
        let wanted: SetLog = ask.body()?;
        if wanted.filter.trim().is_empty() {
            return Err(No::invalid("a level is needed").field("/filter"));
        }
        let log = log.ok_or_else(unlogged)?;
        let set = log.set(&wanted.filter);
        set.map_err(|wrong| No::invalid(wrong.to_string()).field("/filter"))?;
        let record = Record::new("log").with("filter", log.now());
        api.record(ask, record);
    }
    let log = log.ok_or_else(unlogged)?;
    Reply::json(&Log {
        log: log.now(),
        file: log.file().map(|file| file.display().to_string()),
    })
}

fn unlogged() -> No {
    No::unavailable("nothing is logged here")
}

/// `GET bill`: of every principal that was here, and of whoever needs no token.
async fn bill(api: &Arc<Api>) -> Answer {
    let tapping = api.watching.tap();
    let tapping = tapping.ok_or_else(|| No::unavailable("this gateway keeps no calls"))?;
    let uses = tapping.uses();
    uses.look();
    let visitors = api.visitors.now();
    let mut principals: BTreeSet<String> = visitors
        .into_iter()
        .map(|visitor| visitor.principal)
        .collect();
    if principals.is_empty() {
        principals.insert("default".to_owned());
    }
    let mut bill = Bill {
        lists: Vec::new(),
        days: uses.days(),
    };
    for principal in principals {
        let client = Arc::new(calls::client(&principal));
        let merged = api.host.merged(&client, List::Tools).await;
        bill.lists.push(listed(principal, &merged, uses));
    }
    Reply::json(&bill)
}

/// What one principal's list costs, and what of it nobody used.
fn listed(principal: String, items: &Merged, uses: &Uses) -> Listed {
    let mut list = Listed {
        tools: items.len(),
        ..Listed::default()
    };
    for item in items.iter() {
        let tokens = cost(item.server.name(), &item.item.raw);
        list.tokens += tokens;
        let (server, tool) = (item.server.name(), &item.item.key);
        if uses.last(server, tool).is_none() {
            list.unused_tokens += tokens;
            list.unused.push(Unused {
                server: server.to_string(),
                tool: format!("mcp__{}", item.outward),
                tokens,
            });
        }
    }
    list.unused
        .sort_by_key(|unused| std::cmp::Reverse(unused.tokens));
    if !list.unused.is_empty() {
        list.defer = Some(match principal.as_str() {
            "default" | "anonymous" => "switchboard up --tools search".to_owned(),
            token => {
                let chosen = quoted(&format!("{token}=search"));
                format!("switchboard up --tools {chosen}")
            }
        });
        list.hide = Some(format!(
            "switchboard stats --bill --hide {}",
            quoted(&principal)
        ));
    }
    list.principal = principal;
    list
}
