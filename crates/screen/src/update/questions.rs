//! Answers to questions.

use super::{forms, open};
use crate::{ask::Ask, key::Key, message::Effect, model::Model, page::Kind as Page};
use switchboard_api::questions::{Answer, Kind, Question};

/// A key about one question, in the list or on its page.
pub(super) fn key(model: &mut Model, id: &str, key: Key) -> Vec<Effect> {
    let question = model.questions.iter().find(|question| question.id == id);
    let Some(question) = question.cloned() else {
        return Vec::new();
    };
    let on_page = !model.pages.is_empty();
    match key {
        Key::Enter if !on_page => {
            let whole = whole(&question);
            open(model, Page::Question(question.id));
            return whole;
        }
        // Nobody has seen all of it yet.
        _ if on_page && question.partial => return whole(&question),
        Key::Enter if question.status == "open" && takes_form(&question) => {
            return forms::for_question(model, &question);
        }
        // A page is opened by this key, and by nothing else.
        Key::Char('o') => {
            let Some(url) = question.url else {
                return Vec::new();
            };
            model.tell("the browser is asked to open it");
            return vec![Effect::Open(url)];
        }
        _ => {}
    }
    let Some(action) = action(&question, key) else {
        return Vec::new();
    };
    if question.status != "open" {
        model.tell("it has been answered");
        return Vec::new();
    }
    // What nobody has read is not said yes to: the page with all of it comes first.
    if !on_page && wants_reading(&question) {
        let whole = whole(&question);
        open(model, Page::Question(question.id));
        return whole;
    }
    if action == "accept" && takes_form(&question) {
        return forms::for_question(model, &question);
    }
    let answer = Answer {
        action: action.to_owned(),
        ..Answer::default()
    };
    vec![Effect::Ask(Ask::Answer {
        id: question.id,
        answer: Box::new(answer),
    })]
}

fn takes_form(question: &Question) -> bool {
    matches!(question.kind, Kind::Form | Kind::Sampling)
}

/// Whether there is more to it than its line says.
fn wants_reading(question: &Question) -> bool {
    question.partial
        || matches!(
            question.kind,
            Kind::Approval
                | Kind::Changed
                | Kind::Proposal
                | Kind::Page
                | Kind::SignIn
                | Kind::Held
        )
}

/// Asks for all of a question that something was left out of.
pub(super) fn whole(question: &Question) -> Vec<Effect> {
    let wanted = question.partial && question.status == "open";
    let ask = wanted.then(|| Effect::Ask(Ask::Question(question.id.clone())));
    ask.into_iter().collect()
}

/// The answer that a key stands for, if the question takes it.
fn action(question: &Question, key: Key) -> Option<&str> {
    let words: &[&str] = match key {
        Key::Char('y') => &["allow", "approve", "accept", "release"],
        Key::Char('a') => &["allow-always"],
        Key::Char('n') => &["deny", "reject", "decline", "refuse"],
        Key::Char('N') => &["deny-always"],
        Key::Char('c') => &["cancel"],
        _ => return None,
    };
    let takes = question.answers.iter().map(String::as_str);
    takes.into_iter().find(|answer| words.contains(answer))
}
