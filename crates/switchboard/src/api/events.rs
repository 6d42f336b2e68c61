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
        Some(filter) => Some(calls::wanted(&filter)?),
        None => None,
    };
    let since = ask.number("since")?;
    let holder = ask.who.holder();
    let place = match ask.who.role >= Role::Operator {
        true => api.streams.take_first(&holder, true),
        false => api.streams.take(&holder, true),
    };
    let place = place.map_err(|full| No::too_many(full.to_string()))?;
    let wish = Wish {
        topics,
        only: (!sees_all).then(|| ask.who.principal.clone()),
        wanted,
    };
    let follows = wish.topics.contains(&Topic::State);
    let follows_calls = wish.topics.contains(&Topic::Calls);
    // Whoever may answer for others and looks at what waits is asked as well.
    let is_there = wish.topics.contains(&Topic::Questions) && ask.who.role >= Role::Operator;
    let is_there = is_there.then(|| api.host.desk().listen());
    let listener = api.feed.listen(wish, since);
    if follows {
        state::follow(api);
    }
    if follows_calls {
        calls::follow(api);
    }
    // Something at once, so that whoever listens knows that it does.
    let hello = stream::once(async { bytes::Bytes::from_static(b": listening\n\n") });
    let held = (place, is_there);
    let events = stream::unfold((listener, held), async |(mut listener, held)| {
        let next = listener.next().await?;
        Some((next, (listener, held)))
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
    said(&words, sees_all)
}

/// The topics of these words: each once, however often it is said, since every event is
/// looked at for each of them.
fn said(words: &str, sees_all: bool) -> Result<Vec<Topic>, No> {
    let topic = |word: &str| {
        let known = Topic::ALL.into_iter().find(|topic| topic.word() == word);
        let known = known
            .ok_or_else(|| No::invalid("topics are state, calls and questions").field("/topics"))?;
        if known == Topic::State && !sees_all {
            return Err(No::not_allowed("the state wants the role viewer"));
        }
        Ok(known)
    };
    let mut topics = Vec::with_capacity(Topic::ALL.len());
    for word in words.split(',') {
        let topic = topic(word)?;
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    Ok(topics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_counts_once() {
        let many = "calls,questions,".repeat(5_000) + "calls";
        let topics = said(&many, false).unwrap();
        assert_eq!(topics, [Topic::Calls, Topic::Questions]);
        let topics = said("state,calls,state", true).unwrap();
        assert_eq!(topics, [Topic::State, Topic::Calls]);
        for (words, sees_all) in [
            ("", true),
            ("calls,", true),
            ("state", false),
            ("Calls", true),
        ] {
            assert!(said(words, sees_all).is_err(), "{words}");
        }
    }
}
