//! All tools of all servers, rules for them, schemas as fields and values held to schemas.

mod rules;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    without,
};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};
use switchboard_api::{
    insight::Line,
    tools::{Fault, Fields, Form, Tool, Tools, Validate, Validated},
};
use switchboard_host::{
    Server,
    catalog::{Item, List},
    permission::{Decision, What},
    pins::{Kind, News},
};
use switchboard_model::{ModelTool, Validators, Verdict, form, limits::PATIENT_VALIDATION};

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    match (ask.route.verb, ask.route.path) {
        ("GET", "tools") => Reply::json(&all(api, ask.word("server").as_deref())),
        ("POST", "tools/rules") => rules::answer(api, ask).await,
        ("POST", "forms") => {
            let made = |Form { schema, value }: Form| {
                let root = form::fields(&schema);
                let texts = value.map(|value| texts(&schema, &value)).transpose()?;
                Ok((root, texts))
            };
            let (root, texts) = ask.made_of(&api.readings, made).await?;
            let faults = match texts {
                Some(texts) => faults(&texts).await?.0,
                None => Vec::new(),
            };
            Reply::json(&Fields { root, faults })
        }
        ("POST", "validate") => {
            let made = |Validate { schema, value }: Validate| texts(&schema, &value);
            let texts = ask.made_of(&api.readings, made).await?;
            let (faults, unchecked) = faults(&texts).await?;
            Reply::json(&Validated { faults, unchecked })
        }
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

/// The text of a schema, and of a value that is held to it.
type Texts = (Vec<u8>, Vec<u8>);

fn texts(schema: &Value, value: &Value) -> Result<Texts, No> {
    let text = |value: &Value| serde_json::to_vec(value).map_err(|fault| No::broken(&fault));
    Ok((text(schema)?, text(value)?))
}

/// What is wrong with a value, by the validator that calls go through, and which patterns of
/// the schema that does not look at.
async fn faults((schema, value): &Texts) -> Result<(Vec<Fault>, Vec<String>), No> {
    let validators = Validators::new(PATIENT_VALIDATION);
    let faults = match validators.check(schema, value).await {
        Verdict::Valid => Vec::new(),
        Verdict::Invalid(invalid) => invalid
            .issues
            .into_iter()
            .map(|issue| Fault {
                path: pointer(&issue.path),
                error: issue.problem,
            })
            .collect(),
        Verdict::Unchecked(why) => {
            let no = No::invalid(format!("this schema cannot be used: {why}"));
            return Err(no.field("/schema"));
        }
    };
    Ok((faults, validators.left_out(schema)))
}

/// Where a result does not fit what its tool says of its results, as its server lists it.
pub(super) async fn unfit(
    api: &Api,
    server: &Arc<Server>,
    name: &str,
    result: &Value,
) -> Vec<String> {
    let listing = api.caller.to(server).known_listing(List::Tools);
    let raw = listing.as_ref().and_then(|listing| {
        let item = listing.items.iter().find(|item| item.key == name);
        item.map(|item| &item.raw)
    });
    let definition: Option<Value> = raw.and_then(|raw| serde_json::from_slice(raw).ok());
    let schema = definition
        .as_ref()
        .and_then(|tool| tool.get("outputSchema"));
    // What failed has no result.
    let Some(schema) = schema.filter(|_| result["isError"] != true) else {
        return Vec::new();
    };
    let Some(content) = result.get("structuredContent") else {
        return vec!["structuredContent is missing".to_owned()];
    };
    let Ok(texts) = texts(schema, content) else {
        return Vec::new();
    };
    match faults(&texts).await {
        Ok((faults, _)) => faults
            .into_iter()
            .map(|fault| format!("{} {}", fault.path, fault.error).trim().to_owned())
            .collect(),
        // A schema that cannot be used is the server's own business.
        Err(_) => Vec::new(),
    }
}

/// A path such as `a.b[0]` as a JSON pointer.
fn pointer(path: &str) -> String {
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.map(|part| format!("/{part}")).collect()
}

// tidy: a unit, not a cap
const MILLIS_OF_A_DAY: u64 = 86_400_000;

/// What was counted of each tool.
type Counted = HashMap<(String, String), Line>;

fn all(api: &Api, only: Option<&str>) -> Tools {
    let counted: Counted = api
        .watching
        .counting()
        .map_or_else(HashMap::new, |counting| {
            let (_, lines) = counting.calls().lines();
            lines
                .into_iter()
                .filter_map(|line| Some(((line.server.clone(), line.tool.clone()?), line)))
                .collect()
        });
    if let Some(tap) = api.watching.tap() {
        tap.uses().look();
    }
    let servers = api.host.servers();
    let is_meant = |server: &&Arc<Server>| only.is_none_or(|only| **server.name() == *only);
    let mut tools = Vec::new();
    for server in servers.iter().filter(is_meant) {
        let met = api.caller.to(server);
        let Some(listing) = met.known_listing(List::Tools) else {
            continue;
        };
        let pairs: Vec<(&str, &str)> = listing
            .items
            .iter()
            .map(|item| (server.name().as_ref(), item.key.as_str()))
            .collect();
        let shown = api.host.namer().assign(&pairs);
        let news = api.host.guard().news(server).unwrap_or_default();
        for (item, shown) in listing.items.iter().zip(shown) {
            tools.push(tool(api, server, item, shown, &news, &counted));
        }
    }
    tools.truncate(crate::limits::API_LIST);
    Tools { tools }
}

fn tool(
    api: &Api,
    server: &Arc<Server>,
    item: &Item,
    shown: String,
    news: &News,
    counted: &Counted,
) -> Tool {
    let uses = api.watching.tap().map(|tap| tap.uses());
    let met = api.caller.to(server);
    let definition: Option<Value> = without::item_of(server, &item.raw);
    let text = |key: &str| {
        let text = definition.as_ref()?[key].as_str();
        text.map(str::to_owned)
    };
    let ruling = met.explain(What::Tool(&item.key));
    let decisive = ruling.reasons.iter().rfind(|reason| reason.decisive);
    let is_this = |change: &switchboard_host::pins::Change| {
        change.kind == Kind::Tools && change.name == item.key
    };
    let pin = match () {
        () if news.waiting.iter().chain(&news.told).any(is_this) => Some("changed"),
        () if met.is_pinned() => Some("pinned"),
        () => None,
    };
    let line = counted.get(&(server.name().to_string(), item.key.clone()));
    Tool {
        server: server.name().to_string(),
        name: item.key.clone(),
        shown,
        canonical: met.canonical(&item.key),
        title: text("title"),
        description: text("description"),
        read_only: definition
            .as_ref()
            .is_some_and(|definition| definition["annotations"]["readOnlyHint"] == true),
        definition,
        tokens: ModelTool::read(server.name(), &item.raw).map_or(0, |tool| tool.tokens),
        calls: line.map_or(0, |line| line.calls),
        errors: line.map_or(0, |line| line.errors),
        last: uses
            .and_then(|uses| uses.last(server.name(), &item.key))
            .map(|day| day * MILLIS_OF_A_DAY),
        p50: line.and_then(|line| line.took.p50),
        p99: line.and_then(|line| line.took.p99),
        decision: match ruling.decision {
            Decision::Allow => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) | Decision::Held(_) => "deny",
        }
        .to_owned(),
        rule: decisive.map(|reason| format!("{}: {}", reason.step, reason.found)),
        pin: pin.map(str::to_owned),
        hidden: !ruling.decision.is_visible(),
    }
}
