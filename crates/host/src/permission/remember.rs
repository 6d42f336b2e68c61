//! Answers that people gave, so that they are not asked again.
//!
//! A yes is bound to the definition it was given for: a tool that changed is
//! asked about anew. A no stays a no.

use crate::{limits, pins::file};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

pub use file::FileFault as AnswersFault;

/// An answer to remember.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Whose answer it is.
    pub principal: &'a str,
    /// The server's configured name.
    pub server: &'a str,
    /// The server's own name for the tool.
    pub tool: &'a str,
    /// The hash of the definition that was shown.
    pub definition: Option<&'a str>,
    /// Yes or no.
    pub allow: bool,
    /// Beyond the end of this program.
    pub lasting: bool,
}

/// The answers of one program, and, where it has a file, those that last.
#[derive(Debug, Default)]
pub struct Answers {
    file: Option<PathBuf>,
    known: Mutex<Book>,
}

/// principal → server → tool.
type Book = BTreeMap<String, BTreeMap<String, BTreeMap<String, Entry>>>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    allow: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
}

impl Answers {
    /// Answers that last are read from, and written to, `permissions.json` in this directory.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, AnswersFault> {
        let path = dir.into().join("permissions.json");
        let known = Mutex::new(file::read(&path)?.unwrap_or_default());
        Ok(Self {
            file: Some(path),
            known,
        })
    }

    /// Remembers an answer.
    pub fn remember(&self, answer: Answer<'_>) -> Result<(), AnswersFault> {
        let entry = Entry {
            allow: answer.allow,
            definition: answer.definition.map(str::to_owned),
        };
        put(&mut self.known.lock(), &answer, entry.clone());
        match &self.file {
            Some(path) if answer.lasting => {
                file::change(path, |book: &mut Book| put(book, &answer, entry))
            }
            _ => Ok(()),
        }
    }

    /// Forgets every answer about a server, for all principals.
    pub fn forget(&self, server: &str) -> Result<(), AnswersFault> {
        let without = |book: &mut Book| {
            book.values_mut()
                .for_each(|servers| drop(servers.remove(server)));
        };
        without(&mut self.known.lock());
        match &self.file {
            Some(path) => file::change(path, without),
            None => Ok(()),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.known
            .lock()
            .values()
            .all(|servers| servers.values().all(BTreeMap::is_empty))
    }

    /// Whether there are any about a server.
    pub(super) fn has_any(&self, server: &str) -> bool {
        self.known
            .lock()
            .values()
            .any(|servers| servers.contains_key(server))
    }

    /// The answer that was given, if it still holds.
    pub(super) fn find(
        &self,
        principal: &str,
        server: &str,
        tool: &str,
        definition: Option<&str>,
    ) -> Option<bool> {
        let known = self.known.lock();
        let entry = known.get(principal)?.get(server)?.get(tool)?;
        (!entry.allow || entry.definition.as_deref() == definition).then_some(entry.allow)
    }
}

fn put(book: &mut Book, answer: &Answer<'_>, entry: Entry) {
    let count: usize = book
        .values()
        .flat_map(BTreeMap::values)
        .map(BTreeMap::len)
        .sum();
    // Full: the next question is asked again, which is the safe side.
    if count >= limits::ANSWERS_KEPT {
        return;
    }
    let servers = book.entry(answer.principal.to_owned()).or_default();
    servers
        .entry(answer.server.to_owned())
        .or_default()
        .insert(answer.tool.to_owned(), entry);
}
