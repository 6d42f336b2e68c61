//! Resource addresses in the aggregate: whose is a URI, and when must it say so.
//!
//! A URI that one server has keeps its text; one that several have is shown as
//! `{server}+{uri}`. The answer depends on the catalog alone, so that restarts
//! and replicas agree.

use super::{Item, app::Pages};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use switchboard_wire::name::Namer;

/// Where a URI leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To this server, which knows it by this text.
    Server(Arc<str>, String),
    /// To one of these, and nothing says which. Empty: to nobody.
    Unclear(Vec<String>),
}

/// The qualified form: `{server}+{uri}`, and `ui://{server}+…` for the `ui` scheme, which clients know by its start.
pub fn qualify(prefix: &str, uri: &str) -> String {
    match uri.strip_prefix("ui://") {
        Some(rest) => format!("ui://{prefix}+{rest}"),
        None => format!("{prefix}+{uri}"),
    }
}

/// Takes the qualified form apart.
pub fn split_qualified<'a>(namer: &'a Namer, uri: &str) -> Option<(&'a str, String)> {
    let (ui, rest) = match uri.strip_prefix("ui://") {
        Some(rest) => ("ui://", rest),
        None => ("", uri),
    };
    let (prefix, plain) = rest.split_once('+')?;
    Some((namer.server(prefix)?, format!("{ui}{plain}")))
}

/// Who lists what: made from the resources and templates of all servers.
#[derive(Debug, Default)]
pub struct UriRoutes {
    listed: HashMap<String, Vec<Arc<str>>>,
    templates: Vec<(String, Arc<str>)>,
    schemes: HashMap<String, BTreeSet<Arc<str>>>,
    /// The pages of apps, which tools name: those decide before any list does, so
    /// that no list need be waited for.
    pub(super) pages: Arc<Pages>,
}

impl UriRoutes {
    /// Knows of pages alone.
    pub fn of_pages(pages: Arc<Pages>) -> Self {
        Self {
            pages,
            ..Self::default()
        }
    }

    /// Whether it is known whose page this is.
    pub fn has_page(&self, uri: &str) -> bool {
        !self.pages.servers(uri).is_empty()
    }

    /// Adds one server's resources or templates.
    pub fn add(&mut self, server: &Arc<str>, items: &[Arc<Item>], templates: bool) {
        for item in items {
            if let Some((scheme, _)) = item.key.split_once(':') {
                self.schemes
                    .entry(scheme.to_ascii_lowercase())
                    .or_default()
                    .insert(server.clone());
            }
            if templates {
                self.templates.push((item.key.clone(), server.clone()));
            }
            let servers = self.listed.entry(item.key.clone()).or_default();
            if !servers.contains(server) {
                servers.push(server.clone());
            }
        }
    }

    /// The text under which the aggregate lists a URI or template of this server.
    pub fn listed_as(&self, namer: &Namer, server: &Arc<str>, uri: &str) -> String {
        let several = self
            .listed
            .get(uri)
            .is_some_and(|servers| servers.len() > 1);
        let pages = self.pages.servers(uri);
        if several || pages.iter().any(|other| other != server) {
            qualify(namer.prefix(server).unwrap_or(server), uri)
        } else {
            uri.to_owned()
        }
    }

    /// Where a URI from a client leads.
    pub fn route(&self, namer: &Namer, uri: &str) -> Destination {
        if let Some((server, plain)) = split_qualified(namer, uri) {
            return Destination::Server(server.into(), plain);
        }
        let here = |server: &Arc<str>| Destination::Server(server.clone(), uri.to_owned());
        let listed = self.listed.get(uri).map_or(&[][..], Vec::as_slice);
        for servers in [self.pages.servers(uri), listed] {
            match servers {
                [] => {}
                [server] => return here(server),
                several => {
                    let names = several.iter().map(ToString::to_string);
                    return Destination::Unclear(names.collect());
                }
            }
        }
        let matching: BTreeSet<&Arc<str>> = self
            .templates
            .iter()
            .filter(|(template, _)| matches(template, uri))
            .map(|(_, server)| server)
            .collect();
        match matching.iter().collect::<Vec<_>>().as_slice() {
            [server] => return here(server),
            [] => {}
            several => {
                return Destination::Unclear(several.iter().map(ToString::to_string).collect());
            }
        }
        let scheme = uri
            .split_once(':')
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.and_then(|scheme| self.schemes.get(&scheme)) {
            Some(servers) if servers.len() == 1 => servers
                .iter()
                .next()
                .map_or(Destination::Unclear(vec![]), here),
            Some(servers) => {
                Destination::Unclear(servers.iter().map(ToString::to_string).collect())
            }
            None => Destination::Unclear(Vec::new()),
        }
    }

    /// The text under which a URI in `server`'s results leads back to it.
    pub fn outward(&self, namer: &Namer, server: &Arc<str>, uri: &str) -> Option<String> {
        match self.route(namer, uri) {
            Destination::Server(owner, plain) if owner == *server && plain == uri => None,
            _ => Some(qualify(namer.prefix(server).unwrap_or(server), uri)),
        }
    }
}

/// Whether a URI fits a template: `{name}` stands for anything without a slash
/// (and `{+name}`, `{name*}` and the other operators for anything at all).
/// Steps through both at once; the last place to retry from is enough, so that
/// no template can make it slow.
fn matches(template: &str, uri: &str) -> bool {
    enum Part<'a> {
        Text(&'a str),
        Hole { slashes: bool },
    }
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}') else {
            break;
        };
        if open > 0 {
            parts.push(Part::Text(&rest[..open]));
        }
        let inside = &rest[open + 1..open + close];
        let slashes =
            inside.starts_with(['+', '#', '/', '?', '&', '.', ';']) || inside.ends_with('*');
        parts.push(Part::Hole { slashes });
        rest = &rest[open + close + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    let mut at = 0;
    let mut hole: Option<bool> = None;
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Hole { slashes } => hole = Some(hole.unwrap_or(false) || *slashes),
            Part::Text(text) => {
                let last = i + 1 == parts.len();
                let found = match hole {
                    None => uri[at..].starts_with(text).then_some(0),
                    Some(_) if last => uri[at..]
                        .ends_with(text)
                        .then(|| uri.len() - at - text.len()),
                    Some(_) => uri[at..].find(text),
                };
                let Some(skip) = found else { return false };
                if hole == Some(false) && uri[at..at + skip].contains('/') {
                    return false;
                }
                at += skip + text.len();
                hole = None;
            }
        }
    }
    match hole {
        None => at == uri.len(),
        Some(slashes) => slashes || !uri[at..].contains('/'),
    }
}
