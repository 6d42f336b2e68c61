//! The lists of all servers as one: order, names and pages. It is kept in parts, one a
//! server, so that a page costs what it shows, and a change of one server's list what
//! that server lists.

use super::{
    Item, List,
    app::Pages,
    names::Names,
    part::{Made, Part, ordered},
    uri::UriRoutes,
};
use crate::upstream::Server;
use bytes::Bytes;
use std::{collections::HashSet, sync::Arc};
use switchboard_wire::{Edits, Span, json, name::Namer};

/// One item of a merged list.
#[derive(Clone, Debug)]
pub struct MergedItem {
    /// Whose it is.
    pub server: Arc<Server>,
    /// What the server calls it and how it describes it.
    pub item: Arc<Item>,
    /// What clients of the aggregate call it.
    pub outward: String,
    /// Its page, where that must be called otherwise too.
    pub(super) pages: Vec<(Span, String)>,
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

    /// Adds the same to a text.
    pub fn write_to(&self, out: &mut String) {
        let (raw, name) = (&self.item.raw, self.item.key_span);
        if self.outward == self.item.key || !self.pages.is_empty() {
            out.push_str(&String::from_utf8_lossy(&self.text()));
            return;
        }
        out.push_str(&String::from_utf8_lossy(&raw[..name.start]));
        out.push_str(&json::quote(&self.outward));
        out.push_str(&String::from_utf8_lossy(&raw[name.end..]));
    }
}

/// One merged list, in order of server and name.
#[derive(Debug, Default)]
pub struct Merged {
    /// In order of the servers' names.
    parts: Vec<Arc<Part>>,
    /// How many items come before each part.
    starts: Vec<usize>,
    count: usize,
    names: Names,
    /// The bytes of the items that are meant for models.
    model_bytes: usize,
    /// The pages that tools name.
    pub pages: Arc<Pages>,
}

/// What of a list is merged.
pub(crate) struct Merging<'a> {
    /// Which list.
    pub(crate) list: List,
    /// The servers, with the state of what each lists.
    pub(crate) servers: Vec<(&'a Arc<Server>, Made)>,
    /// Who names things.
    pub(crate) namer: &'a Namer,
    /// Whose URIs are whose, for lists of resources.
    pub(crate) routes: Option<&'a UriRoutes>,
    /// The same list as it was made before of the same servers, if it was.
    pub(crate) before: Option<&'a Merged>,
}

impl Merging<'_> {
    /// Merges; `items` gives what a server lists and is asked only for what is not as it
    /// was before.
    pub(crate) fn merged(mut self, items: impl Fn(&Arc<Server>) -> Vec<Arc<Item>>) -> Merged {
        self.servers
            .sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
        let by_server =
            matches!(self.list, List::Tools | List::Prompts) && self.namer.names_servers();
        let merged = match by_server {
            true => self.by_server(&items),
            false => None,
        };
        merged.unwrap_or_else(|| self.together(&items))
    }

    /// Each server for itself, and only where it has changed. `None` where two servers
    /// came to the same name, which takes a meeting of hashes.
    fn by_server(&self, items: &impl Fn(&Arc<Server>) -> Vec<Arc<Item>>) -> Option<Merged> {
        let before = self
            .before
            .filter(|before| before.parts.len() == self.servers.len());
        let old = |at: usize| before.and_then(|before| before.parts.get(at));
        let parts: Vec<Arc<Part>> = self
            .servers
            .iter()
            .enumerate()
            .map(|(at, (server, made))| {
                let same = |old: &&Arc<Part>| old.made == *made && Arc::ptr_eq(&old.server, server);
                old(at).filter(same).cloned().unwrap_or_else(|| {
                    let items = ordered(items(server));
                    let pairs: Vec<(&str, &str)> = items
                        .iter()
                        .map(|item| (server.name().as_ref(), item.key.as_str()))
                        .collect();
                    let outward = self.namer.assign(&pairs);
                    Arc::new(Part::new(server, *made, items, outward))
                })
            })
            .collect();
        let names = before.map(|before| renamed(before, &parts));
        let names = names
            .filter(|names| !names.is_out_of_shape())
            .unwrap_or_else(|| named(&parts));
        let is_new = |at: usize| old(at).is_none_or(|old| !Arc::ptr_eq(old, &parts[at]));
        let mut new = (0..parts.len()).filter(|at| is_new(*at));
        if new.any(|at| meets_another(&parts, at, &names)) {
            return None;
        }
        Some(self.whole(parts, names))
    }

    /// All servers together, where what one has decides about the names of another's.
    fn together(&self, items: &impl Fn(&Arc<Server>) -> Vec<Arc<Item>>) -> Merged {
        let lists: Vec<Vec<Arc<Item>>> = self
            .servers
            .iter()
            .map(|(server, _)| ordered(items(server)))
            .collect();
        let all = || {
            let servers = self.servers.iter().zip(&lists);
            servers.flat_map(|((server, _), items)| items.iter().map(move |item| (*server, item)))
        };
        let outward: Vec<String> = match self.list {
            List::Tools | List::Prompts => {
                let pairs: Vec<(&str, &str)> = all()
                    .map(|(server, item)| (server.name().as_ref(), item.key.as_str()))
                    .collect();
                self.namer.assign(&pairs)
            }
            List::Resources | List::Templates => all()
                .map(|(server, item)| match self.routes {
                    Some(routes) => routes.listed_as(self.namer, server.name(), &item.key),
                    None => item.key.clone(),
                })
                .collect(),
        };
        let mut outward = outward.into_iter();
        let servers = self.servers.iter().zip(lists);
        let parts: Vec<Arc<Part>> = servers
            .map(|((server, made), items)| {
                let outward = outward.by_ref().take(items.len()).collect();
                Arc::new(Part::new(server, *made, items, outward))
            })
            .collect();
        let names = named(&parts);
        self.whole(parts, names)
    }

    /// The parts as one list.
    fn whole(&self, mut parts: Vec<Arc<Part>>, names: Names) -> Merged {
        let mut pages = Pages::default();
        for part in parts.iter().filter(|part| part.has_pages) {
            part.add_pages(&mut pages);
        }
        let pages = match self.before {
            Some(before) if *before.pages == pages => before.pages.clone(),
            _ => Arc::new(pages),
        };
        let is_as_before = |at: usize, part: &Arc<Part>| {
            self.before.is_some_and(|before| {
                let old = before.parts.get(at);
                Arc::ptr_eq(&before.pages, &pages) && old.is_some_and(|old| Arc::ptr_eq(old, part))
            })
        };
        let routes = UriRoutes::of_pages(pages.clone());
        for (at, part) in parts.iter_mut().enumerate() {
            // Whose page it is depends on who else names it.
            if part.has_pages && !is_as_before(at, part) {
                *part = Arc::new(part.with_pages(&routes, self.namer));
            }
        }
        let (mut starts, mut count) = (Vec::with_capacity(parts.len()), 0);
        for part in &parts {
            starts.push(count);
            count += part.items.len();
        }
        Merged {
            model_bytes: parts.iter().map(|part| part.model_bytes).sum(),
            parts,
            starts,
            count,
            names,
            pages,
        }
    }
}

/// The names of all parts.
fn named(parts: &[Arc<Part>]) -> Names {
    let mut names = Names::for_about(parts.iter().map(|part| part.items.len()).sum());
    for (place, part) in parts.iter().enumerate() {
        for item in &part.items {
            names.add(&item.outward, place as u32);
        }
    }
    names
}

/// The names as they were, with what is another part by now.
fn renamed(before: &Merged, parts: &[Arc<Part>]) -> Names {
    let mut names = before.names.clone();
    let pairs = before.parts.iter().zip(parts).enumerate();
    for (place, (old, new)) in pairs.filter(|(_, (old, new))| !Arc::ptr_eq(old, new)) {
        let set = |part: &Part| -> HashSet<String> {
            part.items.iter().map(|item| item.outward.clone()).collect()
        };
        let (gone, come) = (set(old), set(new));
        for name in gone.difference(&come) {
            names.remove(name, place as u32);
        }
        for name in come.difference(&gone) {
            names.add(name, place as u32);
        }
    }
    names
}

/// Whether another part has one of the names of the part at this place.
fn meets_another(parts: &[Arc<Part>], at: usize, names: &Names) -> bool {
    let has = |place: u32, name: &str| {
        let part = parts.get(place as usize);
        part.is_some_and(|part| part.spelt(name).any(|item| item.outward == name))
    };
    let mut theirs = parts[at].items.iter();
    theirs.any(|item| {
        let mut others = names
            .places(&item.outward)
            .filter(|place| *place as usize != at);
        others.any(|place| has(place, &item.outward))
    })
}

impl Merged {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The items, in order.
    pub fn iter(&self) -> impl Iterator<Item = &MergedItem> {
        self.parts.iter().flat_map(|part| &part.items)
    }

    /// The item at this place of the order.
    pub fn get(&self, at: usize) -> Option<&MergedItem> {
        let part = self.starts.partition_point(|start| *start <= at);
        let part = part.checked_sub(1)?;
        self.parts.get(part)?.items.get(at - self.starts[part])
    }

    /// The bytes of the items that are meant for models, as their servers wrote them.
    pub fn model_bytes(&self) -> usize {
        self.model_bytes
    }

    /// Whether what its servers list is in the state that it was made of.
    pub(crate) fn is_of(&self, made: impl Fn(&Arc<Server>) -> Made) -> bool {
        self.parts
            .iter()
            .all(|part| part.made == made(&part.server))
    }

    /// The item of this outward name, under either spelling of `-` and `_` where only one fits.
    pub fn find(&self, name: &str) -> Option<&MergedItem> {
        let (mut only, mut several): (Option<&MergedItem>, bool) = (None, false);
        let places = self.names.places(name);
        let parts = places.filter_map(|place| self.parts.get(place as usize));
        // A server that has several is looked at as often, and finds the same.
        for item in parts.flat_map(|part| part.spelt(name)) {
            if item.outward == name {
                return Some(item);
            }
            several |= only.is_some_and(|other| !std::ptr::eq(other, item));
            only = Some(item);
        }
        only.filter(|_| !several)
    }

    /// The item of this server with this name of its own.
    pub fn own(&self, server: &Arc<str>, key: &str) -> Option<&MergedItem> {
        self.part(server)?.own(key)
    }

    fn part(&self, server: &str) -> Option<&Arc<Part>> {
        let at = self
            .parts
            .binary_search_by(|part| part.server.name().as_ref().cmp(server));
        self.parts.get(at.ok()?)
    }

    /// The tools that a page means which knows its server's tools by their own
    /// names alone: those of this name, meant for pages, of servers that have any.
    pub fn of_pages(&self, name: &str) -> Vec<&MergedItem> {
        let names_pages = |part: &&Arc<Part>| {
            let uis = part.items.iter().filter_map(|item| item.item.ui.as_ref());
            part.has_pages && uis.into_iter().any(|ui| !ui.pages.is_empty())
        };
        let parts = self.parts.iter().filter(names_pages);
        let named = parts.filter_map(|part| part.own(name));
        named.filter(|item| item.item.is_for_app()).collect()
    }

    /// The page after `cursor`, and the cursor after that page. The cursor is
    /// the last item shown, so that it survives the coming and going of others.
    pub fn page(
        &self,
        cursor: Option<&(String, String)>,
        size: usize,
    ) -> (Vec<&MergedItem>, Option<(String, String)>) {
        let start = cursor.map_or(0, |(server, key)| self.after(server, key));
        let end = (start + size).min(self.count);
        let first = self.starts.partition_point(|first| *first <= start);
        let parts = self
            .parts
            .iter()
            .zip(&self.starts)
            .skip(first.saturating_sub(1));
        let items = parts.flat_map(|(part, first)| {
            let from = start.saturating_sub(*first).min(part.items.len());
            &part.items[from..]
        });
        let page: Vec<&MergedItem> = items.take(end.saturating_sub(start)).collect();
        let next = (end < self.count).then(|| page.last()).flatten();
        let next = next.map(|item| (item.server.name().to_string(), item.item.key.clone()));
        (page, next)
    }

    /// How many items come before what follows this one.
    fn after(&self, server: &str, key: &str) -> usize {
        let at = self
            .parts
            .partition_point(|part| part.server.name().as_ref() < server);
        let Some((part, start)) = self.parts.get(at).zip(self.starts.get(at)) else {
            return self.count;
        };
        match part.server.name().as_ref() == server {
            true => start + part.until(key),
            false => *start,
        }
    }
}

#[cfg(test)]
mod tests;
