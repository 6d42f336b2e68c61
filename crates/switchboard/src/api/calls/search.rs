//! Calls that match a filter. A text in quotes is looked for in all messages that are kept,
//! which takes its time: it is done aside, one search of everybody at a time, and no longer
//! than somebody waits for it. Whatever else is done on a thread of its own here has a turn
//! as well: threads are many, and what each of them holds is large.

use super::super::{
    answer::No,
    asking::{Ask, Who},
};
use super::handing::{Coming, Handed, Handing};
use crate::limits;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::{
    cell::Cell,
    collections::HashMap,
    future::ready,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_api::{calls::Call, filter::Filter};
use switchboard_record::tap::{Sees, Tap};
use switchboard_tasks as tasks;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// Who searches messages now, or does something else that takes its time.
#[derive(Debug)]
pub(crate) struct Searches {
    all: Arc<Semaphore>,
    each: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    /// How many everybody has at once.
    own: usize,
    /// How many more of one's wait.
    waiting: usize,
}

impl Default for Searches {
    fn default() -> Self {
        Self::new(limits::API_SEARCHES, 1, limits::API_SEARCHES_WAITING)
    }
}

/// One's turn to search.
#[derive(Debug)]
pub(in super::super) struct Turn {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Searches {
    /// For what takes little: so many at once that a page and a terminal of the same one do
    /// not wait for each other.
    pub(in super::super) fn short() -> Self {
        Self::new(
            limits::API_LOOKS,
            limits::API_LOOKS_EACH,
            limits::API_LOOKS_WAITING,
        )
    }

    fn new(all: usize, own: usize, waiting: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            each: Mutex::default(),
            own,
            waiting,
        }
    }

    /// Waits a while for one's turn: a search that nobody waits for any more ends soon.
    pub(in super::super) async fn turn(&self, holder: &Arc<str>) -> Result<Turn, No> {
        let busy = || {
            No::too_many("other requests of yours that take their time are not done yet")
                .hint("wait for them")
        };
        let own = {
            let mut each = self.each.lock();
            // Those that nobody holds are nobody's.
            each.retain(|_, own| Arc::strong_count(own) > 1);
            let own = each.entry(holder.clone());
            own.or_insert_with(|| Arc::new(Semaphore::new(self.own)))
                .clone()
        };
        // The table has one, this has one, and so has each who searches or waits.
        if Arc::strong_count(&own) > self.own + self.waiting + 2 {
            return Err(busy());
        }
        let own = timeout(limits::API_SEARCH_TURN, own.acquire_owned()).await;
        let own = own.map_err(|_| busy())?.map_err(|_| busy())?;
        let all = timeout(limits::API_SEARCH_TURN, self.all.clone().acquire_owned()).await;
        let full = || No::too_many("too many ask for what takes its time already");
        let all = all.map_err(|_| full())?.map_err(|_| full())?;
        Ok(Turn {
            _own: own,
            _all: all,
        })
    }
}

/// Ends a search when it is dropped.
#[derive(Default)]
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Calls that are looked at one after the other, until nobody waits for them any more.
pub(super) struct Looking {
    tap: Arc<Tap>,
    filter: Filter,
    who: Who,
    is_over: Arc<AtomicBool>,
    /// Bytes of messages that were looked through without their secrets.
    looked: Cell<usize>,
}

impl Looking {
    fn new(tap: &Arc<Tap>, filter: Filter, ask: &Ask, wanted: &Wanted) -> Self {
        Self {
            tap: tap.clone(),
            filter,
            who: ask.who.clone(),
            is_over: wanted.0.clone(),
            looked: Cell::new(0),
        }
    }

    /// All calls that whoever asks may know of, the newest first, or `only` one of them.
    pub(super) fn calls(&self, only: Option<u64>) -> impl Iterator<Item = Call> {
        let one = only.and_then(|id| self.tap.call(id));
        let all = only.is_none().then(|| self.tap.calls());
        let all = all.into_iter().flatten().chain(one);
        all.take_while(|_| !self.is_over())
            .filter(|call| self.who.may_see(&call.principal))
    }

    /// Whether a call matches.
    pub(super) fn wants(&self, call: &Call) -> bool {
        let says = &mut |text: &str| {
            let mut looked = self.looked.get();
            let says = !self.is_over() && self.tap.says(call.id, self.sees(), text, &mut looked);
            self.looked.set(looked);
            says
        };
        self.filter.matches(call, says)
    }

    /// Whether messages are looked into, and so much was looked through that a page will do.
    pub(super) fn is_enough(&self) -> bool {
        self.looked.get() >= limits::API_SEARCH_BYTES
    }

    /// Whether messages are looked into: what is not asked for is not looked through then.
    pub(super) fn needs_messages(&self) -> bool {
        self.filter.needs_messages()
    }

    /// What of their messages whoever asks may see.
    pub(super) fn sees(&self) -> Sees {
        super::sees(&self.who)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Looks at calls on a thread of its own, in one's turn, which stops when this is dropped.
pub(super) async fn look<T: Send + 'static>(
    searches: &Searches,
    tap: &Arc<Tap>,
    filter: Filter,
    ask: &Ask,
    make: impl FnOnce(&Looking) -> T + Send + 'static,
) -> Result<T, No> {
    let turn = searches.turn(&ask.who.holder()).await?;
    let wanted = Wanted::default();
    let looking = Looking::new(tap, filter, ask, &wanted);
    let made = tasks::blocking(move || {
        let made = make(&looking);
        drop(turn);
        made
    });
    let made = made.await.map_err(|fault| No::broken(&fault));
    drop(wanted);
    made
}

/// The same for what is long: it is handed on piece by piece, as somebody takes it. Nothing
/// where there is no piece.
pub(super) async fn pieces(
    searches: &Searches,
    tap: &Arc<Tap>,
    filter: Filter,
    ask: &Ask,
    make: impl FnOnce(&Looking, &mut Handing) + Send + 'static,
) -> Result<Option<Coming>, No> {
    let turn = searches.turn(&ask.who.holder()).await?;
    let wanted = Wanted::default();
    let looking = Looking::new(tap, filter, ask, &wanted);
    let (mut handing, mut handed) = Handing::new();
    tasks::blocking(move || {
        make(&looking, &mut handing);
        handing.end();
        drop(turn);
    });
    let broke_off = || io::Error::other("it broke off");
    let first = match handed.recv().await {
        Some(Handed::Piece(first)) => first,
        Some(Handed::End) => return Ok(None),
        None => return Err(No::broken(&broke_off())),
    };
    let first = stream::once(ready(Ok(first)));
    let rest = stream::unfold(Some((handed, wanted)), move |state| async move {
        let (mut handed, wanted) = state?;
        match handed.recv().await {
            Some(Handed::Piece(piece)) => Some((Ok(piece), Some((handed, wanted)))),
            Some(Handed::End) => None,
            // Whoever made it has ended, and did not say that this was all.
            None => Some((Err(broke_off()), None)),
        }
    });
    Ok(Some(Box::pin(first.chain(rest))))
}

/// Looks for something on a thread of its own, in one's turn, for as long as somebody waits
/// for it: what looks asks whether that is over.
pub(in super::super) async fn until_left<T: Send + 'static>(
    searches: &Searches,
    who: &Who,
    find: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
) -> Result<T, No> {
    let turn = searches.turn(&who.holder()).await?;
    let wanted = Wanted::default();
    let is_over = wanted.0.clone();
    let found = tasks::blocking(move || {
        let found = find(&|| is_over.load(Ordering::Acquire));
        drop(turn);
        found
    });
    let found = found.await.map_err(|fault| No::broken(&fault));
    drop(wanted);
    found
}

/// Does what takes little on a thread of its own, in one's turn: reading files, mostly. It
/// has its turn until it is done, whether or not somebody still waits for it.
pub(in super::super) async fn shortly<T: Send + 'static>(
    looks: &Searches,
    who: &Who,
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<T, No> {
    let turn = looks.turn(&who.holder()).await?;
    let made = tasks::blocking(move || {
        let made = make();
        drop(turn);
        made
    });
    made.await.map_err(|fault| No::broken(&fault))
}

/// Looks through so many bytes of messages on a thread of its own: one of everybody's at a
/// time, so that nobody makes others wait. What is small is looked through at once.
pub(in super::super) async fn aside<T: Send + 'static>(
    readings: &Searches,
    who: &Who,
    bytes: usize,
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<T, No> {
    if bytes <= limits::API_READ_AT_ONCE {
        return Ok(make());
    }
    let turn = readings.turn(&who.holder()).await?;
    let made = tasks::blocking(move || {
        let made = make();
        drop(turn);
        made
    });
    made.await.map_err(|fault| No::broken(&fault))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_api::routes::ROUTES;
    use switchboard_host::{Host, permission::Rules};
    use switchboard_record::tap::CallList;

    /// One of everybody at a time; whoever comes meanwhile has a turn when it is over, or
    /// hears why not, and nobody else has to wait.
    #[tokio::test]
    async fn everybody_searches_once_at_a_time() {
        let searches = Searches::default();
        let (ada, bob): (Arc<str>, Arc<str>) = ("ada".into(), "bob".into());
        let first = searches.turn(&ada).await.unwrap();
        let no = searches.turn(&ada).await.unwrap_err();
        assert!(format!("{no:?}").contains("429"), "{no:?}");
        let other = searches.turn(&bob).await.unwrap();
        let (next, ()) = tokio::join!(searches.turn(&ada), async { drop(first) });
        assert!(next.is_ok());
        drop((next, other));
        searches.turn(&ada).await.unwrap();
        assert!(searches.each.lock().len() <= 2, "nobody is kept");
    }

    /// Also what looks into no messages waits for its turn, and stops when nobody waits.
    #[tokio::test]
    async fn nothing_is_looked_at_without_a_turn_and_for_nobody() {
        let host = Host::new(
            Vec::new(),
            Rules::everything_allowed(),
            Default::default(),
            Default::default(),
        );
        let tap = Tap::begin(&host, Arc::<CallList>::default());
        let route = ROUTES.iter().find(|route| route.path == "export").unwrap();
        let here = switchboard_gateway::Counts::default();
        let ask = Ask::new(
            route,
            Vec::new(),
            Who::stranger(),
            here,
            String::new(),
            Vec::new().into(),
        );
        let searches = Searches::default();
        let turn = searches.turn(&ask.who.holder()).await.unwrap();
        let filter = || Filter::parse("").unwrap();
        let no = look(&searches, &tap, filter(), &ask, |_| ()).await;
        assert!(format!("{no:?}").contains("429"), "{no:?}");
        drop(turn);
        // Whoever leaves has it end: what is made sees that.
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (ended, ends) = tokio::sync::oneshot::channel();
        let make = |looking: &Looking| {
            begun.send(()).unwrap();
            while !looking.is_over() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        };
        {
            let mut looks = std::pin::pin!(look(&searches, &tap, filter(), &ask, make));
            tokio::select! {
                _ = &mut looks => panic!("it has ended by itself"),
                _ = begins => {}
            }
        }
        ends.await.unwrap();
        searches.turn(&ask.who.holder()).await.unwrap();
    }

    /// What takes little has more turns, and not so many that one has them all.
    #[tokio::test]
    async fn one_does_not_have_all_turns() {
        let looks = Searches::short();
        let (ada, bob): (Arc<str>, Arc<str>) = ("ada".into(), "bob".into());
        let mut held = Vec::new();
        for _ in 0..limits::API_LOOKS_EACH {
            held.push(looks.turn(&ada).await.unwrap());
        }
        let no = looks.turn(&ada).await.unwrap_err();
        assert!(format!("{no:?}").contains("429"), "{no:?}");
        looks.turn(&bob).await.unwrap();
    }

    #[test]
    fn nothing_is_looked_for_that_nobody_waits_for() {
        let wanted = Wanted::default();
        let is_over = wanted.0.clone();
        assert!(!is_over.load(Ordering::Acquire));
        drop(wanted);
        assert!(is_over.load(Ordering::Acquire));
    }
}
