//! A cassette of calls that are kept in memory.

use super::{Answer, Call, Hello, calls_of, text};
use crate::tap::{Secrets, Sees, Tap};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use std::{collections::BTreeMap, sync::Arc};
use switchboard_host::{Client, Host, NoSink, catalog::List};
use switchboard_wire::{Era, Revision};

/// The text of a cassette of these calls, without secrets, as far as their messages are kept:
/// what was said between us and their servers. What servers say of themselves and list is
/// added as it is known now. `sees`: who asks for it; `by`: our version. `is_over`: whether
/// nobody waits for it any more; no further call is copied then.
pub fn export(
    host: &Host,
    tap: &Tap,
    numbers: &[u64],
    sees: Sees,
    by: &str,
    is_over: &dyn Fn() -> bool,
) -> String {
    let mut calls = Vec::new();
    let mut servers: BTreeMap<(String, Era), String> = BTreeMap::new();
    let mut first = None;
    for number in numbers.iter().take_while(|_| !is_over()) {
        let Some(detail) = tap.detail(*number, sees, Secrets::Cut) else {
            continue;
        };
        let Some(server) = detail.call.server.clone() else {
            continue;
        };
        let began = *first.get_or_insert(detail.call.at);
        let messages: Vec<(u64, bool, Bytes)> = detail
            .messages
            .into_iter()
            .filter_map(|one| {
                let from_server = match one.edge.as_str() {
                    "to-server" => false,
                    "from-server" => true,
                    _ => return None,
                };
                Some((one.at / 1000, from_server, Bytes::from(one.text?)))
            })
            .collect();
        for mut call in calls_of(&server, &messages) {
            call.at += detail.call.at.saturating_sub(began);
            let key = (server.clone(), call.era);
            servers.insert(key, detail.call.principal.clone());
            calls.push(call);
        }
    }
    let mut hellos = Vec::new();
    let mut lists = Vec::new();
    for ((server, era), principal) in servers {
        known(
            host,
            &server,
            era,
            &principal,
            &calls,
            &mut hellos,
            &mut lists,
        );
    }
    lists.extend(calls);
    let begun = first.and_then(|at| DateTime::from_timestamp_millis(i64::try_from(at).ok()?));
    text(by, begun.unwrap_or_else(Utc::now), &hellos, &lists)
}

/// What is known of a server without asking it.
fn known(
    host: &Host,
    server: &str,
    era: Era,
    principal: &str,
    calls: &[Call],
    hellos: &mut Vec<Hello>,
    lists: &mut Vec<Call>,
) {
    let servers = host.servers();
    let Some(found) = servers.iter().find(|one| **one.name() == *server) else {
        return;
    };
    let revision = match era {
        Era::Legacy => Revision::NEWEST_LEGACY,
        Era::Modern => Revision::NEWEST,
    };
    let nothing = Bytes::from_static(b"{}");
    let client = Client::new(principal.into(), revision, nothing, Arc::new(NoSink));
    let hello = found
        .hello(&client)
        .filter(|hello| hello.revision.era() == era);
    if let Some(hello) = hello.clone() {
        hellos.push(Hello {
            server: found.name().clone(),
            era,
            params: None,
            result: hello.result,
        });
    }
    for list in List::ALL {
        let method = list.method();
        let is_it = |call: &Call| {
            *call.server == *server && call.era == era && call.method == method.as_str()
        };
        let listing = found.listing(&client, list);
        let (Some(listing), Some(field)) = (listing, method.list_field()) else {
            continue;
        };
        // Of what a server has not declared nothing is asked: that it lists nothing is our
        // word, and not its own.
        let declares = |capability| match &hello {
            Some(hello) => hello.declares(capability),
            None => !listing.items.is_empty(),
        };
        let is_known = match list {
            List::Tools => declares("tools"),
            List::Resources => declares("resources"),
            // Even who has resources need not have these.
            List::Templates => !listing.items.is_empty(),
            List::Prompts => declares("prompts"),
        };
        if !is_known || calls.iter().any(is_it) {
            continue;
        }
        let items: Vec<_> = listing
            .items
            .iter()
            .map(|item| String::from_utf8_lossy(&item.raw))
            .collect();
        let page = format!("{{\"{field}\":[{}]}}", items.join(","));
        lists.push(Call {
            server: found.name().clone(),
            era,
            at: 0,
            took: 0,
            method: method.as_str().to_owned(),
            params: None,
            between: Vec::new(),
            answer: Answer::Result(Bytes::from(page)),
        });
    }
}
