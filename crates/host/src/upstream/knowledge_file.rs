//! What is remembered of a server on disk: its eras and how it is reached, what
//! it said about itself, and its lists. A start shows them at once and corrects
//! itself when the server answers. Nothing here is believed for longer than that.

use super::{
    hello::Hello, knowledge::Traits, knowledge_room::Rooms, link::Carrier, server::Server,
};
use crate::{
    catalog::{Catalogs, List},
    limits,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_local::private;
use switchboard_tasks as tasks;
use switchboard_wire::{Era, Revision};

/// Room where it is kept.
static ROOMS: LazyLock<Rooms> = LazyLock::new(Rooms::default);

/// Where it is kept.
#[derive(Debug)]
pub(super) struct KnowledgeFile {
    file: PathBuf,
    /// Something is to be written down.
    pending: AtomicBool,
    /// Held while it is written, so that whoever ends us waits for it.
    writing: Mutex<()>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Remembered {
    legacy: Option<bool>,
    modern: Option<bool>,
    /// The address speaks HTTP+SSE.
    sse: bool,
    /// On whose behalf the lists were asked for.
    principal: Option<String>,
    /// Its questions cannot be told apart: clients take turns.
    turns: bool,
    /// In the handshake era and in the modern one.
    eras: [InEra; 2],
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct InEra {
    revision: Option<String>,
    hello: Option<Box<RawValue>>,
    tools: Option<Vec<Box<RawValue>>>,
    resources: Option<Vec<Box<RawValue>>>,
    templates: Option<Vec<Box<RawValue>>>,
    prompts: Option<Vec<Box<RawValue>>>,
}

impl InEra {
    fn list(&mut self, list: List) -> &mut Option<Vec<Box<RawValue>>> {
        match list {
            List::Tools => &mut self.tools,
            List::Resources => &mut self.resources,
            List::Templates => &mut self.templates,
            List::Prompts => &mut self.prompts,
        }
    }
}

impl KnowledgeFile {
    pub(super) fn new(file: PathBuf) -> Self {
        Self {
            file,
            pending: AtomicBool::new(false),
            writing: Mutex::default(),
        }
    }

    /// What is there, if it is whole and not too large.
    fn read(&self) -> Option<Remembered> {
        let file = fs::File::open(&self.file).ok()?;
        let mut text = String::new();
        file.take(limits::MEMORY_BYTES)
            .read_to_string(&mut text)
            .ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Whole or not at all; only the user can read it.
    fn write(&self, remembered: &Remembered) -> io::Result<()> {
        let text = serde_json::to_string(remembered)?;
        if text.len() as u64 > limits::MEMORY_BYTES {
            return Ok(());
        }
        let folder = self.file.parent().unwrap_or(Path::new("."));
        private::folder(folder)?;
        ROOMS.make(&self.file)?;
        // Whatever a power cut leaves of it is read as nothing, and found out anew.
        private::write_unsynced(&self.file, text.as_bytes())
    }
}

impl Server {
    /// Begins with what was known last time.
    pub(super) fn recall(&self) {
        let Some(mut known) = self.knowledge_file().and_then(KnowledgeFile::read) else {
            return;
        };
        let carrier = match known.sse {
            true => Carrier::Sse,
            false => Carrier::default(),
        };
        let traits = Traits {
            legacy: known.legacy,
            modern: known.modern,
            carrier,
        };
        let catalogs = Catalogs::new(known.principal.as_deref().map(Into::into));
        for era in [Era::Legacy, Era::Modern] {
            let known = &mut known.eras[place(era)];
            let revision = known.revision.as_deref().and_then(Revision::parse);
            if let (Some(revision), Some(hello)) = (revision, known.hello.take()) {
                let result = String::from(Box::<str>::from(hello)).into();
                catalogs.set_hello(era, Some(Hello { revision, result }));
            }
            for list in List::ALL {
                if let Some(items) = known.list(list).take() {
                    let items = items
                        .into_iter()
                        .map(|item| String::from(Box::<str>::from(item)).into());
                    catalogs.of(era).recall(list, items);
                }
            }
        }
        self.known().recall(traits, known.turns, catalogs);
    }

    /// Writes down what is known, in a moment: several changes are one.
    pub(super) fn remember(&self) {
        let (Some(file), Some(server)) = (self.knowledge_file(), self.weak().upgrade()) else {
            return;
        };
        // What stands in for it while it wants a sign-in is not the server.
        if self.stand_ins().any() {
            return;
        }
        if file.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        let broken = server.clone();
        let writing = async move {
            tokio::time::sleep(limits::MEMORY_DELAY).await;
            let _ = tasks::blocking(move || server.write_down()).await;
        };
        tasks::spawn_or(tasks::Kind::Upkeep, writing, move || {
            if let Some(file) = broken.knowledge_file() {
                file.pending.store(false, Ordering::Release);
            }
        });
    }

    /// Whether something is to be written down.
    pub(crate) fn has_news(&self) -> bool {
        self.knowledge_file()
            .is_some_and(|file| file.pending.load(Ordering::Acquire))
    }

    /// Writes it down now, if there is anything new.
    pub(crate) fn write_down(&self) {
        let Some(file) = self.knowledge_file() else {
            return;
        };
        let _writing = file.writing.lock();
        if !file.pending.swap(false, Ordering::AcqRel) {
            return;
        }
        if let Err(fault) = file.write(&self.snapshot()) {
            tracing::debug!(server = %self.spec.name, %fault, "what is known of it cannot be kept");
        }
    }

    fn snapshot(&self) -> Remembered {
        let traits = self.known().traits();
        let mut known = Remembered {
            legacy: traits.legacy,
            modern: traits.modern,
            sse: traits.carrier == Carrier::Sse,
            turns: self.known().needs_turns().are_needed(),
            ..Remembered::default()
        };
        let latest = self.known().latest();
        let Some(catalogs) = latest.as_deref().or(self.known().recalled()) else {
            return known;
        };
        known.principal = catalogs.principal.as_ref().map(ToString::to_string);
        for era in [Era::Legacy, Era::Modern] {
            let known = &mut known.eras[place(era)];
            if let Some(hello) = catalogs.hello(era) {
                known.revision = Some(hello.revision.to_string());
                known.hello = raw(&hello.result);
            }
            for list in List::ALL {
                let items = catalogs.of(era).known(list);
                *known.list(list) = items.map(|listing| {
                    listing
                        .items
                        .iter()
                        .filter_map(|item| raw(&item.raw))
                        .collect()
                });
            }
        }
        known
    }
}

const fn place(era: Era) -> usize {
    matches!(era, Era::Modern) as usize
}

fn raw(bytes: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(bytes).ok()?.to_owned()).ok()
}
