//! Which keys do what, where one is now.

use super::Rest;
use crate::{
    model::{Model, View, takes_form},
    page::{Kind, Page, Purpose, Tab},
};
use switchboard_api::questions::Question;

/// Keys that do the same everywhere.
const EVERYWHERE: [(&str, &str); 11] = [
    ("1-6", "views"),
    ("Tab", "next view, or next tab of a page"),
    (":", "a command; Tab completes, Up recalls"),
    ("/", "filter; Esc shows all"),
    ("↑↓ jk", "one line"),
    ("PgUp PgDn", "one page"),
    ("g G", "first line, last line"),
    (
        "Esc q",
        "back; q ends the screen where there is nothing to go back to",
    ),
    ("Ctrl-Z", "suspend"),
    ("Ctrl-L", "draw anew"),
    ("Ctrl-C", "end"),
];

type Keys = Vec<(&'static str, &'static str)>;

/// All keys that mean something now, for the page of keys.
pub(super) fn all(model: &Model) -> Keys {
    // This page lies over what the keys are of.
    let behind = model
        .pages
        .iter()
        .rfind(|page| !matches!(page.kind, Kind::Keys));
    let mut keys = behind.map_or_else(|| of_view(model), |page| of_page(model, page));
    keys.extend(EVERYWHERE);
    if model.over_up {
        keys.pop();
        keys.push(("Ctrl-C", "back to up, which goes on"));
    }
    keys
}

/// Keys for the bar at the bottom, the most useful first.
pub(super) fn keys(model: &Model, rest: Rest) -> Keys {
    let Some(page) = model.page() else {
        let mut keys = of_view(model);
        keys.extend([
            (":", "command"),
            ("/", "filter"),
            ("?", "keys"),
            ("q", if model.over_up { "back to up" } else { "quit" }),
        ]);
        return keys;
    };
    let mut keys = of_page(model, page);
    // What does not count yet is not offered.
    if model.wants_yes() && !rest.is_whole {
        keys.retain(|(key, _)| !matches!(*key, "y" | "a" | "N"));
        keys.insert(0, ("PgDn", "read on"));
    }
    if !matches!(page.kind, Kind::Form(_) | Kind::SignIn(_)) {
        keys.extend([("Esc", "back"), ("?", "keys")]);
    }
    keys
}

/// What keys do on a page.
fn of_page(model: &Model, page: &Page) -> Keys {
    let mut keys: Keys = match &page.kind {
        Kind::Server(server) => match server.tab {
            Tab::Tools => vec![("Enter", "run")],
            Tab::Resources => vec![("Enter", "read")],
            Tab::Prompts => vec![("Enter", "get")],
            _ => Vec::new(),
        },
        Kind::Form(form) if matches!(form.purpose, Purpose::Answer(_)) => {
            return vec![
                ("Enter", "next, at the end send"),
                ("Ctrl-S", "send"),
                ("Ctrl-N", "decline"),
                ("Space", "choose, add"),
                ("Ctrl-X", "remove"),
                ("Esc", "leave"),
            ];
        }
        Kind::Form(_) => {
            return vec![
                ("Enter", "next, at the end run"),
                ("Ctrl-S", "run"),
                ("Space", "choose, add"),
                ("Ctrl-X", "remove"),
                ("Esc", "leave"),
            ];
        }
        Kind::Run(run) if run.outcome.is_none() => match model.asked_by(run) {
            Some(_) => vec![("Enter", "answer"), ("x", "cancel")],
            None => vec![("x", "cancel")],
        },
        Kind::Run(_) => vec![("v", "tree/raw"), ("y", "copy as command"), ("r", "again")],
        Kind::Call(_) => vec![
            ("v", "tree/raw"),
            ("r", "replay"),
            ("s", "save"),
            ("y", "copy as command"),
        ],
        Kind::Question(id) => {
            let question = model.questions.iter().find(|it| it.id == *id);
            question.map(answers).unwrap_or_default()
        }
        Kind::Confirm(_) => vec![("y", "yes"), ("n", "no")],
        Kind::Approve(_) => vec![("y", "approve"), ("n", "reject")],
        Kind::Rule(_) => vec![
            ("a", "allow"),
            ("s", "ask"),
            ("d", "deny"),
            ("h", "hide"),
            ("n", "no rule"),
        ],
        Kind::Output(output) if output.ended.is_none() => vec![("x", "end it")],
        Kind::Output(_) => vec![("y", "copy")],
        Kind::SignIn(_) => {
            return vec![
                ("Enter", "open browser"),
                ("Ctrl-Y", "copy address"),
                ("Esc", "leave"),
            ];
        }
        Kind::Text { .. } | Kind::Keys => Vec::new(),
    };
    if let Kind::Server(_) = page.kind {
        keys.push(("Tab", "next tab"));
        keys.extend([
            ("r", "reconnect"),
            ("e", "on/off"),
            ("a", "sign in"),
            ("x", "sign out"),
        ]);
    }
    keys
}

/// The answers that a question takes.
pub(super) fn answers(question: &Question) -> Keys {
    let has = |answer: &str| question.answers.iter().any(|it| it == answer);
    let mut keys = Vec::new();
    // A form is answered in the form.
    if takes_form(question) {
        return vec![("Enter", "fill in or decline")];
    }
    if question.url.is_some() {
        keys.push(("o", "open page"));
    }
    for (answer, key, does) in [
        ("allow", "y", "yes"),
        ("allow-always", "a", "always"),
        ("deny", "n", "no"),
        ("deny-always", "N", "never"),
        ("approve", "y", "approve"),
        ("reject", "n", "reject"),
        ("accept", "y", "accept"),
        ("decline", "n", "decline"),
        ("cancel", "c", "cancel"),
        ("release", "y", "let go"),
        ("refuse", "n", "refuse"),
    ] {
        if has(answer) {
            keys.push((key, does));
        }
    }
    keys
}

/// What keys do on the lines of a view; those that are about a line only where there is one.
fn of_view(model: &Model) -> Keys {
    let without_a_line: &[&str] = match model.view {
        View::Servers | View::Clients => &["n"],
        View::Traffic => &["t"],
        View::Doctor => &["r"],
        View::Tools | View::Inbox => &[],
    };
    let is_empty = model.keys(model.view).is_empty();
    let mut keys = on_lines(model);
    keys.retain(|(key, _)| !is_empty || without_a_line.contains(key));
    if !model.aside.is_empty() {
        keys.push(("Esc", "back to the call that was left"));
    }
    keys
}

fn on_lines(model: &Model) -> Keys {
    match model.view {
        View::Servers => vec![
            ("Enter", "open"),
            ("r", "reconnect"),
            ("e", "on/off"),
            ("a", "sign in"),
            ("A", "approve"),
            ("t", "tools"),
            ("l", "stderr"),
            ("x", "sign out"),
            ("w", "why"),
            ("n", "add"),
            ("R", "reconnect all"),
            ("E", "enable all"),
            ("D", "disable all"),
        ],
        View::Tools => vec![
            ("Enter", "run"),
            ("d", "definition"),
            ("p", "permission"),
            ("w", "why"),
            ("y", "copy as command"),
        ],
        View::Traffic => vec![
            ("Enter", "both sides"),
            ("r", "replay"),
            ("t", "keep messages"),
            ("s", "save"),
            ("x", "cancel"),
        ],
        View::Inbox => {
            let questions = model.shown_questions();
            let mut keys = vec![("Enter", "open")];
            keys.extend(
                questions
                    .get(model.list().at)
                    .into_iter()
                    .flat_map(|it| answers(it))
                    // It opens the question first.
                    .filter(|(key, _)| *key != "Enter"),
            );
            keys
        }
        View::Clients => vec![("n", "new token"), ("x", "revoke")],
        View::Doctor => vec![("Enter", "do it"), ("r", "look again")],
    }
}
