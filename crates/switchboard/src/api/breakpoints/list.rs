//! The breakpoints that are set, and what they hold.

use super::super::{answer::No, now};
use crate::limits;
use parking_lot::{Mutex, RwLock};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use switchboard_api::{
    breakpoints::{At, Breakpoint, Breakpoints, SetBreakpoint},
    calls::Call,
    filter::Filter,
};
use switchboard_host::{
    desk::{Breaks, Coming, Desk, Hit, Kind, Point},
    limits::HELD_MESSAGE_BYTES,
};
use switchboard_record::tap::{Tap, redact};

/// All of them.
#[derive(Debug)]
pub(crate) struct List {
    /// What is known of calls, which filters look at.
    tap: Arc<Tap>,
    set: RwLock<Vec<One>>,
    next: AtomicU64,
    /// When somebody last looked who may let go what is held.
    looked: Mutex<Instant>,
}

/// One breakpoint.
#[derive(Debug)]
struct One {
    id: u64,
    filter: Filter,
    text: Arc<str>,
    at: At,
    by: String,
    since: u64,
    hits: AtomicU64,
}

impl One {
    fn is_at(&self, point: Point) -> bool {
        match self.at {
            At::Call => point == Point::Call,
            At::Result => point == Point::Answer,
            At::Both => true,
        }
    }

    fn shown(&self) -> Breakpoint {
        Breakpoint {
            id: self.id,
            filter: self.text.to_string(),
            at: self.at,
            by: self.by.clone(),
            since: self.since,
            hits: self.hits.load(Ordering::Relaxed),
        }
    }
}

impl List {
    pub(crate) fn new(tap: Arc<Tap>) -> Arc<Self> {
        Arc::new(Self {
            tap,
            set: RwLock::default(),
            next: AtomicU64::new(1),
            looked: Mutex::new(Instant::now()),
        })
    }

    /// Sets one.
    pub(super) fn add(
        &self,
        desk: &Desk,
        filter: Filter,
        wanted: &SetBreakpoint,
        by: &str,
    ) -> Result<(), No> {
        let mut set = self.set.write();
        if set.len() >= limits::BREAKPOINTS {
            let text = format!("there are {} breakpoints already", limits::BREAKPOINTS);
            return Err(No::too_many(text).hint("remove some: switchboard traffic break --remove"));
        }
        set.push(One {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            filter,
            text: wanted.filter.trim().into(),
            at: wanted.at,
            by: by.to_owned(),
            since: now(),
            hits: AtomicU64::new(0),
        });
        desk.arm(true);
        Ok(())
    }

    /// Removes one; which calls it held.
    pub(super) fn remove(&self, desk: &Desk, id: u64) -> Option<String> {
        let mut set = self.set.write();
        let at = set.iter().position(|one| one.id == id)?;
        let one = set.remove(at);
        desk.arm(!set.is_empty());
        Some(one.text.to_string())
    }

    /// Removes all; which calls they held.
    pub(super) fn remove_all(&self, desk: &Desk) -> Vec<String> {
        let mut set = self.set.write();
        desk.arm(false);
        set.drain(..).map(|one| one.text.to_string()).collect()
    }

    /// Somebody looks.
    pub(super) fn look(&self, at: Instant) {
        *self.looked.lock() = at;
    }

    /// Whether some are set that nobody looks at any more.
    pub(super) fn is_left(&self, desk: &Desk, at: Instant) -> bool {
        if self.set.read().is_empty() {
            return false;
        }
        let mut looked = self.looked.lock();
        if desk.is_watched() {
            *looked = at;
        }
        at.duration_since(*looked) >= limits::BREAKPOINT_PATIENCE
    }

    pub(super) fn state(&self, desk: &Desk) -> Breakpoints {
        let breakpoints: Vec<Breakpoint> = self.set.read().iter().map(One::shown).collect();
        let left = limits::BREAKPOINT_PATIENCE.saturating_sub(self.looked.lock().elapsed());
        let ends = !breakpoints.is_empty() && !desk.is_watched();
        let held = desk.questions(false);
        Breakpoints {
            until: ends.then(|| now() + u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            held: held.iter().filter(|one| one.kind == Kind::Held).count(),
            missed: desk.missed(),
            breakpoints,
        }
    }

    /// The call as filters look at it, as it is now.
    fn call(&self, coming: &Coming<'_>) -> Call {
        let mut call = self.tap.call(coming.call).unwrap_or_default();
        call.server = Some(coming.server.to_string());
        call.server_era = Some(coming.era.to_string());
        if let Some(name) = coming.name {
            call.name = Some(name.to_owned());
        }
        if coming.point == Point::Answer {
            let micros = |took: std::time::Duration| {
                Some(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
            };
            call.outcome = match coming.has_failed {
                true => "error".to_owned(),
                false => "ok".to_owned(),
            };
            call.code = coming.message.error_code();
            (call.took, call.at_server) = (micros(coming.took), micros(coming.at_server));
            call.bytes_out = coming.message.raw().len() as u64;
            call.tokens = call.bytes_out / 4;
        }
        call
    }
}

impl Breaks for List {
    fn holds(&self, coming: &Coming<'_>) -> Option<Hit> {
        let set = self.set.read();
        if !set.iter().any(|one| one.is_at(coming.point)) {
            return None;
        }
        let (call, mut said) = (self.call(coming), Text::of(coming));
        let one = set.iter().find(|one| {
            one.is_at(coming.point) && one.filter.matches(&call, &mut |text| said.says(text))
        })?;
        one.hits.fetch_add(1, Ordering::Relaxed);
        let why = match one.text.is_empty() {
            true => "every call".into(),
            false => one.text.clone(),
        };
        Some(Hit {
            why,
            name: call.name,
        })
    }
}

/// What would be held, for whoever looks for texts in it: made ready once, however many are
/// looked for.
struct Text<'a> {
    raw: &'a [u8],
    /// In small letters, with its secrets and without.
    whole: Option<String>,
    shown: Option<String>,
}

impl<'a> Text<'a> {
    /// What is too large to be held is not looked through.
    fn of(coming: &Coming<'a>) -> Self {
        let raw = coming.message.raw();
        Self {
            raw: match raw.len() > HELD_MESSAGE_BYTES {
                true => b"",
                false => raw,
            },
            whole: None,
            shown: None,
        }
    }

    /// Whether a text stands in it, secrets left out.
    fn says(&mut self, text: &str) -> bool {
        let (raw, text) = (self.raw, text.to_lowercase());
        let said = || String::from_utf8_lossy(raw);
        let whole = self.whole.get_or_insert_with(|| said().to_lowercase());
        // What is not there with its secrets is not there without them.
        whole.contains(&text) && {
            let shown = || redact(&said()).0.to_lowercase();
            self.shown.get_or_insert_with(shown).contains(&text)
        }
    }
}

#[cfg(test)]
mod tests;
