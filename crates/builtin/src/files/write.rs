//! `write` and `edit`: changing what is in a file. A file is replaced as a
//! whole, so that nobody ever reads half of the new content.

use super::{
    FilesSession,
    read::open_file,
    roots::{Last, Place, stat_in},
};
use crate::{
    answer::{Failure, blocking},
    limits,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use rustix::{
    fd::{AsFd, BorrowedFd},
    fs::{self, AtFlags, FileType, Mode, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{Read, Write},
};
use switchboard_local::{hex, random};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum How {
    /// Replaces the file, or makes it.
    #[default]
    Overwrite,
    /// Makes the file; one that exists is left alone.
    Create,
    /// Adds to the end of the file, or makes it.
    Append,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
enum ContentEncoding {
    /// The content is text.
    #[default]
    #[serde(rename = "utf-8")]
    Text,
    /// The content is bytes in base64.
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WriteArguments {
    /// The file: a path (a relative one begins at the first allowed directory) or a file:/// address.
    path: String,
    /// The whole new content (with "append": what is added).
    content: String,
    /// "utf-8", or "base64" for bytes.
    #[serde(default)]
    encoding: ContentEncoding,
    /// "overwrite" (the default), "create" (only if it does not exist) or "append".
    #[serde(default)]
    mode: How,
}

/// What `write` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteAnswer {
    /// The file's path.
    path: String,
    /// The file's address.
    uri: String,
    /// Whether it was made by this call.
    created: bool,
    /// How many bytes were written.
    bytes: u64,
    /// The size of the file now.
    size: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EditArguments {
    /// The file: a path (a relative one begins at the first allowed directory) or a file:/// address.
    path: String,
    /// The exact text to replace, with its spaces and line breaks.
    #[schemars(length(min = 1))]
    old_text: String,
    /// What stands there afterwards.
    new_text: String,
    /// How often the old text must occur; nothing is changed where it occurs more or less often. 1 when absent.
    #[schemars(range(min = 1))]
    expected_count: Option<u64>,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// What `edit` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EditAnswer {
    /// The file's path.
    path: String,
    /// How many places were changed.
    replacements: u64,
    /// The number of the first line that was changed.
    first_line: u64,
    /// The size of the file now.
    size: u64,
    /// Whether the file was really changed.
    changed: bool,
}

#[tool_router(router = write_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        title = "Write a file",
        description = "Writes a file: replaces it, makes it (with the directories it needs), or adds to its end. \
                       Example: {\"path\": \"notes/today.md\", \"content\": \"# Today\\n\", \"mode\": \"create\"}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn write(
        &self,
        Parameters(arguments): Parameters<WriteArguments>,
    ) -> Result<Json<WriteAnswer>, Failure> {
        let (roots, changing) = (self.roots(), self.changing());
        blocking(move || {
            let content = match arguments.encoding {
                ContentEncoding::Text => arguments.content.into_bytes(),
                ContentEncoding::Base64 => BASE64_STANDARD
                    .decode(arguments.content)
                    .map_err(|fault| Failure::new(format!("content is no base64: {fault}")))?,
            };
            if content.len() > limits::WRITE_BYTES {
                return Err(Failure::new("the content is too large").hint(format!(
                    "at most {} bytes at once; append the rest",
                    limits::WRITE_BYTES
                )));
            }
            let place = roots.locate(&arguments.path, Last::Followed)?;
            let _change = changing.begin();
            let (parent, name) = place.make_parent()?;
            let (created, size) = match arguments.mode {
                How::Append => append(&place, &content)?,
                how => (
                    replace(&place, parent.as_fd(), &name, &content, how == How::Create)?,
                    content.len() as u64,
                ),
            };
            Ok(Json(WriteAnswer {
                path: place.shown(),
                uri: place.address(),
                created,
                bytes: content.len() as u64,
                size,
            }))
        })
        .await
    }

    #[tool(
        title = "Edit a file",
        description = "Replaces an exact piece of text in a file. It must occur exactly as often as expected (once, \
                       unless `expectedCount` says otherwise), so give enough of the text around it. Example: \
                       {\"path\": \"src/lib.rs\", \"oldText\": \"let a = 1;\", \"newText\": \"let a = 2;\"}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn edit(
        &self,
        Parameters(arguments): Parameters<EditArguments>,
    ) -> Result<Json<EditAnswer>, Failure> {
        let (roots, changing) = (self.roots(), self.changing());
        blocking(move || {
            let place = roots.locate(&arguments.path, Last::Followed)?;
            let _change = changing.begin();
            let old = read_all(&place)?;
            let expected = arguments.expected_count.unwrap_or(1);
            let found = old.matches(&arguments.old_text).count() as u64;
            if found != expected {
                let hint = match found {
                    0 => "read the file and copy the text exactly, with its spaces and line breaks",
                    _ => "give more of the text around it, or set expectedCount",
                };
                return Err(Failure::new(format!(
                    "the text occurs {found} times in {}, expected {expected}",
                    place.shown()
                ))
                .hint(hint));
            }
            let first = old.find(&arguments.old_text).unwrap_or(0);
            // Before it is made: a long text in many places would take all memory.
            let places = usize::try_from(found).unwrap_or(usize::MAX);
            let added = arguments.new_text.len().saturating_mul(places);
            let size = (old.len() - arguments.old_text.len() * places).saturating_add(added);
            if size > limits::WRITE_BYTES {
                return Err(Failure::new(format!(
                    "{} would become too large, {size} bytes",
                    place.shown()
                ))
                .hint(format!("at most {} bytes", limits::WRITE_BYTES)));
            }
            let new = old.replace(&arguments.old_text, &arguments.new_text);
            if !arguments.dry_run {
                let (parent, name) = place.open_parent()?;
                replace(&place, parent.as_fd(), &name, new.as_bytes(), false)?;
            }
            Ok(Json(EditAnswer {
                path: place.shown(),
                replacements: found,
                first_line: old[..first].matches('\n').count() as u64 + 1,
                size: if arguments.dry_run {
                    old.len()
                } else {
                    new.len()
                } as u64,
                changed: !arguments.dry_run && new != old,
            }))
        })
        .await
    }
}

fn read_all(place: &Place) -> Result<String, Failure> {
    let (file, size) = open_file(place)?;
    let too_large = || {
        Failure::new(format!("{} is too large to be edited", place.shown()))
            .hint(format!("at most {} bytes", limits::WRITE_BYTES))
    };
    if size > limits::WRITE_BYTES as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(limits::WRITE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|fault| super::roots::explain(&place.shown(), &fault))?;
    if bytes.len() > limits::WRITE_BYTES {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!("{} is not UTF-8 text", place.shown()))
            .hint("write it as a whole, in base64")
    })
}

fn append(place: &Place, content: &[u8]) -> Result<(bool, u64), Failure> {
    let created = place.try_stat()?.is_none();
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = place.open(flags, Mode::from_raw_mode(0o666))?;
    let fault = |errno: Errno| place.fault(errno);
    ordinary(place, fs::fstat(&file).map_err(fault)?.st_mode)?;
    let mut file = File::from(file);
    file.write_all(content)
        .map_err(|fault| super::roots::explain(&place.shown(), &fault))?;
    let size = fs::fstat(&file).map_err(fault)?.st_size;
    Ok((created, u64::try_from(size).unwrap_or(0)))
}

fn ordinary(place: &Place, mode: fs::RawMode) -> Result<(), Failure> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(place.fault(Errno::ISDIR)),
        FileType::Symlink => Err(place.fault(Errno::LOOP)),
        _ => Err(place.fault(Errno::NODEV)),
    }
}

/// Writes beside the file and puts the new one in its place, all by the held
/// directory. Says whether there was none before.
fn replace(
    place: &Place,
    parent: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    only_new: bool,
) -> Result<bool, Failure> {
    let fault = |errno: Errno| place.fault(errno);
    let before = match stat_in(parent, name) {
        Ok(_) if only_new => return Err(fault(Errno::EXIST)),
        Ok(stat) => {
            ordinary(place, stat.st_mode)?;
            // Replacing would get around a file that may not be written.
            drop(place.open(OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty())?);
            Some(Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o7777))
        }
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(fault(errno)),
    };
    // A new file is made under its own name, which must then be free.
    let target = if only_new {
        name.to_owned()
    } else {
        beside(name)?
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(parent, &target, flags, Mode::from_raw_mode(0o666)).map_err(fault)?;
    let written = (|| {
        if let Some(mode) = before {
            fs::fchmod(&file, mode)?;
        }
        let mut file = File::from(file);
        file.write_all(content)?;
        file.sync_data()?;
        if !only_new {
            fs::renameat(parent, &target, parent, name)?;
        }
        Ok(())
    })();
    written.map_err(|why: std::io::Error| {
        let _ = fs::unlinkat(parent, &target, AtFlags::empty());
        super::roots::explain(&place.shown(), &why)
    })?;
    Ok(before.is_none())
}

fn beside(name: &OsStr) -> Result<OsString, Failure> {
    let random: [u8; 8] = random::bytes().map_err(|fault| Failure::new(fault.to_string()))?;
    let mut beside = OsString::from(".");
    // Short, so that a name of full length still has one beside it.
    beside.push(name.to_string_lossy().chars().take(16).collect::<String>());
    beside.push(format!(".{}", hex(random)));
    Ok(beside)
}
