//! Calls, what is kept of their messages, and cassettes of them.

mod export;
mod follow;
mod handing;
mod make;
mod replay;
mod search;

pub(super) use follow::follow;
pub(super) use search::{Searches, aside, shortly, until_left};

/// Somebody of this principal, as lists are seen.
pub(super) fn client(principal: &str) -> Client {
    make::client(principal, None)
}

/// Somebody who hears of what no call of theirs is about.
pub(super) fn listening(who: &Who, ear: Arc<dyn ClientSink>) -> Client {
    make::client_with(make::caller(who), None, ear)
}

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::{Ask, Who},
    feed::Wanted,
    questions,
};
use crate::{limits, watching::Tapping};
use std::{collections::HashMap, sync::Arc};
use switchboard_api::{
    calls::{Call, Made, Page},
    filter::Filter,
    insight::{SetTap, TapState},
    sessions::Role,
};
use switchboard_host::{
    Client, ClientSink,
    catalog::{List, Merged},
};
use switchboard_record::{
    audit::Record,
    tap::{GATEWAY, Secrets, Sees},
};
use switchboard_wire::Method;

/// Reads a page of a server's, as a call that is listed as all are.
pub(super) async fn read_page(
    api: &Arc<Api>,
    ask: &Ask,
    server: &str,
    uri: &str,
    confirmed: bool,
) -> Result<Made, No> {
    let tapping = tapping(api)?;
    let wanted = make::Wanted {
        server: make::server(api, server)?,
        method: Method::ResourcesRead,
        params: serde_json::json!({ "uri": uri }).to_string(),
        era: None,
        confirmed,
        replay_of: None,
    };
    tapping.tap.look();
    make::run(api, tapping, &ask.who, wanted).await
}

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let tapping = tapping(api)?;
    match (ask.route.verb, ask.route.path) {
        ("GET", "calls") => page(api, tapping, ask).await,
        ("GET", "calls/{id}") => {
            looks(tapping, ask);
            detail(api, tapping, ask, Secrets::Cut).await
        }
        ("POST", "calls/{id}/reveal") => reveal(api, tapping, ask).await,
        ("POST", "calls") => make::answer(api, tapping, ask).await,
        ("POST", "calls/{id}/replay") => replay::answer(api, tapping, ask).await,
        ("DELETE", "calls/{id}") => give_up(tapping, ask),
        ("GET", "tap") => Reply::json(&state(api)),
        ("POST", "tap") => set_tap(api, tapping, ask),
        ("GET", "export") => export::answer(api, tapping, ask).await,
        _ => Err(No::unavailable("this gateway has no such thing")),
    }
}

fn tapping(api: &Api) -> Result<&Tapping, No> {
    let tapping = api.watching.tap();
    tapping.ok_or_else(|| No::unavailable("this gateway keeps no calls"))
}

/// Whether messages are kept.
pub(super) fn state(api: &Api) -> TapState {
    let tapping = api.watching.tap();
    let state = tapping.map(|tapping| tapping.tap.state());
    let folder = api.watching.cassettes();
    TapState {
        record: folder.map(|folder| folder.display().to_string()),
        ..state.unwrap_or_default()
    }
}

/// Somebody looks at calls: their messages are kept for a while. A client's own token
/// has nothing kept of others.
fn looks(tapping: &Tapping, ask: &Ask) {
    if ask.who.role >= Role::Viewer {
        tapping.tap.look();
    }
}

pub(super) fn read_filter(text: &str) -> Result<Filter, No> {
    Filter::parse(text).map_err(|wrong| {
        let hint = "server:git tool:*delete* >200ms error -client:cursor \"text in a message\"";
        No::invalid(format!("the filter: {wrong}"))
            .field("/filter")
            .hint(hint)
    })
}

/// Which calls a listener wants. What stands in messages is not looked for here: each
/// event would have them all searched.
pub(super) fn wanted(filter: &str) -> Result<Wanted, No> {
    let filter = read_filter(filter)?;
    if filter.needs_messages() {
        let text = "the filter: events are not searched for a text in quotes";
        let hint =
            "listen without it, and ask for the calls that match: GET calls?filter=…&only=ID";
        return Err(No::invalid(text).field("/filter").hint(hint));
    }
    Ok(Box::new(move |call| filter.matches(call, &mut |_| false)))
}

/// `GET calls`.
async fn page(api: &Arc<Api>, tapping: &Tapping, ask: &Ask) -> Answer {
    let filter = read_filter(&ask.word("filter").unwrap_or_default())?;
    let before = ask.number("before")?.unwrap_or(u64::MAX);
    let only = ask.number("only")?;
    let most = ask
        .number("limit")?
        .unwrap_or(limits::API_CALLS_PAGE as u64);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let most = most.clamp(1, limits::API_CALLS_MOST);
    looks(tapping, ask);
    let mut page = Page {
        dropped: tapping.tap.dropped(),
        ..Page::default()
    };
    let repeatable = Repeatable::known(api);
    let look = move |looking: &search::Looking| {
        for mut call in looking.calls(only) {
            page.total += 1;
            // Looking into messages takes its time: a page of what they say is enough.
            let is_older = call.id < before;
            if looking.needs_messages() && (!is_older || page.partial) {
                continue;
            }
            if looking.is_enough() {
                (page.partial, page.more) = (true, true);
                page.next = Some(call.id + 1);
                continue;
            }
            if !looking.wants(&call) {
                continue;
            }
            page.matching += 1;
            match (is_older, page.calls.len() < most) {
                (false, _) => {}
                (true, true) => {
                    repeatable.mark(&mut call);
                    page.calls.push(call);
                }
                (true, false) => {
                    page.more = true;
                    page.partial = looking.needs_messages();
                    page.next = page.calls.last().map(|last| last.id);
                }
            }
        }
        page
    };
    let turns = match filter.needs_messages() {
        true => &api.searches,
        false => &api.looks,
    };
    let page = search::look(turns, &tapping.tap, filter, ask, look);
    Reply::json(&page.await?)
}

/// The number in a path, if it is that of a call which whoever asks may see. Another's is
/// as one that is not there.
fn visible(tapping: &Tapping, ask: &Ask) -> Result<Call, No> {
    let none = || No::not_found(format!("there is no call {}", ask.part()));
    let number = ask.part().parse().map_err(|_| none())?;
    let call = tapping.tap.call(number);
    let call = call.filter(|call| ask.who.may_see(&call.principal));
    call.ok_or_else(none)
}

/// What of a call's messages somebody sees who may see the call.
fn sees(who: &Who) -> Sees {
    match who.role >= Role::Viewer {
        true => Sees::All,
        false => Sees::Own,
    }
}

/// `GET calls/{id}`.
async fn detail(api: &Api, tapping: &Tapping, ask: &Ask, secrets: Secrets) -> Answer {
    let call = visible(tapping, ask)?;
    let repeatable = Repeatable::of_server(api, call.server.as_deref()).await;
    let address = api.address.get().copied();
    let (tap, sees) = (tapping.tap.clone(), sees(&ask.who));
    let waited = questions::of_call(api, call.id);
    let read = move || {
        let gone = || No::gone(format!("call {} is not kept any more", call.id));
        let mut detail = tap.detail(call.id, sees, secrets).ok_or_else(gone)?;
        repeatable.mark(&mut detail.call);
        detail.waited = waited;
        if let (Some(curl), Some(address)) = (&mut detail.copies.curl, address) {
            *curl = curl.replace(GATEWAY, &format!("http://{address}"));
        }
        Reply::json(&detail)
    };
    let bytes = tapping.tap.weight(call.id);
    aside(&api.readings, &ask.who, bytes, read).await?
}

/// `POST calls/{id}/reveal`: the second act, which is put on record.
async fn reveal(api: &Api, tapping: &Tapping, ask: &Ask) -> Answer {
    let call = visible(tapping, ask)?;
    let who = ask.who.recorded();
    tracing::warn!(call = call.id, who, "the secrets of a call are shown");
    api.watching.record(
        Record::new("reveal")
            .with("call", call.id)
            .with("who", who)
            .with("principal", call.principal.clone())
            .with("server", call.server.clone()),
    );
    detail(api, tapping, ask, Secrets::Shown).await
}

/// `DELETE calls/{id}`.
fn give_up(tapping: &Tapping, ask: &Ask) -> Answer {
    let call = visible(tapping, ask)?;
    if !tapping.give_up(call.id) {
        let text = format!("call {} is none that is being made over the API", call.id);
        return Err(No::conflict(text));
    }
    Reply::json(&call)
}

/// `POST tap`.
fn set_tap(api: &Api, tapping: &Tapping, ask: &Ask) -> Answer {
    let set: SetTap = ask.body()?;
    match set.armed {
        true => tapping.tap.look(),
        false => tapping.tap.rest(),
    }
    if set.clear {
        tapping.tap.clear();
    }
    Reply::json(&state(api))
}

/// Tools that say of themselves that they change nothing, or that twice is as once, as far
/// as lists are known.
struct Repeatable(HashMap<(String, String), bool>);

impl Repeatable {
    /// Of lists that are known already.
    fn known(api: &Api) -> Self {
        let client = make::client(make::CONSOLE, None);
        Self::of(&api.host.known(&client, List::Tools))
    }

    /// Of lists that are known, and of this server's, which says what it has if it can be
    /// asked: whether a call may be made again is shown beside it.
    async fn of_server(api: &Api, server: Option<&str>) -> Self {
        let client = Arc::new(make::client(make::CONSOLE, None));
        let server = server.and_then(|name| api.host.server(name));
        let connected = server.filter(|server| server.current(&client).is_some());
        if let Some(server) = connected {
            let lists = &[List::Tools];
            api.host
                .refresh_some(&[server], &client, lists, false)
                .await;
        }
        Self::of(&api.host.known(&client, List::Tools))
    }

    /// Of lists that are asked for where they are not known.
    async fn asked(api: &Api) -> Self {
        let client = Arc::new(make::client(make::CONSOLE, None));
        let merged = api.host.merged(&client, List::Tools).await;
        Self::of(&merged)
    }

    fn of(merged: &Merged) -> Self {
        let each = merged.iter().map(|item| {
            let key = (item.server.name().to_string(), item.item.key.clone());
            (key, says_repeatable(&item.item.raw))
        });
        Self(each.collect())
    }

    fn mark(&self, call: &mut Call) {
        call.repeatable = self.is(call);
    }

    /// Whether a call can be made again without harm: what is no call of a tool only reads.
    fn is(&self, call: &Call) -> bool {
        if call.method != Method::ToolsCall.as_str() {
            return true;
        }
        let (Some(server), Some(name)) = (&call.server, &call.name) else {
            return false;
        };
        let known = self.0.get(&(server.clone(), name.clone()));
        known.copied().unwrap_or(false)
    }
}

fn says_repeatable(definition: &[u8]) -> bool {
    use switchboard_wire::json;
    let annotations = json::field(definition, "annotations").ok().flatten();
    let annotations = annotations.map_or(&b"{}"[..], |span| span.of(definition));
    ["readOnlyHint", "idempotentHint"].into_iter().any(|hint| {
        let said = json::field(annotations, hint).ok().flatten();
        said.is_some_and(|span| span.of(annotations) == b"true")
    })
}
