//! Definitions that are not what was pinned, and approving them.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    servers::{member, usable},
    without,
};
use std::sync::Arc;
use switchboard_api::{
    questions::Change,
    settings::{Pins, Repin},
};
use switchboard_config::approval::digest_of;
use switchboard_host::{
    Server,
    pins::{self, News},
};
use switchboard_record::audit::Record;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let server = usable(&member(api, ask.part())?)?;
    if ask.route.verb == "GET" {
        return Reply::json(&shown(&server, &news(api, &server)?));
    }
    let Repin { digest, only } = ask.large(&api.readings).await?;
    let news = news(api, &server)?;
    if digest != self::digest(&server, &news) {
        let no = No::conflict("this is not what waits for approval now: look at it again");
        return Err(no.field("/digest"));
    }
    let is_meant = |change: &pins::Change| only.is_empty() || only.contains(&change.name);
    let mut approved = news;
    approved.waiting.retain(is_meant);
    approved.told.retain(is_meant);
    if approved.is_empty() {
        return Err(No::conflict("nothing of this waits for approval").field("/only"));
    }
    api.host
        .approve(&server, &approved)
        .map_err(|fault| No::broken(&fault))?;
    let what: Vec<String> = all(&approved).map(pins::Change::called).collect();
    let record = Record::new("pins.approve").with("server", &**server.name());
    api.record(ask, record.with("what", what).plain("digest", digest));
    Reply::json(&shown(&server, &self::news(api, &server)?))
}

fn news(api: &Api, server: &Server) -> Result<News, No> {
    let news = api.host.guard().news(server);
    news.map_err(|fault| No::broken(&fault))
}

fn all(news: &News) -> impl Iterator<Item = &pins::Change> {
    news.waiting.iter().chain(&news.told)
}

/// What a yes to all of it is a yes to: the same as `switchboard approve` prints.
fn digest(server: &Server, news: &News) -> String {
    let parts: Vec<String> = all(news).map(pins::Change::digest).collect();
    let parts = parts.iter().map(String::as_bytes);
    digest_of(std::iter::once(server.name().as_bytes()).chain(parts))
}

fn shown(server: &Server, news: &News) -> Pins {
    let change = |change: &pins::Change| {
        let (before, after) = change.texts();
        Change {
            of: change.called(),
            path: String::new(),
            // What cannot be shown is said, and is not as if it were not there.
            after: after
                .or_else(|| Some(change.diff()))
                .map(|text| without::judged(&text)),
            before: before.map(|text| without::judged(&text)),
            warnings: vec![change.summary()],
        }
    };
    Pins {
        server: server.name().to_string(),
        changes: all(news).map(change).collect(),
        held: news
            .waiting
            .iter()
            .map(|change| change.name.clone())
            .collect(),
        digest: digest(server, news),
    }
}
