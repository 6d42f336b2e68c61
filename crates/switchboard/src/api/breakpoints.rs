//! Breakpoints: which calls are held on their way, set and removed. What they hold is
//! answered as all that waits for a person is (`questions.rs`). They are there for somebody
//! who looks: when nobody has for a while, they are removed.

mod list;

pub(super) use list::List;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    calls,
};
use std::{sync::Arc, time::Instant};
use switchboard_api::{
    breakpoints::{Breakpoints, SetBreakpoint},
    events::Event,
    sessions::Role,
};
use switchboard_host::desk;
use switchboard_record::audit::Record;

/// Answers.
pub(super) fn answer(api: &Api, ask: &Ask) -> Answer {
    let list = api.breakpoints.as_ref();
    let list = list.ok_or_else(|| No::unavailable("this gateway keeps no calls"))?;
    looks(api, ask);
    match (ask.route.verb, ask.part()) {
        ("POST", _) => {
            let set: SetBreakpoint = ask.body()?;
            // Nobody holds everything by saying nothing.
            if set.filter.trim().is_empty() {
                let hint = "every tool is tool:*";
                return Err(No::invalid("a filter is needed")
                    .field("/filter")
                    .hint(hint));
            }
            let filter = calls::read_filter(&set.filter)?;
            if filter.is_of_own() {
                let text = "a breakpoint holds calls of clients, and this is for our own alone";
                return Err(No::invalid(text).field("/filter"));
            }
            list.add(api.host.desk(), filter, &set, &ask.who.recorded())?;
            recorded(api, ask, "set", &set.filter);
        }
        ("DELETE", "") => {
            for filter in list.remove_all(api.host.desk()) {
                recorded(api, ask, "removed", &filter);
            }
        }
        ("DELETE", id) => {
            let none = || No::not_found(format!("there is no breakpoint {id}"));
            let number = id.parse().map_err(|_| none())?;
            let filter = list.remove(api.host.desk(), number).ok_or_else(none)?;
            recorded(api, ask, "removed", &filter);
        }
        _ => return Reply::json(&state(api)),
    }
    tell(api);
    Reply::json(&state(api))
}

/// How they are now.
pub(super) fn state(api: &Api) -> Breakpoints {
    let list = api.breakpoints.as_ref();
    list.map_or_else(Breakpoints::default, |list| list.state(api.host.desk()))
}

/// Somebody looks who may let go what is held.
pub(super) fn looks(api: &Api, ask: &Ask) {
    if let Some(list) = api.breakpoints.as_ref()
        && ask.who.role >= Role::Operator
    {
        list.look(Instant::now());
    }
}

/// Tells those who listen how they are now.
pub(super) fn tell(api: &Api) {
    let breakpoints = state(api);
    api.feed.tell(Event::Breakpoints { breakpoints }, None);
}

/// Removes them where nobody looks any more.
pub(super) fn look_after(api: &Api) {
    let Some(list) = &api.breakpoints else { return };
    if !list.is_left(api.host.desk(), Instant::now()) {
        return;
    }
    for filter in list.remove_all(api.host.desk()) {
        let record = Record::new("breakpoint").plain("change", "removed");
        let record = record.with("filter", filter);
        api.watching.record(record.plain("by", "nobody looked"));
    }
    tracing::info!("breakpoints are removed: nobody looks any more");
    tell(api);
}

/// Whether a question is about something that is held.
pub(super) fn is_held(question: &desk::Question) -> bool {
    question.kind == desk::Kind::Held
}

fn recorded(api: &Api, ask: &Ask, change: &'static str, filter: &str) {
    let record = Record::new("breakpoint").plain("change", change);
    api.record(ask, record.with("filter", filter));
}

/// What says which calls are held, for a host whose calls are listed.
pub(super) fn begin(api: &Api) {
    if let Some(list) = &api.breakpoints {
        let breaks: Arc<dyn desk::Breaks> = list.clone();
        api.host.desk().set_breaks(breaks);
    }
}
