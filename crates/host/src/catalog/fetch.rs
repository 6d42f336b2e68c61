//! Fetching one server's lists, page by page and guarded, and keeping them
//! until the server says that they changed.

use super::{Annotations, List, app::Ui, fresh::Said, shape};
use crate::{error::CallError, exchange::Outcome, limits, upstream::Connection};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};
use switchboard_wire::{
    Era, Kind, Message, Method, Span,
    header::MirroredParam,
    json::{self, ValueKind},
    reading::{self, Object},
};
use tokio::{
    sync::OnceCell,
    time::{Instant, timeout},
};

/// One tool, resource, template or prompt.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name, URI or URI template.
    pub key: String,
    /// Where that stands in `raw`.
    pub key_span: Span,
    /// The item as the server wrote it.
    pub raw: Bytes,
    /// For a tool: the parameters to mirror into headers, or why its annotations break the rules.
    pub mirrored: Result<Vec<MirroredParam>, String>,
    /// For a tool: what it says of the page that shows it.
    pub ui: Option<Box<Ui>>,
}

impl Item {
    /// Whether it is meant for models.
    pub fn is_for_model(&self) -> bool {
        self.ui.as_ref().is_none_or(|ui| ui.for_model)
    }

    /// Whether it is meant for pages.
    pub fn is_for_app(&self) -> bool {
        self.ui.as_ref().is_none_or(|ui| ui.for_app)
    }
}

/// Items of a list that are left out: all are counted, the first are named.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// How many there are.
    pub count: usize,
    /// The first of them: what each is called, as far as that can be read, and why.
    pub named: Vec<(String, String)>,
}

impl LeftOut {
    fn note(&mut self, name: String, why: String) {
        self.count += 1;
        if self.named.len() < limits::LEFT_OUT_NAMED {
            self.named.push((name, why));
        }
    }
}

/// One whole list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// In the server's order.
    pub items: Vec<Item>,
    /// Fields of the result other than the items and the cursor, of the first page.
    pub extra: Vec<(String, Bytes)>,
    /// What is left out, with the reasons.
    pub left_out: LeftOut,
    /// What the server says about how long it is good for.
    pub(super) said: Said,
    by_key: HashMap<String, usize>,
    /// Tools that say of themselves that a second call does no harm.
    repeatable: HashSet<String>,
}

impl Listing {
    /// Whether this tool says of itself that a second call does no harm.
    pub fn is_repeatable(&self, tool: &str) -> bool {
        self.repeatable.contains(tool)
    }

    /// The item of this name, URI or template.
    pub fn find(&self, key: &str) -> Option<&Item> {
        self.items.get(*self.by_key.get(key)?)
    }

    /// Whether it lists the same, in the same order.
    pub fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.items.iter().zip(&other.items);
        self.items.len() == other.items.len() && pairs.all(|(a, b)| a.raw == b.raw)
    }

    fn push(&mut self, item: Item) {
        let said = json::field(&item.raw, "annotations").ok().flatten();
        let said = said.map(|span| Annotations::read(span.of(&item.raw)));
        if said.is_some_and(|said| said.read_only == Some(true) || said.idempotent == Some(true)) {
            self.repeatable.insert(item.key.clone());
        }
        self.by_key.insert(item.key.clone(), self.items.len());
        self.items.push(item);
    }
}

/// The lists of one server in one era, as one owner sees them.
#[derive(Debug)]
pub struct Catalog {
    pub(super) cells: [Mutex<Cell>; 4],
    generation: AtomicU64,
    /// Told when a list is new.
    news: OnceLock<News>,
}

struct News(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for News {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("News")
    }
}

#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) current: Arc<OnceCell<Arc<Listing>>>,
    /// What was known last, for as long as the server is away.
    last: Option<Arc<Listing>>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            cells: Default::default(),
            generation: AtomicU64::new(next_generation()),
            news: OnceLock::new(),
        }
    }
}

/// Counts the changes of all catalogs, so that no two are ever taken for one
/// another and the sum of several only grows.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Catalog {
    /// Says which lists these are: the same number means the same lists.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.generation
            .fetch_max(next_generation(), Ordering::AcqRel);
    }

    /// Begins with what another knows: shown until the server says better.
    pub(super) fn begin_with(&self, other: &Self) {
        for list in List::ALL {
            self.cells[list as usize].lock().last = other.known(list);
        }
        self.changed();
    }

    /// Whom to tell when a list is new.
    pub(crate) fn on_news(&self, tell: impl Fn() + Send + Sync + 'static) {
        let _ = self.news.set(News(Box::new(tell)));
    }

    /// Begins with what was known last time: shown until the server says better.
    pub(crate) fn recall(&self, list: List, items: impl Iterator<Item = Bytes>) {
        let mut listing = Listing::default();
        for item in items.filter_map(|raw| item(list, raw).ok()) {
            listing.push(item);
        }
        self.cells[list as usize].lock().last = Some(Arc::new(listing));
        self.changed();
    }

    /// What is known of a list without asking.
    pub fn known(&self, list: List) -> Option<Arc<Listing>> {
        let cell = self.cells[list as usize].lock();
        cell.current.get().cloned().or_else(|| cell.last.clone())
    }

    /// The list, fetched if it is not known, has changed, or is older than its
    /// server says it may be. Several callers share one fetch.
    pub async fn fresh(
        &self,
        list: List,
        connection: &Arc<Connection>,
    ) -> Result<Arc<Listing>, CallError> {
        {
            let mut cell = self.cells[list as usize].lock();
            let stale = cell.current.get().is_some_and(|now| now.said.is_stale());
            if stale {
                cell.current = Arc::default();
            }
        }
        self.get(list, connection).await
    }

    /// The list, fetched if it is not known or has changed, however old it is.
    /// Several callers share one fetch.
    pub async fn get(
        &self,
        list: List,
        connection: &Arc<Connection>,
    ) -> Result<Arc<Listing>, CallError> {
        let (current, before) = {
            let cell = self.cells[list as usize].lock();
            (cell.current.clone(), cell.last.clone())
        };
        let fetched = current
            // Boxed: mostly it is known, and every call's state would be larger.
            .get_or_try_init(async || {
                let fetched = Box::pin(fetch(list, connection)).await?;
                // Before anybody sees it.
                connection.judge(list, &fetched, before.as_deref());
                Ok::<_, CallError>(Arc::new(fetched))
            })
            .await?
            .clone();
        let mut cell = self.cells[list as usize].lock();
        let mut news = !cell
            .last
            .as_ref()
            .is_some_and(|last| Arc::ptr_eq(last, &fetched));
        if news {
            // One that was asked for anew and is what it was changes nothing.
            let same = cell
                .last
                .as_ref()
                .is_some_and(|last| last.is_same(&fetched));
            cell.last = Some(fetched.clone());
            if !same {
                self.changed();
            }
            news = !same;
        }
        drop(cell);
        if let Some(News(tell)) = self.news.get().filter(|_| news) {
            tell();
        }
        Ok(fetched)
    }

    /// The list as it is now, where this one has turned out to be stale. If it
    /// is another, whoever watches the server is told.
    pub async fn renewed(
        &self,
        list: List,
        stale: &Arc<Listing>,
        connection: &Arc<Connection>,
    ) -> Result<Arc<Listing>, CallError> {
        let same = |listing: &Arc<Listing>| Arc::ptr_eq(listing, stale);
        if self.cells[list as usize]
            .lock()
            .current
            .get()
            .is_some_and(same)
        {
            self.forget(list);
        }
        let now = self.get(list, connection).await?;
        let texts = |listing: &Listing| -> Vec<Bytes> {
            listing.items.iter().map(|item| item.raw.clone()).collect()
        };
        if texts(&now) != texts(stale) {
            connection.announce_change(list.change());
        }
        Ok(now)
    }

    /// Makes the lists stale that this notification is about.
    pub fn invalidate(&self, method: Method) {
        for list in List::changed_by(method) {
            self.forget(*list);
        }
    }

    /// Makes everything stale.
    pub fn invalidate_all(&self) {
        for list in List::ALL {
            self.forget(list);
        }
    }

    fn forget(&self, list: List) {
        let mut cell = self.cells[list as usize].lock();
        cell.current = Arc::default();
        self.changed();
    }
}

/// Asks for every page. A list that does not end is an error, never a part of a list.
async fn fetch(list: List, connection: &Arc<Connection>) -> Result<Listing, CallError> {
    let capability = list.method().needs_capability().unwrap_or_default();
    if !connection
        .hello()
        .is_some_and(|hello| hello.declares(capability))
    {
        return Ok(Listing::default());
    }
    connection.remarks().set(list.method().as_str(), None);
    let server = connection.server_name().to_string();
    let too_long = |reason: String| CallError::Unreadable {
        server: server.clone(),
        reason,
    };
    let pages = async {
        let mut listing = Listing::default();
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for page in 0.. {
            if page == limits::LIST_PAGES {
                return Err(too_long(format!(
                    "{} has more than {page} pages",
                    list.method().as_str()
                )));
            }
            let message = ask(list, connection, cursor.as_deref()).await?;
            if message.kind() == Kind::Error {
                // A server may declare resources and still have no templates.
                if message.error_code() == Some(switchboard_wire::code::METHOD_NOT_FOUND)
                    && page == 0
                {
                    return Ok(listing);
                }
                let said = message.error_text().unwrap_or_default();
                let reason = format!("{} fails: {said}", list.method().as_str());
                return Err(CallError::Unreadable {
                    server: server.clone(),
                    reason,
                });
            }
            cursor = add_page(list, &message, &mut listing, connection)?;
            if listing.items.len() > limits::LIST_ITEMS {
                let text = format!(
                    "{} has more than {} items",
                    list.method().as_str(),
                    limits::LIST_ITEMS
                );
                return Err(too_long(text));
            }
            match &cursor {
                None => break,
                Some(cursor) if !seen.insert(cursor.clone()) => {
                    return Err(too_long(format!(
                        "{} repeats the cursor {cursor:.40?}",
                        list.method().as_str()
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(listing)
    };
    match timeout(limits::LIST_FETCH, pages).await {
        Ok(result) => result,
        Err(_) => Err(CallError::TimedOut {
            server: connection.server_name().to_string(),
            allowed: limits::LIST_FETCH,
        }),
    }
}

async fn ask(
    list: List,
    connection: &Arc<Connection>,
    cursor: Option<&str>,
) -> Result<Message, CallError> {
    let cursor = cursor.map(|cursor| format!("\"cursor\":{}", json::quote(cursor)));
    let meta = (connection.revision().era() == Era::Modern)
        .then(|| format!("\"_meta\":{}", connection.own_meta()));
    let params: Vec<String> = cursor.into_iter().chain(meta).collect();
    let params = format!("{{{}}}", params.join(","));
    match connection
        .ask(list.method(), &params, limits::LIST_FETCH)?
        .outcome()
        .await
    {
        Outcome::Reply(reply) => Ok(reply.message),
        Outcome::Failed(fault) => Err(fault),
    }
}

/// Adds one page's items and returns the next cursor. A bad item is left out and named.
fn add_page(
    list: List,
    message: &Message,
    listing: &mut Listing,
    connection: &Connection,
) -> Result<Option<String>, CallError> {
    let body = message.body_bytes();
    let field = list.method().list_field().unwrap_or_default();
    reading::read(Object::Page(list.method()), &body).map_err(|unclear| CallError::Unreadable {
        server: connection.server_name().to_string(),
        reason: format!("the answer to {} has {unclear}", list.method().as_str()),
    })?;
    let mut cursor = None;
    let first = listing.items.is_empty();
    listing.said = listing
        .said
        .and(&body, connection.revision().era(), Instant::now());
    let page = Page::read(list, &body).map_err(|reason| {
        connection
            .remarks()
            .set(list.method().as_str(), Some(reason.clone()));
        let server = connection.server_name().to_string();
        CallError::Unreadable { server, reason }
    })?;
    page.tell(list, connection);
    for (span, item) in page.items {
        match item {
            Ok(item) => listing.push(item),
            Err(fault) => listing.left_out.note(called(list, span.of(&body)), fault),
        }
    }
    for member in json::members(&body) {
        let key = json::text(member.key.of(&body)).unwrap_or_default();
        let value = member.value;
        match key.as_ref() {
            "nextCursor" => cursor = json::text(value.of(&body)).map(String::from),
            name if name == field => {}
            _ if first => listing
                .extra
                .push((key.into_owned(), body.slice(value.start..value.end))),
            _ => {}
        }
    }
    if cursor
        .as_ref()
        .is_some_and(|cursor| cursor.len() > 64 * 1024)
    {
        let reason = format!(
            "{} has a cursor of {} bytes",
            list.method().as_str(),
            cursor.unwrap_or_default().len()
        );
        return Err(CallError::Unreadable {
            server: connection.server_name().to_string(),
            reason,
        });
    }
    Ok(cursor)
}

/// What an item that cannot be used is called, as far as it says so.
fn called(list: List, raw: &[u8]) -> String {
    let is_key =
        |member: &json::Member| json::text(member.key.of(raw)).as_deref() == Some(list.key());
    let named = json::members(raw).find(is_key);
    let text = named.and_then(|member| json::text(member.value.of(raw)));
    text.unwrap_or_default()
        .chars()
        .take(limits::LEFT_OUT_NAME_CHARS)
        .collect()
}

fn item(list: List, raw: Bytes) -> Result<Item, String> {
    let object = Object::Item(list.method());
    reading::check(object, &raw).map_err(|unclear| format!("it has {unclear}"))?;
    if let Some(fault) = shape::fault(list, &raw) {
        return Err(fault);
    }
    let key_span = json::fields(&raw, [list.key()]).map_err(|fault| fault.to_string())?[0]
        .ok_or_else(|| format!("it has no {:?}", list.key()))?;
    let key = json::text(key_span.of(&raw))
        .ok_or_else(|| format!("its {:?} is no string", list.key()))?
        .into_owned();
    let mut mirrored = Ok(Vec::new());
    if list == List::Tools
        && let Some(schema) = json::field(&raw, "inputSchema").ok().flatten()
    {
        mirrored = switchboard_wire::header::mirrored_params(schema.of(&raw));
    }
    let ui = (list == List::Tools).then(|| Ui::of(&raw)).flatten();
    Ok(Item {
        key,
        key_span,
        raw,
        mirrored,
        ui,
    })
}

/// One page of a list, as a server sent it.
#[derive(Debug)]
pub struct Page {
    /// Where the items stand in the result.
    pub array: Span,
    /// Each item and where it stands in the result, or what is wrong with it.
    pub items: Vec<(Span, Result<Item, String>)>,
}

impl Page {
    /// Reads a result; an error if it holds no list.
    pub fn read(list: List, body: &Bytes) -> Result<Self, String> {
        let field = list.method().list_field().unwrap_or_default();
        let what = |what: &str| format!("the result of {} {what}", list.method().as_str());
        let found = json::field(body, field).map_err(|fault| what(&fault.to_string()))?;
        let array = found.ok_or_else(|| what(&format!("has no {field:?}")))?;
        if ValueKind::of(array.of(body)) != Some(ValueKind::Array) {
            return Err(what(&format!("has a {field:?} that is no array")));
        }
        let items = json::elements(array.of(body)).map(|span| {
            let span = span.shifted(array.start);
            (span, item(list, body.slice(span.start..span.end)))
        });
        Ok(Self {
            array,
            items: items.collect(),
        })
    }

    /// Says which items are left out, in the log and to whoever looks after the
    /// server.
    pub fn tell(&self, list: List, connection: &Connection) {
        let faults = self
            .items
            .iter()
            .filter_map(|(_, item)| item.as_ref().err());
        let faults: Vec<&String> = faults.collect();
        let server = connection.server_name();
        for fault in faults.iter().take(limits::LEFT_OUT_NAMED) {
            tracing::warn!(%server, list = list.method().as_str(), fault, "an item is left out");
        }
        let named: Vec<&str> = faults
            .iter()
            .take(limits::LEFT_OUT_NAMED)
            .map(|fault| fault.as_str())
            .collect();
        if faults.is_empty() {
            return;
        }
        let text = format!(
            "items of {} that are left out: {} ({}{})",
            list.method().as_str(),
            faults.len(),
            named.join("; "),
            if faults.len() > named.len() {
                "; …"
            } else {
                ""
            }
        );
        connection.remarks().set(list.method().as_str(), Some(text));
    }
}
