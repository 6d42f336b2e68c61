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
use std::ffi::OsStr;

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
pub struct MoveAnswer {
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
pub struct DeleteAnswer {
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
            let _one_at_a_time = changing.lock();
            let stat = from.stat()?;
            // What is in it would get, or lose, a name that protects it.
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                from.movable()?;
                to.movable()?;
            }
            if from.holds(&to) && !to.holds(&from) {
                return Err(Failure::new(format!(
                    "{} cannot be moved into itself",
                    from.shown()
                )));
            }
            let (from_parent, from_name) = from.open_parent()?;
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
            let _one_at_a_time = changing.lock();
            let (parent, name) = place.open_parent()?;
            let stat = place.stat()?;
            let fault = |errno| place.fault(errno);
            let mut deleted = 1;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                fs::unlinkat(&parent, &name, AtFlags::empty()).map_err(fault)?;
            } else {
                if arguments.recursive {
                    // Counted first: half a deletion helps nobody.
                    let mut left = limits::DELETE_ENTRIES;
                    count(&place, &mut left, 0)?;
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

fn count(place: &Place, left: &mut usize, depth: usize) -> Result<(), Failure> {
    let inside = inside(place)?;
    if inside.protected > 0 {
        let text = format!(
            "{} holds what is protected, and cannot be deleted as a whole",
            place.shown()
        );
        return Err(Failure::new(text).hint("delete what else is in it by itself"));
    }
    let too_much = || {
        Failure::new(format!(
            "{} holds too much to be deleted at once",
            place.shown()
        ))
        .hint(format!(
            "at most {} entries and {} levels; delete what is inside it first",
            limits::DELETE_ENTRIES,
            limits::WALK_DEPTH
        ))
    };
    if !inside.is_all || depth > limits::WALK_DEPTH {
        return Err(too_much());
    }
    *left = left
        .checked_sub(inside.entries.len())
        .ok_or_else(too_much)?;
    for entry in inside.entries {
        let below = place.join(&entry.name);
        below.changeable()?;
        if entry.kind == Kind::Directory {
            count(&below, left, depth + 1)?;
        }
    }
    Ok(())
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
