//! Why a server or tool is there, or is not: what decides here, and not what would decide
//! where somebody asks from.

use super::{
    super::{Api, asking::Ask},
    explain_lines, look, member, missing,
};
use crate::{
    api::{answer::No, state, without},
    roster::Status,
};
use std::sync::Arc;
use switchboard_agent::Dialogue;
use switchboard_api::servers::{Explained, Reason, Ruling};
use switchboard_host::{
    Server,
    catalog::{List, Listing},
    permission::{Decision, What},
    pins::Kind,
};
use switchboard_local::{secret, visible};
use switchboard_wire::name::normalize;

/// `GET explain/{name}`.
pub(super) async fn of(api: &Arc<Api>, ask: &Ask) -> Result<Explained, No> {
    let name = ask.part();
    let look = look(api, &ask.who).await?;
    let (server, tool) = parts(api, name);
    let known = look.find(&server).is_some();
    let member = member(api, &server);
    if !known && member.is_err() {
        return Err(missing(&server));
    }
    let ruled = match (&tool, member.as_ref().map(|member| &member.status)) {
        (Some(tool), Ok(Status::Server(server))) => Some(ruled(api, server, name, tool).await),
        _ => None,
    };
    let mut lines = Vec::new();
    if let Some(ruled) = &ruled {
        lines.push(format!("{name}: {}", ruled.says));
        lines.extend(ruled.reasons.iter().map(ToString::to_string));
    }
    match known {
        true => lines.extend(explain_lines(&look, &server)),
        false => lines.push(format!("{server} comes with this gateway")),
    }
    Ok(Explained {
        lines: lines
            .iter()
            .map(|line| visible::line(&secret::text(line)))
            .collect(),
        state: state::server(api, &server).map(|row| row.state),
        server,
        tool: ruled,
    })
}

/// What is decided about a tool. Its server is asked for its list where that is not known.
async fn ruled(api: &Arc<Api>, server: &Arc<Server>, name: &str, tool: &str) -> Ruling {
    let met = api.caller.to(server);
    let remote = server.spec.target.is_remote();
    let listing = match met.known_listing(List::Tools) {
        Some(listing) => Ok(listing),
        None => api.pools.run(remote, met.listing(List::Tools)).await,
    };
    let unasked = listing.as_ref().err();
    let unasked = unasked.map(|fault| secret::text(&fault.to_string()).into_owned());
    let own = listing.ok();
    let own = own.and_then(|listing| own_name(&met, &listing, name, tool));
    let asked = own.as_deref().unwrap_or(tool);
    let ruling = met.explain(What::Tool(asked));
    let reasons = ruling.reasons.iter().map(|reason| Reason {
        step: reason.step.to_owned(),
        found: reason.found.clone(),
        decisive: reason.decisive,
    });
    let news = api.host.guard().news(server).unwrap_or_default();
    let mut changes = news.waiting.iter().chain(&news.told);
    let changed = changes
        .find(|change| change.kind == Kind::Tools && Some(&change.name) == own.as_ref())
        .map(|change| without::judged(&change.diff()));
    Ruling {
        canonical: met.canonical(asked),
        unasked,
        decision: match ruling.decision {
            Decision::Allow => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
            Decision::Held(_) => "held",
        }
        .to_owned(),
        says: ruling.decision.to_string(),
        visible: ruling.decision.is_visible(),
        reasons: reasons.collect(),
        changed,
        own,
    }
}

/// The server that a name means, and the tool, if it is a tool's.
fn parts(api: &Api, name: &str) -> (String, Option<String>) {
    let members = api.members.borrow();
    if members.iter().any(|member| member.entry.name == name) {
        return (name.to_owned(), None);
    }
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    let tool_of = |server: &str| {
        rest.strip_prefix(server)?
            .strip_prefix("__")
            .map(str::to_owned)
    };
    let found = members.iter().find_map(|member| {
        let server = &member.entry.name;
        Some((server.clone(), Some(tool_of(&normalize(server))?)))
    });
    found.unwrap_or_else(|| match rest.split_once("__") {
        Some((server, tool)) => (server.to_owned(), Some(tool.to_owned())),
        None => (name.to_owned(), None),
    })
}

/// The server's own name for a tool, where it is shown under another.
fn own_name(met: &Dialogue, listing: &Listing, name: &str, tool: &str) -> Option<String> {
    let folded = |text: &str| text.replace('-', "_");
    let full = format!("mcp__{}", name.strip_prefix("mcp__").unwrap_or(name));
    let plainly = |key: &str| key == tool || normalize(key) == tool;
    let keys = || listing.items.iter().map(|item| item.key.as_str());
    let found = keys()
        .find(|key| plainly(key))
        .or_else(|| keys().find(|key| folded(&met.canonical(key)) == folded(&full)));
    found.map(str::to_owned)
}
