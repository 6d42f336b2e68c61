//! Forms, and the calls that are made with them.

use super::{aside, open, pages};
use crate::{
    ask::Ask,
    form::Form,
    key::Key,
    limits,
    message::Effect,
    model::Model,
    page::{FormPage, Kind, Outcome, Purpose, RunPage},
    view, words,
};
use serde_json::{Value, json};
use switchboard_api::{
    calls::{Call, Detail, Make},
    questions::{Answer, Question},
    tools::{Field, Fields, Tool},
};
use switchboard_wire::Method;

/// A form of a tool's arguments.
pub(super) fn for_tool(model: &mut Model, tool: &Tool) -> Vec<Effect> {
    let definition = tool.definition.as_ref();
    let schema = definition.and_then(|it| it.get("inputSchema"));
    let schema = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
    let page = FormPage {
        title: format!("{} · {}", tool.server, tool.name),
        text: tool.description.clone().unwrap_or_default(),
        schema,
        form: None,
        purpose: Purpose::Call {
            server: tool.server.clone(),
            tool: tool.name.clone(),
            canonical: tool.canonical.clone(),
        },
    };
    ask_fields(model, page)
}

/// A form of a prompt's arguments, which are texts.
pub(super) fn for_prompt(model: &mut Model, server: &str, prompt: &Value) -> Vec<Effect> {
    let name = prompt["name"].as_str().unwrap_or_default();
    let arguments = prompt["arguments"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let fields = arguments.iter().take(limits::FORM_ITEMS).map(|it| Field {
        key: text(&it["name"]).unwrap_or_default(),
        kind: "string".to_owned(),
        label: text(&it["title"]).or(text(&it["name"])).unwrap_or_default(),
        description: text(&it["description"]),
        required: it["required"].as_bool().unwrap_or_default(),
        ..Field::default()
    });
    let root = Field {
        kind: "object".to_owned(),
        required: true,
        fields: fields.collect(),
        ..Field::default()
    };
    let page = FormPage {
        title: format!("{server} · prompt {name}"),
        text: text(&prompt["description"]).unwrap_or_default(),
        schema: Value::Null,
        form: Some(Form::new(root)),
        purpose: Purpose::Prompt {
            server: server.to_owned(),
            prompt: name.to_owned(),
        },
    };
    open(model, Kind::Form(Box::new(page)));
    Vec::new()
}

/// Reads a resource.
pub(super) fn read_resource(model: &mut Model, server: &str, uri: &str) -> Vec<Effect> {
    let make = Make {
        server: server.to_owned(),
        method: Some(Method::ResourcesRead.as_str().to_owned()),
        name: Some(uri.to_owned()),
        ..Make::default()
    };
    let command = format!(
        "switchboard read {}",
        words::quoted(&format!("@{server}:{uri}"))
    );
    run(model, format!("{server} · {uri}"), make, command)
}

/// A form of what a server asks; a model's answer is written as JSON.
pub(super) fn for_question(model: &mut Model, question: &Question) -> Vec<Effect> {
    let mut page = FormPage {
        title: question.title.clone(),
        text: asked(model, question),
        schema: Value::Null,
        form: None,
        purpose: Purpose::Answer(question.id.clone()),
    };
    if let Some(schema) = &question.schema {
        page.schema = schema.clone();
        return ask_fields(model, page);
    }
    page.form = Some(Form::new(Field {
        kind: "json".to_owned(),
        label: "answer".to_owned(),
        required: true,
        ..Field::default()
    }));
    open(model, Kind::Form(Box::new(page)));
    Vec::new()
}

/// Who asks, for whom and until when, and in which words.
fn asked(model: &Model, question: &Question) -> String {
    let who = question.server.as_deref().unwrap_or("a server");
    let client = question.client.as_ref().or(question.principal.as_ref());
    let client = client.map(|client| format!(" for {client}"));
    let until = question
        .until
        .map(|at| format!(", until {}", model.clock(at)));
    let (client, until) = (client.unwrap_or_default(), until.unwrap_or_default());
    let mut text = format!("{}\n{who} asks{client}{until}.", question.title);
    if let Some(words) = &question.text {
        text.push_str(&format!(" Its own words:\n{words}"));
    }
    text
}

fn ask_fields(model: &mut Model, page: FormPage) -> Vec<Effect> {
    let schema = page.schema.clone();
    let page = open(model, Kind::Form(Box::new(page)));
    vec![Effect::Ask(Ask::Form { page, schema })]
}

/// The fields of a form have come.
pub(super) fn fields(model: &mut Model, page: u64, fields: Fields) {
    if let Some(Kind::Form(form)) = kind(model, page) {
        form.form = Some(Form::new(fields.root));
    }
}

/// A key on a form.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let above = view::above(model);
    let Some(page) = model.pages.last_mut() else {
        return Vec::new();
    };
    let Kind::Form(form_page) = &mut page.kind else {
        return Vec::new();
    };
    if key == Key::Esc {
        return pages::close(model);
    }
    let answers = match &form_page.purpose {
        Purpose::Answer(id) => Some(id.clone()),
        _ => None,
    };
    if let (Key::Ctrl('n'), Some(id)) = (key, &answers) {
        return decline(model, id);
    }
    let Some(form) = &mut form_page.form else {
        return Vec::new();
    };
    // What stands above the first field is as long as its author likes.
    match key {
        Key::Up | Key::PageUp if form.at == 0 => {
            page.scroll = (page.scroll + 1).min(above);
            return Vec::new();
        }
        Key::Down | Key::PageDown if page.scroll > 0 => {
            page.scroll -= 1;
            return Vec::new();
        }
        _ => page.scroll = 0,
    }
    match key {
        Key::Ctrl('s') => return submit(model),
        // A yes that is all there is to say is not said by an Enter too many.
        Key::Enter if form.is_empty() && answers.is_some() => {
            model.tell("Ctrl-S says yes, Ctrl-N declines");
        }
        Key::Enter if form.at + 1 >= form.len() => return submit(model),
        Key::Enter | Key::Down | Key::Tab => form.step(1),
        Key::Up | Key::BackTab => form.step(-1),
        Key::PageDown => form.step(10),
        Key::PageUp => form.step(-10),
        key => {
            form.key(key);
        }
    }
    Vec::new()
}

/// Says no to what a form asks.
fn decline(model: &mut Model, id: &str) -> Vec<Effect> {
    let question = model.questions.iter().find(|it| it.id == id);
    let takes = |word: &&&str| {
        question.is_some_and(|question| question.answers.iter().any(|it| it == **word))
    };
    let Some(action) = ["decline", "cancel"].iter().find(takes) else {
        model.tell("it takes no such answer; Esc leaves it");
        return Vec::new();
    };
    model.pages.pop();
    let answer = Answer {
        action: (*action).to_owned(),
        ..Answer::default()
    };
    vec![Effect::Ask(Ask::Answer {
        id: id.to_owned(),
        answer: Box::new(answer),
    })]
}

/// A form is filled in: it is held to its schema first.
fn submit(model: &mut Model) -> Vec<Effect> {
    let Some(page) = model.pages.last_mut() else {
        return Vec::new();
    };
    let id = page.id;
    let Kind::Form(form_page) = &mut page.kind else {
        return Vec::new();
    };
    let Some(form) = &mut form_page.form else {
        return Vec::new();
    };
    let value = match form.value() {
        Ok(value) => value,
        Err(faults) => {
            form.faults = faults;
            form.go_to_fault();
            return Vec::new();
        }
    };
    form.faults.clear();
    if form_page.schema.is_null() {
        return filled(model, id, value);
    }
    let schema = form_page.schema.clone();
    vec![Effect::Ask(Ask::Validate {
        page: id,
        schema,
        value,
    })]
}

/// What was filled in fits, or does not.
pub(super) fn validated(
    model: &mut Model,
    page: u64,
    value: Value,
    faults: Vec<switchboard_api::tools::Fault>,
) -> Vec<Effect> {
    if faults.is_empty() {
        return filled(model, page, value);
    }
    let first = faults.first().map(|fault| match fault.path.as_str() {
        "" => fault.error.clone(),
        path => format!("{path}: {}", fault.error),
    });
    if let Some(Kind::Form(form_page)) = kind(model, page)
        && let Some(form) = &mut form_page.form
    {
        form.faults = faults;
        form.go_to_fault();
    }
    model.fail(first.unwrap_or_default());
    Vec::new()
}

/// Does what the form is for.
fn filled(model: &mut Model, page: u64, value: Value) -> Vec<Effect> {
    let Some(Kind::Form(form)) = kind(model, page) else {
        return Vec::new();
    };
    match form.purpose.clone() {
        Purpose::Call {
            server,
            tool,
            canonical,
        } => {
            let command = command(&canonical, Some(&value));
            let title = format!("{server} · {tool}");
            let make = Make {
                server,
                name: Some(tool),
                arguments: Some(value),
                // Whoever filled it in has seen what is called with what.
                confirmed: true,
                ..Make::default()
            };
            run(model, title, make, command)
        }
        Purpose::Prompt { server, prompt } => {
            let title = format!("{server} · prompt {prompt}");
            let pairs = value.as_object().into_iter().flatten();
            let pairs = pairs.map(|(key, value)| {
                words::quoted(&format!("{key}={}", value.as_str().unwrap_or_default()))
            });
            let name = words::quoted(&format!("{server}:{prompt}"));
            let command = std::iter::once(format!("switchboard prompt {name}")).chain(pairs);
            let command = command.collect::<Vec<_>>().join(" ");
            let make = Make {
                server,
                method: Some(Method::PromptsGet.as_str().to_owned()),
                name: Some(prompt),
                arguments: Some(value),
                ..Make::default()
            };
            run(model, title, make, command)
        }
        Purpose::Answer(id) => {
            model.pages.retain(|it| it.id != page);
            let answer = Answer {
                action: "accept".to_owned(),
                content: Some(value),
                only: Vec::new(),
            };
            vec![Effect::Ask(Ask::Answer {
                id,
                answer: Box::new(answer),
            })]
        }
    }
}

/// Makes a call, and opens the page that shows what becomes of it.
pub(super) fn run(model: &mut Model, title: String, make: Make, command: String) -> Vec<Effect> {
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
    vec![Effect::Ask(Ask::Call {
        page,
        make: Box::new(make),
    })]
}

/// The same call on a command line.
pub(super) fn command(canonical: &str, arguments: Option<&Value>) -> String {
    let name = words::quoted(canonical);
    match arguments {
        Some(Value::Object(map)) if map.is_empty() => format!("switchboard call {name}"),
        Some(value) => format!(
            "switchboard call {name} {}",
            words::quoted(&value.to_string())
        ),
        None => format!("switchboard call {name}"),
    }
}

/// A call of ours has begun: its page learns its number, by which it is cancelled.
pub(super) fn begun(model: &mut Model, call: &Call) -> Vec<Effect> {
    if call.origin != "own" {
        return Vec::new();
    }
    let is_its = |make: &Make| {
        let ends = |name: &String| make.name.as_ref().is_some_and(|made| name.ends_with(made));
        Some(&make.server) == call.server.as_ref() && call.name.as_ref().is_some_and(ends)
    };
    let waiting = model
        .all_pages_mut()
        .filter_map(|page| match &mut page.kind {
            Kind::Run(run) if run.outcome.is_none() && run.call.is_none() && is_its(&run.make) => {
                Some((page.id, run))
            }
            _ => None,
        });
    // The newest, where there are several.
    let Some((_, run)) = waiting.max_by_key(|(id, _)| *id) else {
        return Vec::new();
    };
    run.call = Some(call.id);
    if run.is_given_up {
        return vec![Effect::Ask(Ask::Cancel(call.id))];
    }
    vec![Effect::Later(limits::PROGRESS, Ask::Detail(call.id))]
}

/// How far a running call is; it is looked at again as long as it runs.
pub(super) fn progress(model: &mut Model, detail: &Detail) -> Vec<Effect> {
    for page in model.all_pages_mut() {
        let Kind::Run(run) = &mut page.kind else {
            continue;
        };
        if run.call != Some(detail.call.id) || run.outcome.is_some() {
            continue;
        }
        let notices = detail.messages.iter().rev();
        let mut texts = notices.filter_map(|message| message.text.as_deref());
        run.progress = texts.find_map(said).or(run.progress.take());
        return vec![Effect::Later(limits::PROGRESS, Ask::Detail(detail.call.id))];
    }
    Vec::new()
}

/// What a notice says about how far a call is: it alone has a number for that.
fn said(text: &str) -> Option<String> {
    let notice: Value = serde_json::from_str(text).ok()?;
    let params = notice.get("params")?;
    let progress = params.get("progress")?.as_f64()?;
    let of = params["total"].as_f64().map(|total| format!(" of {total}"));
    let message = params["message"].as_str().unwrap_or_default();
    let text = format!("{progress}{} {message}", of.unwrap_or_default());
    Some(text.trim_end().to_owned())
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
    let pages = model.all_pages_mut();
    pages
        .map(|it| (it.id, &mut it.kind))
        .find(|(id, _)| *id == page)
        .map(|(_, kind)| kind)
}
