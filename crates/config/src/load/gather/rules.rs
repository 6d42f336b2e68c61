//! What files say about what may be done with servers. It is read together with the
//! rest of each file, so that both are of one version of it, and put in order when all
//! of them are read.

use super::{Gathered, Reading};
use crate::{
    entry::Scope,
    fault::{Fault, Source},
    load::Loaded,
    read::{self, Doc},
    settings::{Permissions, Writer},
};
use std::path::{Path, PathBuf};

/// In which order files count: of modes the last one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    User,
    Project,
    Stray,
    Ours,
    Applied,
    Managed,
}

/// A file with such rules.
pub(super) struct File {
    path: PathBuf,
    rank: Rank,
    writer: Writer,
}

impl File {
    /// Another client's.
    pub(super) fn theirs(path: &Path, rank: Rank, inside: bool) -> Self {
        let ours = false;
        Self::new(path, rank, ours, inside)
    }

    /// Switchboard's own.
    pub(super) fn ours(path: &Path, rank: Rank, inside: bool) -> Self {
        let ours = true;
        Self::new(path, rank, ours, inside)
    }

    /// The administrator's.
    pub(super) fn managed(path: &Path, ours: bool) -> Self {
        let mut file = Self::new(path, Rank::Managed, ours, false);
        file.writer.managed = true;
        file
    }

    fn new(path: &Path, rank: Rank, ours: bool, inside: bool) -> Self {
        Self {
            path: path.to_owned(),
            rank,
            writer: Writer {
                inside,
                ours,
                managed: false,
            },
        }
    }
}

/// What one file says.
#[derive(Debug)]
pub(super) struct Ruled {
    rank: Rank,
    path: PathBuf,
    writer: Writer,
    permissions: Permissions,
    faults: Vec<Fault>,
}

impl Reading<'_> {
    /// Reads a file that has such rules, once for all that it says.
    pub(super) fn read_with_rules(
        &mut self,
        scope: Scope,
        file: &File,
        use_it: impl FnOnce(&Doc<'_>, &mut Self),
    ) {
        self.ruled_by(file, use_it, |this, both| match this.rules_only {
            true => this.open(&file.path, both),
            false => this.read(scope, &file.path, both),
        });
    }

    /// The same for what is in no file.
    pub(super) fn text_with_rules(
        &mut self,
        file: &File,
        text: &str,
        use_it: impl FnOnce(&Doc<'_>, &mut Self),
    ) {
        let source = Source::Address(file.path.display().to_string());
        self.ruled_by(file, use_it, |this, both| {
            Some(read::with(text, &source, |doc| both(doc, this)))
        });
    }

    fn ruled_by(
        &mut self,
        file: &File,
        use_it: impl FnOnce(&Doc<'_>, &mut Self),
        reads: impl FnOnce(
            &mut Self,
            &mut dyn FnMut(&Doc<'_>, &mut Self),
        ) -> Option<Result<(), Box<Fault>>>,
    ) {
        let File { path, rank, writer } = file;
        let mut permissions = Permissions::default();
        let mut faults = Vec::new();
        let mut use_it = Some(use_it);
        let mut both = |doc: &Doc<'_>, this: &mut Self| {
            faults = permissions.add(doc, &path.display().to_string(), *writer);
            // What is kept of calls does not depend on where servers come from.
            if writer.ours && !writer.inside && !writer.managed {
                this.observe(doc, super::Writer::User);
            }
            if !this.rules_only
                && let Some(use_it) = use_it.take()
            {
                use_it(doc, this);
            }
        };
        let read = reads(self, &mut both);
        match read {
            None => return,
            Some(Ok(())) => {}
            Some(Err(fault)) => faults = vec![*fault],
        }
        self.gathered.ruled.push(Ruled {
            rank: *rank,
            path: path.clone(),
            writer: *writer,
            permissions,
            faults,
        });
    }
}

impl Gathered {
    /// All rules together. What is wrong with the user's own leaves nobody knowing what
    /// is forbidden; with the administrator's, it shuts everything.
    pub(in crate::load) fn settle_rules(&mut self, loaded: &mut Loaded) {
        let mut ruled = std::mem::take(&mut self.ruled);
        ruled.sort_by_key(|ruled| ruled.rank);
        for Ruled {
            path,
            writer,
            permissions,
            faults,
            ..
        } in ruled
        {
            loaded.permissions.and(permissions);
            if writer.managed && !faults.is_empty() {
                loaded.exclusive.get_or_insert(path);
            } else if !writer.inside {
                loaded.lawless.extend(faults.iter().cloned());
            }
            let scope = match writer.managed {
                true => Scope::Enterprise,
                false => Scope::User,
            };
            for fault in faults {
                // It may have been told of when the file was read.
                if !loaded.faults.iter().any(|(_, known)| *known == fault) {
                    loaded.faults.push((scope, fault));
                }
            }
        }
        loaded.permissions.settle();
    }
}
