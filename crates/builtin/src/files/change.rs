//! `move` and `delete`. Both act by the directories that are held open, and on
//! a link itself, never on what it points at.

use super::{
    FilesSession,
    roots::{Last, Place, stat_in},
    walk::{Kind, inside},
};
use crate::{
    answer::{Failure, blocking},
    limits,
};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{ffi::OsStr, path::Path};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MoveArguments {
    /// What to move: a file, a directory or a link.
    from: String,
    /// Its new path, with its new name.
    to: String,
    /// Replace a file that is there already.
    #[serde(default)]
    overwrite: bool,
}

/// What `move` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct MoveAnswer {
    /// Where it was.
    from: String,
    /// Where it is now.
    to: String,
    /// Its new address.
    uri: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DeleteArguments {
    /// What to delete: a file, a link, or a directory.
    path: String,
    /// Delete a directory with all that is in it.
    #[serde(default)]
    recursive: bool,
}

/// What `delete` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct DeleteAnswer {
    /// What was deleted.
    path: String,
    /// How many entries that were.
    deleted: usize,
}

#[tool_router(router = change_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        name = "move",
        title = "Move or rename",
        description = "Moves or renames a file, a directory or a link; missing directories are made. Nothing is \
                       replaced unless `overwrite` is set. Example: {\"from\": \"draft.md\", \"to\": \
                       \"notes/final.md\"}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn move_entry(
        &self,
        Parameters(arguments): Parameters<MoveArguments>,
    ) -> Result<Json<MoveAnswer>, Failure> {
        let (roots, changing) = (self.roots(), self.changing());
        blocking(move || {
            let from = roots.locate(&arguments.from, Last::Kept)?;
            let to = roots.locate(&arguments.to, Last::Kept)?;
            let _change = changing.begin();
            let stat = from.stat()?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if from.holds(&to) && !to.holds(&from) {
                return Err(Failure::new(format!(
                    "{} cannot be moved into itself",
                    from.shown()
                )));
            }
            // What is in it would get, or lose, a name that protects it.
            if kind != FileType::RegularFile {
                from.movable()?;
                to.movable()?;
            }
            let (from_parent, from_name) = from.open_parent()?;
            if kind == FileType::Directory {
                Whole::moved(&to).look(&from, Path::new(""), 0)?;
            }
            let (to_parent, to_name) = to.make_parent()?;
            let result = match arguments.overwrite {
                true => fs::renameat(&from_parent, &from_name, &to_parent, &to_name),
                false => rename_new(from_parent.as_fd(), &from_name, to_parent.as_fd(), &to_name),
            };
            result.map_err(|errno| match errno {
                Errno::EXIST => to.fault(errno).hint("set overwrite to true to replace it"),
                Errno::XDEV => Failure::new("the two paths lie on different file systems")
                    .hint("read the file, write it to the new place, then delete the old one"),
                errno => to.fault(errno),
            })?;
            Ok(Json(MoveAnswer {
                from: from.shown(),
                to: to.shown(),
                uri: to.address(),
            }))
        })
        .await
    }

    #[tool(
        title = "Delete",
        description = "Deletes a file, a link, or a directory; one that is not empty only with `recursive`. There \
                       is no way back. Example: {\"path\": \"build\", \"recursive\": true}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn delete(
        &self,
        Parameters(arguments): Parameters<DeleteArguments>,
    ) -> Result<Json<DeleteAnswer>, Failure> {
        let (roots, changing) = (self.roots(), self.changing());
        blocking(move || {
            let place = roots.locate(&arguments.path, Last::Kept)?;
            let _change = changing.begin();
            let (parent, name) = place.open_parent()?;
            let stat = place.stat()?;
            let fault = |errno| place.fault(errno);
            let mut deleted = 1;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                fs::unlinkat(&parent, &name, AtFlags::empty()).map_err(fault)?;
            } else {
                if arguments.recursive {
                    // Counted first: half a deletion helps nobody.
                    Whole::deleted().look(&place, Path::new(""), 0)?;
                    deleted += empty(parent.as_fd(), &name, 0).map_err(fault)?;
                }
                fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR).map_err(fault)?;
            }
            Ok(Json(DeleteAnswer {
                path: place.shown(),
                deleted,
            }))
        })
        .await
    }
}

/// Renames unless the new name is taken.
fn rename_new(
    from: BorrowedFd<'_>,
    from_name: &OsStr,
    to: BorrowedFd<'_>,
    to_name: &OsStr,
) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    match fs::renameat_with(from, from_name, to, to_name, fs::RenameFlags::NOREPLACE) {
        // A file system, or a kernel, that does not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) => {}
        result => return result,
    }
    match stat_in(to, to_name) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => fs::renameat(from, from_name, to, to_name),
        Err(errno) => Err(errno),
    }
}

/// A directory that is changed with all that is in it, if nothing in it is
/// protected.
struct Whole<'w> {
    /// What is done with it.
    done: &'static str,
    /// Its new name, if it gets one.
    to: Option<&'w Place>,
    most: usize,
    left: usize,
}

impl<'w> Whole<'w> {
    fn deleted() -> Self {
        Self {
            done: "deleted",
            to: None,
            most: limits::DELETE_ENTRIES,
            left: limits::DELETE_ENTRIES,
        }
    }

    fn moved(to: &'w Place) -> Self {
        Self {
            done: "moved",
            to: Some(to),
            most: limits::MOVE_ENTRIES,
            left: limits::MOVE_ENTRIES,
        }
    }

    /// Looks at all that is in `place`, which is so far `below` the directory.
    fn look(&mut self, place: &Place, below: &Path, depth: usize) -> Result<(), Failure> {
        let inside = inside(place)?;
        let done = self.done;
        if inside.protected > 0 {
            let text = format!(
                "{} holds what is protected, and cannot be {done} as a whole",
                place.shown()
            );
            return Err(Failure::new(text).hint("take what else is in it by itself"));
        }
        let most = self.most;
        let too_much = || {
            let text = format!("{} holds too much to be {done} at once", place.shown());
            Failure::new(text).hint(format!(
                "at most {most} entries and {} levels; take what is inside it first",
                limits::WALK_DEPTH
            ))
        };
        if !inside.is_all || depth > limits::WALK_DEPTH {
            return Err(too_much());
        }
        let left = self.left.checked_sub(inside.entries.len());
        self.left = left.ok_or_else(too_much)?;
        for entry in inside.entries {
            let (inner, below) = (place.join(&entry.name), below.join(&entry.name));
            inner.changeable()?;
            if let Some(to) = self.to {
                to.join(&below).changeable()?;
            }
            if entry.kind == Kind::Directory {
                self.look(&inner, &below, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Deletes all that is in a directory. Everything is named relative to a
/// descriptor, so that a directory swapped for a link stops it.
fn empty(parent: BorrowedFd<'_>, name: &OsStr, depth: usize) -> rustix::io::Result<usize> {
    if depth > limits::WALK_DEPTH {
        return Err(Errno::LOOP);
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory: OwnedFd = fs::openat(parent, name, flags, Mode::empty())?;
    let mut deleted = 0;
    // Read to its end first: some systems lose their place when it shrinks.
    let inside = Dir::read_from(&directory)?.collect::<rustix::io::Result<Vec<_>>>()?;
    for entry in inside {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match fs::unlinkat(&directory, name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::ISDIR | Errno::PERM) => {
                use std::os::unix::ffi::OsStrExt;
                deleted += empty(
                    directory.as_fd(),
                    OsStr::from_bytes(name.to_bytes()),
                    depth + 1,
                )?;
                fs::unlinkat(&directory, name, AtFlags::REMOVEDIR)?;
            }
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno),
        }
        deleted += 1;
    }
    Ok(deleted)
}
