//! `memory`: a small store of knowledge that outlives the conversation.
//!
//! | module | what |
//! |---|---|
//! | `store` | the SQLite file |
//! | `tools` | remember, recall, forget, list |
//! | `news` | telling clients what has changed |

mod news;
mod store;
mod tools;

pub(crate) use store::Entry;

use crate::{
    answer::{Failure, Toolset, answers_with, blocking},
    early::Early,
    limits,
    serve::{BuiltinError, Session},
};
use news::{Change, Subscribed};
use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        PaginatedRequestParams, Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
        Role, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use rusqlite::InterruptHandle;
use serde_json::json;
use std::{
    fmt,
    path::Path,
    sync::{Arc, LazyLock},
};
use store::Store;
use switchboard_tasks as tasks;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

static TOOLS: LazyLock<Toolset<MemorySession>> =
    LazyLock::new(|| Toolset::new(MemorySession::tool_router()));

/// How the addresses of memories begin.
const ADDRESS: &str = "memory:///";

/// The server, before anyone is connected to it. Clones are the same server.
#[derive(Clone)]
pub struct Memory {
    version: Arc<str>,
    store: Arc<Mutex<Store>>,
    interrupt: Arc<InterruptHandle>,
    changes: broadcast::Sender<Change>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    /// A server that keeps its file, `memory.sqlite3`, in this directory.
    pub fn open(version: impl Into<Arc<str>>, directory: &Path) -> Result<Self, BuiltinError> {
        let store = Store::open(directory)?;
        Ok(Self {
            version: version.into(),
            interrupt: Arc::new(store.interrupt()),
            store: Arc::new(Mutex::new(store)),
            changes: broadcast::Sender::new(64),
        })
    }

    /// One connection's view of it.
    pub fn session(&self) -> MemorySession {
        MemorySession {
            memory: self.clone(),
            over: CancellationToken::new(),
            subscribed: Subscribed::default(),
            news: Mutex::new(Some(self.changes.subscribe())),
            early: Early::default(),
        }
    }

    /// Does something with the store, on a thread where it may wait.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let store = Arc::clone(&self.store);
        let work = blocking(move || work(&mut store.lock()));
        tokio::pin!(work);
        match tokio::time::timeout(limits::MEMORY_TIME, &mut work).await {
            Ok(done) => done,
            // A file that somebody has made for it can ask for endless work.
            Err(_) => {
                self.interrupt.interrupt();
                work.await
            }
        }
    }
}

/// The address of a memory.
fn address(id: i64) -> String {
    format!("{ADDRESS}{id}")
}

/// One connection to the server.
#[derive(Debug)]
pub struct MemorySession {
    memory: Memory,
    over: CancellationToken,
    subscribed: Subscribed,
    /// What has changed since the connection was made.
    news: Mutex<Option<broadcast::Receiver<Change>>>,
    early: Early<broadcast::Receiver<Change>>,
}

impl MemorySession {
    async fn entry(&self, uri: &str) -> Result<Entry, ErrorData> {
        let unknown = || {
            let data = Some(json!({ "uri": uri }));
            ErrorData::resource_not_found("there is no such memory", data)
        };
        let id = uri
            .strip_prefix(ADDRESS)
            .and_then(|id| id.parse::<i64>().ok());
        let id = id.ok_or_else(unknown)?;
        let found = self.memory.with(move |store| store.get(id)).await;
        found.map_err(internal)?.ok_or_else(unknown)
    }
}

fn internal(failure: Failure) -> ErrorData {
    ErrorData::internal_error(failure.to_string(), None)
}

impl Session for MemorySession {
    fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

impl ServerHandler for MemorySession {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("switchboard-memory", self.memory.version.as_ref())
            .with_title("Switchboard memory");
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions(
                "A memory that outlives the conversation. Recall before you ask the user something again; remember \
                 what will be useful later, one fact at a time. Never remember passwords or keys.",
            )
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(changes) = self.news.lock().take() else {
            return;
        };
        let (subscribed, over) = (self.subscribed.clone(), self.over.clone());
        let telling = news::tell(changes, subscribed, context.peer, over);
        tasks::spawn(tasks::Kind::Builtin, telling);
    }

    answers_with!(TOOLS);

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let offset: u32 = match request.and_then(|page| page.cursor) {
            None => 0,
            Some(cursor) => cursor
                .parse()
                .map_err(|_| ErrorData::invalid_params("no such page", None))?,
        };
        let page = limits::RESOURCE_PAGE as u32;
        let list = move |store: &mut Store| store.list(&[], offset, page);
        let (entries, total) = self.memory.with(list).await.map_err(internal)?;
        let end = offset + entries.len() as u32;
        let mut result =
            ListResourcesResult::with_all_items(entries.iter().map(resource).collect());
        result.next_cursor = (end < total).then(|| end.to_string());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(format!("{ADDRESS}{{id}}"), "memory")
            .with_title("A memory")
            .with_description("One memory, by its number.")
            .with_mime_type("text/plain");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let entry = self.entry(&request.uri).await?;
        let contents = ResourceContents::text(entry.text, request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.entry(&request.uri).await?;
        self.subscribed.add(request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.early.note(self.memory.changes.subscribe());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let early = self.early.take(|_| true);
        let changes = early.unwrap_or_else(|| self.memory.changes.subscribe());
        news::listen(changes, context, &self.over).await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let topic = PromptArgument::new("topic")
            .with_description("What it is about.")
            .with_required(true);
        let description = "Gives the model what is remembered about a topic.";
        let prompt = Prompt::new("recall-about", Some(description), Some(vec![topic]))
            .with_title("Recall about a topic");
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let wrong = |message: &str| ErrorData::invalid_params(message.to_owned(), None);
        if request.name != "recall-about" {
            return Err(wrong("there is no such prompt"));
        }
        let arguments = request.arguments.unwrap_or_default();
        let topic = arguments.get("topic").and_then(|topic| topic.as_str());
        let topic = topic
            .ok_or_else(|| wrong("the argument `topic` is missing"))?
            .to_owned();
        let query = topic.clone();
        let recall = move |store: &mut Store| store.recall(&query, &[], 20);
        let found = self.memory.with(recall).await.map_err(internal)?;
        let mut text = format!("This is what is remembered about {topic:?}:\n");
        for entry in &found.entries {
            text.push_str(&format!("- {}\n", entry.text));
        }
        if found.entries.is_empty() {
            text.push_str("(nothing)\n");
        }
        text.push_str("Take it into account, and say where it no longer fits.");
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}

fn resource(entry: &Entry) -> Resource {
    let name = match &entry.key {
        Some(key) => crate::text::line(key),
        None => format!("memory {}", entry.id),
    };
    Resource::new(entry.uri.as_str(), name)
        .with_description(crate::text::cut(&crate::text::line(&entry.text), 100))
        .with_mime_type("text/plain")
        .with_size(entry.text.len() as u64)
}
