//! What was done to a file, undone.

use super::{Done, FileRecord, What, merge};
use crate::edit::{self, EditError, Target, document::Step};
use serde_json::Value;
use std::fs;

/// A file without what we did to it.
#[derive(Clone, Debug)]
pub struct Undone {
    /// The text that is there.
    pub before: Option<String>,
    /// The text that would be; nothing where there was no file.
    pub after: Option<String>,
    /// Whether it would be as it was before us, to the byte. If not, others have
    /// changed it meanwhile, and only our own steps are undone.
    pub exact: bool,
    /// What is left as it is, and why.
    pub left: Vec<String>,
}

impl FileRecord {
    /// What the file would be without us.
    pub fn undone(&self) -> Result<Undone, EditError> {
        let now = super::text(&self.place.file)?;
        self.undone_from(now)
    }

    /// The same from this text.
    pub(super) fn undone_from(&self, now: Option<String>) -> Result<Undone, EditError> {
        let exact = |before: Option<String>| Undone {
            before: before.clone(),
            after: before,
            exact: true,
            left: Vec::new(),
        };
        if now == self.before {
            return Ok(exact(now));
        }
        if now.as_deref().map(super::record::hash).as_ref() == Some(&self.after) {
            return Ok(Undone {
                before: now,
                ..exact(self.before.clone())
            });
        }
        let Some(text) = now else {
            // The user has removed the file: what we took out of it is still owed.
            return self.owed();
        };
        let (undone, left) = self.steps_undone(&text)?;
        // By lines, comments come back too; where lines do not fit together, by entries.
        let servers = self.place.servers();
        let meant = servers.value(Some(&undone))?;
        let merged = self
            .replayed()
            .filter(|_| undone != text)
            .map(|after| merge::without(self.before.as_deref().unwrap_or_default(), &after, &text));
        let says_so = |merged: &String| servers.value(Some(merged)).is_ok_and(|said| said == meant);
        Ok(Undone {
            before: Some(text),
            after: Some(merged.filter(says_so).unwrap_or(undone)),
            exact: false,
            left,
        })
    }

    fn owed(&self) -> Result<Undone, EditError> {
        let removed = |done: &Done| matches!(done.what, What::Removed { .. });
        let (after, left) = match self.steps.iter().any(removed) {
            true => self
                .steps_undone("")
                .map(|(text, left)| (Some(text), left))?,
            false => (None, Vec::new()),
        };
        Ok(Undone {
            before: None,
            after,
            exact: false,
            left,
        })
    }

    /// The text that we left, if it can be made again.
    fn replayed(&self) -> Option<String> {
        let mut text = self.before.clone();
        for done in &self.steps {
            text = Some(done.to(&self.place, text.as_deref()).ok()?);
        }
        text.filter(|text| super::record::hash(text) == self.after)
    }

    /// A text with each step undone that still stands in it, and what does not.
    fn steps_undone(&self, text: &str) -> Result<(String, Vec<String>), EditError> {
        let servers = self.place.servers();
        let mut text = text.to_owned();
        let mut left = Vec::new();
        for Done { name, what } in self.steps.iter().rev() {
            let whole = servers.value(Some(&text))?;
            let now = servers.entry(&whole, name);
            let step = match (what, now) {
                (What::Put { now: ours, was }, Some(now)) if is_still(ours, now) => match was {
                    Some(was) => Step::Put(was),
                    None => Step::Remove,
                },
                (What::Put { .. }, Some(_)) => {
                    left.push(format!("{name:?} is another server by now, and stays"));
                    continue;
                }
                (What::Put { was: Some(was), .. } | What::Removed { was }, None) => Step::Put(was),
                (What::Removed { .. }, Some(_)) => {
                    left.push(format!("{name:?} is there again, and stays as it is"));
                    continue;
                }
                (
                    What::Set {
                        field,
                        now: ours,
                        was,
                    },
                    Some(now),
                ) if now.get(field) == Some(ours) => Step::Field(field, was.as_ref()),
                // Nothing of it stands there any more.
                (What::Put { was: None, .. }, None) | (What::Set { .. }, Some(_)) => continue,
                (What::Set { .. }, None) => {
                    left.push(format!("{name:?} was removed meanwhile, and stays so"));
                    continue;
                }
            };
            text = servers.change(Some(&text), name, step)?;
        }
        Ok((text, left))
    }
}

/// Whether an entry still starts what ours does, whatever was added to it.
fn is_still(ours: &Value, now: &Value) -> bool {
    let program = ["command", "cmd", "args", "url"];
    program
        .iter()
        .all(|field| ours.get(field) == now.get(field))
}

impl Undone {
    /// Whether the file is as it should be.
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    /// Writes it, if the file is still as it was. Folders that were made for it go
    /// with it.
    pub fn write(&self, of: &FileRecord) -> Result<(), EditError> {
        if !self.is_none() {
            let target = Target::foreign(&of.place.file);
            edit::swap(&target, self.before.as_deref(), self.after.as_deref())?;
        }
        if self.after.is_none() {
            for folder in &of.folders {
                // Only if there is nothing else in it.
                let _ = fs::remove_dir(folder);
            }
        }
        Ok(())
    }
}
