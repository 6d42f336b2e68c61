//! MCP Apps: the page that a tool names, and who may call the tool.

use bytes::Bytes;
use std::{collections::HashMap, sync::Arc};
use switchboard_wire::{
    Span,
    json::{self, ValueKind},
    meta,
};

/// What pages are addressed by.
const SCHEME: &str = "ui://";

/// Whether this is the address of a page.
pub fn is_page(uri: &str) -> bool {
    uri.get(..SCHEME.len())
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// What a tool says of its page.
#[derive(Clone, Debug)]
pub struct Ui {
    /// The addresses, and where they stand in the item.
    pub pages: Vec<(Span, String)>,
    /// Whether it is meant for models.
    pub for_model: bool,
    /// Whether it is meant for pages.
    pub for_app: bool,
}

impl Ui {
    /// What this tool says, if it says anything.
    pub(super) fn of(raw: &Bytes) -> Option<Box<Self>> {
        let field = json::field(raw, "_meta").ok().flatten()?;
        let about = within(raw, field, meta::UI);
        let flat = within(raw, field, meta::UI_PAGE);
        if about.is_none() && flat.is_none() {
            return None;
        }
        let nested = about.and_then(|about| within(raw, about, meta::UI_PAGE_MEMBER));
        let page = |span: Span| {
            let uri = json::text(span.of(raw)).filter(|uri| is_page(uri))?;
            Some((span, uri.into_owned()))
        };
        let visibility = about.and_then(|about| within(raw, about, "visibility"));
        let visibility = visibility.map(|span| span.of(raw));
        let visibility = visibility.filter(|value| ValueKind::of(value) == Some(ValueKind::Array));
        // Without a word it is for both.
        let is_for = |who: &str| {
            visibility.is_none_or(|list| {
                json::elements(list).any(|item| json::text(item.of(list)).as_deref() == Some(who))
            })
        };
        Some(Box::new(Self {
            pages: [nested, flat]
                .into_iter()
                .flatten()
                .filter_map(page)
                .collect(),
            for_model: is_for("model"),
            for_app: is_for("app"),
        }))
    }
}

/// Where `key`'s value is inside the object at `object`.
fn within(raw: &[u8], object: Span, key: &'static str) -> Option<Span> {
    let span = json::field(object.of(raw), key).ok().flatten()?;
    Some(span.shifted(object.start))
}

/// Whose tools name which pages. Servers need not list those as resources.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pages(HashMap<String, Vec<Arc<str>>>);

impl Pages {
    /// Adds those of one tool.
    pub(super) fn add(&mut self, server: &Arc<str>, ui: &Ui) {
        for (_, uri) in &ui.pages {
            let servers = self.0.entry(uri.clone()).or_default();
            if !servers.contains(server) {
                servers.push(server.clone());
            }
        }
    }

    /// The servers whose tools name this page.
    pub(super) fn servers(&self, uri: &str) -> &[Arc<str>] {
        self.0.get(uri).map_or(&[], Vec::as_slice)
    }
}
