//! Definitions held to what they were: which servers' are, and what waits.

use super::Guard;
use crate::{
    catalog::{Item, List, Listing},
    client::Client,
    host::Host,
    pins::{
        Definition, Group, Keeping, Kind, News, Pinning, Pins, PinsFault, Start, Whose, Written,
    },
    upstream::{Connection, Hello, Server},
};
use std::{collections::HashMap, path::Path, sync::Arc};
use switchboard_wire::json;

/// Which servers' definitions are pinned.
#[derive(Debug)]
pub struct Pinned {
    /// Where they are kept.
    pub pins: Arc<Pins>,
    /// How, by the name of the server. Nothing is pinned of others.
    pub servers: HashMap<String, Keeping>,
    /// The principals that are the user. What others are shown is pinned for each of
    /// them, wherever there is more than one.
    pub user: Vec<Arc<str>>,
}

impl Guard {
    /// Definitions of these servers are held to their pins from now on.
    pub fn set_pins<'a>(&self, pinned: Pinned, servers: impl IntoIterator<Item = &'a Arc<Server>>) {
        *self.pinned.write() = Some(Arc::new(pinned));
        for server in servers {
            self.note_held(server);
        }
        self.changed();
    }

    /// The pins in this directory. Those that are in use go on: they know more than
    /// their files where these cannot be written.
    pub fn pins_in(&self, dir: &Path) -> Arc<Pins> {
        let used = self
            .pinned
            .read()
            .as_ref()
            .map(|pinned| pinned.pins.clone());
        let same = used.filter(|pins| pins.dir() == dir);
        same.unwrap_or_else(|| Arc::new(Pins::open(dir)))
    }

    fn keeping(&self, server: &Server) -> Option<(Arc<Pins>, Keeping)> {
        let pinned = self.pinned.read();
        let pinned = pinned.as_ref()?;
        let keeping = pinned.servers.get(server.name().as_ref())?;
        (keeping.pinning != Pinning::Off).then(|| (pinned.pins.clone(), keeping.clone()))
    }

    /// Into which book of a server's is looked for a principal. Whoever is the only
    /// one who can come in shares the user's, until it has one.
    fn whose(&self, server: &Server, keeping: &Keeping, principal: &Arc<str>) -> Whose {
        let pinned = self.pinned.read().clone();
        let Some(pinned) = pinned.filter(|pinned| !pinned.user.contains(principal)) else {
            return Whose::USER;
        };
        let apart = pinned.pins.is_apart(keeping, principal) || server.has_several_principals();
        Whose::of(principal.clone(), apart)
    }

    /// Keeps ready whether anything of a server waits, for whomever, so that a call
    /// of one of which nothing does need not look further.
    fn note_held(&self, server: &Server) {
        let Some((pins, keeping)) = self.keeping(server) else {
            server.held().note(false, false);
            return;
        };
        let strict = pins.is_held(&keeping);
        // What cannot be read is all held back, where anything would be.
        let waits = pins.any_waits(&keeping).unwrap_or(strict);
        server.held().note(waits, strict);
    }

    /// Something of what is kept of a server is not what it was.
    fn changed_of(&self, server: &Server) {
        self.note_held(server);
        self.version.next_of_one();
    }

    /// Counts what can change a decision about this server: what is found out about
    /// another changes nothing of it.
    pub(crate) fn version_for(&self, server: &Server) -> u64 {
        self.version.of_all().wrapping_add(server.held().noted())
    }

    /// Compares a list of a server's with what is kept of it. What this gives is waited for
    /// before anybody sees the list.
    #[must_use]
    pub(crate) fn judge(
        &self,
        server: &Server,
        connection: &Arc<Connection>,
        list: List,
        listing: &Listing,
    ) -> Option<Written> {
        let items = listing.items.iter();
        let items = items.map(|item| (item.key.as_str(), item.raw.as_ref()));
        self.judge_items(server, connection, list, items, true)
    }

    /// The same for one page that a client asked for; `last` where none follows.
    pub fn judge_page<'a>(
        &self,
        server: &Server,
        connection: &Arc<Connection>,
        list: List,
        items: impl Iterator<Item = &'a Item>,
        last: bool,
    ) {
        let items = items.map(|item| (item.key.as_str(), item.raw.as_ref()));
        let written = self.judge_items(server, connection, list, items, last);
        if let Some(written) = written {
            written.wait();
        }
    }

    fn judge_items<'a>(
        &self,
        server: &Server,
        connection: &Arc<Connection>,
        list: List,
        items: impl Iterator<Item = (&'a str, &'a [u8])>,
        whole: bool,
    ) -> Option<Written> {
        let kind = Kind::of(list).filter(|_| !connection.is_stand_in())?;
        let (pins, keeping) = self.keeping(server)?;
        // What the entry leaves out is not there.
        let there =
            items.filter(|(name, _)| kind != Kind::Tools || server.spec.tool_filter.has(name));
        let groups = Group::all(kind, there);
        let whose = self.whose_connection(server, &keeping, connection);
        let start = Start {
            connection,
            whose: &whose,
            whole,
        };
        let (changed, written) = pins.judge(server.name(), &keeping, start, kind, &groups);
        if changed {
            self.changed_of(server);
        }
        pins.rest(&keeping);
        written
    }

    fn whose_connection(
        &self,
        server: &Server,
        keeping: &Keeping,
        connection: &Connection,
    ) -> Whose {
        let principal = connection.principal();
        principal.map_or(Whose::USER, |it| self.whose(server, keeping, it))
    }

    /// The same for what a server says about how to use it.
    #[must_use]
    pub(crate) fn judge_hello(
        &self,
        server: &Server,
        connection: &Arc<Connection>,
    ) -> Option<Written> {
        let (pins, keeping) = self.keeping(server)?;
        let hello = connection.hello()?;
        let groups: Vec<Group> = instructions(hello)
            .map(|text| Definition::instructions(&text).into())
            .into_iter()
            .collect();
        let whose = self.whose_connection(server, &keeping, connection);
        let start = Start {
            connection,
            whose: &whose,
            whole: true,
        };
        let kind = Kind::Instructions;
        let (changed, written) = pins.judge(server.name(), &keeping, start, kind, &groups);
        if changed {
            self.changed_of(server);
        }
        pins.rest(&keeping);
        written
    }

    /// Whether what a server says about how to use it may be passed on to a client.
    pub fn passes_on(&self, client: &Client, server: &Server, hello: &Hello) -> bool {
        if !server.held().has_something() {
            return true;
        }
        let Some(text) = instructions(hello) else {
            return true;
        };
        let group = Definition::instructions(&text).into();
        self.objection_to(client, server, Kind::Instructions, &[group])
            .is_empty()
    }

    /// Why a client must not use something as it is now, if so.
    pub(super) fn objection(
        &self,
        client: &Client,
        server: &Server,
        kind: Kind,
        name: &str,
        raw: &[u8],
    ) -> Option<String> {
        let group = Definition::named(kind, name, raw).into();
        let mut all = self.objection_to(client, server, kind, &[group]);
        all.pop().map(|(_, why)| why)
    }

    /// The same of several things: the names of those that wait, with the reason.
    pub(super) fn objection_to(
        &self,
        client: &Client,
        server: &Server,
        kind: Kind,
        groups: &[Group],
    ) -> Vec<(String, String)> {
        let Some((pins, keeping)) = self.keeping(server) else {
            return Vec::new();
        };
        let whose = self.whose(server, &keeping, &client.principal);
        let waits = groups.iter().filter_map(|group| {
            let why = pins.objection(&keeping, &whose, kind, group)?;
            let why = format!(
                "it waits for approval: {why}; look at it: switchboard approve {}",
                server.name()
            );
            Some((group.name().to_owned(), why))
        });
        waits.collect()
    }

    /// The tools of a list that wait, with the reason.
    pub(super) fn held_tools(
        &self,
        client: &Client,
        server: &Server,
        listing: &Listing,
    ) -> HashMap<String, String> {
        let items = listing.items.iter();
        let items = items.filter(|item| !server.is_sign_in(client, &item.key));
        let items = items.map(|item| (item.key.as_str(), item.raw.as_ref()));
        let groups = Group::all(Kind::Tools, items);
        let held = self.objection_to(client, server, Kind::Tools, &groups);
        held.into_iter().collect()
    }

    /// What there is to say about a server's definitions, whoever they are for: what
    /// waits, and what is not what it was. An error where what is kept cannot be read.
    pub fn news(&self, server: &Server) -> Result<News, PinsFault> {
        match self.keeping(server) {
            Some((pins, keeping)) => {
                let news = pins.news(server.name(), &keeping);
                pins.rest(&keeping);
                news
            }
            None => Ok(News::default()),
        }
    }

    /// The same of what one client is shown.
    pub fn news_for(&self, client: &Client, server: &Server) -> Result<News, PinsFault> {
        let Some((pins, keeping)) = self.keeping(server) else {
            return Ok(News::default());
        };
        let whose = self.whose(server, &keeping, &client.principal);
        pins.news_for(server.name(), &keeping, &whose)
    }

    /// What there is to say in sentences, with the fault where there is one.
    pub fn about_pins(&self, server: &Server) -> Vec<String> {
        match self.news(server) {
            Ok(news) => news.sentences(),
            Err(_) => self.pins_fault(server).into_iter().collect(),
        }
    }

    /// Approves what was shown of a server.
    pub fn approve(&self, server: &Server, shown: &News) -> Result<(), PinsFault> {
        if let Some((pins, keeping)) = self.keeping(server) {
            pins.approve(&keeping, shown)?;
            self.changed_of(server);
        }
        Ok(())
    }

    /// Somebody has signed in: what a server has more of then is no surprise.
    pub(crate) fn signed_in(&self, server: &Server) {
        if let Some((pins, keeping)) = self.keeping(server)
            && let Err(fault) = pins.signed_in(&keeping.key)
        {
            tracing::debug!(server = %server.name(), %fault, "the sign-in is not noted");
        }
    }

    /// Whether anything of what a server lists to a client was pinned before.
    pub fn knows(&self, client: &Client, server: &Server) -> bool {
        self.keeping(server).is_some_and(|(pins, keeping)| {
            let whose = self.whose(server, &keeping, &client.principal);
            pins.has_pins(&keeping, &whose)
        })
    }

    /// Why the tools of a server are held back, or changes of them not noticed,
    /// where what was pinned of them cannot be read.
    pub fn pins_fault(&self, server: &Server) -> Option<String> {
        let (pins, keeping) = self.keeping(server)?;
        if keeping.pinning == Pinning::Elsewhere {
            return None;
        }
        let fault = pins.any_waits(&keeping).err()?;
        let name = server.name();
        Some(match pins.is_held(&keeping) {
            true => format!(
                "the tools of server {name:?} are held back, since what was approved of them cannot be read: {fault}"
            ),
            false => format!(
                "whether the tools of server {name:?} are what they were is not known, since what was pinned of them cannot be read: {fault}"
            ),
        })
    }

    /// Looks whether another program has approved something.
    fn refresh_pins(&self, servers: &[Arc<Server>]) -> Vec<Arc<Server>> {
        let Some(pinned) = self.pinned.read().clone() else {
            return Vec::new();
        };
        let keys = pinned.pins.refresh();
        let is_of = |server: &&Arc<Server>| {
            let keeping = pinned.servers.get(server.name().as_ref());
            keeping.is_some_and(|keeping| keys.contains(&keeping.key))
        };
        let changed: Vec<Arc<Server>> = servers.iter().filter(is_of).cloned().collect();
        for server in &changed {
            self.note_held(server);
        }
        if !changed.is_empty() {
            self.changed();
        }
        changed
    }
}

impl Host {
    /// Approves what was shown of a server; clients are told to ask anew for what is
    /// listed then.
    ///
    /// # Errors
    /// Where that cannot be kept. Nothing is approved then.
    pub fn approve(&self, server: &Arc<Server>, shown: &News) -> Result<(), PinsFault> {
        self.guard().approve(server, shown)?;
        self.announce(&[List::Tools, List::Prompts], server.attached());
        Ok(())
    }

    /// Looks whether another program has approved what waits here; clients are told
    /// to ask anew for what is listed then.
    pub fn refresh_pins(&self) {
        let changed = self.guard().refresh_pins(&self.servers());
        if changed.is_empty() {
            return;
        }
        let attached = changed.iter().flat_map(|server| server.attached());
        self.announce(&[List::Tools, List::Prompts], attached.collect());
    }
}

/// What a server says about how to use it, where it says anything.
fn instructions(hello: &Hello) -> Option<String> {
    let Ok(span) = json::field(&hello.result, "instructions") else {
        // Readers could disagree about which they are: all of it counts.
        return Some(String::from_utf8_lossy(&hello.result).into_owned());
    };
    let raw = span?.of(&hello.result);
    let text = json::text(raw).unwrap_or_else(|| String::from_utf8_lossy(raw));
    (!text.trim().is_empty()).then(|| text.into_owned())
}
