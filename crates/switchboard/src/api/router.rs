//! The way from a request to its answer: which route, who asks, whether they may.

use super::{
    Api, May,
    answer::{Answer, No, Reply},
    apps,
    asking::{Ask, Who},
    breakpoints, calls, events, insight, people, pins, questions, servers, sessions, settings,
    state, tokens, tools,
};
use std::sync::Arc;
use switchboard_api::{
    questions::Answer as Said,
    routes::{Edits, ROUTES, Route},
};
use switchboard_gateway::{Asked, Controlled};
use switchboard_local::percent;

/// What the paths begin with, below `/api/`.
pub(crate) const VERSION: &str = "v1/";

/// The routes that somebody may use who shows nothing: by these they come in.
const OPENING: [(&str, &str); 5] = [
    ("POST", "session"),
    ("GET", "session/ways"),
    ("POST", "session/begin"),
    ("POST", "session/finish"),
    ("POST", "session/renew"),
];

/// Whether somebody may ask this at all: looked at before anything else is. How many bytes
/// its body may have.
pub(crate) fn may(api: &Api, asked: &Asked) -> Result<usize, No> {
    find(api.may, asked).map(|(route, ..)| route.body)
}

/// Answers.
pub(crate) async fn answer(api: &Arc<Api>, asked: Asked) -> Controlled {
    let answered = match find(api.may, &asked) {
        Ok((route, parts, who)) => {
            let Asked {
                query,
                body,
                here,
                origin,
                host,
                ..
            } = asked;
            let ask = Ask::new(route, parts, who, here, query, body).asked_at(origin, host);
            match lasting(api, &ask).await {
                Ok(()) => dispatch(api, ask).await,
                Err(no) => Err(no),
            }
        }
        Err(no) => Err(no),
    };
    match answered {
        Ok(reply) => reply.into(),
        Err(no) => no.into(),
    }
}

/// The route, what stands for the parts of its path, and who asks, if they may.
fn find(may: May, asked: &Asked) -> Result<(&'static Route, Vec<String>, Who), No> {
    let path = asked.path.strip_prefix(VERSION).unwrap_or(&asked.path);
    let who = Who::of(&asked.who);
    let found = route(asked.verb.as_str(), path);
    let is_opening = |route: &Route| OPENING.contains(&(route.verb, route.path));
    let Some(who) = who else {
        // A stranger does not learn which paths there are.
        return match found {
            Ok((route, parts)) if is_opening(route) => Ok((route, parts, Who::stranger())),
            _ => Err(No::nobody()),
        };
    };
    let (route, parts) = found?;
    permitted(may, route, &who)?;
    Ok((route, parts, who))
}

/// Whether somebody of this role may use this route here: what the table says.
fn permitted(may: May, route: &Route, who: &Who) -> Result<(), No> {
    if who.role < route.role {
        let (has, wants) = (who.role.word(), route.role.word());
        return Err(No::not_allowed(format!(
            "this wants the role {wants}; {} has the role {has}",
            who.principal
        )));
    }
    match route.edits {
        Edits::Always => may.be_edited(),
        Edits::Never | Edits::WithALastingAnswer => Ok(()),
    }
}

/// Whether an answer that lasts may be given here.
async fn lasting(api: &Api, ask: &Ask) -> Result<(), No> {
    if ask.route.edits != Edits::WithALastingAnswer || api.may.edit {
        return Ok(());
    }
    let answer: Said = ask.large(&api.readings).await?;
    may_last(api.may, &answer)
}

fn may_last(may: May, answer: &Said) -> Result<(), No> {
    match answer.lasts() {
        true => may.be_edited(),
        false => Ok(()),
    }
}

impl May {
    /// Whether anything may be changed over the API that lasts.
    pub(super) fn be_edited(self) -> Result<(), No> {
        match self.edit {
            true => Ok(()),
            false => Err(No::not_allowed(
                "this gateway was started with --no-api-edit",
            )),
        }
    }
}

/// The route of a path, and what stands for its parts. Words win over parts.
fn route(verb: &str, path: &str) -> Result<(&'static Route, Vec<String>), No> {
    let fits = ROUTES
        .iter()
        .filter_map(|route| Some((route, fit(route.path, path)?)));
    let mut fits: Vec<(&'static Route, Vec<String>)> = fits.collect();
    fits.sort_by_key(|(_, parts)| parts.len());
    if fits.is_empty() {
        return Err(No::not_found("there is nothing at this path"));
    }
    let verbs: Vec<&str> = fits.iter().map(|(route, _)| route.verb).collect();
    let verbs = verbs.join(", ");
    let found = fits.into_iter().find(|(route, _)| route.verb == verb);
    found.ok_or_else(|| No::verb(&verbs))
}

/// What stands for the `{…}` of a pattern in a path, if it is of that pattern.
fn fit(pattern: &str, path: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(parts),
            (Some(wanted), Some(given)) if wanted.starts_with('{') => {
                parts.push(decoded(given).filter(|part| !part.is_empty())?);
            }
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
}

/// A part of a path as it was meant.
fn decoded(part: &str) -> Option<String> {
    String::from_utf8(percent::decoded(part)?).ok()
}

/// One topic answers. What is in the table and not here is not there.
async fn dispatch(api: &Arc<Api>, ask: Ask) -> Answer {
    let topic = ask.route.path.split('/').next().unwrap_or_default();
    match topic {
        "session" if ask.route.path != "session" => people::answer(api, &ask).await,
        "session" | "codes" => sessions::answer(api, &ask),
        "state" => Reply::json(&state::document(api).await),
        "events" => events::answer(api, &ask),
        "calls" | "export" | "tap" => calls::answer(api, &ask).await,
        "apps" => apps::answer(api, &ask).await,
        "breakpoints" => breakpoints::answer(api, &ask),
        "questions" => questions::answer(api, &ask).await,
        "servers" | "explain" => servers::answer(api, &ask).await,
        "tools" | "forms" | "validate" => tools::answer(api, &ask).await,
        "pins" => pins::answer(api, &ask).await,
        "settings" | "reload" | "imports" | "audit" => settings::answer(api, &ask).await,
        "tokens" => tokens::answer(api, &ask),
        "metrics" | "bill" | "log" => insight::answer(api, &ask).await,
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

#[cfg(test)]
mod tests;
