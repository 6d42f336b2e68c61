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
    page::{Kind, Page},
};

/// The screen after something happened, and what is to be done about it.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key) => keys::pressed(model, key),
        Message::Pasted(text) => keys::pasted(model, &text),
        Message::Resized(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        Message::Linked(link) => linked(model, link),
        Message::Changed(event) => changes::changed(model, *event),
        Message::Answered { ask, answer } => answers::answered(model, *ask, answer),
        Message::Wrote { run, lines } => {
            wrote(model, run, lines);
            Vec::new()
        }
        Message::Ended { run, code } => ended(model, run, code),
        Message::Examined { found, at } => {
            (model.examining, model.examined) = (false, Some(at));
            model.doctor = match serde_json::from_slice::<Vec<Finding>>(&found) {
                Ok(findings) => Doctor::Found(findings),
                Err(error) => Doctor::Failed(error.to_string()),
            };
            model.settle(View::Doctor);
            Vec::new()
        }
        Message::NotExamined { why } => {
            (model.examining, model.examined) = (false, None);
            model.doctor = Doctor::Failed(why);
            model.settle(View::Doctor);
            Vec::new()
        }
        Message::Told(text) => {
            model.tell(text);
            Vec::new()
        }
    }
}

/// Another gateway, or none: everything is read anew.
fn linked(model: &mut Model, link: Link) -> Vec<Effect> {
    let lost = matches!(link, Link::Lost { .. });
    if lost {
        // A call that was on its way will not be answered.
        forms::abandoned(model);
    }
    model.link = link;
    if lost || model.link == Link::Looking {
        return Vec::new();
    }
    model.reading_calls = (false, false);
    let mut effects = read_all(model);
    effects.extend(pages::unfilled(model));
    effects
}

/// Everything is read anew.
fn read_all(model: &mut Model) -> Vec<Effect> {
    let mut effects = vec![
        Effect::Ask(Ask::State),
        Effect::Ask(Ask::Tools),
        Effect::Ask(Ask::Questions),
        Effect::Ask(Ask::Tokens),
    ];
    effects.extend(read_calls(model));
    effects.extend(pages::read(model));
    effects
}

/// The list of calls is read, once at a time.
fn read_calls(model: &mut Model) -> Option<Effect> {
    if model.reading_calls.0 {
        model.reading_calls.1 = true;
        return None;
    }
    model.reading_calls = (true, false);
    let filter = model.lists[View::Traffic as usize].filter.clone();
    Some(Effect::Ask(Ask::Calls { filter }))
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
    let Some((_, output)) = output_of(model, run) else {
        return;
    };
    let short = |line: String| switchboard_local::visible::cut(&line, limits::OUTPUT_LINE);
    output.lines.extend(lines.into_iter().map(short));
    let over = output.lines.len().saturating_sub(limits::OUTPUT_LINES);
    output.lines.drain(..over);
    pages::keep_end(model);
}

/// A command has ended: it may have changed anything.
fn ended(model: &mut Model, run: u64, code: Option<i32>) -> Vec<Effect> {
    if let Some((_, output)) = output_of(model, run) {
        output.ended = Some(code);
    }
    pages::keep_end(model);
    vec![Effect::Ask(Ask::State), Effect::Ask(Ask::Tools)]
}

fn output_of(model: &mut Model, run: u64) -> Option<(u64, &mut crate::page::OutputPage)> {
    model
        .pages
        .iter_mut()
        .find_map(|page| match &mut page.kind {
            Kind::Output(output) if output.run == run => Some((page.id, output)),
            _ => None,
        })
}
