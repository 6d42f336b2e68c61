//! `grep`: finding text in files. The engine takes linear time, whatever the
//! pattern and the text.

use super::{
    FilesSession, lines,
    read::{looks_binary, open_file},
    roots::{Last, Place},
    search::glob,
    walk::{Kind, Stopped, Walk, is_none_left_out},
};
use crate::{
    answer::{Failure, blocking},
    limits, text,
};
use regex::bytes::{Regex, RegexBuilder};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    io::{BufRead, BufReader},
    ops::ControlFlow,
};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GrepArguments {
    /// A regular expression (RE2 style: no look-around, no back-references).
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// Where to look: a directory or a file; the first allowed directory when absent.
    path: Option<String>,
    /// Look only into files whose name looks like this, such as `*.rs`.
    glob: Option<String>,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: bool,
    /// Do not tell capitals apart.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines around a match to show.
    #[serde(default)]
    #[schemars(range(max = 5))]
    context: usize,
    /// Look at names that begin with a dot too.
    #[serde(default)]
    include_hidden: bool,
    /// How many matching lines at most (100 when absent).
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// One line that matches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Match {
    /// The file's path, or its address where the name is no plain text.
    path: String,
    /// The number of the line, from 1.
    line: u64,
    /// The line; a long one is cut around the match.
    text: String,
    /// The lines before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The lines after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

/// What `grep` answers.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GrepAnswer {
    /// The lines that match, by file.
    matches: Vec<Match>,
    /// How many files were looked into.
    files_searched: u32,
    /// How many were passed over: binary, too large, or not to be opened.
    files_skipped: u32,
    /// How many entries were left out because they are protected (keys, credentials and the like).
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    protected: usize,
    /// Why there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

#[tool_router(router = grep_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        title = "Search in files",
        description = "Finds lines that match a regular expression. Binary files and files over 16 MiB are passed \
                       over. Examples: {\"pattern\": \"fn \\\\w+_test\", \"glob\": \"*.rs\"}, {\"pattern\": \
                       \"TODO(me)\", \"literal\": true, \"path\": \"src\"}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn grep(
        &self,
        Parameters(arguments): Parameters<GrepArguments>,
        cancel: CancellationToken,
    ) -> Result<Json<GrepAnswer>, Failure> {
        let roots = self.roots();
        blocking(move || {
            let names = arguments.glob.as_deref().map(glob).transpose()?;
            let mut search = Search {
                pattern: pattern(&arguments)?,
                context: arguments.context,
                limit: arguments.limit.unwrap_or(100),
                cancel: cancel.clone(),
                bytes: 0,
                answer: GrepAnswer::default(),
            };
            let place = roots.locate(arguments.path.as_deref().unwrap_or("."), Last::Followed)?;
            let stat = place.stat()?;
            if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory
            {
                drop(open_file(&place)?);
                search.answer.stopped = search.file(&place).break_value();
                return Ok(Json(search.answer));
            }
            let walk = Walk {
                hidden: arguments.include_hidden,
                depth: limits::WALK_DEPTH,
                cancel,
            };
            let walked = walk.through(&place, |step| {
                let is_wanted = names
                    .as_ref()
                    .is_none_or(|names| names.is_match(step.below));
                match step.kind {
                    Kind::File if is_wanted => search.file(&step.place),
                    _ => ControlFlow::Continue(()),
                }
            })?;
            search.answer.stopped = walked.stopped;
            search.answer.protected = walked.protected;
            Ok(Json(search.answer))
        })
        .await
    }
}

fn pattern(arguments: &GrepArguments) -> Result<Regex, Failure> {
    let pattern = match arguments.literal {
        true => regex::escape(&arguments.pattern),
        false => arguments.pattern.clone(),
    };
    RegexBuilder::new(&pattern)
        .case_insensitive(arguments.ignore_case)
        .size_limit(limits::PATTERN_SIZE)
        .dfa_size_limit(limits::PATTERN_SIZE)
        .build()
        .map_err(|fault| {
            let reason = text::cut(&text::lines(&fault.to_string()), 500);
            Failure::new(format!("the pattern cannot be used: {reason}"))
                .hint("set literal to true to search for plain text")
        })
}

/// A search under way.
struct Search {
    pattern: Regex,
    context: usize,
    limit: usize,
    cancel: CancellationToken,
    /// Of text in the answer.
    bytes: usize,
    answer: GrepAnswer,
}

impl Search {
    fn file(&mut self, place: &Place) -> ControlFlow<Stopped> {
        let Ok((file, size)) = open_file(place) else {
            self.answer.files_skipped += 1;
            return ControlFlow::Continue(());
        };
        let mut from = BufReader::with_capacity(64 * 1024, file);
        let is_binary = from.fill_buf().map_or(true, looks_binary);
        if is_binary || size > limits::GREP_FILE_BYTES {
            self.answer.files_skipped += 1;
            return ControlFlow::Continue(());
        }
        self.answer.files_searched += 1;
        self.lines(&place.shown(), &mut from)
    }

    fn lines(&mut self, path: &str, from: &mut impl BufRead) -> ControlFlow<Stopped> {
        let mut number = 0u64;
        let mut before: VecDeque<String> = VecDeque::new();
        // The file may grow while it is read.
        let keep = usize::try_from(limits::GREP_FILE_BYTES).unwrap_or(usize::MAX);
        while let Ok(Some(line)) = lines::next(from, keep, limits::GREP_FILE_BYTES) {
            number += 1;
            if number.is_multiple_of(1024) && self.cancel.is_cancelled() {
                return ControlFlow::Break(Stopped::Time);
            }
            let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes);
            let found = self.pattern.find(bytes);
            if self.context == 0 && found.is_none() {
                continue;
            }
            let shown = shown(bytes, found.map_or(0, |found| found.start()));
            let first_new = self
                .answer
                .matches
                .iter()
                .rposition(|one| one.path != path || number - one.line > self.context as u64);
            for one in self
                .answer
                .matches
                .iter_mut()
                .skip(first_new.map_or(0, |index| index + 1))
            {
                self.bytes += shown.len();
                one.after.push(shown.clone());
            }
            if found.is_some() {
                if self.answer.matches.len() == self.limit {
                    return ControlFlow::Break(Stopped::Limit);
                }
                if self.bytes >= limits::GREP_BYTES {
                    return ControlFlow::Break(Stopped::Size);
                }
                let around: usize = before.iter().map(String::len).sum();
                self.bytes += path.len() + shown.len() + around;
                self.answer.matches.push(Match {
                    path: path.to_owned(),
                    line: number,
                    text: shown.clone(),
                    before: before.iter().cloned().collect(),
                    after: Vec::new(),
                });
            }
            before.push_back(shown);
            if before.len() > self.context {
                before.pop_front();
            }
        }
        ControlFlow::Continue(())
    }
}

/// A line as it is shown: of a long one, the part with the match.
fn shown(bytes: &[u8], at: usize) -> String {
    let from = match bytes.len() > limits::GREP_LINE_CHARS {
        true => at.saturating_sub(limits::GREP_LINE_CHARS / 4),
        false => 0,
    };
    let end = bytes.len().min(from + limits::GREP_LINE_CHARS * 4);
    let part = String::from_utf8_lossy(&bytes[from..end]);
    let start = if from > 0 { "…" } else { "" };
    let cut = text::cut(part.trim_start_matches('\u{fffd}'), limits::GREP_LINE_CHARS);
    let is_cut = cut.ends_with('…') || end == bytes.len();
    format!(
        "{start}{}{}",
        text::line(&cut).replace("\\t", "\t"),
        if is_cut { "" } else { "…" }
    )
}
