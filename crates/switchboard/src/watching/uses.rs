//! When tools were last called, over days and restarts: so that somebody can be told which
//! of them nobody uses.

use crate::limits;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_local::private;
use switchboard_record::metrics::Metrics;
use switchboard_tasks as tasks;
use tokio_util::task::AbortOnDropHandle;

/// When tools were last called.
#[derive(Debug)]
pub(crate) struct Uses {
    file: Option<PathBuf>,
    calls: Metrics,
    kept: Mutex<Kept>,
    /// How often each had been called when it was last looked.
    counted: Mutex<HashMap<(String, String), u64>>,
    /// Whether the file does not say all of it.
    is_unwritten: AtomicBool,
    upkeep: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kept {
    /// The day on which counting began, since 1970.
    since: u64,
    /// The last day of each tool, by server.
    tools: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Uses {
    /// Goes on with what the file says. Without one it lasts as long as the gateway.
    pub(super) fn begin(file: Option<PathBuf>, calls: Metrics) -> Arc<Self> {
        let mut kept = file.as_deref().and_then(|file| read(file).ok());
        if let Some(kept) = &mut kept {
            kept.forget(today());
        }
        let fresh = || Kept {
            since: today(),
            ..Kept::default()
        };
        let uses = Arc::new(Self {
            file,
            calls,
            kept: Mutex::new(kept.unwrap_or_else(fresh)),
            counted: Mutex::default(),
            is_unwritten: AtomicBool::new(false),
            upkeep: Mutex::default(),
        });
        let upkeep = tasks::spawn(tasks::Kind::Upkeep, look_after(Arc::downgrade(&uses)));
        *uses.upkeep.lock() = Some(AbortOnDropHandle::new(upkeep));
        uses
    }

    /// Over how many days calls were counted, as far as they are remembered.
    pub(crate) fn days(&self) -> u32 {
        let days = today().saturating_sub(self.kept.lock().since) + 1;
        u32::try_from(days.min(limits::USES_DAYS)).unwrap_or(u32::MAX)
    }

    /// The day, since 1970, on which a tool was last called, as of the last look.
    pub(crate) fn last(&self, server: &str, tool: &str) -> Option<u64> {
        let kept = self.kept.lock();
        kept.tools.get(server)?.get(tool).copied()
    }

    /// Notes what was called since it was last looked.
    pub(crate) fn look(&self) {
        let (mut counted, mut kept) = (self.counted.lock(), self.kept.lock());
        let (today, mut is_new) = (today(), false);
        for (server, tool, count) in self.calls.tools() {
            let key = (server, tool);
            if counted.get(&key) == Some(&count) {
                continue;
            }
            let tools = kept.tools.entry(key.0.clone()).or_default();
            is_new |= tools.insert(key.1.clone(), today) != Some(today);
            counted.insert(key, count);
        }
        if is_new {
            kept.forget(today);
            self.is_unwritten.store(true, Ordering::Release);
        }
    }

    /// Writes what changed, with what others wrote meanwhile.
    pub(super) fn keep(&self) {
        self.look();
        if !self.is_unwritten.swap(false, Ordering::AcqRel) {
            return;
        }
        let Some(file) = &self.file else { return };
        let kept = {
            let mut kept = self.kept.lock();
            if let Ok(theirs) = read(file) {
                kept.add(theirs);
            }
            kept.clone()
        };
        let written = serde_json::to_vec(&kept)
            .map_err(io::Error::other)
            .and_then(|text| private::write(file, &text));
        if let Err(error) = written {
            tracing::debug!(file = %file.display(), %error, "which tools are used cannot be kept");
        }
    }
}

impl Kept {
    /// Forgets what is too old or too many, the oldest first.
    fn forget(&mut self, today: u64) {
        let oldest = today.saturating_sub(limits::USES_DAYS);
        let count = |all: &Self| all.tools.values().map(BTreeMap::len).sum::<usize>();
        let mut limit = oldest;
        while limit <= today {
            for tools in self.tools.values_mut() {
                tools.retain(|_, last| *last > limit);
            }
            self.tools.retain(|_, tools| !tools.is_empty());
            if count(self) <= limits::USES_TOOLS {
                break;
            }
            limit += 1;
        }
    }

    fn add(&mut self, theirs: Self) {
        self.since = self.since.min(theirs.since);
        for (server, tools) in theirs.tools {
            let own = self.tools.entry(server).or_default();
            for (tool, last) in tools {
                let known = own.entry(tool).or_insert(last);
                *known = (*known).max(last);
            }
        }
        self.forget(today());
    }
}

fn read(file: &std::path::Path) -> io::Result<Kept> {
    let length = fs::metadata(file)?.len();
    if length > limits::USES_BYTES {
        return Err(io::Error::other("it is too long"));
    }
    serde_json::from_slice(&fs::read(file)?).map_err(io::Error::other)
}

/// Days since 1970.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() / 86_400)
}

async fn look_after(uses: Weak<Uses>) {
    loop {
        tokio::time::sleep(limits::USES_LOOK).await;
        let Some(uses) = uses.upgrade() else { return };
        let _ = tasks::blocking(move || uses.keep()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_or_too_much_is_forgotten() {
        let mut kept = Kept::default();
        let tools = |first: u64, count: usize| {
            (0..count)
                .map(|n| (format!("t{n}"), first + n as u64 % 10))
                .collect::<BTreeMap<_, _>>()
        };
        kept.tools.insert("old".to_owned(), tools(10, 3));
        kept.tools
            .insert("new".to_owned(), tools(1000, limits::USES_TOOLS + 5));
        kept.forget(1010);
        assert!(!kept.tools.contains_key("old"));
        let count = kept.tools["new"].len();
        assert!(count > 0 && count <= limits::USES_TOOLS, "{count}");
    }

    #[test]
    fn it_lasts_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("uses.json");
        let kept = Kept {
            since: today() - 3,
            tools: BTreeMap::from([(
                "s".to_owned(),
                BTreeMap::from([("t".to_owned(), today() - 1)]),
            )]),
        };
        private::write(&file, &serde_json::to_vec(&kept).unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let _entered = runtime.enter();
        let uses = Uses::begin(Some(file), Metrics::default());
        assert_eq!(uses.days(), 4);
        assert_eq!(uses.last("s", "t"), Some(today() - 1));
        assert_eq!(uses.last("s", "other"), None);
    }
}
