//! Answers to questions.

use super::{Todo, forms, open};
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
pub(super) fn key(model: &mut Model, todo: &mut Todo, id: &str, key: Key) {
    let Some(question) = model.question(id) else {
        return;
    };
    let on_page = is_in_front(model, id);
    let (is_open, is_form) = (question.status == "open", takes_form(question));
    match key {
        Key::Enter if !on_page => return show(model, todo, id),
        // Nobody has seen all of it yet.
        _ if on_page && question.partial => return whole(question, todo),
        Key::Enter if is_open && is_form => return forms::for_question(model, todo, id),
        // A page is opened by this key, and by nothing else.
        Key::Char('o') if on_page => {
            if let Some(url) = question.url.clone() {
                model.tell(format_args!("the browser is asked to open it"));
                todo.push(Effect::Open(url));
            }
            return;
        }
        Key::Char('o') if question.url.is_some() => return show(model, todo, id),
        _ => {}
    }
    let Some(action) = action(question, key) else {
        return;
    };
    let is_yes = is_yes(action);
    // What nobody has read is not said yes to: the page with all of it comes first. A form is
    // answered where it is seen: whoever types too early has answered nothing.
    let is_unread = !on_page && (wants_reading(question) || is_yes);
    let action = action.to_owned();
    if !is_open {
        model.tell(format_args!("it has been answered"));
    } else if is_unread {
        show(model, todo, id);
    } else if is_form {
        model.tell(format_args!("Enter opens the form; Ctrl-N declines there"));
    } else if !is_yes || is_read(model) {
        answer(todo, id, action);
    }
}

/// Answers a question in one word.
pub(super) fn answer(todo: &mut Todo, id: &str, action: String) {
    let answer = Answer {
        action,
        ..Answer::default()
    };
    todo.ask(Ask::Answer {
        id: id.to_owned(),
        answer: Box::new(answer),
    });
}

/// Whether a question is the page in front.
fn is_in_front(model: &Model, id: &str) -> bool {
    matches!(model.page().map(|page| &page.kind), Some(Page::Question(front)) if front == id)
}

/// Opens a question: a form at once, anything else as a page.
pub(super) fn show(model: &mut Model, todo: &mut Todo, id: &str) {
    let Some(question) = model.question(id) else {
        return;
    };
    if question.kind == Kind::Form && question.status == "open" && !question.partial {
        return forms::for_question(model, todo, id);
    }
    whole(question, todo);
    open(model, Page::Question(id.to_owned()));
}

/// All of a question has come; where it is a form, that is what was to be opened.
pub(super) fn came(model: &mut Model, todo: &mut Todo, id: &str) {
    let is_whole_form = |it: &Question| it.kind == Kind::Form && !it.partial;
    if is_in_front(model, id) && model.question(id).is_some_and(is_whole_form) {
        model.pages.pop();
        forms::for_question(model, todo, id);
    }
}

/// Whether the page in front is on the screen to its end, as what is said yes to has to be; it
/// is told where it is not.
pub(super) fn is_read(model: &mut Model) -> bool {
    let rest = view::rest(model);
    if !rest.is_whole {
        match rest.below {
            0 => model.tell(format_args!(
                "it is too long to be shown whole: switchboard inbox"
            )),
            _ => model.tell(format_args!("not yet: what you say yes to goes on below")),
        }
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
pub(super) fn whole(question: &Question, todo: &mut Todo) {
    if question.partial && question.status == "open" {
        todo.ask(Ask::Question(question.id.clone()));
    }
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
