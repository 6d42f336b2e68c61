//! The part of `explain` that is about one tool: what it is called, who
//! decides about it, and what a model would see of it.

use super::there;
use crate::{
    commands::tools::one,
    context::Context,
    failure::Failure,
    life,
    near::{did_you_mean, near},
    show::{out, safe, term::Paint},
};
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard::{
    Caller, Dialogue, Governed, Look,
    api::types::servers::{Reason, Ruling as Told},
    host::{
        CallError, Server,
        catalog::{LeftOut, List, Listing},
        permission::{Ruling, What},
        pins::{Change, Kind},
    },
    model::{ModelTool, search},
    wire::name::normalize,
};

/// What there is to say about a tool.
#[derive(Debug)]
pub struct About {
    canonical: String,
    server: String,
    /// The server's own name, where the server lists it.
    own: Option<String>,
    /// Why the server could not be asked.
    unasked: Option<String>,
    decided: Decided,
    model: Option<ModelTool>,
    /// How it is not what was approved, and the difference, where it is not.
    changed: Option<(String, String)>,
    /// What the server has, where it does not have this.
    others: Vec<String>,
    /// What of the server's list is left out.
    left_out: LeftOut,
}

/// What is decided about it, and why.
#[derive(Debug)]
struct Decided {
    /// In words.
    says: String,
    /// Whether clients see it.
    visible: bool,
    reasons: Vec<Reason>,
    /// The gateway that decides, where one does.
    at: Option<String>,
    /// What the rules of this folder say, where that is something else.
    here: Option<String>,
}

impl From<&Ruling> for Decided {
    fn from(ruling: &Ruling) -> Self {
        let reason = |reason: &switchboard::host::permission::Reason| Reason {
            step: reason.step.to_owned(),
            found: reason.found.clone(),
            decisive: reason.decisive,
        };
        Self {
            says: ruling.decision.to_string(),
            visible: ruling.decision.is_visible(),
            reasons: ruling.reasons.iter().map(reason).collect(),
            at: None,
            here: None,
        }
    }
}

/// Looks at a tool of a server that is in use; asks the server for it, and a gateway that
/// has the very same what it decides.
pub fn look(context: &Context, look: &Look, server: &str, tool: &str) -> Result<About, Failure> {
    let governed = context.as_served(look)?;
    let server = one(&governed, server)?;
    let mut about = life::short(async |stop| {
        let about = tokio::select! {
            about = ask(&governed, &server, tool) => about,
            () = stop.cancelled() => unasked(&governed, &server, tool, "interrupted".to_owned()),
        };
        governed.close().await;
        about
    })?;
    let name = about.canonical.clone();
    if let Some(there) = there::ask(context, &server, &name)
        && let Some(told) = there.explained.tool
    {
        about.is_decided_at(there.address, told);
    }
    Ok(about)
}

async fn ask(governed: &Governed, server: &Arc<Server>, tool: &str) -> About {
    let caller = Caller::new(governed.host().clone());
    let listed = async {
        let met = caller.meet(server).await?;
        let listing = met.listing(List::Tools).await?;
        Ok::<_, CallError>((met, listing))
    };
    match listed.await {
        Err(fault) => unasked(governed, server, tool, fault.to_string()),
        Ok((met, listing)) => known(governed, &met, &listing, tool),
    }
}

fn known(governed: &Governed, met: &Dialogue, listing: &Listing, tool: &str) -> About {
    let (server, items) = (met.server().name(), &listing.items);
    let pairs: Vec<(&str, &str)> = items
        .iter()
        .map(|item| (server.as_ref(), item.key.as_str()))
        .collect();
    let names = governed.host().namer().assign(&pairs);
    let folded = |text: &str| text.replace('-', "_");
    let plain = format!(
        "mcp__{}__{tool}",
        governed.host().namer().prefix(server).unwrap_or(server)
    );
    let mut found = items.iter().zip(&names);
    let found = found
        .clone()
        .find(|(item, name)| item.key == tool || **name == plain)
        .or_else(|| found.find(|(_, name)| folded(name) == folded(&plain)));
    let own = found.map(|(item, _)| item.key.clone());
    let news = governed
        .host()
        .guard()
        .news(met.server())
        .unwrap_or_default();
    let mut changes = news.waiting.into_iter().chain(news.told);
    About {
        canonical: found.map_or(plain, |(_, name)| name.clone()),
        server: server.to_string(),
        decided: (&met.explain(What::Tool(own.as_deref().unwrap_or(tool)))).into(),
        model: found.and_then(|(item, _)| {
            let mut model = ModelTool::read(server, &item.raw).ok()?;
            model.always_load |= met.server().spec.always_load;
            Some(model)
        }),
        changed: changes
            .find(|change| change.kind == Kind::Tools && Some(&change.name) == own.as_ref())
            .map(|change| (change.why.to_owned(), Change::diff(&change))),
        others: if own.is_none() { names } else { Vec::new() },
        own,
        unasked: None,
        left_out: listing.left_out.clone(),
    }
}

/// Rules alone: the server cannot say what it has.
fn unasked(governed: &Governed, server: &Arc<Server>, tool: &str, why: String) -> About {
    let namer = governed.host().namer();
    let prefix = namer.prefix(server.name());
    About {
        canonical: format!("mcp__{}__{tool}", prefix.unwrap_or_default()),
        server: server.name().to_string(),
        own: None,
        unasked: Some(why),
        decided: (&Caller::new(governed.host().clone())
            .to(server)
            .explain(What::Tool(tool)))
            .into(),
        model: None,
        changed: None,
        others: Vec::new(),
        left_out: LeftOut::default(),
    }
}

impl About {
    /// A gateway decides, whatever the rules say here.
    fn is_decided_at(&mut self, gateway: String, told: Told) {
        let here = std::mem::take(&mut self.decided.says);
        self.decided = Decided {
            here: (here != told.says).then_some(here),
            says: told.says,
            visible: told.visible,
            reasons: told.reasons,
            at: Some(gateway),
        };
        // What is hidden there is not listed to us either.
        if self.own.is_none() && told.own.is_some() {
            (self.own, self.canonical) = (told.own, told.canonical);
            self.unasked = None;
        }
        if let Some(difference) = told.changed {
            let why = self.changed.take().map(|(why, _)| why);
            self.changed = Some((why.unwrap_or_else(|| "changed".to_owned()), difference));
        }
    }

    /// In one sentence.
    pub fn summary(&self) -> String {
        let name = &self.canonical;
        match (&self.own, &self.unasked) {
            (Some(own), _) => {
                let server = &self.server;
                // The server's part of the name is explained with the server.
                let renamed = if name.ends_with(&format!("__{own}")) {
                    ""
                } else if name.ends_with(&format!("__{}", normalize(own))) {
                    " (names of tools have only letters, digits, - and _)"
                } else {
                    " (the name is too long, or another tool's would be the same)"
                };
                let decision = &self.decided.says;
                format!("{name} is tool {own:?} of server {server:?}{renamed}: {decision}")
            }
            (None, Some(why)) => format!(
                "{name}: server {:?} cannot be asked ({why}); by the rules it would be: {}",
                self.server, self.decided.says
            ),
            (None, None) => format!("server {:?} does not list a tool like {name}", self.server),
        }
    }

    /// The failure that a tool is which the server does not have.
    pub fn missing(&self) -> Option<Failure> {
        if self.own.is_some() || self.unasked.is_some() {
            return None;
        }
        if let Some(why) = self.why_left_out() {
            let text = format!(
                "server {:?} lists {}, and it is left out: {why}",
                self.server, self.canonical
            );
            return Some(Failure::usage(text).hint("tell whoever maintains the server"));
        }
        let others = self.others.iter().map(String::as_str);
        let hint = did_you_mean(&near(&self.canonical, others)).unwrap_or_else(|| {
            format!(
                "see switchboard tools --server {}",
                safe::line(&self.server)
            )
        });
        let text = format!("server {:?} has no tool {}", self.server, self.canonical);
        Some(Failure::usage(text).hint(hint))
    }

    /// Why this tool is left out of the server's list, if it is.
    fn why_left_out(&self) -> Option<&str> {
        let is_this = |name: &str| {
            let ending = format!("__{}", normalize(name));
            !name.is_empty() && self.canonical.ends_with(&ending)
        };
        let mut named = self.left_out.named.iter();
        let found = named.find(|(name, _)| is_this(name));
        found.map(|(_, why)| why.as_str())
    }

    /// Everything that was looked at.
    pub fn show(&self, paint: Paint) -> Result<(), Failure> {
        self.show_left_out()?;
        if self.own.is_none() && self.unasked.is_none() {
            return Ok(());
        }
        if let Some(gateway) = &self.decided.at {
            out::line(&format!("  decided by the gateway at {gateway}"))?;
        }
        if let Some(here) = &self.decided.here {
            let line = format!("  by the rules of this folder alone it would be: {here}");
            out::line(&safe::line(&line))?;
        }
        for reason in &self.decided.reasons {
            let line = format!("  {}", safe::line(&reason.to_string()));
            out::line(&if reason.decisive {
                line
            } else {
                paint.dim(&line)
            })?;
        }
        if let Some(model) = self.model.as_ref().filter(|_| self.decided.visible) {
            out::line(&format!("  {}", deferral(model)))?;
            for change in &model.changes {
                out::line(&format!("  schema for models: {}", safe::line(change)))?;
            }
        }
        if let Some((why, difference)) = &self.changed {
            out::line(&format!(
                "  not what was approved ({why}); accept it with: switchboard approve {}",
                safe::line(&self.server)
            ))?;
            for line in difference.lines() {
                out::line(&format!("    {line}"))?;
            }
        }
        Ok(())
    }

    fn show_left_out(&self) -> Result<(), Failure> {
        let LeftOut { count, named } = &self.left_out;
        if *count == 0 {
            return Ok(());
        }
        out::line(&format!(
            "  left out of the server's list of tools: {count}"
        ))?;
        for (name, why) in named {
            let line = format!("    {name:?}: {why}");
            out::line(&safe::line(&line))?;
        }
        Ok(())
    }

    /// The same for scripts.
    pub fn json(&self) -> Value {
        let reasons: Vec<Value> = self
            .decided
            .reasons
            .iter()
            .map(|reason| json!({"step": reason.step, "found": reason.found, "decisive": reason.decisive}))
            .collect();
        json!({
            "name": self.canonical,
            "server": self.server,
            "tool": self.own,
            "decision": self.decided.says,
            "gateway": self.decided.at,
            "decisionHere": self.decided.here,
            "reasons": reasons,
            "deferral": self.model.as_ref().map(deferral),
            "schemaChanges": self.model.as_ref().map(|model| &model.changes),
            "leftOut": self.left_out.named.iter().map(|(name, why)| json!({"name": name, "reason": why})).collect::<Vec<_>>(),
            "leftOutCount": self.left_out.count,
            "changedSinceApproved": self.changed.as_ref().map(|(_, difference)| difference),
        })
    }
}

/// When a model has to search for it.
fn deferral(model: &ModelTool) -> String {
    let cost = format!("about {} tokens", model.tokens);
    if model.always_load {
        return format!(
            "never deferred: it says anthropic/alwaysLoad, or its entry alwaysLoad ({cost})"
        );
    }
    if let Some(hint) = &model.search_hint {
        return format!(
            "deferred where there is a tool search: it has the search hint {hint:?} ({cost})"
        );
    }
    let percent = search::Mode::DEFAULT_PERCENT;
    format!(
        "deferred only if the definitions of all tools pass {percent} % of the context window, or ENABLE_TOOL_SEARCH says so ({cost})"
    )
}
