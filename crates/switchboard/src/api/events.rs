//! `GET events`: what changes, as it changes.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    calls,
    feed::{Topic, Wish},
    state,
};
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use switchboard_api::sessions::Role;

pub(super) fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let sees_all = ask.who.role >= Role::Viewer;
    let topics = topics(ask, sees_all)?;
    let wanted = match ask.word("filter") {
        Some(filter) => Some(calls::wanted(api, &filter)?),
        None => None,
    };
    let since = ask.number("since")?;
    // One place for each who came in by itself: a session of a code, or a principal.
    let holder = match &ask.who.session {
        Some(session) => session.id.clone(),
        None => ask.who.principal.clone(),
    };
    let place = api.streams.take(&holder, true);
    let place = place.map_err(|full| No::too_many(full.to_string()))?;
    let wish = Wish {
        topics,
        only: (!sees_all).then(|| ask.who.principal.clone()),
        wanted,
    };
    let follows = wish.topics.contains(&Topic::State);
    let follows_calls = wish.topics.contains(&Topic::Calls);
    let listener = api.feed.listen(wish, since);
    if follows {
        state::follow(api);
    }
    if follows_calls {
        calls::follow(api);
    }
    // Something at once, so that whoever listens knows that it does.
    let hello = stream::once(async { bytes::Bytes::from_static(b": listening\n\n") });
    let events = stream::unfold((listener, place), async |(listener, place)| {
        let next = listener.next().await?;
        Some((next, (listener, place)))
    });
    Ok(Reply::Events(Box::pin(hello.chain(events))))
}

/// What it is to tell of: all that there is for whoever asks, unless it is said.
fn topics(ask: &Ask, sees_all: bool) -> Result<Vec<Topic>, No> {
    let Some(words) = ask.word("topics") else {
        return Ok(match sees_all {
            true => vec![Topic::State],
            false => vec![Topic::Calls, Topic::Questions],
        });
    };
    let topic = |word: &str| {
        let known = Topic::ALL.into_iter().find(|topic| topic.word() == word);
        let known = known
            .ok_or_else(|| No::invalid("topics are state, calls and questions").field("/topics"))?;
        if known == Topic::State && !sees_all {
            return Err(No::not_allowed("the state wants the role viewer"));
        }
        Ok(known)
    };
    words.split(',').map(topic).collect()
}
