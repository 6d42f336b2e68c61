//! What keys do on the lines of the views.

use super::{forms, keys, open, pages, prompt, questions, read_calls};
use crate::{
    ask::Ask,
    key::Key,
    message::Effect,
    model::{Asked, ClientRow, Model, View},
    page::{ApprovePage, CallPage, Confirm, Kind, ServerPage, Tab},
};
use switchboard_api::{
    calls::Replay,
    questions::{Kind::Changed, Question},
    servers::Act,
    state::Server,
};

/// What a file of calls is called unless somebody says another name.
pub(super) const CASSETTE: &str = "calls.mcp.jsonl";

/// A view was opened.
pub(super) fn entered(model: &mut Model) -> Vec<Effect> {
    match model.view {
        View::Clients => vec![Effect::Ask(Ask::Tokens)],
        View::Tools => vec![Effect::Ask(Ask::Tools)],
        View::Traffic => read_calls(model).into_iter().collect(),
        // What was found before may not hold any more.
        View::Doctor => examine(model),
        _ => Vec::new(),
    }
}

/// A key on the lines of a view.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
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
            return keys::go_to(model, View::ALL[next]);
        }
        Key::Char('/') => prompt::open(model, Asked::Filter, ""),
        key => return of_view(model, key),
    }
    Vec::new()
}

fn of_view(model: &mut Model, key: Key) -> Vec<Effect> {
    match model.view {
        View::Servers => server(model, key),
        View::Tools => tool(model, key),
        View::Traffic => call(model, key),
        View::Inbox => {
            let questions = model.shown_questions();
            let question = questions.get(model.list().at).map(|it| it.id.clone());
            question.map_or_else(Vec::new, |id| questions::key(model, &id, key))
        }
        View::Clients => client(model, key),
        View::Doctor => finding(model, key),
    }
}

/// The server that one is on.
fn chosen(model: &Model) -> Option<&Server> {
    model.servers().get(model.list().at).copied()
}

fn server(model: &mut Model, key: Key) -> Vec<Effect> {
    match key {
        Key::Char('R') => return on_all(model, "reconnect"),
        Key::Char('E') => return on_all(model, "enable"),
        Key::Char('D') => return on_all(model, "disable"),
        Key::Char('n') => {
            prompt::open(model, Asked::Command, "add ");
            return Vec::new();
        }
        _ => {}
    }
    let Some(server) = chosen(model).cloned() else {
        return Vec::new();
    };
    on_server(model, &server, key)
}

/// A key about one server, in the list or on its page.
pub(super) fn on_server(model: &mut Model, server: &Server, key: Key) -> Vec<Effect> {
    let verb = match key {
        Key::Char('r') => "reconnect",
        Key::Char('e') if server.state.word == "disabled" => "enable",
        Key::Char('e') => "disable",
        Key::Char('a') => "sign-in",
        Key::Char('x') => {
            let ask = act(server, "sign-out");
            let title = format!("Sign out of {}?", server.name);
            let lines = vec![format!("The sign-in at {} is forgotten.", server.target)];
            confirm(model, title, lines, vec![ask]);
            return Vec::new();
        }
        Key::Char('A') => return approve(model, server),
        Key::Enter => return server_page(model, &server.name, Tab::Overview),
        Key::Char('l') => return server_page(model, &server.name, Tab::Stderr),
        Key::Char('t') => return server_page(model, &server.name, Tab::Tools),
        Key::Char('w') => return server_page(model, &server.name, Tab::Explain),
        _ => return Vec::new(),
    };
    model.tell(format!("{verb} {} …", server.name));
    vec![Effect::Ask(act(server, verb))]
}

fn act(server: &Server, verb: &'static str) -> Ask {
    Ask::Act {
        segment: segment(server),
        verb,
        act: Act::default(),
    }
}

/// Has a server connected that is not, so that it is seen whether it works now.
pub(super) fn connect(model: &Model, name: &str) -> Option<Effect> {
    let server = model.server(name)?;
    let sleeps = matches!(
        server.state.word.as_str(),
        "asleep" | "needs-auth" | "failed"
    );
    sleeps.then(|| Effect::Ask(act(server, "reconnect")))
}

/// Its name in paths; one that is not used has none but its own.
pub(super) fn segment(server: &Server) -> String {
    if server.segment.is_empty() {
        server.name.clone()
    } else {
        server.segment.clone()
    }
}

/// The same for all servers that it makes sense for.
fn on_all(model: &mut Model, verb: &'static str) -> Vec<Effect> {
    let wanted = |server: &&Server| match verb {
        "enable" => server.state.word == "disabled",
        "disable" => !matches!(
            server.state.word.as_str(),
            "disabled" | "denied" | "shadowed"
        ),
        _ => !matches!(
            server.state.word.as_str(),
            "disabled" | "denied" | "pending" | "shadowed"
        ),
    };
    let servers: Vec<&Server> = model.state.servers.iter().filter(wanted).collect();
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    let asks: Vec<Ask> = servers.iter().map(|server| act(server, verb)).collect();
    if asks.is_empty() {
        model.tell(format!("there is none to {verb}"));
        return Vec::new();
    }
    confirm(model, format!("{verb} all?"), names, asks);
    Vec::new()
}

/// Asks for a yes.
pub(super) fn confirm(model: &mut Model, title: String, lines: Vec<String>, asks: Vec<Ask>) {
    open(model, Kind::Confirm(Confirm { title, lines, asks }));
}

/// Shows what an approval would be for.
fn approve(model: &mut Model, server: &Server) -> Vec<Effect> {
    if server.state.word != "pending" && server.held == 0 {
        model.tell(format!("{} waits for no approval", server.name));
        return Vec::new();
    }
    // What it lists now is a question of its own, with what was and what is.
    if server.state.word != "pending" {
        let asks = |it: &&Question| {
            it.kind == Changed && it.server.as_deref() == Some(server.name.as_str())
        };
        let Some(question) = model.questions.iter().find(asks).cloned() else {
            model.tell("what it lists is not known here yet: once more, or 4");
            return vec![Effect::Ask(Ask::Questions)];
        };
        return questions::show(model, &question);
    }
    let segment = segment(server);
    let page = ApprovePage {
        name: server.name.clone(),
        segment: segment.clone(),
        detail: None,
    };
    open(model, Kind::Approve(Box::new(page)));
    vec![Effect::Ask(Ask::Server(segment))]
}

/// Opens a server's page.
pub(super) fn server_page(model: &mut Model, name: &str, tab: Tab) -> Vec<Effect> {
    let Some(server) = model.server(name) else {
        model.fail(format!("there is no server {name}"));
        return Vec::new();
    };
    let page = ServerPage {
        name: server.name.clone(),
        segment: segment(server),
        tab,
        follows: true,
        ..ServerPage::default()
    };
    open(model, Kind::Server(Box::new(page)));
    let mut effects = pages::read(model);
    effects.extend(pages::uncounted(model));
    effects
}

fn tool(model: &mut Model, key: Key) -> Vec<Effect> {
    let tools = model.shown_tools();
    let Some(tool) = tools.get(model.list().at).map(|tool| (*tool).clone()) else {
        return Vec::new();
    };
    match key {
        Key::Enter => forms::for_tool(model, &tool),
        Key::Char('d') => {
            let definition = tool.definition.unwrap_or_default();
            let lines = serde_json::to_string_pretty(&definition).unwrap_or_default();
            let lines = lines.lines().map(str::to_owned).collect();
            let title = format!("{} · {}", tool.server, tool.name);
            open(model, Kind::Text { title, lines });
            Vec::new()
        }
        Key::Char('p') => {
            open(model, Kind::Rule(tool.canonical));
            Vec::new()
        }
        Key::Char('w') => vec![Effect::Ask(Ask::Explain(tool.canonical))],
        Key::Char('y') => {
            model.tell("copied");
            vec![Effect::Copy(forms::command(&tool.canonical, None))]
        }
        _ => Vec::new(),
    }
}

fn call(model: &mut Model, key: Key) -> Vec<Effect> {
    match key {
        Key::Char('t') => return vec![Effect::Ask(Ask::Tap(!model.state.tap.armed))],
        Key::Char('s') => {
            prompt::open(model, Asked::File, CASSETTE);
            return Vec::new();
        }
        _ => {}
    }
    let Some(call) = model.calls.get(model.list().at).cloned() else {
        return Vec::new();
    };
    match key {
        Key::Enter => {
            let page = CallPage {
                call: call.id,
                ..CallPage::default()
            };
            open(model, Kind::Call(Box::new(page)));
            vec![Effect::Ask(Ask::Detail(call.id))]
        }
        Key::Char('r') => replay(model, call.id, call.repeatable),
        Key::Char('x') if call.outcome == "running" => vec![Effect::Ask(Ask::Cancel(call.id))],
        _ => Vec::new(),
    }
}

/// Makes a call again; what may do something twice wants a yes.
pub(super) fn replay(model: &mut Model, id: u64, repeatable: bool) -> Vec<Effect> {
    let ask = |confirmed| {
        let replay = Replay {
            confirmed,
            ..Replay::default()
        };
        Ask::Replay(id, Box::new(replay))
    };
    if repeatable {
        return vec![Effect::Ask(ask(false))];
    }
    let lines = vec!["Its tool does not say that twice is as once.".to_owned()];
    confirm(
        model,
        format!("Make call {id} again?"),
        lines,
        vec![ask(true)],
    );
    Vec::new()
}

fn client(model: &mut Model, key: Key) -> Vec<Effect> {
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
                let asks = vec![Ask::Revoke(name.clone())];
                confirm(model, format!("Revoke the token {name}?"), lines, asks);
            }
        }
        _ => {}
    }
    Vec::new()
}

fn finding(model: &mut Model, key: Key) -> Vec<Effect> {
    match key {
        Key::Char('r') => return examine(model),
        Key::Enter => {
            let findings = model.findings();
            let Some(finding) = findings.get(model.list().at) else {
                return Vec::new();
            };
            // The command is shown before it is run.
            match finding.command().map(str::to_owned) {
                Some(command) => prompt::open(model, Asked::Command, &command),
                None if finding.level == "ok" => model.tell("all is well with it"),
                None if finding.advice.is_none() => model.tell("nothing is to be done about it"),
                None => model.tell("there is no command for it: do what it says"),
            }
        }
        _ => {}
    }
    Vec::new()
}

fn examine(model: &mut Model) -> Vec<Effect> {
    // One at a time.
    if std::mem::replace(&mut model.examining, true) {
        return Vec::new();
    }
    vec![Effect::Examine]
}
