//! The lists of all servers as one: order, names and pages.

use super::{Item, List, app::Pages, uri::UriRoutes};
use crate::upstream::Server;
use bytes::Bytes;
use std::{collections::HashMap, sync::Arc};
use switchboard_wire::{Edits, Span, json, name::Namer};

/// One item of a merged list.
#[derive(Clone, Debug)]
pub struct MergedItem {
    /// Whose it is.
    pub server: Arc<Server>,
    /// What the server calls it and how it describes it.
    pub item: Item,
    /// What clients of the aggregate call it.
    pub outward: String,
    /// Its page, where that must be called otherwise too.
    pages: Vec<(Span, String)>,
}

impl MergedItem {
    /// The item as clients of the aggregate see it: its own bytes with the outward name.
    pub fn text(&self) -> Bytes {
        if self.outward == self.item.key && self.pages.is_empty() {
            return self.item.raw.clone();
        }
        let mut edits = Edits::new();
        edits.replace(self.item.key_span, json::quote(&self.outward));
        for (span, uri) in &self.pages {
            edits.replace(*span, json::quote(uri));
        }
        edits.apply_to_slice(&self.item.raw)
    }
}

/// One merged list, in order of server and name.
#[derive(Debug, Default)]
pub struct Merged {
    /// The items.
    pub items: Vec<MergedItem>,
    by_name: HashMap<String, usize>,
    /// Names with `-` and `_` taken for the same, where that is unambiguous.
    by_spelling: HashMap<String, Option<usize>>,
    by_own: HashMap<(Arc<str>, String), usize>,
    /// The pages that tools name.
    pub pages: Arc<Pages>,
}

impl Merged {
    /// Merges what is known of `list` now.
    pub fn new(
        list: List,
        lists: &[(Arc<Server>, Vec<Item>)],
        namer: &Namer,
        routes: Option<&UriRoutes>,
    ) -> Self {
        let mut all: Vec<(Arc<Server>, Item)> = Vec::new();
        for (server, items) in lists {
            all.extend(items.iter().map(|item| (server.clone(), item.clone())));
        }
        all.sort_by(|a, b| (a.0.name(), &a.1.key).cmp(&(b.0.name(), &b.1.key)));
        all.dedup_by(|a, b| a.0.name() == b.0.name() && a.1.key == b.1.key);
        let outward = match list {
            List::Tools | List::Prompts => {
                let pairs: Vec<(&str, &str)> = all
                    .iter()
                    .map(|(server, item)| (server.name().as_ref(), item.key.as_str()))
                    .collect();
                namer.assign(&pairs)
            }
            List::Resources | List::Templates => all
                .iter()
                .map(|(server, item)| match routes {
                    Some(routes) => routes.listed_as(namer, server.name(), &item.key),
                    None => item.key.clone(),
                })
                .collect(),
        };
        let mut pages = Pages::default();
        for (server, item) in &all {
            if let Some(ui) = &item.ui {
                pages.add(server.name(), ui);
            }
        }
        let routes = UriRoutes::of_pages(Arc::new(pages));
        let mut merged = Self {
            pages: routes.pages.clone(),
            ..Self::default()
        };
        for ((server, item), outward) in all.into_iter().zip(outward) {
            let at = merged.items.len();
            merged
                .by_own
                .insert((server.name().clone(), item.key.clone()), at);
            merged
                .by_spelling
                .entry(spelling(&outward))
                .and_modify(|only| *only = None)
                .or_insert(Some(at));
            merged.by_name.insert(outward.clone(), at);
            let named = item.ui.iter().flat_map(|ui| &ui.pages);
            let renamed = named.filter_map(|(span, uri)| {
                Some((*span, routes.outward(namer, server.name(), uri)?))
            });
            let pages = renamed.collect();
            merged.items.push(MergedItem {
                pages,
                server,
                item,
                outward,
            });
        }
        merged
    }

    /// The item of this outward name, under either spelling of `-` and `_` where only one fits.
    pub fn find(&self, name: &str) -> Option<&MergedItem> {
        let at = self
            .by_name
            .get(name)
            .copied()
            .or_else(|| *self.by_spelling.get(&spelling(name))?)?;
        self.items.get(at)
    }

    /// The item of this server with this name of its own.
    pub fn own(&self, server: &Arc<str>, key: &str) -> Option<&MergedItem> {
        self.items
            .get(*self.by_own.get(&(server.clone(), key.to_owned()))?)
    }

    /// The tools that a page means which knows its server's tools by their own
    /// names alone: those of this name, meant for pages, of servers that have any.
    pub fn of_pages(&self, name: &str) -> Vec<&MergedItem> {
        let has_pages = |server: &Arc<str>| {
            let theirs = self
                .items
                .iter()
                .filter(|item| item.server.name() == server);
            theirs
                .filter_map(|item| item.item.ui.as_ref())
                .any(|ui| !ui.pages.is_empty())
        };
        let named = self.items.iter().filter(|item| item.item.key == name);
        named
            .filter(|item| item.item.is_for_app() && has_pages(item.server.name()))
            .collect()
    }

    /// The page after `cursor`, and the cursor after that page. The cursor is
    /// the last item shown, so that it survives the coming and going of others.
    pub fn page(
        &self,
        cursor: Option<&(String, String)>,
        size: usize,
    ) -> (&[MergedItem], Option<(String, String)>) {
        let start = cursor.map_or(0, |(server, key)| {
            self.items.partition_point(|item| {
                (item.server.name().as_ref(), item.item.key.as_str())
                    <= (server.as_str(), key.as_str())
            })
        });
        let end = (start + size).min(self.items.len());
        let page = &self.items[start..end];
        let next = (end < self.items.len()).then(|| page.last()).flatten();
        (
            page,
            next.map(|item| (item.server.name().to_string(), item.item.key.clone())),
        )
    }
}

fn spelling(name: &str) -> String {
    name.replace('-', "_")
}
