//! What the gateway says that has changed.

use super::{Todo, acts, forms, pages, questions, read_all, read_calls};
use crate::{
    ask::Ask,
    limits,
    model::{Model, View},
    page::{Kind, Page, Tab},
};
use switchboard_api::{
    calls::Call, events::Event, questions::Question, state::Server, tools::Tool,
};
use switchboard_wire::Method;

pub(super) fn changed(model: &mut Model, todo: &mut Todo, event: Event) {
    match event {
        Event::Server { server } => server_changed(model, todo, *server),
        Event::ServerGone { name, file } => {
            let gone = |it: &Server| it.name == name && it.file == file;
            model.state.servers.retain(|server| !gone(server));
            model.settle(View::Servers);
            todo.ask(Ask::Tools);
        }
        Event::Listed { name, .. } => {
            todo.ask(Ask::Tools);
            if on_page(model, &name) {
                pages::read(model, todo);
            }
        }
        Event::Clients { clients } => {
            model.state.clients = clients;
            model.settle(View::Clients);
            if model.view == View::Clients {
                todo.ask(Ask::Tokens);
            }
        }
        Event::Call { call } => call_changed(model, todo, *call),
        Event::Question { question, waiting } => {
            model.state.waiting = waiting;
            questions::whole(&question, todo);
            question_changed(model, *question);
        }
        Event::Tap { tap } => model.state.tap = tap,
        Event::Breakpoints { breakpoints } => model.state.breakpoints = breakpoints,
        // Nobody subscribes here.
        Event::Updated { .. } => {}
        Event::Settings => {
            todo.ask(Ask::State);
            todo.ask(Ask::Tools);
        }
        Event::Reset => read_all(model, todo),
    }
}

/// A server is new, or something about it is.
pub(super) fn server_changed(model: &mut Model, todo: &mut Todo, server: Server) {
    let name = server.name.clone();
    let signed_in = server.sign_in.word == "signed-in";
    // Two files may have one of the same name.
    let same = |it: &&mut Server| it.name == name && it.file == server.file;
    let known = model.state.servers.iter_mut().find(same);
    if known.as_deref() == Some(&server) {
        return;
    }
    if look(known.as_deref(), &server, todo) {
        todo.ask(Ask::Tools);
    }
    match known {
        Some(known) => *known = server,
        None => model.state.servers.push(server),
    }
    model.settle(View::Servers);
    let waits = |kind: &Kind| matches!(kind, Kind::SignIn(page) if page.name == name);
    if signed_in && model.page().is_some_and(|page| waits(&page.kind)) {
        model.pages.pop();
        model.tell(format_args!("signed in to {name}"));
        acts::connect(model, todo, &name);
    }
    if on_page(model, &name) {
        pages::read(model, todo);
    }
}

/// Everything about servers was read.
pub(super) fn servers_read(before: &[Server], now: &[Server], todo: &mut Todo) {
    let mut has_others = false;
    for server in now {
        let same = |it: &&Server| it.name == server.name && it.file == server.file;
        has_others |= look(before.iter().find(same), server, todo);
    }
    if has_others {
        todo.ask(Ask::Tools);
    }
}

/// Reads what a server offers, where that is not known. Whether it has other tools now.
fn look(before: Option<&Server>, now: &Server, todo: &mut Todo) -> bool {
    // What it offers is worth knowing at once, and shows whether it is usable. It may connect
    // some time after somebody has signed in.
    let connected = |it: &Server| it.state.word == "connected";
    if connected(now) && now.tools.is_none() && !before.is_some_and(connected) {
        todo.ask(Ask::Listed(acts::segment(now).to_owned(), "tools"));
    }
    before.is_none_or(|before| before.tools != now.tools)
}

/// Whether the page in front is this server's, and shows what changes with it.
fn on_page(model: &Model, name: &str) -> bool {
    match model.page().map(|page| &page.kind) {
        // What is followed is read by the clock.
        Some(Kind::Server(page)) => page.name == name && page.tab != Tab::Stderr,
        Some(Kind::Approve(page)) => page.name == name,
        _ => false,
    }
}

fn call_changed(model: &mut Model, todo: &mut Todo, call: Call) {
    if call.outcome == "running" {
        forms::begun(model, todo, &call);
    }
    count(model, &call);
    // Which calls a filter means is the gateway's to say.
    if !model.lists[View::Traffic as usize].filter.is_empty() {
        return read_calls(model, todo);
    }
    match model.calls.iter_mut().find(|known| known.id == call.id) {
        Some(known) => *known = call,
        None => {
            let at = model.calls.partition_point(|known| known.id > call.id);
            model.calls.insert(at, call);
            model.calls.truncate(limits::CALLS);
        }
    }
    model.settle(View::Traffic);
}

/// A call that has ended counts at its tool, until the tools are read again.
fn count(model: &mut Model, call: &Call) {
    let runs = |outcome: &str| matches!(outcome, "running" | "waiting");
    let known = model.calls.iter().find(|known| known.id == call.id);
    let is_counted = known.is_some_and(|known| !runs(&known.outcome));
    if runs(&call.outcome) || is_counted || call.method != Method::ToolsCall.as_str() {
        return;
    }
    let is_it = |tool: &&mut Tool| {
        Some(&tool.server) == call.server.as_ref() && Some(&tool.name) == call.name.as_ref()
    };
    if let Some(tool) = model.tools.iter_mut().find(is_it) {
        tool.calls += 1;
    }
}

pub(super) fn question_changed(model: &mut Model, question: Question) {
    let open = question.status == "open";
    let shows = |page: &Page| page.kind.is_about(&question.id);
    if !open && model.pages.iter().any(shows) {
        model.pages.retain(|page| !shows(page));
        model.tell(format_args!(
            "it has been answered, or is not asked any more"
        ));
    }
    match model
        .questions
        .iter_mut()
        .find(|known| known.id == question.id)
    {
        Some(known) => {
            // What is another now has to be read from its beginning.
            if *known != question {
                for page in model.pages.iter_mut().filter(|page| shows(page)) {
                    page.scroll = 0;
                }
            }
            *known = question;
        }
        None => {
            if open {
                model.tell(format_args!("4 Inbox: {}", question.title));
            }
            model.questions.push(question);
        }
    }
    // What was answered is of no interest any more.
    model.questions.retain(|it| it.status == "open");
    model.settle(View::Inbox);
}

/// The questions were read anew. A page of one of them is read from its beginning if that is
/// another now, and has what the list leaves out fetched again.
pub(super) fn questions_read(model: &mut Model, todo: &mut Todo, all: Vec<Question>) {
    let before = std::mem::replace(&mut model.questions, all);
    model.questions.retain(|question| question.status == "open");
    model.settle(View::Inbox);
    for page in &mut model.pages {
        let Kind::Question(id) = &page.kind else {
            continue;
        };
        let now = model.questions.iter().find(|it| it.id == *id);
        if now != before.iter().find(|it| it.id == *id) {
            page.scroll = 0;
            if let Some(now) = now {
                questions::whole(now, todo);
            }
        }
    }
}
