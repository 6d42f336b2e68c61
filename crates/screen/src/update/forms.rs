//! Forms, and the calls that are made with them.

use super::{Todo, aside, open, pages, questions};
use crate::{
    ask::Ask,
    form::Form,
    key::Key,
    limits,
    message::Effect,
    model::Model,
    page::{FormPage, Kind, Outcome, Purpose, RunPage},
    text, view, words,
};
use serde_json::{Value, json};
use switchboard_api::{
    calls::{Call, Detail, Make},
    fill,
    questions::{Answer, Question},
    tools::{Fault, Field, Fields, Tool},
};
use switchboard_wire::Method;

/// A form of a tool's arguments.
pub(super) fn of_tool(tool: &Tool) -> FormPage {
    let definition = tool.definition.as_ref();
    let schema = definition.and_then(|it| it.get("inputSchema"));
    FormPage {
        title: format!("{} · {}", tool.server, tool.name),
        text: tool.description.clone().unwrap_or_default(),
        schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
        form: None,
        purpose: Purpose::Call {
            server: tool.server.clone(),
            tool: tool.name.clone(),
            canonical: tool.canonical.clone(),
        },
    }
}

/// A form of a prompt's arguments, which are texts.
pub(super) fn for_prompt(model: &mut Model, server: &str, prompt: &Value) {
    let name = text_of(prompt, "name").unwrap_or_default();
    let arguments = prompt["arguments"].as_array().map(Vec::as_slice);
    let mut root = field("object");
    for it in arguments
        .unwrap_or_default()
        .iter()
        .take(limits::FORM_ITEMS)
    {
        let mut field = field("string");
        field.key = text_of(it, "name").unwrap_or_default();
        field.label = text_of(it, "title").unwrap_or_else(|| field.key.clone());
        field.description = text_of(it, "description");
        field.required = it["required"].as_bool().unwrap_or_default();
        root.fields.push(field);
    }
    let page = FormPage {
        title: format!("{server} · prompt {name}"),
        text: text_of(prompt, "description").unwrap_or_default(),
        schema: Value::Null,
        form: Some(Form::new(root)),
        purpose: Purpose::Prompt {
            server: server.to_owned(),
            prompt: name,
        },
    };
    open(model, Kind::Form(Box::new(page)));
}

/// A field of this kind that must be there.
#[inline(never)]
fn field(kind: &str) -> Field {
    Field {
        kind: kind.to_owned(),
        required: true,
        ..Field::default()
    }
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

/// A call of something at a server.
#[inline(never)]
fn making(server: &str, name: &str) -> Make {
    Make {
        server: server.to_owned(),
        name: Some(name.to_owned()),
        ..Make::default()
    }
}

/// Reads a resource.
pub(super) fn read_resource(model: &mut Model, todo: &mut Todo, server: &str, uri: &str) {
    let make = Make {
        method: Some(Method::ResourcesRead.as_str().to_owned()),
        ..making(server, uri)
    };
    let command = words::quoted(&format!("@{server}:{uri}"));
    let command = format!("switchboard read {command}");
    run(model, todo, format!("{server} · {uri}"), make, command);
}

/// A form of what a server asks; a model's answer is written as JSON.
pub(super) fn for_question(model: &mut Model, todo: &mut Todo, id: &str) {
    let Some(question) = model.question(id) else {
        return;
    };
    let mut page = FormPage {
        title: question.title.clone(),
        text: asked(model, question),
        schema: Value::Null,
        form: None,
        purpose: Purpose::Answer(id.to_owned()),
    };
    if let Some(schema) = &question.schema {
        page.schema = schema.clone();
        return ask_fields(model, todo, page);
    }
    let mut root = field("json");
    root.label = "answer".to_owned();
    page.form = Some(Form::new(root));
    open(model, Kind::Form(Box::new(page)));
}

/// Who asks, for whom and until when, and in which words.
fn asked(model: &Model, question: &Question) -> String {
    let who = question.server.as_deref().unwrap_or("a server");
    let client = question.client.as_ref().or(question.principal.as_ref());
    let until = question.until.map(|at| model.clock(at));
    format!(
        "{}\n{who} asks{}{}.{}",
        question.title,
        text::around(" for ", client, ""),
        text::around(", until ", until, ""),
        text::around(" Its own words:\n", question.text.as_ref(), "")
    )
}

/// Opens a form whose fields the gateway makes of its schema.
pub(super) fn ask_fields(model: &mut Model, todo: &mut Todo, page: FormPage) {
    let schema = page.schema.clone();
    let page = open(model, Kind::Form(Box::new(page)));
    todo.ask(Ask::Form { page, schema });
}

/// The fields of a form have come.
pub(super) fn fields(model: &mut Model, page: u64, fields: Fields) {
    if let Some(Kind::Form(form)) = kind(model, page) {
        form.form = Some(Form::new(fields.root));
    }
}

/// A key on a form.
pub(super) fn key(model: &mut Model, todo: &mut Todo, key: Key) {
    let above = view::above(model);
    let Some(page) = model.pages.last_mut() else {
        return;
    };
    let Kind::Form(form_page) = &mut page.kind else {
        return;
    };
    let answers = match &form_page.purpose {
        Purpose::Answer(id) => Some(id),
        _ => None,
    };
    match (key, answers) {
        (Key::Esc, _) => return pages::close(model, todo),
        (Key::Ctrl('n'), Some(id)) => {
            let id = id.clone();
            return decline(model, todo, &id);
        }
        _ => {}
    }
    let answers = answers.is_some();
    let Some(form) = &mut form_page.form else {
        return;
    };
    // What stands above the first field is as long as its author likes.
    match key {
        Key::Up | Key::PageUp if form.at == 0 => {
            page.scroll = (page.scroll + 1).min(above);
            return;
        }
        Key::Down | Key::PageDown if page.scroll > 0 => {
            page.scroll -= 1;
            return;
        }
        _ => page.scroll = 0,
    }
    match key {
        Key::Ctrl('s') => submit(model, todo),
        // A yes that is all there is to say is not said by an Enter too many.
        Key::Enter if form.is_empty() && answers => {
            model.tell(format_args!("Ctrl-S says yes, Ctrl-N declines"));
        }
        Key::Enter if form.at + 1 >= form.len() => submit(model, todo),
        Key::Enter | Key::Down | Key::Tab => form.step(1),
        Key::Up | Key::BackTab => form.step(-1),
        Key::PageDown => form.step(10),
        Key::PageUp => form.step(-10),
        key => {
            form.key(key);
        }
    }
}

/// Says no to what a form asks.
fn decline(model: &mut Model, todo: &mut Todo, id: &str) {
    let takes = |word: &str| {
        let question = model.question(id);
        question.is_some_and(|question| question.answers.iter().any(|it| it == word))
    };
    let action = match (takes("decline"), takes("cancel")) {
        (true, _) => "decline",
        (false, true) => "cancel",
        (false, false) => {
            model.tell(format_args!("it takes no such answer; Esc leaves it"));
            return;
        }
    };
    model.pages.pop();
    questions::answer(todo, id, action.to_owned());
}

/// A form is filled in: it is held to its schema first.
fn submit(model: &mut Model, todo: &mut Todo) {
    let Some(page) = model.pages.last_mut() else {
        return;
    };
    let id = page.id;
    let Kind::Form(form_page) = &mut page.kind else {
        return;
    };
    let Some(form) = &mut form_page.form else {
        return;
    };
    let value = match form.value() {
        Ok(value) => value,
        Err(faults) => {
            form.faults = faults;
            form.go_to_fault();
            return;
        }
    };
    form.faults.clear();
    if form_page.schema.is_null() {
        return filled(model, todo, id, value);
    }
    let schema = form_page.schema.clone();
    todo.ask(Ask::Validate {
        page: id,
        schema,
        value,
    });
}

/// What was filled in fits, or does not.
pub(super) fn validated(
    model: &mut Model,
    todo: &mut Todo,
    page: u64,
    value: Value,
    faults: Vec<Fault>,
) {
    let Some(first) = faults.first() else {
        return filled(model, todo, page, value);
    };
    match first.path.as_str() {
        "" => model.fail(format_args!("{}", first.error)),
        path => model.fail(format_args!("{path}: {}", first.error)),
    }
    if let Some(Kind::Form(form_page)) = kind(model, page)
        && let Some(form) = &mut form_page.form
    {
        form.faults = faults;
        form.go_to_fault();
    }
}

/// Does what the form is for.
fn filled(model: &mut Model, todo: &mut Todo, page: u64, value: Value) {
    let Some(Kind::Form(form)) = kind(model, page) else {
        return;
    };
    match &form.purpose {
        Purpose::Call {
            server,
            tool,
            canonical,
        } => {
            let command = command(canonical, Some(&value));
            let title = format!("{server} · {tool}");
            let make = Make {
                arguments: Some(value),
                // Whoever filled it in has seen what is called with what.
                confirmed: true,
                ..making(server, tool)
            };
            run(model, todo, title, make, command);
        }
        Purpose::Prompt { server, prompt } => {
            let title = format!("{server} · prompt {prompt}");
            let mut command = "switchboard prompt ".to_owned();
            command.push_str(&words::quoted(&format!("{server}:{prompt}")));
            for (key, value) in value.as_object().into_iter().flatten() {
                let pair = format!("{key}={}", value.as_str().unwrap_or_default());
                command.push(' ');
                command.push_str(&words::quoted(&pair));
            }
            let make = Make {
                method: Some(Method::PromptsGet.as_str().to_owned()),
                arguments: Some(value),
                ..making(server, prompt)
            };
            run(model, todo, title, make, command);
        }
        Purpose::Answer(id) => {
            let id = id.clone();
            model.pages.retain(|it| it.id != page);
            let answer = Answer {
                action: "accept".to_owned(),
                content: Some(value),
                only: Vec::new(),
            };
            todo.ask(Ask::Answer {
                id,
                answer: Box::new(answer),
            });
        }
    }
}

/// Makes a call, and opens the page that shows what becomes of it.
pub(super) fn run(model: &mut Model, todo: &mut Todo, title: String, make: Make, command: String) {
    let page = RunPage {
        title,
        make: make.clone(),
        command,
        call: None,
        is_given_up: false,
        progress: None,
        outcome: None,
        raw: false,
    };
    let page = open(model, Kind::Run(Box::new(page)));
    todo.ask(Ask::Call {
        page,
        make: Box::new(make),
    });
}

/// The same call on a command line.
pub(super) fn command(canonical: &str, arguments: Option<&Value>) -> String {
    let mut command = "switchboard call ".to_owned();
    command.push_str(&words::quoted(canonical));
    let is_empty = |value: &&Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    if let Some(value) = arguments.filter(|value| !is_empty(value)) {
        command.push(' ');
        command.push_str(&words::quoted(&value.to_string()));
    }
    command
}

/// A call of ours has begun: its page learns its number, by which it is cancelled.
pub(super) fn begun(model: &mut Model, todo: &mut Todo, call: &Call) {
    if call.origin != "own" {
        return;
    }
    let is_its = |make: &Make| {
        let ends = |name: &String| make.name.as_ref().is_some_and(|made| name.ends_with(made));
        Some(&make.server) == call.server.as_ref() && call.name.as_ref().is_some_and(ends)
    };
    let mut waiting: Option<(u64, &mut RunPage)> = None;
    for page in model.all_pages_mut() {
        // The newest, where there are several.
        let is_newer = waiting.as_ref().is_none_or(|(id, _)| *id <= page.id);
        if let Kind::Run(run) = &mut page.kind
            && run.outcome.is_none()
            && run.call.is_none()
            && is_newer
            && is_its(&run.make)
        {
            waiting = Some((page.id, run));
        }
    }
    let Some((_, run)) = waiting else {
        return;
    };
    run.call = Some(call.id);
    match run.is_given_up {
        true => todo.ask(Ask::Cancel(call.id)),
        false => todo.push(Effect::Later(limits::PROGRESS, Ask::Detail(call.id))),
    }
}

/// How far a running call is; it is looked at again as long as it runs.
pub(super) fn progress(model: &mut Model, todo: &mut Todo, detail: &Detail) {
    let id = detail.call.id;
    for page in model.all_pages_mut() {
        let Kind::Run(run) = &mut page.kind else {
            continue;
        };
        if run.call != Some(id) || run.outcome.is_some() {
            continue;
        }
        let notices = detail.messages.iter().rev();
        let mut texts = notices.filter_map(|message| message.text.as_deref());
        if let Some(said) = texts.find_map(said) {
            run.progress = Some(said);
        }
        todo.push(Effect::Later(limits::PROGRESS, Ask::Detail(id)));
        return;
    }
}

/// What a notice says about how far a call is: it alone has a number for that.
fn said(text: &str) -> Option<String> {
    let notice = fill::value(text).ok()?;
    let params = notice.get("params")?;
    let progress = params.get("progress")?.as_f64()?;
    let of = text::around(" of ", params["total"].as_f64(), "");
    let message = params["message"].as_str().unwrap_or_default();
    let mut text = format!("{progress}{of} {message}");
    text.truncate(text.trim_end().len());
    Some(text)
}

/// A call of ours has ended.
pub(super) fn ended(model: &mut Model, page: u64, outcome: Outcome) {
    if let Some(Kind::Run(run)) = kind(model, page) {
        run.outcome.get_or_insert(outcome);
    }
    aside::ended(model, page);
}

/// The gateway is gone, and with it every call.
pub(super) fn abandoned(model: &mut Model) {
    for page in model.all_pages_mut() {
        if let Kind::Run(run) = &mut page.kind {
            let gone = Outcome::Refused("the gateway went away meanwhile".to_owned());
            run.outcome.get_or_insert(gone);
        }
    }
}

fn kind(model: &mut Model, page: u64) -> Option<&mut Kind> {
    let mut pages = model.all_pages_mut();
    pages.find(|it| it.id == page).map(|it| &mut it.kind)
}
