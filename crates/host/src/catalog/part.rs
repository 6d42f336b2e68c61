//! One server's part of a merged list: its items in order, as clients of the aggregate
//! call them. Kept from one merging to the next while nothing in it has changed.

use super::{Item, app::Pages, merge::MergedItem, names::one_spelling, uri::UriRoutes};
use crate::upstream::Server;
use std::{cmp::Ordering, sync::Arc};
use switchboard_wire::name::Namer;

/// What a part was made of: the state of its server's lists, and of the rules. The same
/// numbers mean the same part.
pub(crate) type Made = (u64, u64);

/// What one server lists, as one principal sees it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) server: Arc<Server>,
    pub(super) made: Made,
    /// In order of their own names.
    pub(super) items: Vec<MergedItem>,
    /// Where each is, in order of what clients call it.
    by_outward: Vec<u32>,
    /// Whether any of them names a page.
    pub(super) has_pages: bool,
    /// The bytes of those that are meant for models.
    pub(super) model_bytes: usize,
}

impl Part {
    /// These items of a server's under these names; `items` in order of their own.
    pub(super) fn new(
        server: &Arc<Server>,
        made: Made,
        items: Vec<Arc<Item>>,
        outward: Vec<String>,
    ) -> Self {
        let named = items.into_iter().zip(outward);
        let items: Vec<MergedItem> = named
            .map(|(item, outward)| MergedItem {
                server: server.clone(),
                item,
                outward,
                pages: Vec::new(),
            })
            .collect();
        let mut by_outward: Vec<u32> = (0..items.len() as u32).collect();
        by_outward.sort_by(|a, b| {
            let name = |at: &u32| items[*at as usize].outward.as_str();
            spelling_order(name(a), name(b))
        });
        let for_models = items.iter().filter(|item| item.item.is_for_model());
        Self {
            server: server.clone(),
            made,
            by_outward,
            has_pages: items.iter().any(|item| item.item.ui.is_some()),
            model_bytes: for_models.map(|item| item.item.raw.len()).sum(),
            items,
        }
    }

    /// The same with its pages under the names that lead back to them.
    pub(super) fn with_pages(&self, routes: &UriRoutes, namer: &Namer) -> Self {
        let items = self.items.iter().map(|item| {
            let named = item.item.ui.iter().flat_map(|ui| &ui.pages);
            let renamed = named.filter_map(|(span, uri)| {
                Some((*span, routes.outward(namer, item.server.name(), uri)?))
            });
            MergedItem {
                pages: renamed.collect(),
                ..item.clone()
            }
        });
        Self {
            server: self.server.clone(),
            made: self.made,
            items: items.collect(),
            by_outward: self.by_outward.clone(),
            has_pages: self.has_pages,
            model_bytes: self.model_bytes,
        }
    }

    /// Adds the pages that its tools name.
    pub(super) fn add_pages(&self, pages: &mut Pages) {
        for ui in self.items.iter().filter_map(|item| item.item.ui.as_ref()) {
            pages.add(self.server.name(), ui);
        }
    }

    /// The item with this name of its own.
    pub(super) fn own(&self, key: &str) -> Option<&MergedItem> {
        let at = self
            .items
            .binary_search_by(|item| item.item.key.as_str().cmp(key));
        self.items.get(at.ok()?)
    }

    /// The items whose outward names are this one, with `-` and `_` taken for the same.
    pub(super) fn spelt(&self, name: &str) -> impl Iterator<Item = &MergedItem> {
        let order = |at: &u32| spelling_order(&self.items[*at as usize].outward, name);
        let start = self.by_outward.partition_point(|at| order(at).is_lt());
        let same = self.by_outward[start..]
            .iter()
            .take_while(move |at: &&u32| order(at).is_eq());
        same.map(|at| &self.items[*at as usize])
    }

    /// How many of its items come before what follows this one.
    pub(super) fn until(&self, key: &str) -> usize {
        self.items
            .partition_point(|item| item.item.key.as_str() <= key)
    }
}

/// Puts a server's items in order, each once.
pub(super) fn ordered(mut items: Vec<Arc<Item>>) -> Vec<Arc<Item>> {
    items.sort_by(|a, b| a.key.cmp(&b.key));
    items.dedup_by(|a, b| a.key == b.key);
    items
}

fn spelling_order(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.bytes(), b.bytes());
    a.map(one_spelling).cmp(b.map(one_spelling))
}
