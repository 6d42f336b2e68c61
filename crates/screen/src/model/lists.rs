//! What each view lists: filtered, sorted, and which line one is on.

use super::{Doctor, Finding, Model, View};
use crate::words;
use std::fmt;
use switchboard_api::{
    questions::Question,
    settings::Token,
    state::{Client, Server},
    tools::Tool,
};

/// Where one is in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Which line.
    pub at: usize,
    /// What is on it, so that it is found again when lines come and go.
    pub key: String,
    /// What is shown of all.
    pub filter: String,
}

/// A line of the view of clients.
#[derive(Clone, Copy, Debug)]
pub enum ClientRow<'a> {
    /// A token that lets somebody in.
    Token(&'a Token),
    /// A client that is connected.
    Client(&'a Client),
}

impl Model {
    /// What is shown of a view.
    fn filter(&self, view: View) -> &str {
        &self.lists[view as usize].filter
    }

    /// Servers by scope, as the filter has them. Those of a scope stay in the order in which the
    /// gateway has them.
    pub fn servers(&self) -> Vec<&Server> {
        let all = &self.state.servers;
        let filter = self.filter(View::Servers);
        some_of(all, &|at| {
            let it = all.get(at)?;
            let text = format_args!("{} {} {}", it.name, it.scope, super::state_word(it));
            words::matches(filter, text).map(|_| rank(&it.scope))
        })
    }

    /// Tools as the filter has them, the best match first.
    pub fn shown_tools(&self) -> Vec<&Tool> {
        let filter = self.filter(View::Tools);
        some_of(&self.tools, &|at| {
            let tool = self.tools.get(at)?;
            let (name, server) = (&tool.name, &tool.server);
            let title = tool.title.as_deref().unwrap_or_default();
            let score = words::matches(filter, format_args!("{name}"))
                .or_else(|| Some(words::matches(filter, format_args!("{server} {name}"))? + 10))
                .or_else(|| Some(words::matches(filter, format_args!("{title}"))? + 100))?;
            Some(if filter.is_empty() { 0 } else { score })
        })
    }

    /// Questions as the filter has them.
    pub fn shown_questions(&self) -> Vec<&Question> {
        let filter = self.filter(View::Inbox);
        some_of(&self.questions, &|at| {
            let it = self.questions.get(at)?;
            let server = it.server.as_deref().unwrap_or_default();
            words::matches(filter, format_args!("{server} {}", it.title)).map(|_| 0)
        })
    }

    /// Tokens, and then clients.
    pub fn shown_clients(&self) -> Vec<ClientRow<'_>> {
        let filter = self.filter(View::Clients);
        let mut rows = Vec::new();
        for token in &self.tokens {
            if words::matches(filter, format_args!("{}", token.name)).is_some() {
                rows.push(ClientRow::Token(token));
            }
        }
        for client in &self.state.clients {
            let name = client.name.as_deref().unwrap_or_default();
            if words::matches(filter, format_args!("{name} {}", client.principal)).is_some() {
                rows.push(ClientRow::Client(client));
            }
        }
        rows
    }

    /// Findings, problems first.
    pub fn findings(&self) -> Vec<&Finding> {
        let Doctor::Found(all) = &self.doctor else {
            return Vec::new();
        };
        let filter = self.filter(View::Doctor);
        some_of(all, &|at| {
            let it = all.get(at)?;
            let text = format_args!("{} {} {}", it.area, it.what, it.found);
            words::matches(filter, text)?;
            Some(match it.level.as_str() {
                "problem" => 0,
                "warning" => 1,
                _ => 2,
            })
        })
    }

    /// What is on each line of a view, by something that stays the same.
    pub fn keys(&self, view: View) -> Vec<String> {
        let mut keys = Vec::new();
        let mut add = |key: fmt::Arguments<'_>| keys.push(fmt::format(key));
        match view {
            View::Servers => {
                for it in self.servers() {
                    match (it.state.word.as_str(), &it.file) {
                        // Another one has the same name.
                        ("shadowed", Some(file)) => add(format_args!("{}\n{file}", it.name)),
                        _ => add(format_args!("{}", it.name)),
                    }
                }
            }
            View::Tools => {
                for it in self.shown_tools() {
                    add(format_args!("{}\n{}", it.server, it.name));
                }
            }
            View::Traffic => {
                for it in &self.calls {
                    add(format_args!("{}", it.id));
                }
            }
            View::Inbox => {
                for it in self.shown_questions() {
                    add(format_args!("{}", it.id));
                }
            }
            View::Clients => {
                for row in self.shown_clients() {
                    match row {
                        ClientRow::Token(it) => add(format_args!("token {}", it.name)),
                        ClientRow::Client(it) => {
                            add(format_args!("client {:?} {}", it.name, it.since));
                        }
                    }
                }
            }
            View::Doctor => {
                for it in self.findings() {
                    add(format_args!("{}\n{}", it.what, it.found));
                }
            }
        }
        keys
    }

    /// After lines came or went: the line that one was on is found again.
    pub fn settle(&mut self, view: View) {
        let keys = self.keys(view);
        let list = &mut self.lists[view as usize];
        let top = list.at == 0 && view == View::Traffic;
        match keys.iter().position(|key| *key == list.key) {
            // Who is at the top of what is live stays at the top.
            Some(at) if !top => list.at = at,
            _ => list.at = list.at.min(keys.len().saturating_sub(1)),
        }
        list.key = keys.get(list.at).cloned().unwrap_or_default();
    }

    /// Goes to another line of the open view.
    pub fn go(&mut self, to: usize) {
        let keys = self.keys(self.view);
        let list = self.list_mut();
        list.at = to.min(keys.len().saturating_sub(1));
        list.key = keys.get(list.at).cloned().unwrap_or_default();
    }
}

/// Those that have a rank, by it; those of the same rank stay in their order.
fn some_of<'a, T>(all: &'a [T], rank: &dyn Fn(usize) -> Option<usize>) -> Vec<&'a T> {
    let order = order(all.len(), rank);
    order.iter().filter_map(|(_, at)| all.get(*at)).collect()
}

/// What is sorted are numbers, whatever they stand for: a sort is made anew for every type, and
/// is large.
#[inline(never)]
fn order(count: usize, rank: &dyn Fn(usize) -> Option<usize>) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    for at in 0..count {
        if let Some(rank) = rank(at) {
            order.push((rank, at));
        }
    }
    order.sort_unstable();
    order
}

/// The order in which scopes are listed: those nearest to the person first.
fn rank(scope: &str) -> usize {
    const ORDER: [&str; 7] = [
        "local",
        "project",
        "user",
        "plugin",
        "connector",
        "managed",
        "builtin",
    ];
    ORDER
        .iter()
        .position(|it| *it == scope)
        .unwrap_or(ORDER.len())
}
