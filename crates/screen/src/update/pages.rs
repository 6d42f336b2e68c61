//! What keys do on pages.

use super::{Todo, acts, forms, prompt, questions};
use crate::{
    ask::Ask,
    key::Key,
    limits,
    message::Effect,
    model::{Asked, Model},
    page::{Kind, Outcome, RunPage, ServerPage, Tab},
    view, words,
};
use serde_json::Value;
use switchboard_api::{servers::Act, tools::Rule};

/// A key on the page in front.
pub(super) fn key(model: &mut Model, todo: &mut Todo, key: Key) {
    if scrolled(model, key) {
        return;
    }
    let Some(page) = model.pages.last_mut() else {
        return;
    };
    match &mut page.kind {
        Kind::Server(_) => server_key(model, todo, key),
        Kind::Run(_) => run_key(model, todo, key),
        Kind::Call(call) => match key {
            Key::Char('v') => call.raw = !call.raw,
            Key::Char('y') => {
                let copies = call.detail.as_ref().map(|detail| &detail.copies);
                let command = copies.and_then(|copies| copies.command.clone());
                copy(model, todo, command);
            }
            Key::Char('s') => prompt::open(model, Asked::File, acts::CASSETTE),
            Key::Char('r') => {
                let (id, detail) = (call.call, call.detail.as_ref());
                let repeatable = detail.is_some_and(|detail| detail.call.repeatable);
                acts::replay(model, todo, id, repeatable);
            }
            _ => {}
        },
        Kind::Question(id) => {
            let id = id.clone();
            questions::key(model, todo, &id, key);
        }
        Kind::Confirm(_) => match key {
            Key::Char('y') if questions::is_read(model) => {
                if let Some(Kind::Confirm(confirm)) = model.pages.pop().map(|page| page.kind) {
                    confirm.asks.into_iter().for_each(|ask| todo.ask(ask));
                }
            }
            Key::Char('n') => close(model, todo),
            _ => {}
        },
        Kind::Output(output) => match key {
            Key::Char('x') | Key::Ctrl('x') if output.ended.is_none() => {
                todo.push(Effect::Kill(output.run));
            }
            Key::Char('y') => {
                let text = output.lines.join("\n");
                copy(model, todo, Some(text));
            }
            _ => {}
        },
        Kind::Approve(_) => approve_key(model, todo, key),
        Kind::Rule(tool) => {
            let decision = match key {
                Key::Char('a') => "allow",
                Key::Char('s') => "ask",
                Key::Char('d') => "deny",
                Key::Char('h') => "hide",
                Key::Char('n') => "none",
                _ => return,
            };
            let rule = Rule {
                tools: vec![std::mem::take(tool)],
                decision: decision.to_owned(),
                confirm: None,
            };
            model.pages.pop();
            todo.ask(Ask::Rule(Box::new(rule)));
        }
        Kind::Text { .. } | Kind::Keys | Kind::Form(_) | Kind::SignIn(_) => {}
    }
}

/// Puts something into the clipboard, if there is anything.
fn copy(model: &mut Model, todo: &mut Todo, text: Option<String>) {
    match text.filter(|text| text.len() <= limits::COPY_BYTES) {
        Some(text) => {
            model.tell(format_args!("copied"));
            todo.push(Effect::Copy(text));
        }
        None => model.fail(format_args!("there is nothing that could be copied")),
    }
}

/// Takes the page in front away.
pub(super) fn close(model: &mut Model, todo: &mut Todo) {
    let Some(page) = model.pages.pop() else {
        return;
    };
    match &page.kind {
        Kind::Output(output) if output.ended.is_none() => todo.push(Effect::Kill(output.run)),
        Kind::Run(run) if run.outcome.is_none() => {
            if let Some(call) = run.call {
                todo.ask(Ask::Cancel(call));
            }
            todo.push(Effect::Abandon(page.id));
        }
        _ => read(model, todo),
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
pub(super) fn read(model: &Model, todo: &mut Todo) {
    match model.page().map(|page| &page.kind) {
        Some(Kind::Server(page)) => page.tab.asks(&page.segment, &mut |ask| todo.ask(ask)),
        Some(Kind::Approve(page)) => todo.ask(Ask::Server(page.segment.clone())),
        Some(Kind::Call(page)) => todo.ask(Ask::Detail(page.call)),
        _ => {}
    }
}

/// Asks how many a server lists that is there to say it, where nobody has asked it yet. One that
/// sleeps is not woken for that.
pub(super) fn uncounted(model: &Model, todo: &mut Todo) {
    let Some(Kind::Server(page)) = model.page().map(|page| &page.kind) else {
        return;
    };
    let server = model.server(&page.name);
    let Some(server) = server.filter(|it| it.state.word == "connected") else {
        return;
    };
    if page.tab != Tab::Overview {
        return;
    }
    let known = [server.resources, None, server.prompts];
    for (list, (known, counted)) in ServerPage::COUNTED
        .into_iter()
        .zip(known.iter().zip(page.counts))
    {
        if known.is_none() && counted.is_none() {
            todo.ask(Ask::Listed(page.segment.clone(), list));
        }
    }
}

/// Asks again for the fields of forms that have none yet: whoever was asked may be gone.
pub(super) fn unfilled(model: &Model, todo: &mut Todo) {
    for page in &model.pages {
        if let Kind::Form(form) = &page.kind
            && form.form.is_none()
        {
            todo.ask(Ask::Form {
                page: page.id,
                schema: form.schema.clone(),
            });
        }
    }
}

fn server_key(model: &mut Model, todo: &mut Todo, key: Key) {
    let Some(page) = model.pages.last_mut() else {
        return;
    };
    let Kind::Server(server) = &mut page.kind else {
        return;
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
        read(model, todo);
        uncounted(model, todo);
        return;
    }
    let (name, tab) = (server.name.clone(), server.tab);
    if key == Key::Enter {
        let rows = server.rows().unwrap_or_default();
        if let Some(item) = rows.get(server.at).copied().cloned() {
            enter(model, todo, &name, tab, &item);
        }
        return;
    }
    if !matches!(key, Key::Char('t' | 'l' | 'w'))
        && let Some(server) = model.server(&name).cloned()
    {
        acts::on_server(model, todo, &server, key);
    }
}

/// Does what one does with what a server lists.
fn enter(model: &mut Model, todo: &mut Todo, name: &str, tab: Tab, item: &Value) {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    match tab {
        Tab::Tools => {
            let tool = text("name");
            let mut tools = model.tools.iter();
            match tools.find(|it| it.server == name && it.name == tool) {
                Some(tool) => {
                    let page = forms::of_tool(tool);
                    forms::ask_fields(model, todo, page);
                }
                None => model.fail(format_args!("{tool} is not offered to clients")),
            }
        }
        Tab::Resources if item.get("uri").is_none() => {
            // Whoever wants one fills it in.
            let words = words::quoted(&format!("@{name}:{}", text("uriTemplate")));
            prompt::open(model, Asked::Command, &format!("read {words}"));
        }
        Tab::Resources => forms::read_resource(model, todo, name, text("uri")),
        Tab::Prompts => forms::for_prompt(model, name, item),
        _ => {}
    }
}

fn run_key(model: &mut Model, todo: &mut Todo, key: Key) {
    let Some(page) = model.pages.last_mut() else {
        return;
    };
    let Kind::Run(run) = &mut page.kind else {
        return;
    };
    match (key, run.outcome.is_some()) {
        (Key::Enter, false) => {
            if let Some(Kind::Run(run)) = model.page().map(|page| &page.kind)
                && let Some(id) = model.asked_by(run).map(|it| it.id.clone())
            {
                questions::show(model, todo, &id);
            }
        }
        (Key::Char('x' | 'c') | Key::Ctrl('x'), false) => match run.call {
            Some(call) => todo.ask(Ask::Cancel(call)),
            // It has only just left: it is cancelled as soon as it is known by which number.
            None if !run.is_given_up => run.is_given_up = true,
            None => {
                run.outcome = Some(Outcome::Abandoned);
                todo.push(Effect::Abandon(page.id));
            }
        },
        (Key::Char('v'), _) => {
            run.raw = !run.raw;
            page.scroll = 0;
        }
        (Key::Char('y'), _) => {
            let command = run.command.clone();
            copy(model, todo, Some(command));
        }
        (Key::Char('r'), true) => {
            if let Some(Kind::Run(run)) = model.pages.pop().map(|page| page.kind) {
                let RunPage {
                    title,
                    make,
                    command,
                    ..
                } = *run;
                forms::run(model, todo, title, make, command);
            }
        }
        _ => {}
    }
}

fn approve_key(model: &mut Model, todo: &mut Todo, key: Key) {
    let Some(Kind::Approve(page)) = model.page().map(|page| &page.kind) else {
        return;
    };
    let verb = match key {
        Key::Char('y') => "approve",
        Key::Char('n') => "reject",
        _ => return,
    };
    // Nobody says yes to what was not shown.
    let Some(detail) = &page.detail else {
        return;
    };
    if detail.approval_digest.is_none() {
        return model.tell(format_args!("it waits for no approval any more"));
    }
    let act = Act {
        digest: detail.approval_digest.clone(),
        ..Act::default()
    };
    let segment = page.segment.clone();
    if verb == "reject" || questions::is_read(model) {
        model.pages.pop();
        todo.ask(Ask::Act { segment, verb, act });
    }
}

/// A key on the page that says where to sign in.
pub(super) fn sign_in_key(model: &mut Model, todo: &mut Todo, key: Key) {
    let Some(Kind::SignIn(page)) = model.pages.last_mut().map(|page| &mut page.kind) else {
        return;
    };
    match key {
        Key::Esc => close(model, todo),
        Key::Ctrl('y') => {
            let url = page.url.clone();
            copy(model, todo, Some(url));
        }
        Key::Enter if page.pasted.is_empty() => {
            todo.push(Effect::Open(page.url.clone()));
            model.tell(format_args!("the browser is asked to open it"));
        }
        Key::Enter => {
            let act = Act {
                pasted: Some(page.pasted.text()),
                ..Act::default()
            };
            todo.ask(Ask::Act {
                segment: page.segment.clone(),
                verb: "sign-in",
                act,
            });
            model.tell(format_args!("signing in …"));
        }
        key => {
            page.pasted.key(key);
        }
    }
}
