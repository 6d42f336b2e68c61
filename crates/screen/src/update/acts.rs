//! What keys do on the lines of the views.

use super::{Todo, forms, keys, open, pages, prompt, questions, read_calls};
use crate::{
    ask::Ask,
    key::Key,
    message::Effect,
    model::{Asked, ClientRow, Model, View},
    page::{ApprovePage, CallPage, Confirm, Kind, ServerPage, Tab},
};
use switchboard_api::{calls::Replay, questions::Kind::Changed, servers::Act, state::Server};

/// What a file of calls is called unless somebody says another name.
pub(super) const CASSETTE: &str = "calls.mcp.jsonl";

/// A view was opened.
pub(super) fn entered(model: &mut Model, todo: &mut Todo) {
    match model.view {
        View::Clients => todo.ask(Ask::Tokens),
        View::Tools => todo.ask(Ask::Tools),
        View::Traffic => read_calls(model, todo),
        // What was found before may not hold any more.
        View::Doctor => examine(model, todo),
        _ => {}
    }
}

/// A key on the lines of a view.
pub(super) fn key(model: &mut Model, todo: &mut Todo, key: Key) {
    let page = usize::from(model.size.1.saturating_sub(8).max(1));
    let at = model.list().at;
    match key {
        Key::Up | Key::Char('k') => model.go(at.saturating_sub(1)),
        Key::Down | Key::Char('j') => model.go(at + 1),
        Key::PageUp => model.go(at.saturating_sub(page)),
        Key::PageDown => model.go(at + page),
        Key::Home | Key::Char('g') => model.go(0),
        Key::End | Key::Char('G') => model.go(usize::MAX),
        Key::Tab | Key::BackTab => {
            let step = if key == Key::Tab { 1 } else { 5 };
            let next = (model.view as usize + step) % 6;
            keys::go_to(model, todo, View::ALL[next]);
        }
        Key::Char('/') => prompt::open(model, Asked::Filter, ""),
        key => of_view(model, todo, key),
    }
}

fn of_view(model: &mut Model, todo: &mut Todo, key: Key) {
    match model.view {
        View::Servers => server(model, todo, key),
        View::Tools => tool(model, todo, key),
        View::Traffic => call(model, todo, key),
        View::Inbox => {
            let questions = model.shown_questions();
            if let Some(id) = questions.get(model.list().at).map(|it| it.id.clone()) {
                questions::key(model, todo, &id, key);
            }
        }
        View::Clients => client(model, key),
        View::Doctor => finding(model, todo, key),
    }
}

fn server(model: &mut Model, todo: &mut Todo, key: Key) {
    match key {
        Key::Char('R') => on_all(model, "reconnect"),
        Key::Char('E') => on_all(model, "enable"),
        Key::Char('D') => on_all(model, "disable"),
        Key::Char('n') => prompt::open(model, Asked::Command, "add "),
        _ => {
            let at = model.list().at;
            if let Some(server) = model.servers().get(at).copied().cloned() {
                on_server(model, todo, &server, key);
            }
        }
    }
}

/// A key about one server, in the list or on its page.
pub(super) fn on_server(model: &mut Model, todo: &mut Todo, server: &Server, key: Key) {
    let name = &server.name;
    let verb = match key {
        Key::Char('r') => "reconnect",
        Key::Char('e') if server.state.word == "disabled" => "enable",
        Key::Char('e') => "disable",
        Key::Char('a') => "sign-in",
        Key::Char('x') => {
            let title = format!("Sign out of {name}?");
            let lines = vec![format!("The sign-in at {} is forgotten.", server.target)];
            confirm(model, title, lines, vec![act(server, "sign-out")]);
            return;
        }
        Key::Char('A') => return approve(model, todo, server),
        Key::Enter => return server_page(model, todo, name, Tab::Overview),
        Key::Char('l') => return server_page(model, todo, name, Tab::Stderr),
        Key::Char('t') => return server_page(model, todo, name, Tab::Tools),
        Key::Char('w') => return server_page(model, todo, name, Tab::Explain),
        _ => return,
    };
    model.tell(format_args!("{verb} {name} …"));
    todo.ask(act(server, verb));
}

fn act(server: &Server, verb: &'static str) -> Ask {
    Ask::Act {
        segment: segment(server).to_owned(),
        verb,
        act: Act::default(),
    }
}

/// Has a server connected that is not, so that it is seen whether it works now.
pub(super) fn connect(model: &Model, todo: &mut Todo, name: &str) {
    if let Some(server) = model.server(name)
        && matches!(
            server.state.word.as_str(),
            "asleep" | "needs-auth" | "failed"
        )
    {
        todo.ask(act(server, "reconnect"));
    }
}

/// Its name in paths; one that is not used has none but its own.
pub(super) fn segment(server: &Server) -> &str {
    match server.segment.as_str() {
        "" => &server.name,
        segment => segment,
    }
}

/// The same for all servers that it makes sense for.
fn on_all(model: &mut Model, verb: &'static str) {
    let wanted = |server: &Server| match server.state.word.as_str() {
        "disabled" => verb == "enable",
        "denied" | "shadowed" => false,
        "pending" => verb == "disable",
        _ => verb != "enable",
    };
    let (mut names, mut asks) = (Vec::new(), Vec::new());
    for server in model.state.servers.iter().filter(|it| wanted(it)) {
        names.push(server.name.clone());
        asks.push(act(server, verb));
    }
    if asks.is_empty() {
        model.tell(format_args!("there is none to {verb}"));
        return;
    }
    confirm(model, format!("{verb} all?"), names, asks);
}

/// Asks for a yes.
pub(super) fn confirm(model: &mut Model, title: String, lines: Vec<String>, asks: Vec<Ask>) {
    open(model, Kind::Confirm(Confirm { title, lines, asks }));
}

/// Shows what an approval would be for.
fn approve(model: &mut Model, todo: &mut Todo, server: &Server) {
    let name = &server.name;
    if server.state.word == "pending" {
        let page = ApprovePage {
            name: name.clone(),
            segment: segment(server).to_owned(),
            detail: None,
        };
        open(model, Kind::Approve(Box::new(page)));
        todo.ask(Ask::Server(segment(server).to_owned()));
        return;
    }
    if server.held == 0 {
        model.tell(format_args!("{name} waits for no approval"));
        return;
    }
    // What it lists now is a question of its own, with what was and what is.
    let mut questions = model.questions.iter();
    let asks = questions.find(|it| it.kind == Changed && it.server.as_ref() == Some(name));
    match asks.map(|it| it.id.clone()) {
        Some(id) => questions::show(model, todo, &id),
        None => {
            model.tell(format_args!(
                "what it lists is not known here yet: once more, or 4"
            ));
            todo.ask(Ask::Questions);
        }
    }
}

/// Opens a server's page.
pub(super) fn server_page(model: &mut Model, todo: &mut Todo, name: &str, tab: Tab) {
    let Some(server) = model.server(name) else {
        model.fail(format_args!("there is no server {name}"));
        return;
    };
    let page = ServerPage {
        name: server.name.clone(),
        segment: segment(server).to_owned(),
        tab,
        follows: true,
        ..ServerPage::default()
    };
    open(model, Kind::Server(Box::new(page)));
    pages::read(model, todo);
    pages::uncounted(model, todo);
}

fn tool(model: &mut Model, todo: &mut Todo, key: Key) {
    let tools = model.shown_tools();
    let Some(tool) = tools.get(model.list().at).copied() else {
        return;
    };
    let canonical = tool.canonical.clone();
    match key {
        Key::Enter => {
            let page = forms::of_tool(tool);
            forms::ask_fields(model, todo, page);
        }
        Key::Char('d') => {
            let definition = tool.definition.as_ref();
            let text = definition.map_or_else(|| "null".to_owned(), |it| format!("{it:#}"));
            let lines = text.lines().map(str::to_owned).collect();
            let title = format!("{} · {}", tool.server, tool.name);
            open(model, Kind::Text { title, lines });
        }
        Key::Char('p') => {
            open(model, Kind::Rule(canonical));
        }
        Key::Char('w') => todo.ask(Ask::Explain(canonical)),
        Key::Char('y') => {
            model.tell(format_args!("copied"));
            todo.push(Effect::Copy(forms::command(&canonical, None)));
        }
        _ => {}
    }
}

fn call(model: &mut Model, todo: &mut Todo, key: Key) {
    match key {
        Key::Char('t') => {
            todo.ask(Ask::Tap(!model.state.tap.armed));
            return;
        }
        Key::Char('s') => {
            prompt::open(model, Asked::File, CASSETTE);
            return;
        }
        _ => {}
    }
    let Some(call) = model.calls.get(model.list().at) else {
        return;
    };
    let (id, repeatable) = (call.id, call.repeatable);
    match key {
        Key::Enter => {
            let page = CallPage {
                call: id,
                ..CallPage::default()
            };
            open(model, Kind::Call(Box::new(page)));
            todo.ask(Ask::Detail(id));
        }
        Key::Char('r') => replay(model, todo, id, repeatable),
        Key::Char('x') if call.outcome == "running" => todo.ask(Ask::Cancel(id)),
        _ => {}
    }
}

/// Makes a call again; what may do something twice wants a yes.
pub(super) fn replay(model: &mut Model, todo: &mut Todo, id: u64, repeatable: bool) {
    let replay = Replay {
        confirmed: !repeatable,
        ..Replay::default()
    };
    let ask = Ask::Replay(id, Box::new(replay));
    if repeatable {
        todo.ask(ask);
        return;
    }
    let lines = vec!["Its tool does not say that twice is as once.".to_owned()];
    confirm(model, format!("Make call {id} again?"), lines, vec![ask]);
}

fn client(model: &mut Model, key: Key) {
    match key {
        Key::Char('n') => prompt::open(model, Asked::Token, ""),
        Key::Char('x') => {
            let rows = model.shown_clients();
            if let Some(ClientRow::Token(token)) = rows.get(model.list().at) {
                let name = token.name.clone();
                let lines = vec![format!(
                    "What is open under it ends: {} sessions, {} calls.",
                    token.sessions, token.in_flight
                )];
                let title = format!("Revoke the token {name}?");
                confirm(model, title, lines, vec![Ask::Revoke(name)]);
            }
        }
        _ => {}
    }
}

fn finding(model: &mut Model, todo: &mut Todo, key: Key) {
    match key {
        Key::Char('r') => examine(model, todo),
        Key::Enter => {
            let findings = model.findings();
            let Some(finding) = findings.get(model.list().at) else {
                return;
            };
            // The command is shown before it is run.
            match finding.command().map(str::to_owned) {
                Some(command) => prompt::open(model, Asked::Command, &command),
                None if finding.level == "ok" => model.tell(format_args!("all is well with it")),
                None if finding.advice.is_none() => {
                    model.tell(format_args!("nothing is to be done about it"));
                }
                None => model.tell(format_args!("there is no command for it: do what it says")),
            }
        }
        _ => {}
    }
}

fn examine(model: &mut Model, todo: &mut Todo) {
    // One at a time.
    if !std::mem::replace(&mut model.examining, true) {
        todo.push(Effect::Examine);
    }
}
