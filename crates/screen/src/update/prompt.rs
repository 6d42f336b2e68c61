//! The line at the bottom: commands, filters, names.

use super::{Todo, acts, open as open_page, read_calls};
use crate::{
    ask::Ask,
    input::Input,
    key::Key,
    limits,
    message::Effect,
    model::{Asked, Model, Prompt, View},
    page::{Kind, OutputPage, Tab},
    words,
};

/// Begins a line.
pub(super) fn open(model: &mut Model, what: Asked, text: &str) {
    model.prompt = Some(Prompt {
        what,
        input: Input::with(text),
        offered: Vec::new(),
        back: None,
    });
}

/// A key on the line.
pub(super) fn key(model: &mut Model, todo: &mut Todo, key: Key) {
    let Some(prompt) = &mut model.prompt else {
        return;
    };
    match (key, prompt.what) {
        (Key::Esc, what) => {
            model.prompt = None;
            if what == Asked::Filter {
                filter(model, todo, "");
            }
        }
        (Key::Backspace, Asked::Command | Asked::Filter) if prompt.input.is_empty() => {
            model.prompt = None;
        }
        (Key::Enter, what) => {
            let text = prompt.input.text();
            let word = text.trim();
            model.prompt = None;
            match what {
                Asked::Command => command(model, todo, word),
                Asked::Filter => filter(model, todo, &text),
                Asked::Token | Asked::File if word.is_empty() => {}
                Asked::Token => todo.ask(Ask::MakeToken(word.to_owned())),
                Asked::File => save(model, todo, word),
            }
        }
        (Key::Tab, Asked::Command) => complete(model),
        (Key::Up, Asked::Command) => recall(model, true),
        (Key::Down, Asked::Command) => recall(model, false),
        (key, _) => {
            prompt.offered.clear();
            if prompt.input.key(key) {
                typed(model, todo);
            }
        }
    }
}

/// Something was typed: what is filtered on this side is filtered at once.
pub(super) fn typed(model: &mut Model, todo: &mut Todo) {
    if let Some(prompt) = &model.prompt
        && prompt.what == Asked::Filter
        && model.view != View::Traffic
    {
        let text = prompt.input.text();
        filter(model, todo, &text);
    }
}

/// Shows only what fits.
pub(super) fn filter(model: &mut Model, todo: &mut Todo, text: &str) {
    let view = model.view;
    let list = model.list_mut();
    list.filter = text.to_owned();
    // What fits best stands first.
    list.at = 0;
    list.key.clear();
    model.settle(view);
    if view == View::Traffic {
        read_calls(model, todo);
    }
}

/// Saves the call that is open, or those that are listed.
fn save(model: &mut Model, todo: &mut Todo, file: &str) {
    let filter = match model.page().map(|page| &page.kind) {
        Some(Kind::Call(call)) => format!("id:{}", call.call),
        _ => model.lists[View::Traffic as usize].filter.clone(),
    };
    model.tell(format_args!("saving {file} …"));
    todo.ask(Ask::Export {
        filter,
        file: file.to_owned(),
    });
}

/// Goes through the commands that were typed.
fn recall(model: &mut Model, older: bool) {
    let count = model.history.len();
    let Some(prompt) = &mut model.prompt else {
        return;
    };
    let back = match (prompt.back, older) {
        (None, true) => Some(0),
        (Some(back), true) => Some((back + 1).min(count.saturating_sub(1))),
        (Some(back), false) => back.checked_sub(1),
        (None, false) => None,
    };
    prompt.back = back.filter(|_| count > 0);
    let line = prompt
        .back
        .and_then(|back| model.history.get(count - 1 - back));
    prompt.input = Input::with(line.map_or("", String::as_str));
}

/// Completes the word at the cursor as far as that is certain, and offers the rest.
fn complete(model: &mut Model) {
    let mut names: Vec<String> = Vec::new();
    let servers = model.state.servers.iter().map(|server| server.name.clone());
    names.extend(servers);
    names.extend(model.tools.iter().map(|tool| tool.canonical.clone()));
    names.push("all".to_owned());
    let Some(prompt) = &mut model.prompt else {
        return;
    };
    let (keep, found) = words::complete(&prompt.input.before(), &model.verbs, &names);
    match found.as_slice() {
        [] => prompt.offered.clear(),
        [only] => {
            prompt.input.replace_before(keep, &format!("{only} "));
            prompt.offered.clear();
        }
        several => {
            prompt.input.replace_before(keep, &words::common(several));
            prompt.offered = found;
        }
    }
}

/// Runs a command.
fn command(model: &mut Model, todo: &mut Todo, line: &str) {
    let (on_terminal, bare) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let Some(mut words) = words::split(bare) else {
        model.fail(format_args!("a quote is left open"));
        return;
    };
    if words.first().is_some_and(|word| word == "switchboard") {
        words.remove(0);
    }
    let Some(first) = words.first() else {
        return;
    };
    remember(model, line);
    match first.as_str() {
        "q" | "quit" | "exit" => return todo.push(Effect::Quit),
        "ui" => return model.tell(format_args!("this is it")),
        _ => {}
    }
    if let Some(name) = first.strip_prefix("servers/") {
        return acts::server_page(model, todo, name, Tab::Overview);
    }
    if on_terminal || words::wants_terminal(&words) {
        return todo.push(Effect::RunOnTerminal(words));
    }
    let run = model.number();
    let output = OutputPage {
        run,
        command: format!("switchboard {bare}"),
        follows: true,
        ..OutputPage::default()
    };
    open_page(model, Kind::Output(output));
    todo.push(Effect::Run { run, words });
}

fn remember(model: &mut Model, line: &str) {
    if model.history.last().is_some_and(|last| last == line) {
        return;
    }
    if model.history.len() >= limits::HISTORY {
        model.history.remove(0);
    }
    model.history.push(line.to_owned());
}
