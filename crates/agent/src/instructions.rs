//! What servers say about how to use them, as a section of a system prompt.

use super::Agent;
use crate::limits;
use std::collections::BTreeMap;
use switchboard_local::visible::cut;
use switchboard_wire::json as raw;

impl Agent {
    /// The instructions of all servers that are connected, as one section.
    pub fn instructions(&self) -> Option<String> {
        let now = self.said();
        let section = section(&now);
        *self.inner.told.lock() = now;
        section
    }

    /// What changed in them since they were last asked for: new and changed
    /// sections, and the names of servers whose instructions no longer count.
    pub fn instructions_delta(&self) -> Option<String> {
        let now = self.said();
        let mut told = self.inner.told.lock();
        let news: BTreeMap<String, String> = now
            .iter()
            .filter(|(server, text)| told.get(*server) != Some(*text))
            .map(|(server, text)| (server.clone(), text.clone()))
            .collect();
        let gone: Vec<String> = told
            .keys()
            .filter(|server| !now.contains_key(*server))
            .cloned()
            .collect();
        *told = now;
        drop(told);
        let mut delta = section(&news).unwrap_or_default();
        if !gone.is_empty() {
            if !delta.is_empty() {
                delta.push_str("\n\n");
            }
            delta.push_str(&format!(
                "The instructions of these MCP servers no longer count: {}",
                gone.join(", ")
            ));
        }
        (!delta.is_empty()).then_some(delta)
    }

    fn said(&self) -> BTreeMap<String, String> {
        let each = self.places().filter_map(|(group, server)| {
            let connection = server.current(&group.client)?;
            let hello = connection.hello()?;
            if !group.host.guard().passes_on(&group.client, server, hello) {
                return None;
            }
            let result = &hello.result;
            let span = raw::field(result, "instructions").ok()??;
            let text = raw::text(span.of(result))?;
            let text = cut(text.trim(), limits::INSTRUCTIONS_CHARS);
            (!text.is_empty()).then(|| (server.name().to_string(), text))
        });
        each.collect()
    }
}

fn section(said: &BTreeMap<String, String>) -> Option<String> {
    if said.is_empty() {
        return None;
    }
    let each = said
        .iter()
        .map(|(server, text)| format!("## {server}\n{text}"));
    let each: Vec<String> = each.collect();
    Some(format!(
        "# MCP Server Instructions\n\nThese MCP servers have said how to use them:\n\n{}",
        each.join("\n\n")
    ))
}
