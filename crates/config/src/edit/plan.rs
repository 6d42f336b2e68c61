//! What a file would become, before it is written: shown, said yes to by its digest, and
//! written only where the file is still what it was.

use super::{EditError, Target, swap, tree, unreadable};
use crate::{approval::digest_of, safe_read};
use serde_json::Value;

/// A change of one file.
#[derive(Clone, Debug)]
pub struct Plan {
    target: Target,
    before: Option<String>,
    after: String,
}

impl Plan {
    /// Begins with the file as it is.
    pub fn of(target: &Target) -> Result<Self, EditError> {
        let before = match safe_read::read(target.file(), None) {
            Ok(text) => Some(text),
            Err(why) if why.is_absent() => None,
            Err(why) => return Err(unreadable(target.file(), 0, why.to_string())),
        };
        Ok(Self {
            target: target.clone(),
            after: before.clone().unwrap_or_default(),
            before,
        })
    }

    /// The text so far; nothing where there is no file and nothing was put into it.
    fn now(&self) -> Option<&str> {
        match self.after.is_empty() && self.before.is_none() {
            true => None,
            false => Some(&self.after),
        }
    }

    /// Puts an entry into the object at this path.
    pub fn put(
        mut self,
        path: &[&str],
        name: &str,
        value: &Value,
        replace: bool,
    ) -> Result<Self, EditError> {
        let file = self.target.file().to_owned();
        self.after = tree::put(self.now(), &file, path, name, value, replace)?;
        Ok(self)
    }

    /// Takes an entry out of the object at this path.
    pub fn remove(mut self, path: &[&str], name: &str) -> Result<Self, EditError> {
        let file = self.target.file().to_owned();
        self.after = tree::remove(self.now(), &file, path, name)?;
        Ok(self)
    }

    /// Puts a name into the list at this path, or takes it out; whether that changes anything.
    pub fn mark(
        mut self,
        path: &[&str],
        name: &str,
        present: bool,
    ) -> Result<(Self, bool), EditError> {
        let file = self.target.file().to_owned();
        let (after, changes) = tree::mark(self.now(), &file, path, name, present)?;
        if changes {
            self.after = after;
        }
        Ok((self, changes))
    }

    /// The file.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether it changes anything.
    pub fn is_empty(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after
    }

    /// What a yes to it is a yes to: this file, as it is, becoming this.
    pub fn digest(&self) -> String {
        let file = self.target.file().display().to_string();
        let before = self.before.as_deref().unwrap_or_default();
        digest_of([file.as_bytes(), before.as_bytes(), self.after.as_bytes()].into_iter())
    }

    /// Writes it, if the file is still what it was.
    pub fn write(&self) -> Result<(), EditError> {
        swap(&self.target, self.before.as_deref(), Some(&self.after))
    }
}
