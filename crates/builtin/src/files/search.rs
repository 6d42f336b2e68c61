//! `search`: finding files by their names.

use super::{
    FilesSession,
    roots::Last,
    walk::{Kind, Stopped, Walk, Walked, is_none_left_out},
};
use crate::{
    answer::{Failure, blocking},
    limits, text,
};
use globset::{GlobBuilder, GlobMatcher};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchArguments {
    /// What the name looks like: `*` any text, `?` one character, `{a,b}` one of these, `**/` any directories. Without a `/` it is compared with the last name only.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// Where to look; the first allowed directory when absent.
    path: Option<String>,
    /// Find only this kind.
    kind: Option<Kind>,
    /// Look at names that begin with a dot too.
    #[serde(default)]
    include_hidden: bool,
    /// How many results at most (200 when absent).
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<usize>,
}

/// One thing that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Found {
    /// Its path, or its address where the name is no plain text.
    path: String,
    /// What it is.
    kind: Kind,
}

/// What `search` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SearchAnswer {
    /// What was found.
    results: Vec<Found>,
    /// How many entries were left out because they are protected (keys, credentials and the like).
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    protected: usize,
    /// Why there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

#[tool_router(router = search_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        title = "Search by name",
        description = "Finds files and directories by name. Examples: {\"pattern\": \"*.toml\"}, {\"pattern\": \
                       \"src/**/*_test.rs\", \"kind\": \"file\"}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn search(
        &self,
        Parameters(arguments): Parameters<SearchArguments>,
        cancel: CancellationToken,
    ) -> Result<Json<SearchAnswer>, Failure> {
        let roots = self.roots();
        blocking(move || {
            let pattern = glob(&arguments.pattern)?;
            let place = roots.locate(arguments.path.as_deref().unwrap_or("."), Last::Followed)?;
            let limit = arguments.limit.unwrap_or(200);
            let walk = Walk {
                hidden: arguments.include_hidden,
                depth: limits::WALK_DEPTH,
                cancel,
            };
            let mut results = Vec::new();
            let Walked { stopped, protected } = walk.through(&place, |step| {
                let is_kind = arguments.kind.is_none_or(|kind| kind == step.kind);
                if is_kind && pattern.is_match(step.below) {
                    if results.len() == limit {
                        return ControlFlow::Break(Stopped::Limit);
                    }
                    results.push(Found {
                        path: step.place.shown(),
                        kind: step.kind,
                    });
                }
                ControlFlow::Continue(())
            })?;
            Ok(Json(SearchAnswer {
                results,
                protected,
                stopped,
            }))
        })
        .await
    }
}

/// A pattern for paths below the place where a search begins.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, Failure> {
    if pattern.len() > limits::PATTERN_BYTES {
        return Err(Failure::new("the pattern is too long"));
    }
    let whole = match pattern.contains('/') {
        true => pattern.trim_start_matches("./").to_owned(),
        false => format!("**/{pattern}"),
    };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    let glob = glob.map_err(|fault| {
        let reason = text::line(&fault.kind().to_string());
        Failure::new(format!("the pattern cannot be used: {reason}"))
            .hint("write it like *.rs or src/**/*.md")
    })?;
    Ok(glob.compile_matcher())
}
