//! What each view lists: filtered, sorted, and which line one is on.

use super::{Doctor, Finding, Model, View};
use crate::words;
use switchboard_api::{
    calls::Call,
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
    /// Servers by scope, as the filter has them.
    pub fn servers(&self) -> Vec<&Server> {
        let filter = &self.lists[View::Servers as usize].filter;
        let text = |it: &Server| format!("{} {} {}", it.name, it.scope, super::state_word(it));
        let mut servers: Vec<&Server> = self.state.servers.iter().collect();
        servers.retain(|it| words::matches(filter, &text(it)).is_some());
        // Those of a scope stay in the order in which the gateway has them.
        by_rank(&servers, |it| rank(&it.scope))
    }

    /// Tools as the filter has them, the best match first.
    pub fn shown_tools(&self) -> Vec<&Tool> {
        let filter = &self.lists[View::Tools as usize].filter;
        let mut found: Vec<(usize, &Tool)> = self
            .tools
            .iter()
            .filter_map(|tool| {
                let text = format!("{} {}", tool.server, tool.name);
                let more = tool.title.as_deref().unwrap_or_default();
                let score = words::matches(filter, &tool.name)
                    .or_else(|| Some(words::matches(filter, &text)? + 10))
                    .or_else(|| Some(words::matches(filter, more)? + 100));
                Some((score?, tool))
            })
            .collect();
        if !filter.is_empty() {
            found = by_rank(&found, |(score, _)| *score);
        }
        found.into_iter().map(|(_, tool)| tool).collect()
    }

    /// Calls, newest first. Their filter is the gateway's.
    pub fn shown_calls(&self) -> Vec<&Call> {
        self.calls.iter().collect()
    }

    /// Questions as the filter has them.
    pub fn shown_questions(&self) -> Vec<&Question> {
        let filter = &self.lists[View::Inbox as usize].filter;
        let text = |it: &Question| format!("{} {}", it.server.as_deref().unwrap_or(""), it.title);
        let mut questions: Vec<&Question> = self.questions.iter().collect();
        questions.retain(|it| words::matches(filter, &text(it)).is_some());
        questions
    }

    /// Tokens, and then clients.
    pub fn shown_clients(&self) -> Vec<ClientRow<'_>> {
        let filter = &self.lists[View::Clients as usize].filter;
        let fits = |text: &str| words::matches(filter, text).is_some();
        let tokens = self.tokens.iter().filter(|token| fits(&token.name));
        let clients = self.state.clients.iter().filter(|client| {
            let name = client.name.as_deref().unwrap_or_default();
            fits(&format!("{name} {}", client.principal))
        });
        let tokens = tokens.map(ClientRow::Token);
        tokens.chain(clients.map(ClientRow::Client)).collect()
    }

    /// Findings, problems first.
    pub fn findings(&self) -> Vec<&Finding> {
        let filter = &self.lists[View::Doctor as usize].filter;
        let Doctor::Found(findings) = &self.doctor else {
            return Vec::new();
        };
        let text = |it: &Finding| format!("{} {} {}", it.area, it.what, it.found);
        let mut findings: Vec<&Finding> = findings.iter().collect();
        findings.retain(|it| words::matches(filter, &text(it)).is_some());
        by_rank(&findings, |finding| match finding.level.as_str() {
            "problem" => 0,
            "warning" => 1,
            _ => 2,
        })
    }

    /// What is on each line of a view, by something that stays the same.
    pub fn keys(&self, view: View) -> Vec<String> {
        match view {
            View::Servers => {
                let key = |it: &&Server| match (it.state.word.as_str(), &it.file) {
                    // Another one has the same name.
                    ("shadowed", Some(file)) => format!("{}\n{file}", it.name),
                    _ => it.name.clone(),
                };
                self.servers().iter().map(key).collect()
            }
            View::Tools => {
                let tools = self.shown_tools();
                let key = |tool: &&Tool| format!("{}\n{}", tool.server, tool.name);
                tools.iter().map(key).collect()
            }
            View::Traffic => self.calls.iter().map(|it| it.id.to_string()).collect(),
            View::Inbox => {
                let questions = self.shown_questions();
                questions.iter().map(|it| it.id.clone()).collect()
            }
            View::Clients => {
                let rows = self.shown_clients();
                rows.iter()
                    .map(|row| match row {
                        ClientRow::Token(token) => format!("token {}", token.name),
                        ClientRow::Client(client) => {
                            format!("client {:?} {}", client.name, client.since)
                        }
                    })
                    .collect()
            }
            View::Doctor => {
                let findings = self.findings();
                findings
                    .iter()
                    .map(|it| format!("{}\n{}", it.what, it.found))
                    .collect()
            }
        }
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

/// The order in which scopes are listed: those nearest to the person first.
/// By rank; those of the same rank stay in their order. What is sorted are numbers, whatever
/// they stand for: a sort is made anew for every type, and is large.
fn by_rank<T: Copy>(items: &[T], rank: impl Fn(&T) -> usize) -> Vec<T> {
    let mut order: Vec<(usize, usize)> = items.iter().map(rank).zip(0..).collect();
    order.sort_unstable();
    let sorted = order.into_iter().filter_map(|(_, at)| items.get(at));
    sorted.copied().collect()
}

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
