//! What the gateway answers.

use super::{Todo, acts, aside, changes, forms, open, pages, questions, read_calls};
use crate::{
    ask::Ask,
    limits,
    message::{Effect, Link},
    model::{Model, View},
    page::{CallPage, Kind, Outcome, ServerPage, SignInPage, Tab},
};
use serde_json::Value;
use switchboard_api::{
    Refused, calls,
    fill::{Fill, fill},
    questions::{Question, Questions, Taken},
    servers,
    settings::{MadeToken, Tokens, Written},
    tools::{Fields, Rule, Tools, Validated},
};

/// The gateway answers what it was asked.
pub(super) fn answered(
    model: &mut Model,
    todo: &mut Todo,
    ask: Ask,
    answer: Result<Vec<u8>, Refused>,
) {
    if matches!(ask, Ask::Calls { .. }) {
        let again = model.reading_calls.1;
        model.reading_calls = (false, false);
        if again {
            return read_calls(model, todo);
        }
    }
    match answer {
        Ok(text) => {
            let what = ask.what();
            if let Err(error) = took(model, todo, ask, &text) {
                model.fail(format_args!("{what}: not understood: {error}"));
            }
        }
        Err(refused) => was_refused(model, &ask, refused),
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
        ask => model.fail(format_args!("{}: {text}", ask.what())),
    }
}

/// An answer as what it is.
fn read<T: Fill + Default>(text: &[u8]) -> serde_json::Result<T> {
    let mut value = T::default();
    fill(&mut value, text)?;
    Ok(value)
}

fn took(model: &mut Model, todo: &mut Todo, ask: Ask, text: &[u8]) -> serde_json::Result<()> {
    match ask {
        Ask::State => {
            let before = std::mem::replace(&mut model.state, read(text)?);
            changes::servers_read(&before.servers, &model.state.servers, todo);
            model.known = true;
            for view in [View::Servers, View::Clients] {
                model.settle(view);
            }
            if let Some(wanted) = model.wanted.take() {
                let name = wanted.strip_prefix("servers/").unwrap_or(&wanted);
                acts::server_page(model, todo, name, Tab::Overview);
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
            changes::questions_read(model, todo, read::<Questions>(text)?.questions);
        }
        Ask::Question(id) => {
            changes::question_changed(model, read::<Question>(text)?);
            questions::came(model, todo, &id);
        }
        Ask::Tokens | Ask::Revoke(_) => {
            model.tokens = read::<Tokens>(text)?.tokens;
            model.settle(View::Clients);
        }
        Ask::MakeToken(_) => {
            made_token(model, read(text)?);
            todo.ask(Ask::Tokens);
        }
        Ask::Tap(_) => model.state.tap = read(text)?,
        Ask::Export { file, .. } => model.tell(format_args!("saved: {file}")),
        Ask::Form { page, .. } => forms::fields(model, page, read::<Fields>(text)?),
        Ask::Validate {
            page, value: held, ..
        } => {
            let faults = read::<Validated>(text)?.faults;
            forms::validated(model, todo, page, held, faults);
        }
        Ask::Call { page, .. } => {
            forms::ended(model, page, Outcome::Made(Box::new(read(text)?)));
        }
        Ask::Cancel(_) => model.tell(format_args!("cancelled")),
        Ask::Detail(id) => detail(model, todo, id, text)?,
        Ask::Replay(id, _) => replayed(model, todo, id, text)?,
        Ask::Answer { .. } => answer_taken(model, todo, read(text)?),
        Ask::Rule(rule) => ruled(model, rule, read(text)?),
        Ask::Act { verb, segment, .. } => done(model, todo, verb, &segment, read(text)?),
        Ask::Server(_) | Ask::Listed(..) | Ask::Stderr(_) | Ask::Explain(_) => {
            of_server(model, todo, &ask, text)?;
        }
    }
    Ok(())
}

/// What a server's page waits for.
fn of_server(model: &mut Model, todo: &mut Todo, ask: &Ask, text: &[u8]) -> serde_json::Result<()> {
    let (mut found, mut changed) = (false, false);
    for page in &mut model.pages {
        match (ask, &mut page.kind) {
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
                found = true;
            }
            (Ask::Explain(segment), Kind::Server(page)) if page.segment == *segment => {
                page.explained = Some(read::<servers::Explained>(text)?.lines);
                found = true;
            }
            _ => {}
        }
    }
    match ask {
        // What is followed is read again.
        Ask::Stderr(segment) if found => {
            let ask = Ask::Stderr(segment.clone());
            todo.push(Effect::Later(limits::FOLLOW, ask));
        }
        Ask::Explain(name) if !found => {
            let title = format!("why: {name}");
            let lines = read::<servers::Explained>(text)?.lines;
            open(model, Kind::Text { title, lines });
            return Ok(());
        }
        _ => {}
    }
    if changed {
        model.tell(format_args!("it has changed: read it again"));
    }
    pages::keep_end(model);
    Ok(())
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
        model.fail(format_args!("{list} of {segment}: {why}"));
    }
}

/// One call with both its sides.
fn detail(model: &mut Model, todo: &mut Todo, id: u64, text: &[u8]) -> serde_json::Result<()> {
    forms::progress(model, todo, &read(text)?);
    for page in &mut model.pages {
        if let Kind::Call(call) = &mut page.kind
            && call.call == id
        {
            call.detail = Some(read(text)?);
        }
    }
    Ok(())
}

/// A call was made again.
fn replayed(model: &mut Model, todo: &mut Todo, id: u64, text: &[u8]) -> serde_json::Result<()> {
    let replayed: calls::Replayed = read(text)?;
    model.tell(format_args!("made again: {}", replayed.words()));
    let mut shown = false;
    for page in &mut model.pages {
        if let Kind::Call(call) = &mut page.kind
            && call.call == id
        {
            call.replayed = Some(read(text)?);
            page.scroll = 0;
            shown = true;
        }
    }
    // From the list: what differs is on its page, unless somebody has gone elsewhere.
    if shown || replayed.same || !model.pages.is_empty() || model.view != View::Traffic {
        return Ok(());
    }
    let page = CallPage {
        call: id,
        replayed: Some(replayed),
        ..CallPage::default()
    };
    open(model, Kind::Call(Box::new(page)));
    todo.ask(Ask::Detail(id));
    Ok(())
}

/// Something was done with a server.
fn done(model: &mut Model, todo: &mut Todo, verb: &str, segment: &str, done: servers::Done) {
    let server = done.server;
    let mut name = segment.to_owned();
    if !server.name.is_empty() {
        name.clone_from(&server.name);
        changes::server_changed(model, todo, server);
    }
    if let Some(url) = done.open {
        return sign_in(model, name, segment.to_owned(), url);
    }
    // A host inside meets what is new by itself.
    let is_inside = model.link == Link::Inside;
    if verb == "sign-out" || (matches!(verb, "enable" | "approve") && !is_inside) {
        acts::connect(model, todo, &name);
    }
    match done.did.as_str() {
        "" => model.tell(format_args!("{verb} {name}: done")),
        did => model.tell(format_args!("{did}")),
    }
}

/// Shows where to sign in.
fn sign_in(model: &mut Model, name: String, segment: String, url: String) {
    let page = SignInPage {
        name,
        segment,
        url,
        ..SignInPage::default()
    };
    open(model, Kind::SignIn(page));
}

/// A question was answered; where a page is to be visited next, it is shown.
fn answer_taken(model: &mut Model, todo: &mut Todo, taken: Taken) {
    let question = taken.question;
    model.pages.retain(|page| !page.kind.is_about(&question.id));
    match taken.open {
        Some(url) => {
            let about = question.server.clone().unwrap_or_default();
            let server = model.server(&about);
            let segment = server.map_or(about.as_str(), acts::segment).to_owned();
            sign_in(model, about, segment, url);
        }
        None => {
            let action = question.answered.as_ref().map(|it| it.action.as_str());
            model.tell(format_args!("answered: {}", action.unwrap_or_default()));
        }
    }
    aside::answered(model, &question);
    changes::question_changed(model, question);
    todo.ask(Ask::Questions);
}

/// A rule was written, or what would be is shown.
fn ruled(model: &mut Model, mut rule: Box<Rule>, written: Written) {
    if written.written {
        return model.tell(format_args!("written to {}", written.file));
    }
    rule.confirm = Some(written.digest);
    let title = format!("Write this to {}?", written.file);
    acts::confirm(model, title, written.difference, vec![Ask::Rule(rule)]);
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
