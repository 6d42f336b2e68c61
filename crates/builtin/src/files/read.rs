//! `read`: a file's text by lines, or its bytes as base64.

use super::{FilesSession, lines, path, roots::Last, roots::Place};
use crate::{
    answer::{Failure, blocking},
    limits, text,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use rustix::fs::{FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
};

/// How the content comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    /// As text; a binary file is refused.
    #[default]
    Auto,
    /// As text, with a sign in place of what is no UTF-8.
    Lossy,
    /// As bytes in base64.
    Base64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadArguments {
    /// The file: a path (a relative one begins at the first allowed directory) or a file:/// address.
    path: String,
    /// Where to begin: the number of the first line, from 1 (with base64: the first byte, from 0).
    offset: Option<u64>,
    /// How many lines (2000 when absent; with base64: bytes, at most 1048576).
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// "auto" (text), "lossy" (text that is not quite UTF-8) or "base64" (any file).
    #[serde(default)]
    encoding: Encoding,
}

/// What `read` answers.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadAnswer {
    /// The file's path.
    path: String,
    /// The file's address.
    uri: String,
    /// What kind of content its name promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    /// The size of the whole file in bytes.
    size: u64,
    /// "utf-8" or "base64".
    encoding: String,
    /// The lines, in text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    /// The number of the first line (or byte) that is here.
    start: u64,
    /// How many lines (or bytes) are here.
    count: u64,
    /// The offset to go on with; missing at the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// Lines that were too long and are cut here.
    #[serde(default, skip_serializing_if = "is_zero")]
    cut_lines: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[tool_router(router = read_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        title = "Read a file",
        description = "Reads a text file by lines, or any file as base64. Long files come in parts (`nextOffset` \
                       says where to go on), very long lines are cut. Example: {\"path\": \"src/main.rs\", \
                       \"offset\": 100, \"limit\": 50}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn read(
        &self,
        Parameters(arguments): Parameters<ReadArguments>,
    ) -> Result<Json<ReadAnswer>, Failure> {
        let roots = self.roots();
        blocking(move || {
            let place = roots.locate(&arguments.path, Last::Followed)?;
            let (file, size) = open_file(&place)?;
            let mut answer = ReadAnswer {
                path: place.shown(),
                uri: place.address(),
                mime_type: path::media_type(&place.path()).map(str::to_owned),
                size,
                ..ReadAnswer::default()
            };
            match arguments.encoding {
                Encoding::Base64 => read_bytes(file, &arguments, &mut answer)?,
                encoding => read_lines(file, &arguments, encoding, &mut answer)?,
            }
            Ok(Json(answer))
        })
        .await
    }
}

/// Opens an ordinary file. A pipe or a device is refused without waiting for it.
pub(crate) fn open_file(place: &Place) -> Result<(File, u64), Failure> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = place.open(flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file).map_err(|errno| place.fault(errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or(0))),
        FileType::Directory => Err(place.fault(rustix::io::Errno::ISDIR)),
        _ => Err(place.fault(rustix::io::Errno::NODEV)),
    }
}

/// Whether the beginning of a file says that it is no text.
pub(crate) fn looks_binary(beginning: &[u8]) -> bool {
    memchr::memchr(0, beginning).is_some()
}

fn read_bytes(
    mut file: File,
    arguments: &ReadArguments,
    answer: &mut ReadAnswer,
) -> Result<(), Failure> {
    let start = arguments.offset.unwrap_or(0);
    let limit = arguments
        .limit
        .unwrap_or(limits::READ_BLOB)
        .min(limits::READ_BLOB);
    let fault = |fault: std::io::Error| super::roots::explain(&answer.path, &fault);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(fault)?;
    file.take(limit).read_to_end(&mut bytes).map_err(fault)?;
    let end = start + bytes.len() as u64;
    answer.encoding = "base64".to_owned();
    answer.start = start;
    answer.count = bytes.len() as u64;
    answer.next_offset = (!bytes.is_empty() && end < answer.size).then_some(end);
    answer.data = Some(BASE64_STANDARD.encode(&bytes));
    Ok(())
}

fn read_lines(
    file: File,
    arguments: &ReadArguments,
    encoding: Encoding,
    answer: &mut ReadAnswer,
) -> Result<(), Failure> {
    let start = arguments.offset.unwrap_or(1).max(1);
    let limit = arguments.limit.unwrap_or(limits::READ_LINES);
    let shown = answer.path.clone();
    let fault = |fault: std::io::Error| super::roots::explain(&shown, &fault);
    let binary = |what: &str| {
        Failure::new(format!("{shown} {what} ({} bytes)", answer.size)).hint(
            "read it with \"encoding\": \"base64\", or \"lossy\" for text that is not quite UTF-8",
        )
    };
    let mut from = BufReader::with_capacity(64 * 1024, file);
    if encoding == Encoding::Auto {
        let beginning = std::io::BufRead::fill_buf(&mut from).map_err(fault)?;
        if looks_binary(&beginning[..beginning.len().min(8192)]) {
            return Err(binary("is a binary file"));
        }
    }

    let mut scanned = 0u64;
    let mut number = 1u64;
    let mut out = String::new();
    // Four bytes make a character at most.
    let keep = limits::LINE_CHARS * 4;
    loop {
        let wanted = number >= start;
        if answer.count == limit || (wanted && out.len() >= limits::READ_BYTES) {
            let is_end = std::io::BufRead::fill_buf(&mut from)
                .map_err(fault)?
                .is_empty();
            answer.next_offset = (!is_end).then_some(number);
            break;
        }
        let left = limits::SCAN_BYTES.saturating_sub(scanned);
        let keep = if wanted { keep } else { 0 };
        let Some(line) = lines::next(&mut from, keep, left).map_err(fault)? else {
            break;
        };
        scanned += line.length();
        let goes_on = line.goes_on;
        if !wanted && scanned > limits::SCAN_BYTES {
            return Err(
                Failure::new(format!("line {start} is too far into {shown}")).hint(
                    "read a part of the file with \"encoding\": \"base64\" and an offset in bytes",
                ),
            );
        }
        if wanted {
            let Some((shown_line, is_cut)) = shown_line(line, encoding == Encoding::Lossy) else {
                return Err(binary(&format!("is not UTF-8 in line {number}")));
            };
            out.push_str(&shown_line);
            answer.cut_lines += u64::from(is_cut);
            answer.count += 1;
        }
        if goes_on {
            break;
        }
        number += 1;
    }
    if answer.count == 0 && start > 1 {
        return Err(Failure::new(format!(
            "{shown} has {} lines, not {start}",
            number - 1
        )));
    }
    answer.encoding = "utf-8".to_owned();
    answer.start = start;
    answer.text = Some(out);
    Ok(())
}

/// The line with its end, and whether it was cut; `None` where it is no UTF-8.
fn shown_line(mut line: lines::Line, lossy: bool) -> Option<(String, bool)> {
    if line.left_out > 0 {
        // The cut may have split a character.
        let end = line.bytes.len();
        let start = (end.saturating_sub(3)..end)
            .rev()
            .find(|index| line.bytes[*index] & 0xc0 != 0x80);
        if let Some(start) = start
            && std::str::from_utf8(&line.bytes[start..]).is_err()
        {
            line.left_out += (end - start) as u64;
            line.bytes.truncate(start);
        }
    }
    let text = match String::from_utf8(line.bytes) {
        Ok(text) => text,
        Err(fault) if lossy => String::from_utf8_lossy(fault.as_bytes()).into_owned(),
        Err(_) => return None,
    };
    let kept = text::cut(&text, limits::LINE_CHARS);
    let is_cut = line.left_out > 0 || kept.len() < text.len();
    let or_more = if line.goes_on { " or" } else { "" };
    let mut out = if is_cut {
        let start = kept.trim_end_matches('…');
        let more = (text.len() - start.len().min(text.len())) as u64 + line.left_out;
        format!("{start}… [{more}{or_more} more bytes in this line]")
    } else {
        text
    };
    if line.is_ended {
        out.push('\n');
    }
    Some((out, is_cut))
}
