//! What happens changes what the screen knows, and says what is to be done. Nothing here
//! reads, writes or waits.
//!
//! | module | what |
//! |---|---|
//! | `keys` | keys that do the same everywhere, and whose key it is else |
//! | `acts` | what keys do on the lines of the views |
//! | `pages` | what keys do on pages |
//! | `questions` | answers to questions |
//! | `forms` | forms, and the calls that are made with them |
//! | `prompt` | the line at the bottom: commands and filters |
//! | `aside` | calls whose page was left while they ran |
//! | `changes` | what the gateway says that has changed |
//! | `answers` | what it answers |

mod acts;
mod answers;
mod aside;
mod changes;
mod forms;
mod keys;
mod pages;
mod prompt;
mod questions;

use crate::{
    ask::Ask,
    limits,
    message::{Effect, Link, Message},
    model::{Doctor, Finding, Model, View},
    page::{Kind, OutputPage, Page},
};
use switchboard_api::fill::fill;

/// What is to be done, in this order.
#[derive(Debug, Default)]
struct Todo(Vec<Effect>);

impl Todo {
    #[inline(never)]
    fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// The gateway is asked something.
    #[inline(never)]
    fn ask(&mut self, ask: Ask) {
        self.push(Effect::Ask(ask));
    }
}

/// The screen after something happened, and what is to be done about it.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    let mut all = Todo::default();
    let todo = &mut all;
    match message {
        Message::Key(key) => keys::pressed(model, todo, key),
        Message::Pasted(text) => keys::pasted(model, todo, &text),
        Message::Resized(columns, rows) => model.size = (columns, rows),
        Message::Linked(link) => linked(model, todo, link),
        Message::Changed(event) => changes::changed(model, todo, *event),
        Message::Answered { ask, answer } => answers::answered(model, todo, *ask, answer),
        Message::Wrote { run, lines } => wrote(model, run, lines),
        Message::Ended { run, code } => ended(model, todo, run, code),
        Message::Examined { found, at } => {
            let mut findings: Vec<Finding> = Vec::new();
            let doctor = match fill(&mut findings, &found) {
                Ok(()) => Doctor::Found(findings),
                Err(error) => Doctor::Failed(error.to_string()),
            };
            examined(model, Some(at), doctor);
        }
        Message::NotExamined { why } => examined(model, None, Doctor::Failed(why)),
        Message::Told(text) => model.tell(format_args!("{text}")),
    }
    all.0
}

/// The doctor has looked.
fn examined(model: &mut Model, at: Option<u64>, doctor: Doctor) {
    (model.examining, model.examined) = (false, at);
    model.doctor = doctor;
    model.settle(View::Doctor);
}

/// Another gateway, or none: everything is read anew.
fn linked(model: &mut Model, todo: &mut Todo, link: Link) {
    let lost = matches!(link, Link::Lost { .. });
    if lost {
        // A call that was on its way will not be answered.
        forms::abandoned(model);
    }
    model.link = link;
    if lost || model.link == Link::Looking {
        return;
    }
    model.reading_calls = (false, false);
    read_all(model, todo);
    pages::unfilled(model, todo);
}

/// Everything is read anew.
fn read_all(model: &mut Model, todo: &mut Todo) {
    todo.ask(Ask::State);
    todo.ask(Ask::Tools);
    todo.ask(Ask::Questions);
    todo.ask(Ask::Tokens);
    read_calls(model, todo);
    pages::read(model, todo);
}

/// The list of calls is read, once at a time.
fn read_calls(model: &mut Model, todo: &mut Todo) {
    if model.reading_calls.0 {
        model.reading_calls.1 = true;
        return;
    }
    model.reading_calls = (true, false);
    let filter = model.lists[View::Traffic as usize].filter.clone();
    todo.ask(Ask::Calls { filter });
}

/// Puts a page in front.
fn open(model: &mut Model, kind: Kind) -> u64 {
    let id = model.number();
    if model.pages.len() >= limits::PAGES {
        model.pages.remove(0);
    }
    model.pages.push(Page {
        id,
        scroll: 0,
        kind,
    });
    id
}

/// What a command wrote is added to its page.
fn wrote(model: &mut Model, run: u64, lines: Vec<String>) {
    let Some(output) = output_of(model, run) else {
        return;
    };
    for line in &lines {
        let short = switchboard_local::visible::cut(line, limits::OUTPUT_LINE);
        output.lines.push(short);
    }
    let over = output.lines.len().saturating_sub(limits::OUTPUT_LINES);
    output.lines.drain(..over);
    pages::keep_end(model);
}

/// A command has ended: it may have changed anything.
fn ended(model: &mut Model, todo: &mut Todo, run: u64, code: Option<i32>) {
    if let Some(output) = output_of(model, run) {
        output.ended = Some(code);
    }
    pages::keep_end(model);
    todo.ask(Ask::State);
    todo.ask(Ask::Tools);
}

fn output_of(model: &mut Model, run: u64) -> Option<&mut OutputPage> {
    let mut pages = model.pages.iter_mut();
    pages.find_map(|page| match &mut page.kind {
        Kind::Output(output) if output.run == run => Some(output),
        _ => None,
    })
}
