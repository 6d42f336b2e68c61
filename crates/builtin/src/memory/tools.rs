//! The tools: remember, recall, forget, list.

use super::{MemorySession, news::Change, store::Entry};
use crate::{answer::Failure, limits};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RememberArguments {
    /// What to remember, best a single fact.
    #[schemars(length(min = 1, max = 65_536))]
    text: String,
    /// A name for it. What had this name before is replaced.
    #[schemars(length(min = 1, max = 200))]
    key: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 64)))]
    tags: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecallArguments {
    /// Words to look for; the beginning of a word is enough.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Only entries with all of these tags.
    #[serde(default)]
    #[schemars(length(max = 32))]
    tags: Vec<String>,
    /// How many at most (10 when absent).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ForgetArguments {
    /// The number of the entry.
    id: Option<i64>,
    /// Or its name.
    key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListArguments {
    /// Only entries with all of these tags.
    #[serde(default)]
    #[schemars(length(max = 32))]
    tags: Vec<String>,
    /// How many of the newest to leave out.
    #[serde(default)]
    offset: u32,
    /// How many at most (50 when absent).
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// What `remember` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct RememberAnswer {
    /// What is remembered now.
    entry: Entry,
    /// Whether something with the same name was replaced.
    replaced: bool,
}

/// What `recall` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct RecallAnswer {
    /// What was found, the best first.
    entries: Vec<Entry>,
    /// Whether others were left out because there was too much text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// What `forget` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ForgetAnswer {
    /// What was forgotten.
    forgotten: Entry,
}

/// What `list` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListAnswer {
    /// The entries, the newest first.
    entries: Vec<Entry>,
    /// How many there are in all.
    total: u32,
    /// The offset to go on with; missing at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

#[tool_router(vis = "pub(super)")]
impl MemorySession {
    #[tool(
        title = "Remember",
        description = "Remembers a text beyond this conversation, under a name if one is given. Example: {\"text\": \
                       \"The release branch is cut on Thursdays.\", \"key\": \"release-day\", \"tags\": [\"process\"]}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn remember(
        &self,
        Parameters(arguments): Parameters<RememberArguments>,
    ) -> Result<Json<RememberAnswer>, Failure> {
        let RememberArguments { text, key, tags } = arguments;
        if text.len() > limits::MEMORY_TEXT {
            return Err(Failure::new("the text is too long")
                .hint(format!("at most {} bytes", limits::MEMORY_TEXT)));
        }
        if tags.len() > limits::MEMORY_TAGS {
            return Err(Failure::new("there are too many tags"));
        }
        let work = move |store: &mut super::Store| store.remember(key.as_deref(), &text, &tags);
        let (entry, replaced) = self.memory.with(work).await?;
        self.changed(&entry, !replaced);
        Ok(Json(RememberAnswer { entry, replaced }))
    }

    #[tool(
        title = "Recall",
        description = "Finds what was remembered, by words and tags, the best first. Example: {\"query\": \"release \
                       branch\"}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn recall(
        &self,
        Parameters(arguments): Parameters<RecallArguments>,
    ) -> Result<Json<RecallAnswer>, Failure> {
        let RecallArguments { query, tags, limit } = arguments;
        let limit = limit.unwrap_or(10);
        let found = self
            .memory
            .with(move |store| store.recall(&query, &tags, limit))
            .await?;
        Ok(Json(RecallAnswer {
            entries: found.entries,
            cut: found.is_cut,
        }))
    }

    #[tool(
        title = "Forget",
        description = "Forgets one entry, by its number or its name. Examples: {\"id\": 12}, {\"key\": \"release-day\"}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn forget(
        &self,
        Parameters(arguments): Parameters<ForgetArguments>,
    ) -> Result<Json<ForgetAnswer>, Failure> {
        let work = move |store: &mut super::Store| {
            let found = match (arguments.id, &arguments.key) {
                (Some(id), None) => store.get(id)?,
                (None, Some(key)) => store.named(key)?,
                _ => return Err(Failure::new("give either `id` or `key`")),
            };
            let entry = found.ok_or_else(|| {
                Failure::new("there is no such entry").hint("recall or list shows what there is")
            })?;
            store.forget(entry.id)?;
            Ok(entry)
        };
        let forgotten = self.memory.with(work).await?;
        self.changed(&forgotten, true);
        Ok(Json(ForgetAnswer { forgotten }))
    }

    #[tool(
        title = "List memories",
        description = "Lists what is remembered, the newest first. Example: {\"tags\": [\"process\"], \"limit\": 20}",
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
        let ListArguments {
            tags,
            offset,
            limit,
        } = arguments;
        let limit = limit.unwrap_or(50);
        let (entries, total) = self
            .memory
            .with(move |store| store.list(&tags, offset, limit))
            .await?;
        let end = offset.saturating_add(entries.len() as u32);
        Ok(Json(ListAnswer {
            next_offset: (!entries.is_empty() && end < total).then_some(end),
            entries,
            total,
        }))
    }

    fn changed(&self, entry: &Entry, changes_list: bool) {
        // Nobody may be listening.
        let _ = self.memory.changes.send(Change {
            uri: entry.uri.clone(),
            changes_list,
        });
    }
}
