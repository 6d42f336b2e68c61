//! Answers to questions.

use super::{forms, open};
use crate::{
    ask::Ask,
    key::Key,
    message::Effect,
    model::{Model, takes_form},
    page::Kind as Page,
    view,
};
use switchboard_api::questions::{Answer, Kind, Question};

/// A key about one question, in the list or on its page.
pub(super) fn key(model: &mut Model, id: &str, key: Key) -> Vec<Effect> {
    let question = model.questions.iter().find(|question| question.id == id);
    let Some(question) = question.cloned() else {
        return Vec::new();
    };
    let front = model.page().map(|page| &page.kind);
    let on_page = matches!(front, Some(Page::Question(front)) if *front == question.id);
    match key {
        Key::Enter if !on_page => return show(model, &question),
        // Nobody has seen all of it yet.
        _ if on_page && question.partial => return whole(&question),
        Key::Enter if question.status == "open" && takes_form(&question) => {
            return forms::for_question(model, &question);
        }
        // A page is opened by this key, and by nothing else.
        Key::Char('o') if on_page => {
            let Some(url) = question.url else {
                return Vec::new();
            };
            model.tell("the browser is asked to open it");
            return vec![Effect::Open(url)];
        }
        Key::Char('o') if question.url.is_some() => return show(model, &question),
        _ => {}
    }
    let Some(action) = action(&question, key) else {
        return Vec::new();
    };
    if question.status != "open" {
        model.tell("it has been answered");
        return Vec::new();
    }
    // What nobody has read is not said yes to: the page with all of it comes first. A form is
    // answered where it is seen: whoever types too early has answered nothing.
    if !on_page && (wants_reading(&question) || is_yes(action)) {
        return show(model, &question);
    }
    if takes_form(&question) {
        model.tell("Enter opens the form; Ctrl-N declines there");
        return Vec::new();
    }
    if is_yes(action) && !is_read(model) {
        return Vec::new();
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

/// Opens a question: a form at once, anything else as a page.
pub(super) fn show(model: &mut Model, question: &Question) -> Vec<Effect> {
    if question.kind == Kind::Form && question.status == "open" && !question.partial {
        return forms::for_question(model, question);
    }
    open(model, Page::Question(question.id.clone()));
    whole(question)
}

/// All of a question has come; where it is a form, that is what was to be opened.
pub(super) fn came(model: &mut Model, id: &str) -> Vec<Effect> {
    let question = model.questions.iter().find(|it| it.id == id);
    let Some(question) = question.cloned() else {
        return Vec::new();
    };
    let front = model.page().map(|page| &page.kind);
    let in_front = matches!(front, Some(Page::Question(front)) if front == id);
    if !in_front || question.kind != Kind::Form || question.partial {
        return Vec::new();
    }
    model.pages.pop();
    forms::for_question(model, &question)
}

/// Whether the page in front is on the screen to its end, as what is said yes to has to be; it
/// is told where it is not.
pub(super) fn is_read(model: &mut Model) -> bool {
    let rest = view::rest(model);
    if !rest.is_whole {
        model.tell(match rest.below {
            0 => "it is too long to be shown whole: switchboard inbox".to_owned(),
            _ => "not yet: what you say yes to goes on below".to_owned(),
        });
    }
    rest.is_whole
}

/// Whether an answer lets something run, or writes a rule.
fn is_yes(action: &str) -> bool {
    !matches!(action, "deny" | "reject" | "decline" | "refuse" | "cancel")
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
                | Kind::Form
                | Kind::Sampling
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
