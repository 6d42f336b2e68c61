//! What keys do on pages.

use super::{acts, forms, prompt, questions};
use crate::{
    ask::Ask,
    key::Key,
    limits,
    message::Effect,
    model::{Asked, Model},
    page::{Kind, Outcome, ServerPage, Tab},
    view, words,
};
use switchboard_api::{servers::Act, tools::Rule};

/// A key on the page in front.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    if scrolled(model, key) {
        return Vec::new();
    }
    let Some(page) = model.pages.last_mut() else {
        return Vec::new();
    };
    match &mut page.kind {
        Kind::Server(_) => server_key(model, key),
        Kind::Run(_) => run_key(model, key),
        Kind::Call(call) => match key {
            Key::Char('v') => {
                call.raw = !call.raw;
                Vec::new()
            }
            Key::Char('y') => {
                let copies = call.detail.as_ref().map(|detail| &detail.copies);
                let command = copies.and_then(|copies| copies.command.clone());
                copy(model, command)
            }
            Key::Char('s') => {
                prompt::open(model, Asked::File, acts::CASSETTE);
                Vec::new()
            }
            Key::Char('r') => {
                let (id, detail) = (call.call, call.detail.as_ref());
                let repeatable = detail.is_some_and(|detail| detail.call.repeatable);
                acts::replay(model, id, repeatable)
            }
            _ => Vec::new(),
        },
        Kind::Question(id) => {
            let id = id.clone();
            questions::key(model, &id, key)
        }
        Kind::Confirm(confirm) => match key {
            Key::Char('y') => {
                let asks = confirm.asks.clone();
                if !questions::is_read(model) {
                    return Vec::new();
                }
                close(model);
                asks.into_iter().map(Effect::Ask).collect()
            }
            Key::Char('n') => close(model),
            _ => Vec::new(),
        },
        Kind::Output(output) => match key {
            Key::Char('x') | Key::Ctrl('x') if output.ended.is_none() => {
                vec![Effect::Kill(output.run)]
            }
            Key::Char('y') => {
                let text = output.lines.join("\n");
                copy(model, Some(text))
            }
            _ => Vec::new(),
        },
        Kind::Approve(_) => approve_key(model, key),
        Kind::Rule(tool) => {
            let decision = match key {
                Key::Char('a') => "allow",
                Key::Char('s') => "ask",
                Key::Char('d') => "deny",
                Key::Char('h') => "hide",
                Key::Char('n') => "none",
                _ => return Vec::new(),
            };
            let rule = Rule {
                tools: vec![tool.clone()],
                decision: decision.to_owned(),
                confirm: None,
            };
            close(model);
            vec![Effect::Ask(Ask::Rule(Box::new(rule)))]
        }
        Kind::Text { .. } | Kind::Keys | Kind::Form(_) | Kind::SignIn(_) => Vec::new(),
    }
}

/// Puts something into the clipboard, if there is anything.
fn copy(model: &mut Model, text: Option<String>) -> Vec<Effect> {
    let Some(text) = text.filter(|text| text.len() <= limits::COPY_BYTES) else {
        model.fail("there is nothing that could be copied");
        return Vec::new();
    };
    model.tell("copied");
    vec![Effect::Copy(text)]
}

/// Takes the page in front away.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    let Some(page) = model.pages.pop() else {
        return Vec::new();
    };
    match page.kind {
        Kind::Output(output) if output.ended.is_none() => vec![Effect::Kill(output.run)],
        Kind::Run(run) if run.outcome.is_none() => {
            let cancel = run.call.map(|call| Effect::Ask(Ask::Cancel(call)));
            cancel
                .into_iter()
                .chain([Effect::Abandon(page.id)])
                .collect()
        }
        _ => read(model),
    }
}

/// Whether the key moves what is seen of the page.
fn scrolled(model: &mut Model, key: Key) -> bool {
    let (lines, height) = view::extent(model);
    let last = lines.saturating_sub(height);
    let Some(page) = model.pages.last_mut() else {
        return false;
    };
    // On lists of a server's page the keys go from item to item.
    if let Kind::Server(server) = &mut page.kind
        && let Some(rows) = server.rows()
    {
        let end = rows.len().saturating_sub(1);
        server.at = match key {
            Key::Up | Key::Char('k') => server.at.saturating_sub(1),
            Key::Down | Key::Char('j') => (server.at + 1).min(end),
            Key::PageUp => server.at.saturating_sub(height),
            Key::PageDown => (server.at + height).min(end),
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => end,
            _ => return false,
        };
        return true;
    }
    let now = page.scroll.min(last);
    page.scroll = match key {
        Key::Up | Key::Char('k') => now.saturating_sub(1),
        Key::Down | Key::Char('j') => (now + 1).min(last),
        Key::PageUp => now.saturating_sub(height),
        Key::PageDown | Key::Char(' ') => (now + height).min(last),
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => last,
        _ => return false,
    };
    let at_end = page.scroll == last;
    match &mut page.kind {
        Kind::Output(output) => output.follows = at_end,
        Kind::Server(server) => server.follows = at_end,
        _ => {}
    }
    true
}

/// What is followed stays at its end.
pub(super) fn keep_end(model: &mut Model) {
    let (lines, height) = view::extent(model);
    let Some(page) = model.pages.last_mut() else {
        return;
    };
    let follows = match &page.kind {
        Kind::Output(output) => output.follows,
        Kind::Server(server) => server.follows && server.tab == Tab::Stderr,
        _ => false,
    };
    if follows {
        page.scroll = lines.saturating_sub(height);
    }
}

/// What the page in front shows is read, or read again.
pub(super) fn read(model: &Model) -> Vec<Effect> {
    match model.page().map(|page| &page.kind) {
        Some(Kind::Server(page)) => {
            let asks = page.tab.asks(&page.segment).into_iter();
            asks.map(Effect::Ask).collect()
        }
        Some(Kind::Approve(page)) => vec![Effect::Ask(Ask::Server(page.segment.clone()))],
        Some(Kind::Call(page)) => vec![Effect::Ask(Ask::Detail(page.call))],
        _ => Vec::new(),
    }
}

/// Asks how many a server lists that is there to say it, where nobody has asked it yet. One that
/// sleeps is not woken for that.
pub(super) fn uncounted(model: &Model) -> Vec<Effect> {
    let Some(Kind::Server(page)) = model.page().map(|page| &page.kind) else {
        return Vec::new();
    };
    let server = model.server(&page.name);
    let Some(server) = server.filter(|it| it.state.word == "connected") else {
        return Vec::new();
    };
    if page.tab != Tab::Overview {
        return Vec::new();
    }
    let known = [server.resources, None, server.prompts];
    let each = ServerPage::COUNTED
        .into_iter()
        .zip(known.iter().zip(page.counts));
    each.filter(|(_, (known, counted))| known.is_none() && counted.is_none())
        .map(|(list, _)| Effect::Ask(Ask::Listed(page.segment.clone(), list)))
        .collect()
}

/// Asks again for the fields of forms that have none yet: whoever was asked may be gone.
pub(super) fn unfilled(model: &Model) -> Vec<Effect> {
    let unfilled = model.pages.iter().filter_map(|page| match &page.kind {
        Kind::Form(form) if form.form.is_none() => Some(Effect::Ask(Ask::Form {
            page: page.id,
            schema: form.schema.clone(),
        })),
        _ => None,
    });
    unfilled.collect()
}

fn server_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(page) = model.pages.last_mut() else {
        return Vec::new();
    };
    let Kind::Server(server) = &mut page.kind else {
        return Vec::new();
    };
    let step = match key {
        Key::Tab | Key::Right => 1,
        Key::BackTab | Key::Left => Tab::ALL.len() - 1,
        _ => 0,
    };
    if step > 0 {
        let at = Tab::ALL.iter().position(|tab| *tab == server.tab);
        server.tab = Tab::ALL[(at.unwrap_or(0) + step) % Tab::ALL.len()];
        (server.items, server.templates) = (None, None);
        server.at = 0;
        server.follows = true;
        page.scroll = 0;
        let mut effects = read(model);
        effects.extend(uncounted(model));
        return effects;
    }
    let (name, at) = (server.name.clone(), server.at);
    let item = server
        .rows()
        .and_then(|rows| rows.get(at).map(|item| (*item).clone()));
    match (server.tab, item, key) {
        (Tab::Tools, Some(item), Key::Enter) => {
            let tool = item["name"].as_str().unwrap_or_default();
            let known = model
                .tools
                .iter()
                .find(|it| it.server == name && it.name == tool);
            match known.cloned() {
                Some(tool) => forms::for_tool(model, &tool),
                None => {
                    model.fail(format!("{tool} is not offered to clients"));
                    Vec::new()
                }
            }
        }
        (Tab::Resources, Some(item), Key::Enter) if item.get("uri").is_none() => {
            // Whoever wants one fills it in.
            let template = item["uriTemplate"].as_str().unwrap_or_default();
            let words = words::quoted(&format!("@{name}:{template}"));
            prompt::open(model, Asked::Command, &format!("read {words}"));
            Vec::new()
        }
        (Tab::Resources, Some(item), Key::Enter) => {
            let uri = item["uri"].as_str().unwrap_or_default().to_owned();
            forms::read_resource(model, &name, &uri)
        }
        (Tab::Prompts, Some(item), Key::Enter) => forms::for_prompt(model, &name, &item),
        (_, _, Key::Enter | Key::Char('t' | 'l' | 'w')) => Vec::new(),
        _ => {
            let server = model.server(&name).cloned();
            server.map_or_else(Vec::new, |server| acts::on_server(model, &server, key))
        }
    }
}

fn run_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(page) = model.pages.last_mut() else {
        return Vec::new();
    };
    let id = page.id;
    let Kind::Run(run) = &mut page.kind else {
        return Vec::new();
    };
    let waits = run.outcome.is_none();
    if let (Key::Enter, true) = (key, waits) {
        let Some(Kind::Run(run)) = model.page().map(|page| &page.kind) else {
            return Vec::new();
        };
        let question = model.asked_by(run).cloned();
        return question.map_or_else(Vec::new, |it| questions::show(model, &it));
    }
    match key {
        Key::Char('x' | 'c') | Key::Ctrl('x') if run.outcome.is_none() => match run.call {
            Some(call) => vec![Effect::Ask(Ask::Cancel(call))],
            // It has only just left: it is cancelled as soon as it is known by which number.
            None if !run.is_given_up => {
                run.is_given_up = true;
                Vec::new()
            }
            None => {
                run.outcome = Some(Outcome::Abandoned);
                vec![Effect::Abandon(id)]
            }
        },
        Key::Char('v') => {
            run.raw = !run.raw;
            page.scroll = 0;
            Vec::new()
        }
        Key::Char('y') => {
            let command = run.command.clone();
            copy(model, Some(command))
        }
        Key::Char('r') if run.outcome.is_some() => {
            let (title, make, command) = (run.title.clone(), run.make.clone(), run.command.clone());
            model.pages.pop();
            forms::run(model, title, make, command)
        }
        _ => Vec::new(),
    }
}

fn approve_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(Kind::Approve(page)) = model.page().map(|page| &page.kind) else {
        return Vec::new();
    };
    let verb = match key {
        Key::Char('y') => "approve",
        Key::Char('n') => "reject",
        _ => return Vec::new(),
    };
    // Nobody says yes to what was not shown.
    let Some(detail) = &page.detail else {
        return Vec::new();
    };
    if detail.approval_digest.is_none() {
        model.tell("it waits for no approval any more");
        return Vec::new();
    }
    let act = Act {
        digest: detail.approval_digest.clone(),
        ..Act::default()
    };
    let segment = page.segment.clone();
    if verb == "approve" && !questions::is_read(model) {
        return Vec::new();
    }
    model.pages.pop();
    vec![Effect::Ask(Ask::Act { segment, verb, act })]
}

/// A key on the page that says where to sign in.
pub(super) fn sign_in_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(Kind::SignIn(page)) = model.pages.last_mut().map(|page| &mut page.kind) else {
        return Vec::new();
    };
    match key {
        Key::Esc => return close(model),
        Key::Ctrl('y') => {
            let url = page.url.clone();
            return copy(model, Some(url));
        }
        Key::Enter if page.pasted.is_empty() => {
            let url = page.url.clone();
            model.tell("the browser is asked to open it");
            return vec![Effect::Open(url)];
        }
        Key::Enter => {
            let act = Act {
                pasted: Some(page.pasted.text()),
                ..Act::default()
            };
            let segment = page.segment.clone();
            model.tell("signing in …");
            return vec![Effect::Ask(Ask::Act {
                segment,
                verb: "sign-in",
                act,
            })];
        }
        key => {
            page.pasted.key(key);
        }
    }
    Vec::new()
}
