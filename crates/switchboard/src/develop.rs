//! A server that somebody is writing: it starts again when its sources change, while its
//! clients stay.

use crate::{
    file_watch::{Look, look},
    limits,
};
use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_host::{Host, Server, ServerState};
use switchboard_local::wildcard::matches;
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Folders that hold no sources, whatever is watched.
const ASIDE: [&str; 10] = [
    ".git",
    ".hg",
    ".svn",
    "target",
    "node_modules",
    "__pycache__",
    ".venv",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
];

/// Files that editors leave and take away while they write others, whatever is watched.
const PASSING: [&str; 7] = [
    "*~",
    ".*.sw*",
    ".#*",
    "#*#",
    "4913",
    ".goutputstream-*",
    ".DS_Store",
];

/// Files and folders that are known of and not looked at yet.
const MOST: usize = limits::SOURCES_WATCHED + limits::SOURCES_FOLDERS;

/// The files that a server is made of.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Folders, with all that is below, and files.
    pub roots: Vec<PathBuf>,
    /// Names, and paths below a root, that do not count; `*` stands for anything.
    pub ignored: Vec<String>,
}

/// What the sources look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    files: BTreeMap<PathBuf, Look>,
    /// Whether there are more than are looked at.
    is_cut: bool,
}

impl Sources {
    fn look(&self) -> Seen {
        let mut seen = Seen::default();
        let mut folders = 0;
        for root in &self.roots {
            // What is near the root is looked at first: where there are too many, sources are
            // more likely there than below.
            let mut open = VecDeque::from([root.clone()]);
            while let Some(path) = open.pop_front() {
                if let Some(inside) = folder(&path, path == *root) {
                    folders += 1;
                    if folders > limits::SOURCES_FOLDERS {
                        seen.is_cut = true;
                        break;
                    }
                    let counts = |path: &PathBuf| self.counts(root, path);
                    let room = MOST.saturating_sub(open.len());
                    let before = open.len();
                    open.extend(inside.filter(counts).take(room + 1));
                    if open.len() - before > room {
                        open.pop_back();
                        seen.is_cut = true;
                    }
                } else if let Some(look) = look(&path) {
                    if seen.files.len() >= limits::SOURCES_WATCHED {
                        seen.is_cut = true;
                        break;
                    }
                    seen.files.insert(path, look);
                }
            }
        }
        seen
    }

    fn counts(&self, root: &Path, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let below = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let is_ignored = |glob: &String| matches(glob, &name) || matches(glob, &below);
        let passes = |glob: &&str| matches(glob, &name);
        !ASIDE.contains(&&*name)
            && !PASSING.iter().any(passes)
            && !self.ignored.iter().any(is_ignored)
    }

    async fn looked(&self) -> Seen {
        let sources = self.clone();
        let looked = tasks::blocking(move || sources.look()).await;
        looked.unwrap_or_default()
    }
}

/// What is in a folder. A link to one is not followed: it may lead around in a circle; unless
/// it is what somebody named.
fn folder(path: &Path, is_root: bool) -> Option<impl Iterator<Item = PathBuf> + use<>> {
    let about = match is_root {
        true => fs::metadata(path).ok()?,
        false => fs::symlink_metadata(path).ok()?,
    };
    let entries = about.is_dir().then(|| fs::read_dir(path).ok())??;
    Some(entries.flatten().map(|entry| entry.path()))
}

/// One of the files that are not what they were.
fn changed(before: &Seen, now: &Seen) -> Option<PathBuf> {
    let differs = |(path, look): (&PathBuf, &Look)| {
        (before.files.get(path) != Some(look)).then(|| path.clone())
    };
    let gone = |path: &&PathBuf| !now.files.contains_key(*path);
    let mut files = now.files.iter();
    files
        .find_map(differs)
        .or_else(|| before.files.keys().find(gone).cloned())
}

/// What becomes of the server, for whoever writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// There are more sources than are looked at.
    TooMany,
    /// This one has changed: the server starts again.
    Changed(PathBuf),
    /// It works.
    Works,
    /// It does not, and why, with the last that it wrote to stderr.
    Fails(String),
}

/// Starts the only server of `host` again whenever its sources change, until `stop`.
pub async fn follow(
    host: Arc<Host>,
    sources: Sources,
    stop: CancellationToken,
    tell: impl Fn(&News) + Send + Sync + 'static,
) {
    let Some(server) = host.servers().iter().next().cloned() else {
        return;
    };
    let told = heard(&server, &tell);
    let watched = watch(&server, &sources, &tell);
    tokio::select! {
        () = stop.cancelled() => {}
        () = told => {}
        () = watched => {}
    }
}

async fn watch(server: &Arc<Server>, sources: &Sources, tell: &(impl Fn(&News) + Sync)) {
    let mut before = sources.looked().await;
    let mut told = false;
    let mut pause = limits::SOURCES_LOOK;
    loop {
        if before.is_cut && !std::mem::replace(&mut told, true) {
            tell(&News::TooMany);
        }
        sleep(pause).await;
        let begun = Instant::now();
        let mut now = sources.looked().await;
        // Looking at many takes a small part of a core at most.
        let rest = begun.elapsed() * limits::SOURCES_REST;
        pause = rest.clamp(limits::SOURCES_LOOK, limits::SOURCES_LOOK_LONGEST);
        let Some(file) = changed(&before, &now) else {
            continue;
        };
        tell(&News::Changed(file));
        started(server).await;
        now = settled(sources, now).await;
        server.reconnect().await;
        before = now;
    }
}

/// Waits until no start is under way: one that is may have read the sources as they were,
/// and is not ended by whoever wants a new one.
async fn started(server: &Arc<Server>) {
    let mut states = server.state();
    let over = states.wait_for(|state| *state != ServerState::Pending);
    let _ = timeout(server.spec.timeouts.connect, over).await;
}

/// Waits until nobody writes any more.
async fn settled(sources: &Sources, mut now: Seen) -> Seen {
    let begun = Instant::now();
    while begun.elapsed() < limits::SOURCES_SETTLE {
        sleep(limits::SOURCES_QUIET).await;
        let later = sources.looked().await;
        if later == now {
            break;
        }
        now = later;
    }
    now
}

/// Tells how the server does, and its clients to ask for its lists each time it is there.
async fn heard(server: &Arc<Server>, tell: &(impl Fn(&News) + Sync)) {
    let mut states = server.state();
    let mut last = None;
    loop {
        let state = states.borrow_and_update().clone();
        let news = match state {
            ServerState::Connected => {
                // It is said that it works before it can be used.
                let mut copies = server.copies();
                let there = copies.wait_for(|copies| *copies > 0);
                let _ = timeout(limits::SOURCES_SETTLE, there).await;
                server.announce_lists().await;
                Some(News::Works)
            }
            ServerState::Failed(why) => Some(News::Fails(why)),
            _ => None,
        };
        if let Some(news) = news {
            if last.as_ref() != Some(&news) || news == News::Works {
                tell(&news);
            }
            last = Some(news);
        }
        if states.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
