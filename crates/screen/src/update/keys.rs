//! Keys that do the same everywhere; every other one is for what is in front.

use super::{acts, aside, forms, pages, prompt};
use crate::{
    key::Key,
    message::Effect,
    model::{Asked, Model, View},
    page::Kind,
};

/// A key was pressed.
pub(super) fn pressed(model: &mut Model, key: Key) -> Vec<Effect> {
    // What was said has been read.
    model.told = None;
    match key {
        Key::Ctrl('c') => return vec![Effect::Quit],
        Key::Ctrl('z') => return vec![Effect::Suspend],
        Key::Ctrl('l') => return vec![Effect::Redraw],
        _ => {}
    }
    if model.prompt.is_some() {
        return prompt::key(model, key);
    }
    match model.page().map(|page| &page.kind) {
        Some(Kind::Form(_)) => return forms::key(model, key),
        Some(Kind::SignIn(_)) => return pages::sign_in_key(model, key),
        _ => {}
    }
    if let Some(effects) = everywhere(model, key) {
        return effects;
    }
    if model.pages.is_empty() {
        acts::key(model, key)
    } else {
        pages::key(model, key)
    }
}

/// Text was pasted: it goes where somebody types, and nowhere else. Keys it is not.
pub(super) fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    if let Some(prompt) = &mut model.prompt {
        prompt.input.insert(text.trim_end());
        return prompt::typed(model);
    }
    match model.pages.last_mut().map(|page| &mut page.kind) {
        Some(Kind::Form(page)) => {
            if let Some(form) = &mut page.form {
                form.paste(text.trim_end_matches('\n'));
            }
        }
        Some(Kind::SignIn(page)) => page.pasted.insert(text.trim()),
        _ => model.tell("pasted text goes nowhere here: press : for a command"),
    }
    Vec::new()
}

fn everywhere(model: &mut Model, key: Key) -> Option<Vec<Effect>> {
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
            return Some(go_to(model, View::ALL[at]));
        }
        Key::Esc | Key::Char('q') if !model.pages.is_empty() => return Some(pages::close(model)),
        // What is filtered is seen whole again before anything ends.
        Key::Esc if !model.list().filter.is_empty() => return Some(prompt::filter(model, "")),
        Key::Esc if !model.aside.is_empty() => aside::back(model),
        Key::Char('q') => return Some(vec![Effect::Quit]),
        _ => return None,
    }
    Some(Vec::new())
}

/// Opens a view.
pub(super) fn go_to(model: &mut Model, view: View) -> Vec<Effect> {
    model.view = view;
    model.settle(view);
    acts::entered(model)
}
