//! `files`: reading, finding and changing files in the directories that were
//! allowed, and nowhere else.
//!
//! | module | what |
//! |---|---|
//! | `path`, `roots`, `beneath` | where a path lies, and opening it there |
//! | `protected` | what is left alone, wherever it lies |
//! | `changes` | one change at a time |
//! | `walk`, `lines` | going through directories and files within limits |
//! | `read`, `write`, `list`, `search`, `grep`, `info`, `change` | the tools |
//! | `resources`, `watch`, `prompts` | files as resources, and prompts about them |

mod beneath;
mod change;
pub(crate) mod changes;
mod grep;
mod info;
mod lines;
mod list;
pub(crate) mod path;
mod prompts;
pub(crate) mod protected;
mod read;
mod resources;
pub(crate) mod roots;
mod search;
mod walk;
mod watch;
mod write;

use crate::{
    answer::Toolset,
    early::Early,
    serve::{BuiltinError, Session},
};
use changes::Changes;
use protected::Protection;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use roots::Roots;
use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};
use tokio_util::sync::CancellationToken;
use watch::{Seen, Watches};

static TOOLS: LazyLock<Toolset<FilesSession>> = LazyLock::new(|| {
    Toolset::new(
        FilesSession::read_router()
            + FilesSession::write_router()
            + FilesSession::list_router()
            + FilesSession::search_router()
            + FilesSession::grep_router()
            + FilesSession::info_router()
            + FilesSession::change_router(),
    )
});

/// The server, before anyone is connected to it. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Files {
    version: Arc<str>,
    roots: Arc<Roots>,
    is_read_only: bool,
    changing: Arc<Changes>,
}

impl Files {
    /// A server for these directories, all of which must exist. Relative paths
    /// begin at the first. What is protected it leaves alone.
    pub fn new(
        version: impl Into<Arc<str>>,
        roots: &[PathBuf],
        protection: Protection,
    ) -> Result<Self, BuiltinError> {
        Ok(Self {
            version: version.into(),
            roots: Arc::new(Roots::open(roots, protection)?),
            is_read_only: false,
            changing: Arc::default(),
        })
    }

    /// The same server without the tools that change anything.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// One connection's view of it.
    pub fn session(&self) -> FilesSession {
        FilesSession {
            files: self.clone(),
            over: CancellationToken::new(),
            watches: Watches::default(),
            early: Early::default(),
        }
    }
}

/// One connection to the server.
#[derive(Debug)]
pub struct FilesSession {
    files: Files,
    over: CancellationToken,
    watches: Watches,
    early: Early<Seen>,
}

impl FilesSession {
    fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.files.roots)
    }

    /// Held while something is changed, so that no change is lost in another.
    fn changing(&self) -> Arc<Changes> {
        Arc::clone(&self.files.changing)
    }

    fn offers(&self, tool: &Tool) -> bool {
        let changes_nothing = |tool: &Tool| {
            tool.annotations
                .as_ref()
                .and_then(|hints| hints.read_only_hint)
        };
        !self.files.is_read_only || changes_nothing(tool) == Some(true)
    }
}

impl Session for FilesSession {
    fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

impl ServerHandler for FilesSession {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("switchboard-files", self.files.version.as_ref())
            .with_title("Switchboard files");
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions(format!(
                "Reads, finds and changes files. Allowed directories: {}. A relative path begins at the first. \
                 Keys, credentials and what programs run by themselves are protected: they are left out and refused.",
                self.files.roots.listed()
            ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match TOOLS.get(&request.name) {
            Some(tool) if !self.offers(&tool) => {
                Ok(crate::answer::unknown_tool(&request.name).into())
            }
            _ => Ok(TOOLS.call(self, request, context).await),
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(TOOLS.list(|tool| self.offers(tool)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.get(name).filter(|tool| self.offers(tool))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(self.roots(), request.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(self.roots(), request.uri).await?;
        Ok(read.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(resources::complete(self.roots(), request).await)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (roots, over) = (self.roots(), self.over.clone());
        self.watches.add(roots, request.uri, context.peer, over)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watches.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(watch::accepted(&self.roots(), requested, &self.early))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        watch::listen(self.roots(), context, &self.early, &self.over).await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = prompts::get(self.roots(), request).await?;
        Ok(prompt.into())
    }
}
