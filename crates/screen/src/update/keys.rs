//! Keys that do the same everywhere; every other one is for what is in front.

use super::{Todo, acts, aside, forms, pages, prompt};
use crate::{
    key::Key,
    message::Effect,
    model::{Asked, Model, View},
    page::Kind,
};

/// A key was pressed.
pub(super) fn pressed(model: &mut Model, todo: &mut Todo, key: Key) {
    // What was said has been read.
    model.told = None;
    match key {
        Key::Ctrl('c') => return todo.push(Effect::Quit),
        Key::Ctrl('z') => return todo.push(Effect::Suspend),
        Key::Ctrl('l') => return todo.push(Effect::Redraw),
        _ => {}
    }
    if model.prompt.is_some() {
        return prompt::key(model, todo, key);
    }
    match model.page().map(|page| &page.kind) {
        Some(Kind::Form(_)) => return forms::key(model, todo, key),
        Some(Kind::SignIn(_)) => return pages::sign_in_key(model, todo, key),
        _ => {}
    }
    if everywhere(model, todo, key) {
        return;
    }
    if model.pages.is_empty() {
        acts::key(model, todo, key);
    } else {
        pages::key(model, todo, key);
    }
}

/// Text was pasted: it goes where somebody types, and nowhere else. Keys it is not.
pub(super) fn pasted(model: &mut Model, todo: &mut Todo, text: &str) {
    if let Some(prompt) = &mut model.prompt {
        prompt.input.insert(text.trim_end());
        return prompt::typed(model, todo);
    }
    match model.pages.last_mut().map(|page| &mut page.kind) {
        Some(Kind::Form(page)) => {
            if let Some(form) = &mut page.form {
                form.paste(text.trim_end_matches('\n'));
            }
        }
        Some(Kind::SignIn(page)) => page.pasted.insert(text.trim()),
        _ => model.tell(format_args!(
            "pasted text goes nowhere here: press : for a command"
        )),
    }
}

/// Whether the key does the same everywhere, and was obeyed.
fn everywhere(model: &mut Model, todo: &mut Todo, key: Key) -> bool {
    match key {
        Key::Char(':') => prompt::open(model, Asked::Command, ""),
        Key::Char('?') => {
            if !matches!(model.page().map(|page| &page.kind), Some(Kind::Keys)) {
                super::open(model, Kind::Keys);
            }
        }
        Key::Char(digit @ '1'..='6') => {
            let at = usize::from(digit as u8 - b'1');
            aside::leave(model);
            go_to(model, todo, View::ALL[at]);
        }
        Key::Esc | Key::Char('q') if !model.pages.is_empty() => pages::close(model, todo),
        // What is filtered is seen whole again before anything ends.
        Key::Esc if !model.list().filter.is_empty() => prompt::filter(model, todo, ""),
        Key::Esc if !model.aside.is_empty() => aside::back(model),
        Key::Char('q') => todo.push(Effect::Quit),
        _ => return false,
    }
    true
}

/// Opens a view.
pub(super) fn go_to(model: &mut Model, todo: &mut Todo, view: View) {
    model.view = view;
    model.settle(view);
    acts::entered(model, todo);
}
