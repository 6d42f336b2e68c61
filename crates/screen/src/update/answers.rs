//! What the gateway answers.

use super::{acts, aside, changes, forms, open, pages, questions, read_calls};
use crate::{
    ask::Ask,
    limits,
    message::{Effect, Link},
    model::{Model, View},
    page::{CallPage, Confirm, Kind, Outcome, ServerPage, SignInPage, Tab},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_api::{
    Refused,
    calls::{self, Detail},
    questions::{Questions, Taken},
    servers,
    settings::{MadeToken, Tokens, Written},
    tools::{Fields, Rule, Tools, Validated},
};

/// The gateway answers what it was asked.
pub(super) fn answered(
    model: &mut Model,
    ask: Ask,
    answer: Result<Vec<u8>, Refused>,
) -> Vec<Effect> {
    if matches!(ask, Ask::Calls { .. }) {
        let again = model.reading_calls.1;
        model.reading_calls = (false, false);
        if again {
            return read_calls(model).into_iter().collect();
        }
    }
    match answer {
        Ok(text) => taken(model, ask, &text),
        Err(refused) => {
            was_refused(model, &ask, refused);
            Vec::new()
        }
    }
}

fn was_refused(model: &mut Model, ask: &Ask, refused: Refused) {
    let text = match refused.hint {
        Some(hint) => format!("{}: {hint}", refused.error),
        None => refused.error,
    };
    match ask {
        Ask::Call { page, .. } => forms::ended(model, *page, Outcome::Refused(text)),
        Ask::Listed(segment, list) => unlisted(model, segment, list, &text),
        Ask::Detail(id) => {
            for page in &mut model.pages {
                if let Kind::Call(call) = &mut page.kind
                    && call.call == *id
                {
                    call.missing = Some(text.clone());
                }
            }
        }
        // What a gateway does not have, or is no longer there to say, is no news.
        Ask::State | Ask::Tools | Ask::Questions | Ask::Tokens | Ask::Calls { .. }
            if refused.code == "unavailable" || refused.code == "not-found" => {}
        ask => model.fail(format!("{}: {text}", ask.what())),
    }
}

fn taken(model: &mut Model, ask: Ask, text: &[u8]) -> Vec<Effect> {
    let what = ask.what();
    match took(model, ask, text) {
        Ok(effects) => effects,
        Err(error) => {
            model.fail(format!("{what}: not understood: {error}"));
            Vec::new()
        }
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(text)
}

fn took(model: &mut Model, ask: Ask, text: &[u8]) -> serde_json::Result<Vec<Effect>> {
    match ask {
        Ask::State => {
            model.state = read(text)?;
            model.known = true;
            for view in [View::Servers, View::Clients] {
                model.settle(view);
            }
            if let Some(wanted) = model.wanted.take() {
                let name = wanted
                    .strip_prefix("servers/")
                    .unwrap_or(&wanted)
                    .to_owned();
                return Ok(acts::server_page(model, &name, Tab::Overview));
            }
        }
        Ask::Tools => {
            model.tools = read::<Tools>(text)?.tools;
            model.settle(View::Tools);
        }
        Ask::Calls { .. } => {
            model.calls = read::<calls::Page>(text)?.calls;
            model.calls.truncate(limits::CALLS);
            model.settle(View::Traffic);
        }
        Ask::Questions => {
            let questions = read::<Questions>(text)?.questions;
            return Ok(changes::questions_read(model, questions));
        }
        Ask::Question(id) => {
            changes::question_changed(model, read(text)?);
            return Ok(questions::came(model, &id));
        }
        Ask::Tokens | Ask::Revoke(_) => {
            model.tokens = read::<Tokens>(text)?.tokens;
            model.settle(View::Clients);
        }
        Ask::MakeToken(_) => {
            made_token(model, read(text)?);
            return Ok(vec![Effect::Ask(Ask::Tokens)]);
        }
        Ask::Tap(_) => model.state.tap = read(text)?,
        Ask::Export { file, .. } => model.tell(format!("saved: {file}")),
        Ask::Form { page, .. } => forms::fields(model, page, read::<Fields>(text)?),
        Ask::Validate {
            page, value: held, ..
        } => {
            let faults = read::<Validated>(text)?.faults;
            return Ok(forms::validated(model, page, held, faults));
        }
        Ask::Call { page, .. } => {
            forms::ended(model, page, Outcome::Made(Box::new(read(text)?)));
        }
        Ask::Cancel(_) => model.tell("cancelled"),
        Ask::Detail(id) => return Ok(detail(model, id, read(text)?)),
        Ask::Replay(id, _) => return Ok(replayed(model, id, read(text)?)),
        Ask::Answer { .. } => return Ok(answer_taken(model, read(text)?)),
        Ask::Rule(rule) => ruled(model, *rule, read(text)?),
        Ask::Act { verb, segment, .. } => return Ok(done(model, verb, &segment, read(text)?)),
        Ask::Server(_) | Ask::Listed(..) | Ask::Stderr(_) | Ask::Explain(_) => {
            return of_server(model, ask, text);
        }
    }
    Ok(Vec::new())
}

/// What a server's page waits for.
fn of_server(model: &mut Model, ask: Ask, text: &[u8]) -> serde_json::Result<Vec<Effect>> {
    if let Ask::Explain(name) = &ask
        && !model
            .pages
            .iter()
            .any(|page| matches!(&page.kind, Kind::Server(it) if it.segment == *name))
    {
        let title = format!("why: {name}");
        let lines = read::<servers::Explained>(text)?.lines;
        open(model, Kind::Text { title, lines });
        return Ok(Vec::new());
    }
    let (mut later, mut changed) = (Vec::new(), false);
    for page in &mut model.pages {
        match (&ask, &mut page.kind) {
            (Ask::Server(segment), Kind::Server(page)) if page.segment == *segment => {
                page.detail = Some(read(text)?);
            }
            (Ask::Server(segment), Kind::Approve(it)) if it.segment == *segment => {
                let detail: servers::Detail = read(text)?;
                let before = it.detail.as_ref();
                // What is another now has to be read from its beginning.
                if before.is_some_and(|before| before.approval != detail.approval) {
                    page.scroll = 0;
                    changed = true;
                }
                it.detail = Some(detail);
            }
            (Ask::Listed(segment, list), Kind::Server(page)) if page.segment == *segment => {
                listed(page, list, read::<servers::Listed>(text)?.items);
            }
            (Ask::Stderr(segment), Kind::Server(page))
                if page.segment == *segment && page.tab == Tab::Stderr =>
            {
                page.stderr = Some(read::<servers::Stderr>(text)?.lines);
                later = vec![Effect::Later(limits::FOLLOW, ask.clone())];
            }
            (Ask::Explain(segment), Kind::Server(page)) if page.segment == *segment => {
                page.explained = Some(read::<servers::Explained>(text)?.lines);
            }
            _ => {}
        }
    }
    if changed {
        model.tell("it has changed: read it again");
    }
    pages::keep_end(model);
    Ok(later)
}

/// What a server lists, or how many.
fn listed(page: &mut ServerPage, list: &str, items: Vec<Value>) {
    let counted = ServerPage::COUNTED.iter().position(|it| *it == list);
    if let Some(count) = counted.and_then(|at| page.counts.get_mut(at)) {
        *count = Some(items.len());
    }
    if page.tab == Tab::Resources && list == "templates" {
        page.templates = Some(items);
    } else if page.tab.name() == list {
        page.items = Some(items);
    }
    let rows = page.rows().map_or(0, |rows| rows.len());
    page.at = page.at.min(rows.saturating_sub(1));
}

/// A server does not list something: that is news where it was what one looks at.
fn unlisted(model: &mut Model, segment: &str, list: &str, why: &str) {
    let mut looks = false;
    for page in &mut model.pages {
        if let Kind::Server(page) = &mut page.kind
            && page.segment == segment
        {
            looks |= page.tab.name() == list;
            // Many servers have resources and no templates, and say so by refusing.
            if page.tab == Tab::Resources && list == "templates" {
                page.templates = Some(Vec::new());
            }
        }
    }
    if looks {
        model.fail(format!("{list} of {segment}: {why}"));
    }
}

/// One call with both its sides.
fn detail(model: &mut Model, id: u64, detail: Detail) -> Vec<Effect> {
    let effects = forms::progress(model, &detail);
    for page in &mut model.pages {
        if let Kind::Call(call) = &mut page.kind
            && call.call == id
        {
            call.detail = Some(detail.clone());
        }
    }
    effects
}

fn replayed(model: &mut Model, id: u64, replayed: calls::Replayed) -> Vec<Effect> {
    model.tell(format!("made again: {}", replayed.words()));
    let mut shown = false;
    for page in &mut model.pages {
        if let Kind::Call(call) = &mut page.kind
            && call.call == id
        {
            call.replayed = Some(replayed.clone());
            page.scroll = 0;
            shown = true;
        }
    }
    // From the list: what differs is on its page, unless somebody has gone elsewhere.
    if shown || replayed.same || !model.pages.is_empty() || model.view != View::Traffic {
        return Vec::new();
    }
    let page = CallPage {
        call: id,
        replayed: Some(replayed),
        ..CallPage::default()
    };
    open(model, Kind::Call(Box::new(page)));
    vec![Effect::Ask(Ask::Detail(id))]
}

/// Something was done with a server.
fn done(model: &mut Model, verb: &str, segment: &str, done: servers::Done) -> Vec<Effect> {
    let server = done.server;
    let name = if server.name.is_empty() {
        segment.to_owned()
    } else {
        server.name.clone()
    };
    let mut effects = Vec::new();
    if !server.name.is_empty() {
        effects = changes::server_changed(model, server);
    }
    if let Some(url) = done.open {
        let page = SignInPage {
            name,
            segment: segment.to_owned(),
            url,
            ..SignInPage::default()
        };
        open(model, Kind::SignIn(page));
        return effects;
    }
    match verb {
        "sign-out" => effects.extend(acts::connect(model, &name)),
        // A host inside meets what is new by itself.
        "enable" | "approve" if model.link != Link::Inside => {
            effects.extend(acts::connect(model, &name));
        }
        _ => {}
    }
    model.tell(if done.did.is_empty() {
        format!("{verb} {name}: done")
    } else {
        done.did
    });
    effects
}

/// A question was answered; where a page is to be visited next, it is shown.
fn answer_taken(model: &mut Model, taken: Taken) -> Vec<Effect> {
    let question = taken.question;
    let about = question.server.clone().unwrap_or_default();
    model.pages.retain(|page| !page.kind.is_about(&question.id));
    if let Some(url) = taken.open {
        let server = model.server(&about);
        let page = SignInPage {
            segment: server.map_or_else(|| about.clone(), acts::segment),
            name: about,
            url,
            ..SignInPage::default()
        };
        open(model, Kind::SignIn(page));
    } else {
        let action = question.answered.as_ref().map(|it| it.action.clone());
        model.tell(format!("answered: {}", action.unwrap_or_default()));
    }
    aside::answered(model, &question);
    changes::question_changed(model, question);
    vec![Effect::Ask(Ask::Questions)]
}

/// A rule was written, or what would be is shown.
fn ruled(model: &mut Model, rule: Rule, written: Written) {
    if written.written {
        model.tell(format!("written to {}", written.file));
        return;
    }
    let rule = Rule {
        confirm: Some(written.digest),
        ..rule
    };
    let title = format!("Write this to {}?", written.file);
    open(
        model,
        Kind::Confirm(Confirm {
            title,
            lines: written.difference,
            asks: vec![Ask::Rule(Box::new(rule))],
        }),
    );
}

/// A token is shown once.
fn made_token(model: &mut Model, made: MadeToken) {
    let lines = vec![
        made.token,
        String::new(),
        "This is the only time that it is shown.".to_owned(),
        format!("It is kept in {}", made.file),
    ];
    let title = format!("token {}", made.name);
    open(model, Kind::Text { title, lines });
}
