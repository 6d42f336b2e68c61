//! Rules for tools, written into the user's settings with the difference first.

use super::super::{
    Api,
    answer::{Answer, No},
    asking::Ask,
    settings::{conflict, write},
};
use std::sync::Arc;
use switchboard_api::tools::Rule;
use switchboard_config::edit::{Plan, Target};
use switchboard_record::audit::Record;

/// The lists that a decision can stand in. What is hidden is denied: it is then as if it
/// were not there.
const LISTS: [&str; 3] = ["allow", "ask", "deny"];

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let rule: Rule = ask.large(&api.readings).await?;
    let list = match rule.decision.as_str() {
        "allow" | "ask" | "deny" => Some(rule.decision.as_str()),
        "hide" => Some("deny"),
        "none" => None,
        _ => {
            let no = No::invalid("decisions are allow, ask, deny, hide and none");
            return Err(no.field("/decision"));
        }
    };
    if rule.tools.is_empty() || rule.tools.len() > crate::limits::API_RULES {
        return Err(No::invalid("it names no tools, or too many").field("/tools"));
    }
    for (index, tool) in rule.tools.iter().enumerate() {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-*.".contains(c);
        if !tool.starts_with("mcp__") || !tool.chars().all(fits) {
            let no = No::invalid(format!(
                "{tool:?} is no canonical name, such as mcp__server__tool"
            ));
            return Err(no.field(format!("/tools/{index}")));
        }
    }
    let places = api.options.places();
    let places = places.ok_or_else(super::super::servers::no_home)?;
    let mut plan =
        Plan::of(&Target::private(&places.settings())).map_err(|fault| conflict(&fault))?;
    let mut difference = Vec::new();
    for tool in &rule.tools {
        for one in LISTS {
            let path = ["permissions", one];
            let present = Some(one) == list;
            let (next, changed) = plan
                .mark(&path, tool, present)
                .map_err(|fault| conflict(&fault))?;
            plan = next;
            if changed {
                let sign = if present { '+' } else { '-' };
                difference.push(format!("{sign} permissions.{one}: {tool:?}"));
            }
        }
    }
    let record = Record::new("rules").with("decision", rule.decision.as_str());
    let record = record.with("tools", rule.tools.clone());
    write(api, ask, &plan, rule.confirm.as_deref(), difference, record)
}
