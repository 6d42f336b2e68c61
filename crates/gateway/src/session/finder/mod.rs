//! Tools that are searched for instead of listed, where somebody chose that:
//! `search_tools` finds them and gives their definitions, `call_tool` calls one by
//! its name. What a client is shown depends on the choice for its token and on
//! what there is, never on what was searched before.

mod own;
mod resources;

pub(super) use own::definitions;

use crate::{gateway::Gateway, limits};
use own::{CALL, LIST_RESOURCES, OWN, READ_RESOURCE, SEARCH};
use parking_lot::Mutex;
use std::{borrow::Cow, collections::HashMap, sync::Arc};
use switchboard_host::{
    CallError, Client, Host, Scope,
    catalog::{List, Merged, MergedItem},
};
use switchboard_model::{
    ModelTool, estimate_tokens,
    limits::CONTEXT_WINDOW,
    search::{Index, Mode as Share},
};
use switchboard_wire::{Edits, Era, Message, Method, Params, code, json};

/// What a client's `tools/list` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolList {
    /// Every tool.
    #[default]
    All,
    /// What finds tools and calls them, and those that are always loaded.
    Search,
    /// The first, while all definitions together are small; else the second.
    Auto,
}

/// What each principal's clients are shown.
#[derive(Clone, Debug, Default)]
pub struct ToolLists {
    /// Where nothing else is said.
    pub usual: ToolList,
    /// By the name of a token.
    pub by_token: HashMap<String, ToolList>,
}

impl ToolLists {
    fn of(&self, principal: &str) -> ToolList {
        self.by_token.get(principal).copied().unwrap_or(self.usual)
    }
}

/// What is kept between requests: nothing that changes what anybody sees.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    lists: ToolLists,
    /// Where that depends on how much there is: whether it was too much.
    decided: Mutex<HashMap<Arc<str>, bool>>,
    indexes: Mutex<Shelves>,
    /// Which tools are shown in any case.
    always: Mutex<HashMap<(Arc<str>, Era), Always>>,
}

/// Where such tools are in a list.
type Always = (Arc<Merged>, Arc<[usize]>);

/// By principal, and by the era of whoever asks.
type Shelves = HashMap<(Arc<str>, Era), Arc<Shelf>>;

/// The tools of one principal, ready to be searched.
#[derive(Debug)]
struct Shelf {
    merged: Arc<Merged>,
    index: Index,
    /// For each that was indexed: where it is found.
    places: Vec<Place>,
}

/// Where the definition of a tool is.
#[derive(Debug)]
enum Place {
    /// At this place of the list.
    Listed(usize),
    /// Here: it is one of our own.
    Own(String),
}

/// What became of a call.
pub(super) enum Taken {
    /// It is none of ours.
    No,
    /// It asked for another, which stands in its place now.
    Turned,
    /// It is answered.
    Answered(String),
}

impl Finder {
    pub(crate) fn new(lists: ToolLists) -> Self {
        Self {
            lists,
            ..Self::default()
        }
    }

    /// Whether this client's tools wait to be searched for.
    pub(super) fn waits(&self, host: &Host, client: &Client, merged: &Merged) -> bool {
        match self.lists.of(&client.principal) {
            ToolList::All => false,
            ToolList::Search => true,
            ToolList::Auto => {
                let bytes = merged.model_bytes();
                let share = CONTEXT_WINDOW / 100 * usize::from(Share::DEFAULT_PERCENT);
                let is_much = estimate_tokens(bytes) > share;
                let mut decided = self.decided.lock();
                if decided.len() >= limits::FINDERS {
                    decided.clear();
                }
                let before = decided.insert(client.principal.clone(), is_much);
                drop(decided);
                if before.is_some_and(|before| before != is_much) {
                    host.announce_tools(&client.principal);
                }
                is_much
            }
        }
    }

    /// Whether there is anything to search with.
    fn is_offered(&self, client: &Client) -> bool {
        self.lists.of(&client.principal) != ToolList::All
    }

    /// The tools that are shown in any case. Which those are is looked for once for each
    /// list that there was.
    pub(super) fn always<'a>(
        &self,
        client: &Client,
        merged: &'a Arc<Merged>,
    ) -> impl Iterator<Item = &'a MergedItem> {
        let key = (client.principal.clone(), client.era());
        let known = self.always.lock().get(&key).cloned();
        let places = match known.filter(|(of, _)| Arc::ptr_eq(of, merged)) {
            Some((_, places)) => places,
            None => {
                let places: Arc<[usize]> = always(merged).into();
                let mut kept = self.always.lock();
                if kept.len() >= limits::FINDERS {
                    kept.clear();
                }
                kept.insert(key, (merged.clone(), places.clone()));
                places
            }
        };
        (0..places.len()).filter_map(move |at| merged.get(places[at]))
    }

    fn shelf(&self, host: &Host, client: &Client, merged: &Arc<Merged>) -> Arc<Shelf> {
        let key = (client.principal.clone(), client.era());
        if let Some(shelf) = self.indexes.lock().get(&key)
            && Arc::ptr_eq(&shelf.merged, merged)
        {
            return shelf.clone();
        }
        let shelf = Arc::new(Shelf::new(host, client, merged));
        let mut indexes = self.indexes.lock();
        if indexes.len() >= limits::FINDERS {
            indexes.clear();
        }
        indexes.insert(key, shelf.clone());
        shelf
    }
}

/// The tools that are shown in any case: where each is in the list.
fn always(merged: &Merged) -> Vec<usize> {
    let places = merged.iter().enumerate();
    let shown = places.filter(|(_, item)| {
        item.item.is_for_model() && (item.server.spec.always_load || says_always(item))
    });
    shown.map(|(at, _)| at).collect()
}

fn says_always(item: &MergedItem) -> bool {
    let (raw, word) = (&item.item.raw, b"alwaysLoad");
    // Most do not mention it, and need not be read for that.
    raw.windows(word.len()).any(|part| part == word)
        && ModelTool::read(item.server.name(), raw).is_ok_and(|tool| tool.always_load)
}

impl Shelf {
    fn new(host: &Host, client: &Client, merged: &Arc<Merged>) -> Self {
        let (mut tools, mut places) = (Vec::new(), Vec::new());
        for (at, item) in merged.iter().enumerate() {
            let tool = ModelTool::read(item.server.name(), &item.item.raw);
            if let (true, Ok(mut tool)) = (item.item.is_for_model(), tool) {
                tool.named(item.outward.clone());
                tools.push(tool);
                places.push(Place::Listed(at));
            }
        }
        if has_resources(host, client) {
            for definition in own::resource_tools() {
                let text = definition.to_string();
                if let Ok(tool) = ModelTool::read(own::SERVER, &text.clone().into()) {
                    tools.push(tool);
                    places.push(Place::Own(text));
                }
            }
        }
        Self {
            merged: merged.clone(),
            index: Index::new(&tools),
            places,
        }
    }

    /// One definition a line, as `tools/list` would have it.
    fn search(&self, query: &str, most: usize) -> String {
        let found = self.index.search(query, most);
        found.lines(|at| match self.places.get(at)? {
            Place::Listed(at) => {
                let item = self.merged.get(*at)?;
                Some(String::from_utf8_lossy(&item.text()).into_owned())
            }
            Place::Own(text) => Some(text.clone()),
        })
    }
}

fn has_resources(host: &Host, client: &Client) -> bool {
    host.servers().iter().any(|server| {
        host.guard().reaches(client, server)
            && server
                .hello(client)
                .is_some_and(|hello| hello.declares("resources"))
    })
}

/// Whether a request may be for one of our own tools. Asked of every call.
pub(super) fn concerns(scope: &Scope, message: &Message, params: &Params) -> bool {
    matches!(scope, Scope::All)
        && message.method() == Method::ToolsCall
        && called(message, params).is_some_and(|name| OWN.contains(&name.as_ref()))
}

fn called<'a>(message: &'a Message, params: &Params) -> Option<Cow<'a, str>> {
    json::text(params.name?.of(message.raw()))
}

/// Takes a call of one of our own tools. `call_tool` becomes the call that it asks
/// for, in the same words as if it had been asked for directly: whatever is
/// decided, asked and noted is about that one.
pub(super) async fn take(
    gateway: &Gateway,
    client: &Arc<Client>,
    message: &mut Message,
    params: &mut Params,
) -> Result<Taken, CallError> {
    if !gateway.finder().is_offered(client) {
        return Ok(Taken::No);
    }
    let Some(mut name) = called(message, params).map(Cow::into_owned) else {
        return Ok(Taken::No);
    };
    let arguments = params
        .arguments
        .map_or(&b"{}"[..], |span| span.of(message.raw()));
    let mut arguments = arguments.to_vec();
    if name == CALL {
        let (inner, theirs) = own::call_arguments(&arguments)?;
        // A server's tool of that name, if there is one, is what is meant.
        let is_theirs = || {
            gateway
                .host()
                .known(client, List::Tools)
                .find(&inner)
                .is_some()
        };
        if inner == CALL || !OWN.contains(&inner.as_str()) || is_theirs() {
            turn(message, params, &inner, theirs)?;
            return Ok(Taken::Turned);
        }
        (name, arguments) = (inner, theirs);
    }
    let text = match name.as_str() {
        SEARCH => {
            let (query, most) = own::search_arguments(&arguments)?;
            let merged = gateway.host().merged(client, List::Tools).await;
            let shelf = gateway.finder().shelf(gateway.host(), client, &merged);
            own::text_result(&shelf.search(&query, most))
        }
        LIST_RESOURCES => resources::list(gateway, client).await,
        READ_RESOURCE => resources::read(gateway, client, message, params, &arguments).await?,
        _ => return Ok(Taken::No),
    };
    Ok(Taken::Answered(text))
}

/// Makes the request the one for this tool with these arguments.
fn turn(
    message: &mut Message,
    params: &mut Params,
    name: &str,
    arguments: Vec<u8>,
) -> Result<(), CallError> {
    let mut edits = Edits::new();
    if let (Some(at), Some(given)) = (params.name, params.arguments) {
        edits.replace(at, json::quote(name));
        edits.replace(given, arguments);
    }
    let turned = Message::parse(message.edited(&edits).into_bytes())
        .map_err(|fault| CallError::from(fault.to_error()))?;
    *params = Params::of(&turned)?;
    *message = turned;
    Ok(())
}

fn wrong(tool: &str, what: &str) -> CallError {
    CallError::refused(
        code::INVALID_PARAMS,
        format!("Invalid params: the arguments of {tool}: {what}"),
    )
}
