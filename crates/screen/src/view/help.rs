//! Which keys do what, where one is now.

use super::Rest;
use crate::{
    model::{Model, View, takes_form},
    page::{Kind, Page, Purpose, Tab},
};
use switchboard_api::questions::Question;

/// Keys that do the same everywhere.
const EVERYWHERE: &str = "1-6=views\
    |Tab=next view, or next tab of a page\
    |:=a command; Tab completes, Up recalls\
    |/=filter; Esc shows all\
    |↑↓ jk=one line\
    |PgUp PgDn=one page\
    |g G=first line, last line\
    |Esc q=back; q ends the screen where there is nothing to go back to\
    |Ctrl-Z=suspend\
    |Ctrl-L=draw anew";

/// Which keys there are, and what they do.
#[derive(Debug, Default)]
pub(super) struct Keys(pub(super) Vec<(&'static str, &'static str)>);

impl Keys {
    /// More of them, each with what it does behind `=`, and a bar before the next. One text
    /// takes a third of the room of as many pairs.
    #[inline(never)]
    fn add(&mut self, keys: &'static str) {
        let pairs = keys.split('|').filter_map(|pair| pair.split_once('='));
        self.0.extend(pairs);
    }
}

/// All keys that mean something now, for the page of keys.
pub(super) fn all(model: &Model) -> Keys {
    // This page lies over what the keys are of.
    let behind = model
        .pages
        .iter()
        .rfind(|page| !matches!(page.kind, Kind::Keys));
    let mut keys = Keys::default();
    match behind {
        Some(page) => of_page(&mut keys, model, page),
        None => of_view(&mut keys, model),
    }
    keys.add(EVERYWHERE);
    keys.add(match model.over_up {
        true => "Ctrl-C=back to up, which goes on",
        false => "Ctrl-C=end",
    });
    keys
}

/// Keys for the bar at the bottom, the most useful first.
pub(super) fn keys(model: &Model, rest: Rest) -> Keys {
    let mut keys = Keys::default();
    let Some(page) = model.page() else {
        of_view(&mut keys, model);
        keys.add(":=command|/=filter|?=keys");
        keys.add(match model.over_up {
            true => "q=back to up",
            false => "q=quit",
        });
        return keys;
    };
    // What does not count yet is not offered.
    let is_unread = model.wants_yes() && !rest.is_whole;
    if is_unread {
        keys.add("PgDn=read on");
    }
    of_page(&mut keys, model, page);
    if is_unread {
        keys.0.retain(|(key, _)| !matches!(*key, "y" | "a" | "N"));
    }
    if !matches!(page.kind, Kind::Form(_) | Kind::SignIn(_)) {
        keys.add("Esc=back|?=keys");
    }
    keys
}

/// What keys do on a page.
fn of_page(keys: &mut Keys, model: &Model, page: &Page) {
    let more = match &page.kind {
        Kind::Server(server) => {
            match server.tab {
                Tab::Tools => keys.add("Enter=run"),
                Tab::Resources => keys.add("Enter=read"),
                Tab::Prompts => keys.add("Enter=get"),
                _ => {}
            }
            "Tab=next tab|r=reconnect|e=on/off|a=sign in|x=sign out"
        }
        Kind::Form(form) if matches!(form.purpose, Purpose::Answer(_)) => {
            "Enter=next, at the end send|Ctrl-S=send|Ctrl-N=decline|Space=choose, add|Ctrl-X=remove|Esc=leave"
        }
        Kind::Form(_) => {
            "Enter=next, at the end run|Ctrl-S=run|Space=choose, add|Ctrl-X=remove|Esc=leave"
        }
        Kind::Run(run) if run.outcome.is_none() => match model.asked_by(run) {
            Some(_) => "Enter=answer|x=cancel",
            None => "x=cancel",
        },
        Kind::Run(_) => "v=tree/raw|y=copy as command|r=again",
        Kind::Call(_) => "v=tree/raw|r=replay|s=save|y=copy as command",
        Kind::Question(id) => {
            if let Some(question) = model.question(id) {
                answers(keys, question);
            }
            return;
        }
        Kind::Confirm(_) => "y=yes|n=no",
        Kind::Approve(_) => "y=approve|n=reject",
        Kind::Rule(_) => "a=allow|s=ask|d=deny|h=hide|n=no rule",
        Kind::Output(output) if output.ended.is_none() => "x=end it",
        Kind::Output(_) => "y=copy",
        Kind::SignIn(_) => "Enter=open browser|Ctrl-Y=copy address|Esc=leave",
        Kind::Text { .. } | Kind::Keys => return,
    };
    keys.add(more);
}

/// The answers that a question takes.
pub(super) fn answers(keys: &mut Keys, question: &Question) {
    /// Each with its key.
    const ANSWERS: &str = "allow=y=yes|allow-always=a=always|deny=n=no|deny-always=N=never\
        |approve=y=approve|reject=n=reject|accept=y=accept|decline=n=decline\
        |cancel=c=cancel|release=y=let go|refuse=n=refuse";
    // A form is answered in the form.
    if takes_form(question) {
        keys.add("Enter=fill in or decline");
        return;
    }
    if question.url.is_some() {
        keys.add("o=open page");
    }
    for (answer, key) in ANSWERS.split('|').filter_map(|it| it.split_once('=')) {
        if question.answers.iter().any(|it| it == answer) {
            keys.add(key);
        }
    }
}

/// What keys do on the lines of a view; those that are about a line only where there is one.
fn of_view(keys: &mut Keys, model: &Model) {
    let without_a_line = match model.view {
        View::Servers | View::Clients => "n",
        View::Traffic => "t",
        View::Doctor => "r",
        View::Tools | View::Inbox => "",
    };
    on_lines(keys, model);
    if model.keys(model.view).is_empty() {
        keys.0.retain(|(key, _)| *key == without_a_line);
    }
    if !model.aside.is_empty() {
        keys.add("Esc=back to the call that was left");
    }
}

fn on_lines(keys: &mut Keys, model: &Model) {
    let more = match model.view {
        View::Servers => {
            "Enter=open|r=reconnect|e=on/off|a=sign in|A=approve|t=tools|l=stderr|x=sign out\
            |w=why|n=add|R=reconnect all|E=enable all|D=disable all"
        }
        View::Tools => "Enter=run|d=definition|p=permission|w=why|y=copy as command",
        View::Traffic => "Enter=both sides|r=replay|t=keep messages|s=save|x=cancel",
        View::Inbox => {
            let questions = model.shown_questions();
            if let Some(question) = questions.get(model.list().at) {
                answers(keys, question);
            }
            // It opens the question first.
            keys.0.retain(|(key, _)| *key != "Enter");
            keys.0.insert(0, ("Enter", "open"));
            return;
        }
        View::Clients => "n=new token|x=revoke",
        View::Doctor => "Enter=do it|r=look again",
    };
    keys.add(more);
}
