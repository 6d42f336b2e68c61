//! One server as a row of the document: what is known without asking it.

use super::super::Api;
use crate::{
    limits,
    report::copies,
    roster::{Member, Status},
    wants_sign_in::{needs_auth, sign_in_hint},
};
use std::{sync::Arc, time::Instant};
use switchboard_api::state::{Client, Seen, Server};
use switchboard_config::{Scope, Standing, Transport};
use switchboard_gateway::Visitor;
use switchboard_host::{
    self as host, ServerState,
    catalog::{List, Listing},
};
use switchboard_local::secret;
use switchboard_model::ModelTool;

/// What shows that a server cannot be reached, and that it lets us not in.
const CONNECTING: &str = "connecting";
const SHUT_OUT: &str = "HTTP 401";

/// Who is connected.
pub(in super::super) fn client(visitor: &Visitor) -> Client {
    let cut = |text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| secret::text(text).into_owned())
    };
    Client {
        // What a client calls itself is a text of somebody else's.
        name: cut(&visitor.name),
        version: cut(&visitor.version),
        principal: visitor.principal.clone(),
        era: visitor.era.clone(),
        since: visitor.since * 1000,
        seen: visitor.seen.map(|seen| seen * 1000),
    }
}

/// A server without what is counted and measured of it.
pub(super) fn server(api: &Api, member: &Member) -> Server {
    let entry = &member.entry;
    let namer = api.host.namer();
    let mut row = Server {
        name: entry.name.clone(),
        segment: namer.prefix(&entry.name).unwrap_or_default().to_owned(),
        scope: scope(entry.scope, entry.transport).to_owned(),
        file: entry.source.file().map(|file| file.display().to_string()),
        line: entry
            .source
            .file()
            .and_then(|_| u32::try_from(entry.line).ok()),
        transport: entry.transport.as_str().to_owned(),
        target: entry.target(),
        ..Server::default()
    };
    match &member.status {
        Status::Server(server) => running(&mut row, member, server),
        Status::Faulty(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let why = secret::text(&faults.join("; ")).into_owned();
            row.state = word("failed", Some(why));
            row.state.by = row.file.clone();
            row.usable = word("no", None);
            row.sign_in = word("unknown", None);
        }
        Status::Unused(standing) => {
            row.state = word(unused(standing), member.why.clone());
            row.state.hint = hint(standing, &row.name);
            row.state.by = row.file.clone();
            row.usable = word("no", None);
            row.sign_in = word("unknown", None);
        }
    }
    row
}

fn running(row: &mut Server, member: &Member, server: &Arc<host::Server>) {
    let state = server.state().borrow().clone();
    row.copies = copies(server).unwrap_or_default();
    let (clients, calls) = server.in_use();
    (row.clients, row.in_flight) = (clients, calls);
    row.restarts = server.counts().restarts;
    let failed = |why: &str| Some(secret::text(why).into_owned());
    (row.state, row.usable) = match &state {
        ServerState::Connected => (word("connected", None), word("yes", None)),
        ServerState::Pending => (word("connecting", None), word("unknown", None)),
        ServerState::Idle => {
            let why = Some("nobody has needed it yet".to_owned());
            (word("asleep", why), word("unknown", None))
        }
        ServerState::Asleep => {
            let why = Some("nobody used it; it starts when it is needed".to_owned());
            (word("asleep", why), word("unknown", None))
        }
        ServerState::Failed(why) => (word("failed", failed(why)), word("no", None)),
        ServerState::NeedsAuth => {
            let mut state = word("needs-auth", None);
            state.hint = Some(sign_in_hint(server));
            (state, word("no", None))
        }
    };
    row.sign_in = sign_in(member, server, &state);
    let shown_by = match &state {
        ServerState::Failed(_) => CONNECTING,
        ServerState::NeedsAuth => SHUT_OUT,
        _ => return,
    };
    for seen in [&mut row.state, &mut row.usable] {
        seen.by = Some(shown_by.to_owned());
    }
    if state == ServerState::NeedsAuth {
        row.sign_in.by = Some(shown_by.to_owned());
    }
}

/// Whether somebody is signed in, as far as that can be told from here.
fn sign_in(member: &Member, server: &Arc<host::Server>, state: &ServerState) -> Seen {
    let entry = &member.entry;
    let is_remote = server.spec.target.is_remote();
    let has_header = entry
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let mut seen = match (is_remote, state) {
        (false, _) => word("none-needed", None),
        (true, ServerState::NeedsAuth) if has_header => word("refused", None),
        (true, ServerState::NeedsAuth) => word("wanted", None),
        (true, _) if has_header => word("header", None),
        (true, ServerState::Connected) => match &member.authority {
            Some(authority) if authority.is_signed_in() => word("signed-in", None),
            _ => word("none-needed", None),
        },
        (true, _) => match &member.authority {
            Some(authority) if authority.is_signed_in() => word("signed-in", None),
            _ => word("unknown", None),
        },
    };
    if needs_auth(server) {
        seen.hint = Some(sign_in_hint(server));
    }
    seen
}

fn word(word: &str, reason: Option<String>) -> Seen {
    Seen {
        word: word.to_owned(),
        reason,
        ..Seen::default()
    }
}

fn unused(standing: &Standing) -> &'static str {
    match standing {
        Standing::Active => "asleep",
        Standing::PendingApproval => "pending",
        Standing::Rejected => "rejected",
        Standing::Disabled => "disabled",
        Standing::Denied(_) => "denied",
        Standing::Itself => "unused",
        Standing::Shadowed(_) | Standing::Duplicate(_) => "shadowed",
    }
}

fn hint(standing: &Standing, name: &str) -> Option<String> {
    match standing {
        Standing::PendingApproval | Standing::Rejected => {
            Some(format!("switchboard approve {name}"))
        }
        Standing::Disabled => Some(format!("switchboard enable {name}")),
        _ => None,
    }
}

/// Whose file it is, as a word.
pub(in super::super) fn scope(scope: Scope, transport: Transport) -> &'static str {
    match (scope, transport) {
        (Scope::Dynamic, Transport::Builtin) => "builtin",
        (Scope::Connector, _) => "connector",
        (Scope::Enterprise, _) => "managed",
        (scope, _) => scope.as_str(),
    }
}

/// When what is seen now was first seen. `old` is what was told before.
pub(super) fn seen(row: &mut Server, old: Option<&Server>, now: u64) {
    let since = |new: &mut Seen, old: Option<&Seen>| {
        let same = old.filter(|old| old.word == new.word && old.reason == new.reason);
        new.at = same.and_then(|old| old.at).or(Some(now));
    };
    since(&mut row.state, old.map(|old| &old.state));
    since(&mut row.sign_in, old.map(|old| &old.sign_in));
    since(&mut row.usable, old.map(|old| &old.usable));
}

/// What a server's lists come to.
#[derive(Debug)]
pub(super) struct Counted {
    lists: [Option<Arc<Listing>>; 3],
    at: Instant,
    tools: Option<usize>,
    resources: Option<usize>,
    prompts: Option<usize>,
    tokens: Option<usize>,
    held: usize,
    revision: Option<switchboard_wire::Revision>,
}

const LISTS: [(List, &str); 3] = [
    (List::Tools, "tools"),
    (List::Resources, "resources"),
    (List::Prompts, "prompts"),
];

impl Counted {
    /// What they come to now, and which of them changed.
    pub(super) fn of(
        api: &Api,
        server: &Arc<host::Server>,
        known: Option<Self>,
    ) -> (Self, Vec<&'static str>) {
        let met = api.caller.to(server);
        let lists = LISTS.map(|(list, _)| met.known_listing(list));
        let mut news = Vec::new();
        if let Some(known) = known {
            for (index, (_, word)) in LISTS.iter().enumerate() {
                let same = match (&known.lists[index], &lists[index]) {
                    (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old.is_same(new),
                    (None, None) => true,
                    _ => false,
                };
                if !same {
                    news.push(*word);
                }
            }
            if news.is_empty() && known.at.elapsed() < limits::API_COUNT {
                return (known, news);
            }
        }
        let tools = met.known_items(List::Tools);
        let cost = |item: &host::catalog::Item| {
            let tool = ModelTool::read(server.name(), &item.raw);
            tool.map_or(0, |tool| tool.tokens)
        };
        let count = Self {
            tokens: tools
                .as_ref()
                .map(|tools| tools.iter().map(|item| cost(item)).sum()),
            tools: tools.map(|tools| tools.len()),
            resources: met.known_items(List::Resources).map(|items| items.len()),
            prompts: met.known_items(List::Prompts).map(|items| items.len()),
            held: api
                .host
                .guard()
                .news(server)
                .map_or(0, |news| news.waiting.len()),
            revision: met.hello().map(|hello| hello.revision),
            lists,
            at: Instant::now(),
        };
        (count, news)
    }

    pub(super) fn fill(&self, row: &mut Server) {
        row.tools = self.tools;
        row.resources = self.resources;
        row.prompts = self.prompts;
        row.tokens = self.tokens;
        row.held = self.held;
        let Some(revision) = self.revision else {
            return;
        };
        row.era = Some(revision.era().to_string());
        row.version = Some(revision.to_string());
        if row.state.word == "connected" {
            row.state.by = Some(revision.meeting().as_str().to_owned());
            // What was let in by it was let in without a sign-in, or with a good one.
            row.sign_in.by.clone_from(&row.state.by);
            let listed = self
                .tools
                .map(|_| switchboard_wire::Method::ToolsList.as_str().to_owned());
            row.usable.by = listed.or_else(|| row.state.by.clone());
        }
    }
}
