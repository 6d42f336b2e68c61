//! The lists of one server, kept until it says that they changed.

use super::{Item, List, Listing, fetch::fetch};
use crate::{error::CallError, upstream::Connection};
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};
use switchboard_wire::Method;
use tokio::sync::OnceCell;

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

static KNOWN: AtomicU64 = AtomicU64::new(0);
static ASKED: AtomicU64 = AtomicU64::new(0);

fn count(is_known: bool) {
    let one = if is_known { &KNOWN } else { &ASKED };
    one.fetch_add(1, Ordering::Relaxed);
}

/// Counts so many lists that were wanted, and known without a look at each.
pub(crate) fn count_known(lists: u64) {
    KNOWN.fetch_add(lists, Ordering::Relaxed);
}

/// How often a list of a server's was wanted in this process: how often it was known,
/// and how often the server had to be asked.
pub fn list_counts() -> (u64, u64) {
    (KNOWN.load(Ordering::Relaxed), ASKED.load(Ordering::Relaxed))
}

/// Counts the changes of all catalogs, so that no two are ever taken for one
/// another and the sum of several only grows.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Counts whatever can change which lists anybody is shown: lists, which of them an
/// owner has, which era a server is met in. While it is the same nothing of that has
/// changed, of whatever server, and none of them needs a look.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// Notes such a change, once it is made: whoever looked before it looks again.
pub(crate) fn note_change() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

static MOVES: AtomicU64 = AtomicU64::new(0);

/// Counts whatever can change what has to be done before a list is shown, besides
/// [`changes`]: connections that come and go, lists that are fetched anew.
pub(crate) fn moves() -> u64 {
    MOVES.load(Ordering::Acquire)
}

/// Notes such a thing, once it has happened: whoever looked before it looks again.
pub(crate) fn note_move() {
    MOVES.fetch_add(1, Ordering::AcqRel);
}

impl Catalog {
    /// Says which lists these are: the same number means the same lists.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.generation
            .fetch_max(next_generation(), Ordering::AcqRel);
        note_change();
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
        for item in items.filter_map(|raw| Item::read(list, raw).ok()) {
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
                note_move();
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
        count(current.initialized());
        let fetched = current
            // Boxed: mostly it is known, and every call's state would be larger.
            .get_or_try_init(async || {
                let fetched = Box::pin(fetch(list, connection)).await?;
                // Before anybody sees it.
                if let Some(written) = connection.judge(list, &fetched, before.as_deref()) {
                    written.done().await;
                }
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
            note_move();
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
