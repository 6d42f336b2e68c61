//! `list` and `tree`: what is in a directory.

use super::{
    FilesSession, path,
    roots::{Last, Place},
    walk::{Kind, Stopped, Walk, inside, is_none_left_out},
};
use crate::{
    answer::{Failure, blocking},
    limits,
};
use chrono::{DateTime, SecondsFormat};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListArguments {
    /// The directory. Where there are several allowed directories and none is named, those are listed.
    path: Option<String>,
    /// How many entries to leave out, by name.
    #[serde(default)]
    offset: u32,
    /// How many entries at most (500 when absent).
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u32>,
}

/// One entry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    /// Its name, as people read it.
    name: String,
    /// What to give to the other tools: its path, or its address where the name is no plain text.
    path: String,
    /// What it is.
    kind: Kind,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

/// What `list` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListAnswer {
    /// The directory; missing where the allowed directories are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// What is in it, by name.
    entries: Vec<Listed>,
    /// How many entries there are in all.
    total: usize,
    /// The offset to go on with; missing at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// How many entries were left out because they are protected (keys, credentials and the like).
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    protected: usize,
    /// Why there are more entries than these.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TreeArguments {
    /// The directory; the first allowed one when absent.
    path: Option<String>,
    /// How many levels (3 when absent).
    #[schemars(range(min = 1, max = 20))]
    depth: Option<usize>,
    /// Show names that begin with a dot too.
    #[serde(default)]
    include_hidden: bool,
}

/// What `tree` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TreeAnswer {
    /// The directory.
    path: String,
    /// One line for each entry, indented; a directory ends with `/`, a link with `@`.
    tree: String,
    /// How many directories are shown.
    directories: u32,
    /// How many other entries are shown.
    files: u32,
    /// How many entries were left out because they are protected (keys, credentials and the like).
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    protected: usize,
    /// Why not everything is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

#[tool_router(router = list_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        title = "List a directory",
        description = "Lists what is in a directory: names, kinds, sizes and times. Example: {\"path\": \"src\"}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn list(
        &self,
        Parameters(arguments): Parameters<ListArguments>,
    ) -> Result<Json<ListAnswer>, Failure> {
        let roots = self.roots();
        blocking(move || {
            let (mut stopped, mut protected) = (None, 0);
            let (shown, places) = match (&arguments.path, roots.places()) {
                (None, all) if all.len() > 1 => {
                    let each = all.into_iter().map(|root| (root, Kind::Directory));
                    (None, each.collect())
                }
                (path, _) => {
                    let place = roots.locate(path.as_deref().unwrap_or("."), Last::Followed)?;
                    let inside = inside(&place)?;
                    stopped = (!inside.is_all).then_some(Stopped::Size);
                    protected = inside.protected;
                    let each = inside.entries.into_iter();
                    let places: Vec<(Place, Kind)> = each
                        .map(|entry| (place.join(&entry.name), entry.kind))
                        .collect();
                    (Some(place.shown()), places)
                }
            };
            let (offset, limit) = (
                arguments.offset as usize,
                arguments.limit.unwrap_or(500) as usize,
            );
            let page = places.iter().skip(offset).take(limit);
            let listed: Vec<Listed> = page.map(|(place, kind)| describe(place, *kind)).collect();
            let end = offset + listed.len();
            Ok(Json(ListAnswer {
                path: shown,
                entries: listed,
                total: places.len(),
                next_offset: (end < places.len()).then_some(end),
                protected,
                stopped,
            }))
        })
        .await
    }

    #[tool(
        title = "Show a directory tree",
        description = "Shows a directory and what is below it, as an indented tree. Example: {\"path\": \".\", \
                       \"depth\": 2}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn tree(
        &self,
        Parameters(arguments): Parameters<TreeArguments>,
        cancel: CancellationToken,
    ) -> Result<Json<TreeAnswer>, Failure> {
        let roots = self.roots();
        blocking(move || {
            let place = roots.locate(arguments.path.as_deref().unwrap_or("."), Last::Followed)?;
            let walk = Walk {
                hidden: arguments.include_hidden,
                depth: arguments.depth.unwrap_or(3),
                cancel,
            };
            let mut answer = TreeAnswer {
                path: place.shown(),
                tree: String::new(),
                directories: 0,
                files: 0,
                protected: 0,
                stopped: None,
            };
            let walked = walk.through(&place, |step| {
                if (answer.directories + answer.files) as usize == limits::TREE_ENTRIES {
                    return ControlFlow::Break(Stopped::Limit);
                }
                answer.tree.push_str(&"  ".repeat(step.depth - 1));
                answer
                    .tree
                    .push_str(&path::name(step.below.file_name().unwrap_or_default()));
                answer.tree.push_str(match step.kind {
                    Kind::Directory => "/\n",
                    Kind::Link => "@\n",
                    Kind::File | Kind::Other => "\n",
                });
                match step.kind {
                    Kind::Directory => answer.directories += 1,
                    _ => answer.files += 1,
                }
                ControlFlow::Continue(())
            })?;
            (answer.stopped, answer.protected) = (walked.stopped, walked.protected);
            Ok(Json(answer))
        })
        .await
    }
}

fn describe(place: &Place, kind: Kind) -> Listed {
    let stat = place.try_stat().ok().flatten();
    Listed {
        name: path::name(&place.name()),
        path: place.shown(),
        kind,
        size: match kind {
            Kind::File => stat
                .as_ref()
                .and_then(|stat| u64::try_from(stat.st_size).ok()),
            _ => None,
        },
        modified: stat.as_ref().and_then(modified),
    }
}

/// When something was last changed, in the form of RFC 3339.
pub(super) fn modified(stat: &Stat) -> Option<String> {
    let nanoseconds = u32::try_from(stat.st_mtime_nsec).ok()?;
    let time = DateTime::from_timestamp(stat.st_mtime, nanoseconds)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}
