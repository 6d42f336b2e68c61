//! Calls as they begin and end, for those who listen. The list is looked at, so that no
//! call has to tell.

use super::super::{Api, feed::Topic};
use crate::limits;
use std::sync::{Arc, Weak};
use switchboard_api::events::Event;
use switchboard_tasks as tasks;

/// Tells of calls from now on, for as long as anybody listens. Whoever calls this listens
/// already.
pub(in super::super) fn follow(api: &Arc<Api>) {
    let Some(tapping) = api.watching.tap() else {
        return;
    };
    if api.feed.is_watched(Topic::Calls) {
        tapping.tap.look();
    }
    if tapping.begins_to_follow() {
        let (changes, _) = tapping.tap.since(u64::MAX);
        tasks::spawn(tasks::Kind::Upkeep, look(Arc::downgrade(api), changes));
    }
}

async fn look(api: Weak<Api>, mut changes: u64) {
    let mut state = None;
    loop {
        tokio::time::sleep(limits::API_CALLS_LOOK).await;
        let Some(api) = api.upgrade() else { return };
        let Some(tapping) = api.watching.tap() else {
            return;
        };
        if !api.feed.is_heard(Topic::Calls) {
            tapping.ends_to_follow();
            return;
        }
        // Somebody looks. A client's own token has nothing kept of others.
        if api.feed.is_watched(Topic::Calls) {
            tapping.tap.look();
        }
        let (now, changed) = tapping.tap.since(changes);
        changes = now;
        for call in changed {
            let whose = Some(Arc::from(call.principal.as_str()));
            let call = Box::new(call);
            api.feed.tell(Event::Call { call }, whose);
            // Whoever listens takes some of them before there are too many.
            tokio::task::yield_now().await;
        }
        let armed = tapping.tap.state();
        if state.as_ref() != Some(&(armed.armed, armed.by.clone())) {
            state = Some((armed.armed, armed.by.clone()));
            api.feed.tell(Event::Tap { tap: armed }, None);
        }
    }
}
