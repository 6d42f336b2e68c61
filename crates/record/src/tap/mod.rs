//! Calls as they were: a list of them, which is always kept, and their messages on all
//! four edges, which are kept while somebody looks.
//!
//! | module | what |
//! |---|---|
//! | `list` | the list |
//! | `ring` | the messages |
//! | `view` | both as the API tells them |
//! | `pairs` | which message was made of which, and what we changed in it |
//! | [`difference`] | where two texts of JSON differ |
//! | `rows` | the rows of `docs/reference/rewrites.md` |
//! | [`redact`](redact()) | messages without secrets |

mod copies;
pub mod difference;
mod list;
mod pairs;
mod redact;
mod ring;
mod rows;
mod view;

pub use copies::{GATEWAY, quoted};
pub use list::CallList;
pub use redact::redact;
pub use view::Secrets;

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use ring::Ring;
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use switchboard_api::{calls, insight::TapState};
use switchboard_host::{
    Host,
    observe::{Begin, Edge, Follow, MessageSwitch, Observer, Passing},
};
use switchboard_tasks as tasks;
use tokio_util::task::AbortOnDropHandle;

/// What keeps messages. Clones of an `Arc` of it are one.
pub struct Tap {
    list: Arc<CallList>,
    ring: Ring,
    switch: MessageSwitch,
    armed: Mutex<Armed>,
    /// Whether they go to a folder: every call looks.
    is_recorded: AtomicBool,
    /// Calls whose messages are kept and that whoever keeps them on disk has not been told.
    unkept: Mutex<VecDeque<u64>>,
    upkeep: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Who looks at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// Somebody who may see everything.
    All,
    /// Whoever made it.
    Own,
}

/// Why messages are kept.
#[derive(Default)]
struct Armed {
    /// For as long as the gateway runs.
    option: bool,
    /// They go to this folder.
    record: Option<PathBuf>,
    /// When somebody last looked.
    looked: Option<Instant>,
}

impl Armed {
    fn wants(&self) -> bool {
        self.option || self.record.is_some() || self.remaining().is_some()
    }

    /// How long they are kept unless somebody looks again.
    fn remaining(&self) -> Option<Duration> {
        limits::TAP_PATIENCE.checked_sub(self.looked?.elapsed())
    }

    fn by(&self) -> Option<&'static str> {
        match self {
            Self { option: true, .. } => Some("option"),
            Self {
                record: Some(_), ..
            } => Some("record"),
            _ => self.remaining().map(|_| "watched"),
        }
    }
}

impl Tap {
    /// Keeps messages of this host's calls, once somebody wants that.
    pub fn begin(host: &Host, list: Arc<CallList>) -> Arc<Self> {
        let tap = Arc::new(Self {
            list,
            ring: Ring::default(),
            switch: host.message_switch(),
            armed: Mutex::default(),
            is_recorded: AtomicBool::new(false),
            unkept: Mutex::default(),
            upkeep: Mutex::default(),
        });
        host.observe(tap.clone());
        *tap.upkeep.lock() = Some(AbortOnDropHandle::new(tasks::spawn(
            tasks::Kind::Upkeep,
            look_after(Arc::downgrade(&tap)),
        )));
        tap
    }

    /// Messages are kept for as long as the gateway runs.
    pub fn always(&self) {
        self.arm(|armed| armed.option = true);
    }

    /// Messages are kept for somebody who writes them to this folder, and asks for
    /// [`ended`](Self::ended).
    pub fn record(&self, folder: PathBuf) {
        self.arm(|armed| armed.record = Some(folder));
    }

    /// Somebody looks: messages are kept for a while from now on.
    pub fn look(&self) {
        self.arm(|armed| armed.looked = Some(Instant::now()));
    }

    /// Nobody looks any more.
    pub fn rest(&self) {
        self.arm(|armed| armed.looked = None);
    }

    /// Forgets the messages that are kept.
    pub fn clear(&self) {
        self.ring.clear();
    }

    fn arm(&self, change: impl FnOnce(&mut Armed)) {
        let mut armed = self.armed.lock();
        change(&mut armed);
        let is_recorded = armed.record.is_some();
        self.is_recorded.store(is_recorded, Ordering::Relaxed);
        self.switch.set(armed.wants());
    }

    /// Whether messages are kept, and how many.
    pub fn state(&self) -> TapState {
        let (by, remaining, record) = {
            let armed = self.armed.lock();
            (armed.by(), armed.remaining(), armed.record.clone())
        };
        let ring = &self.ring;
        TapState {
            armed: by.is_some(),
            by: by.map(str::to_owned),
            until: remaining
                .filter(|_| by == Some("watched"))
                .map(|rest| millis(SystemTime::now() + rest)),
            calls: ring.len(),
            bytes: ring.bytes() as u64,
            capacity: ring.cap() as u64,
            dropped: ring.dropped(),
            record: record.map(|folder| folder.display().to_string()),
        }
    }

    /// All calls that are known, the newest first.
    pub fn calls(&self) -> impl Iterator<Item = calls::Call> {
        let all = self.list.all();
        all.map(|entry| self.told_of(&entry))
    }

    /// How many changes there were in the list so far, and the calls that changed since
    /// there were this many, in the order of it.
    pub fn since(&self, changes: u64) -> (u64, Vec<calls::Call>) {
        let now = self.list.changes();
        if now == changes {
            return (now, Vec::new());
        }
        let all = self.list.all();
        let mut changed: Vec<list::Entry> = all
            .filter(|it| it.change > changes && it.change <= now)
            .collect();
        changed.sort_by_key(|entry| entry.change);
        let told = changed.iter().map(|entry| self.told_of(entry));
        (now, told.collect())
    }

    /// One call.
    pub fn call(&self, number: u64) -> Option<calls::Call> {
        let entry = self.list.get(number)?;
        Some(self.told_of(&entry))
    }

    fn told_of(&self, entry: &list::Entry) -> calls::Call {
        let kept = self.ring.has(entry.number);
        view::call(entry, kept)
    }

    /// A call repeats another.
    pub fn repeats(&self, number: u64, other: u64) {
        self.list.repeats(number, other);
    }

    /// What each principal does, as far as its calls are known.
    pub fn uses(&self) -> HashMap<Arc<str>, Use> {
        let mut uses: HashMap<Arc<str>, Use> = HashMap::new();
        for entry in self.list.all() {
            let used = uses.entry(entry.principal.clone()).or_default();
            used.running += usize::from(entry.is_running());
            used.last = used.last.max(millis(entry.at));
        }
        uses
    }

    /// How many calls had to give way to newer ones.
    pub fn dropped(&self) -> u64 {
        self.list.dropped()
    }

    /// The messages of a call that somebody may see. Whoever made it sees what its server
    /// said once it is over, and not where that was held: somebody may have kept it back, or
    /// changed it, so that its client would not know.
    fn seen(&self, number: u64, sees: Sees) -> Option<(Vec<ring::Crossing>, u32)> {
        let (mut messages, missing) = self.ring.of_call(number)?;
        // Looked at after the messages: one that came since is none of them.
        let is_open = self.list.get(number).is_some_and(|entry| {
            let is_over = matches!(entry.state, list::State::Over(_));
            is_over && !entry.held
        });
        if sees == Sees::Own && !is_open {
            messages.retain(|one| one.edge != Edge::FromServer);
        }
        Some((messages, missing))
    }

    /// How many bytes the messages of a call have: looking through them takes its time.
    pub fn weight(&self, number: u64) -> usize {
        self.ring.weight(number)
    }

    /// One call with its messages, as far as somebody may see them.
    pub fn detail(&self, number: u64, sees: Sees, secrets: Secrets) -> Option<calls::Detail> {
        let entry = self.list.get(number)?;
        let kept = self.seen(number, sees);
        Some(view::detail(&entry, kept, secrets))
    }

    /// What was said between us and a call's server, as far as somebody may see it: when, in
    /// milliseconds since its first message, whether the server said it, and what.
    pub(crate) fn at_server(
        &self,
        number: u64,
        sees: Sees,
        secrets: Secrets,
    ) -> Option<Vec<(u64, bool, Bytes)>> {
        let (messages, _) = self.seen(number, sees)?;
        let begun = messages.first()?.at;
        let each = messages.iter().filter_map(|one| {
            let from_server = match one.edge {
                Edge::ToServer => false,
                Edge::FromServer => true,
                Edge::FromClient | Edge::ToClient => return None,
            };
            let told = view::message(one, one.at - begun, secrets);
            Some((told.at / 1000, from_server, Bytes::from(told.text?)))
        });
        Some(each.collect())
    }

    /// What a call's client asked for, as it wrote it; with secrets. For making it again.
    pub fn request(&self, number: u64) -> Option<Vec<u8>> {
        let (messages, _) = self.ring.of_call(number)?;
        messages.first()?.text.as_ref().map(ring::Text::to_vec)
    }

    /// What it was answered last, with secrets: by its server, or by us to its client.
    pub fn answer(&self, number: u64, sees: Sees, by_server: bool) -> Option<Vec<u8>> {
        let (messages, _) = self.seen(number, sees)?;
        let edge = match by_server {
            true => Edge::FromServer,
            false => Edge::ToClient,
        };
        pairs::answer(&messages, edge)
    }

    /// Whether a text stands in the messages of a call that somebody may see, secrets left
    /// out. Those that have it
    /// are counted in `looked`, by their bytes: leaving secrets out takes its time.
    pub fn says(&self, number: u64, sees: Sees, text: &str, looked: &mut usize) -> bool {
        let kept = self.seen(number, sees);
        let Some((messages, _)) = kept else {
            return false;
        };
        let text = text.to_lowercase();
        messages.iter().any(|one| {
            let bytes = one.text.as_ref().map(ring::Text::to_vec);
            bytes.is_some_and(|bytes| {
                let said = String::from_utf8_lossy(&bytes);
                // What is not there with its secrets is not there without them.
                said.to_lowercase().contains(&text) && {
                    *looked += bytes.len();
                    redact(&said).0.to_lowercase().contains(&text)
                }
            })
        })
    }

    /// Calls that have ended since this was last asked, for whoever keeps them on disk:
    /// their messages are in [`detail`](Self::detail).
    pub fn ended(&self) -> Vec<u64> {
        let (mut ended, mut unkept) = (Vec::new(), self.unkept.lock());
        unkept.retain(|number| match self.list.get(*number) {
            None => false,
            Some(entry) => match &entry.state {
                list::State::Over(over) if is_settled(entry.at + over.took) => {
                    ended.push(*number);
                    false
                }
                _ => true,
            },
        });
        ended
    }
}

/// Ends what nobody looks at any more.
async fn look_after(tap: Weak<Tap>) {
    loop {
        tokio::time::sleep(limits::TAP_LOOK).await;
        match tap.upgrade() {
            Some(tap) => tap.arm(|_| {}),
            None => return,
        }
    }
}

impl Observer for Tap {
    fn begin(&self, _call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        None
    }

    fn wants_details(&self) -> bool {
        false
    }

    fn message(&self, message: &Passing<'_>) {
        let Some(call) = message.call else { return };
        let is_new = self.ring.keep(call, message.edge, message.pieces);
        if is_new && self.is_recorded.load(Ordering::Relaxed) {
            let mut unkept = self.unkept.lock();
            if unkept.len() >= limits::TAP_CALLS {
                unkept.pop_front();
            }
            unkept.push_back(call);
        }
    }
}

/// Whether nothing comes any more of a call that ended then. What seems to have ended later
/// than now did so before somebody set the clock.
fn is_settled(when: SystemTime) -> bool {
    let since = SystemTime::now().duration_since(when);
    since.map_or(true, |since| since >= limits::TAP_SETTLE)
}

/// What a principal does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    /// Calls that have not ended yet.
    pub running: usize,
    /// When its newest call began, in milliseconds since 1970.
    pub last: u64,
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").finish_non_exhaustive()
    }
}

fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
