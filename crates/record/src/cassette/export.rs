//! A cassette of calls that are kept in memory.

use super::{
    Answer, Call, Hello, calls_of,
    file::{first_line, line_of},
};
use crate::tap::{Secrets, Sees, Tap};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use std::{collections::BTreeMap, sync::Arc};
use switchboard_host::{Client, Host, NoSink, catalog::List};
use switchboard_wire::{Era, Method, Revision};

/// Calls whose messages are kept, as a cassette: what was said between us and their servers,
/// without secrets, and what servers say of themselves and list, as it is known now.
#[derive(Clone, Copy, Debug)]
pub struct Export<'a> {
    /// Whose servers they are.
    pub host: &'a Host,
    /// Where their messages are kept.
    pub tap: &'a Tap,
    /// Which calls.
    pub numbers: &'a [u64],
    /// Who asks for it.
    pub sees: Sees,
    /// Our version.
    pub by: &'a str,
}

/// What calls there are of a server.
#[derive(Default)]
struct Met {
    /// Who made the last of them.
    principal: String,
    /// What it was asked to list.
    lists: Vec<List>,
}

impl Export<'_> {
    /// Writes it line by line, so that no more than one call is in memory once more. `put`
    /// takes a line, and says whether the next is wanted; `is_over`: whether nobody waits for it
    /// any more.
    pub fn write(&self, put: &mut dyn FnMut(String) -> bool, is_over: &dyn Fn() -> bool) {
        // Twice: the first line names the servers, and lists come before calls.
        let mut met: BTreeMap<(String, Era), Met> = BTreeMap::new();
        let mut first = None;
        for number in self.numbers.iter().take_while(|_| !is_over()) {
            let Some((call, calls)) = self.calls(*number, Secrets::Shown) else {
                continue;
            };
            first.get_or_insert(call.at);
            for one in calls {
                let key = (one.server.to_string(), one.era);
                let met = met.entry(key).or_default();
                met.principal.clone_from(&call.principal);
                met.lists.extend(List::of(Method::parse(&one.method)));
            }
        }
        let (mut hellos, mut lists) = (Vec::new(), Vec::new());
        for ((server, era), met) in &met {
            self.known(server, *era, met, &mut hellos, &mut lists);
        }
        let begun = first.and_then(|at| DateTime::from_timestamp_millis(i64::try_from(at).ok()?));
        let begun = begun.unwrap_or_else(Utc::now);
        if !put(first_line(self.by, begun, hellos))
            || !lists.into_iter().map(line_of).all(&mut *put)
        {
            return;
        }
        for number in self.numbers.iter().take_while(|_| !is_over()) {
            let Some((call, calls)) = self.calls(*number, Secrets::Cut) else {
                continue;
            };
            let later = call.at.saturating_sub(first.unwrap_or(call.at));
            let mut lines = calls.into_iter().map(|mut one| {
                one.at += later;
                line_of(one)
            });
            if !lines.all(&mut *put) {
                return;
            }
        }
    }

    /// A call, and what it was at its server.
    fn calls(
        &self,
        number: u64,
        secrets: Secrets,
    ) -> Option<(switchboard_api::calls::Call, Vec<Call>)> {
        let call = self.tap.call(number)?;
        let messages = self.tap.at_server(number, self.sees, secrets)?;
        let calls = calls_of(call.server.as_deref()?, &messages);
        Some((call, calls))
    }

    /// What is known of a server without asking it.
    fn known(
        &self,
        server: &str,
        era: Era,
        met: &Met,
        hellos: &mut Vec<Hello>,
        lists: &mut Vec<Call>,
    ) {
        let servers = self.host.servers();
        let Some(found) = servers.iter().find(|one| **one.name() == *server) else {
            return;
        };
        let revision = match era {
            Era::Legacy => Revision::NEWEST_LEGACY,
            Era::Modern => Revision::NEWEST,
        };
        let nothing = Bytes::from_static(b"{}");
        let client = Client::new((*met.principal).into(), revision, nothing, Arc::new(NoSink));
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
            if !is_known || met.lists.contains(&list) {
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
}
