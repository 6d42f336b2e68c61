//! `answer`: answers what waits for a person at the running gateway.

use super::{
    call::form::{self, Filled},
    inbox::{failed, show, whole},
};
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
};
use clap::Args;
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use switchboard::{
    api::{
        Client,
        types::questions::{Answer, Kind, Question, Questions, Taken},
    },
    tasks,
};

/// Options of `answer`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The question, as inbox shows it; the beginning is enough
    pub id: String,
    /// The answer: one that the question takes. Without it the question is asked here
    pub action: Option<String>,
    /// A field of a form, or of what is held; repeatable
    #[arg(long = "set", value_name = "FIELD=VALUE", conflicts_with = "content")]
    pub set: Vec<String>,
    /// What is filled in, a model's answer, or what is held as it is to be: JSON, or a text for a
    /// model's answer
    #[arg(long, value_name = "JSON")]
    pub content: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard answer 3f9a allow
  switchboard answer 3f9a accept --set name=Ada --set age=36
  switchboard answer 3f9a edit --set path=/tmp/other
  switchboard answer 3f9a";

/// Answers. Exit code 1 where somebody else was first.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    life::short(async |_| {
        let client = Client::find(&context.options).map_err(failed)?;
        let question = found(&client, &options.id).await?;
        let question = whole(&client, question).await.map_err(failed)?;
        let answer = match &options.action {
            Some(action) => Answer {
                action: action.clone(),
                content: content(options, &question)?,
                ..Answer::default()
            },
            None => asked(&question).await?,
        };
        let path = format!("questions/{}", question.id);
        let taken: Taken = client.post(&path, &answer).await.map_err(failed)?;
        if options.json {
            let text = serde_json::to_vec(&taken).unwrap_or_default();
            out::json(&text)?;
            return Ok(Code::Done);
        }
        out::line(&format!("Answered: {}", safe::line(&answer.action)))?;
        if let Some(page) = &taken.open {
            out::line(&format!("Open this page: {}", safe::line(page)))?;
        }
        Ok(Code::Done)
    })?
}

/// The question of this id, or the only one that begins so.
async fn found(client: &Client, id: &str) -> Result<Question, Failure> {
    let all: Questions = client.get("questions?all=true").await.map_err(failed)?;
    let mut fits: Vec<Question> = all.questions;
    fits.retain(|question| question.id.starts_with(id));
    if let Some(at) = fits.iter().position(|question| question.id == id) {
        return Ok(fits.swap_remove(at));
    }
    let is_open = |question: &&Question| question.status == "open";
    if fits.len() > 1 && fits.iter().filter(is_open).count() == 1 {
        fits.retain(|question| question.status == "open");
    }
    match fits.len() {
        1 => Ok(fits.swap_remove(0)),
        0 => Err(Failure::usage(format!("there is no question {id:?}"))
            .hint("see what waits: switchboard inbox")),
        _ => Err(
            Failure::usage(format!("several questions begin with {id:?}")).hint("write more of it"),
        ),
    }
}

/// What was filled in on the command line.
fn content(options: &Options, question: &Question) -> Result<Option<Value>, Failure> {
    if let Some(text) = &options.content {
        let read = serde_json::from_str(text);
        return match (read, question.kind) {
            (Ok(value), _) => Ok(Some(value)),
            // A person need not write JSON to say something.
            (Err(_), Kind::Sampling) => Ok(Some(json!(text))),
            (Err(fault), _) => Err(Failure::usage(format!("--content is no JSON: {fault}"))),
        };
    }
    if options.set.is_empty() {
        return Ok(None);
    }
    let fields = question.schema.as_ref().map(|schema| &schema["properties"]);
    // What is held stays as it is but for these.
    let held = match (question.kind, &question.about) {
        (Kind::Held, Some(Value::Object(held))) => Some(held.clone()),
        _ => None,
    };
    let is_held = held.is_some();
    let mut filled = held.unwrap_or_default();
    for set in &options.set {
        let Some((name, text)) = set.split_once('=') else {
            let text = format!("--set {set:?} is no FIELD=VALUE");
            return Err(Failure::usage(text).hint("write --set name=value"));
        };
        let kind = fields.and_then(|fields| fields[name]["type"].as_str());
        let value = match kind {
            None if is_held => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            Some("string") | None => json!(text),
            Some(_) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        filled.insert(name.to_owned(), value);
    }
    Ok(Some(Value::Object(filled)))
}

/// Asks here, on a terminal.
async fn asked(question: &Question) -> Result<Answer, Failure> {
    if !term::can_ask() {
        let text = "there is no terminal to ask at";
        let takes = question.answers.join(", ");
        return Err(Failure::usage(text).hint(format!("say which: {takes}")));
    }
    let question = question.clone();
    let answered = tasks::blocking(move || at_terminal(&question)).await;
    answered.map_err(|_| Failure::usage("no answer"))?
}

fn at_terminal(question: &Question) -> Result<Answer, Failure> {
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stderr());
    let server = question.server.clone().unwrap_or_default();
    let filled = match question.kind {
        Kind::Form => {
            let params = json!({ "message": question.text, "requestedSchema": question.schema });
            form::fill(&server, &params, &mut input, &mut out)
        }
        Kind::Page => {
            let params = json!({ "mode": "url", "message": question.text, "url": question.url });
            form::visit(&server, &params, &mut input, &mut out)
        }
        _ => {
            show(question)?;
            return choose(question, &mut input, &mut out);
        }
    };
    let (action, content) = match filled {
        Filled::Accepted(content) => ("accept", Some(Value::Object(content))),
        Filled::Visited => ("accept", None),
        Filled::Declined => ("decline", None),
        Filled::Cancelled => return Err(Failure::new(Code::Interrupted, "nothing was answered")),
    };
    Ok(Answer {
        action: action.to_owned(),
        content,
        ..Answer::default()
    })
}

/// One of the answers that it takes, and for a model's answer its text.
fn choose(
    question: &Question,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Answer, Failure> {
    let _ = write!(out, "[{}]: ", question.answers.join(", "));
    let _ = out.flush();
    let action = line(input)?;
    if !question.answers.contains(&action) {
        let takes = question.answers.join(", ");
        return Err(Failure::usage(format!("it takes {takes}")));
    }
    let mut content = None;
    if question.kind == Kind::Sampling && action == "accept" {
        let _ = write!(out, "the answer, in one line: ");
        let _ = out.flush();
        content = Some(json!(line(input)?));
    }
    if question.kind == Kind::Held && action == "edit" {
        let _ = write!(out, "what it is to be, as one line of JSON: ");
        let _ = out.flush();
        let text = line(input)?;
        let read = serde_json::from_str(&text);
        let wrong = |fault| Failure::usage(format!("that is no JSON: {fault}"));
        content = Some(read.map_err(wrong)?);
    }
    Ok(Answer {
        action,
        content,
        ..Answer::default()
    })
}

fn line(input: &mut dyn BufRead) -> Result<String, Failure> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) | Err(_) => Err(Failure::new(Code::Interrupted, "nothing was answered")),
        Ok(_) => Ok(line.trim().to_owned()),
    }
}
