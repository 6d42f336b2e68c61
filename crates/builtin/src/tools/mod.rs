//! `tools`: a folder of manifests as a server.
//!
//! `*.tool.json` describes a program that becomes a tool (the plugin pattern),
//! `*.flow.json` a row of calls to other servers' tools that becomes one (the
//! orchestrator pattern). The folder is read again when it changes.
//!
//! ```json
//! { "name": "word-count", "description": "Counts the words of a file.",
//!   "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] },
//!   "command": ["wc", "-w", "--", "{path}"],
//!   "stdin": "none", "output": "text", "env": ["LANG"], "timeoutMs": 5000, "maxOutputBytes": 10000 }
//! ```
//! ```json
//! { "name": "note-file", "description": "Remembers what a file says.",
//!   "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] },
//!   "steps": [
//!     { "id": "file", "server": "files", "tool": "read", "arguments": { "path": "${args.path}" } },
//!     { "id": "note", "server": "memory", "tool": "remember", "onError": "stop",
//!       "arguments": { "text": "${steps.file.structuredContent.text}", "key": "${args.path}" } }],
//!   "result": { "remembered": "${steps.note.structuredContent.entry.id}" }, "timeoutMs": 60000 }
//! ```
//!
//! | module | what |
//! |---|---|
//! | `manifest`, `load` | the files, and reading them |
//! | `workplace` | where programs begin |
//! | `approval` | whether somebody said yes to them |
//! | `argv`, `command` | a program as a tool, never through a shell |
//! | `template`, `flow`, `caller` | calls to other servers as a tool |

mod approval;
mod argv;
mod caller;
mod command;
mod flow;
mod load;
mod manifest;
mod template;
mod workplace;

pub use approval::{Approval, Reason, Trust};
pub use caller::{Caller, FLOW_DEPTH, FlowCallError, ToolCall};
pub use load::ManifestFault;
pub use workplace::Workplace;

use crate::{
    answer::{Failure, guarded, unknown_tool},
    early::Early,
    limits,
    serve::{BuiltinError, Session},
};
use load::{Action, Loaded, Set};
use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
        PaginatedRequestParams, RequestId, ServerCapabilities, ServerConfig, SubscriptionFilter,
        Tool,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_tasks as tasks;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The server, before anyone is connected to it. Clones are the same server.
#[derive(Clone)]
pub struct Toolbox {
    version: Arc<str>,
    folder: Arc<PathBuf>,
    workplace: Arc<Workplace>,
    trust: Arc<Trust>,
    caller: Option<Arc<dyn Caller>>,
    set: Arc<Mutex<Arc<Set>>>,
    flows: Arc<Semaphore>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = &self.folder;
        f.debug_struct("Toolbox")
            .field("folder", folder)
            .finish_non_exhaustive()
    }
}

impl Toolbox {
    /// A server for the manifests in this folder, which must exist and be
    /// writable by its owner alone. A manifest that cannot be used is left
    /// out; [`faults`](Self::faults) says why.
    pub fn open(
        version: impl Into<Arc<str>>,
        folder: &Path,
        workplace: Workplace,
    ) -> Result<Self, BuiltinError> {
        Self::open_with(version, folder, workplace, Trust::default())
    }

    /// The same for a folder that is not, or not only, the user's own: a manifest
    /// that was not approved as it is, is left out.
    pub fn open_with(
        version: impl Into<Arc<str>>,
        folder: &Path,
        workplace: Workplace,
        trust: Trust,
    ) -> Result<Self, BuiltinError> {
        let wrong = |fault: &dyn fmt::Display| {
            BuiltinError(format!(
                "the tools in {} cannot be used: {fault}",
                folder.display()
            ))
        };
        let folder = folder.canonicalize().map_err(|fault| wrong(&fault))?;
        let set = Set::read(&folder, &workplace, &trust).map_err(|fault| wrong(&fault))?;
        set.warn();
        Ok(Self {
            version: version.into(),
            folder: Arc::new(folder),
            workplace: Arc::new(workplace),
            trust: Arc::new(trust),
            caller: None,
            set: Arc::new(Mutex::new(Arc::new(set))),
            flows: Arc::new(Semaphore::new(limits::FLOWS_AT_ONCE)),
        })
    }

    /// The same server, whose flows reach other servers through `caller`.
    /// Without one, flows are listed as faults and not as tools.
    #[must_use]
    pub fn calling(mut self, caller: Arc<dyn Caller>) -> Self {
        self.caller = Some(caller);
        self
    }

    /// The manifests that cannot be used, and why.
    pub fn faults(&self) -> Vec<ManifestFault> {
        let set = self.current();
        let mut faults = set.faults.clone();
        if self.caller.is_none() {
            let flows = set.tools.values().filter(|one| !self.offers(one));
            faults.extend(flows.map(|one| ManifestFault {
                file: one.file.clone(),
                problem: "there is no gateway here through which a flow could call".to_owned(),
            }));
        }
        faults
    }

    /// One connection's view of it.
    pub fn session(&self) -> ToolboxSession {
        ToolboxSession {
            toolbox: self.clone(),
            over: CancellationToken::new(),
            generation: self.current().generation,
            early: Early::default(),
        }
    }

    fn current(&self) -> Arc<Set> {
        Arc::clone(&self.set.lock())
    }

    /// Whether what a tool runs is still what was approved.
    async fn may_run(&self, set: &Arc<Set>, name: &str) -> Result<(), Reason> {
        if self.trust.approval.is_none() {
            return Ok(());
        }
        let (trust, set, name) = (Arc::clone(&self.trust), Arc::clone(set), name.to_owned());
        let look = tasks::blocking(move || match set.tools.get(&name) {
            Some(one) => trust.may_run(&one.file, &one.bytes),
            None => Ok(()),
        });
        look.await.unwrap_or_else(|fault| Err(fault.into()))
    }

    fn offers(&self, one: &Loaded) -> bool {
        self.caller.is_some() || !matches!(one.action, Action::Flow(_))
    }

    /// Looks whether the folder has changed, and reads it again if so.
    async fn refreshed(&self) -> Arc<Set> {
        let before = self.current();
        let (folder, workplace) = (Arc::clone(&self.folder), Arc::clone(&self.workplace));
        let trust = Arc::clone(&self.trust);
        let known = before.stamp.clone();
        let look = tasks::blocking(move || {
            let stamp = load::stamp(&folder)?;
            if stamp == known {
                Ok(None)
            } else {
                Set::read(&folder, &workplace, &trust).map(Some)
            }
        });
        let new = match look.await {
            Ok(Ok(None)) | Err(_) => return before,
            Ok(Ok(Some(set))) => set,
            // Gone, or no longer to be trusted: no tools.
            Ok(Err(fault)) => Set::unusable(&self.folder, &fault),
        };
        let mut set = self.set.lock();
        // Someone else may have been quicker.
        if set.stamp != new.stamp {
            let generation = set.generation + 1;
            new.warn();
            *set = Arc::new(Set { generation, ..new });
        }
        Arc::clone(&set)
    }
}

/// One connection to the server.
#[derive(Debug)]
pub struct ToolboxSession {
    toolbox: Toolbox,
    over: CancellationToken,
    /// What the folder was like when the connection was made.
    generation: u64,
    early: Early<u64>,
}

impl Session for ToolboxSession {
    fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

impl ToolboxSession {
    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let toolbox = &self.toolbox;
        let set = toolbox.refreshed().await;
        let found = set.tools.get(request.name.as_ref());
        let Some(one) = found.filter(|one| toolbox.offers(one)) else {
            // It may be one of those that were left out.
            let fault = set.faults.first();
            return match fault.filter(|_| toolbox.trust.approval.is_some()) {
                Some(fault) => Failure::new(format!(
                    "there is no tool {}: {} is left out ({})",
                    crate::text::cut(&crate::text::line(&request.name), 200),
                    fault.file.display(),
                    fault.problem
                ))
                .hint("somebody has to look at it: switchboard list says which server waits")
                .answer(),
                None => unknown_tool(&request.name),
            };
        };
        if let Some(refusal) = one.check.refuse(request.arguments.as_ref()) {
            return refusal;
        }
        if let Err(why) = toolbox.may_run(&set, &request.name).await {
            return Failure::new(why.to_string()).answer();
        }
        let arguments = request.arguments.unwrap_or_default();
        let result = match &one.action {
            Action::Command(command) => command.run(arguments, context.ct, self.over.clone()).await,
            Action::Flow(flow) => {
                let call = flow::Call {
                    caller: toolbox.caller.as_deref(),
                    flows: &toolbox.flows,
                    meta: caller::passed_on(&context.meta),
                    request: number(&context.id),
                    cancel: context.ct,
                    over: &self.over,
                };
                flow.run(arguments, call).await
            }
        };
        result.unwrap_or_else(|failure| failure.answer())
    }
}

/// The id of a request, if it is a number.
fn number(id: &RequestId) -> Option<u64> {
    match id {
        RequestId::Number(number) => u64::try_from(*number).ok(),
        RequestId::String(_) => None,
    }
}

impl ServerHandler for ToolboxSession {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("switchboard-tools", self.toolbox.version.as_ref())
            .with_title("Switchboard tools");
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions("Tools of this user, from manifests in a folder.")
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (toolbox, over) = (self.toolbox.clone(), self.over.clone());
        let mut seen = self.generation;
        tasks::spawn(tasks::Kind::Builtin, async move {
            while over
                .run_until_cancelled(tokio::time::sleep(limits::POLL))
                .await
                .is_some()
            {
                let now = toolbox.refreshed().await.generation;
                if now != seen && context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
                seen = now;
            }
        });
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let result = guarded(&name, self.call(request, context)).await;
        Ok(result.unwrap_or_else(|failure| failure.answer()).into())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let set = self.toolbox.refreshed().await;
        let offered = set.tools.values().filter(|one| self.toolbox.offers(one));
        let tools: Vec<Tool> = offered.map(|one| one.tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let set = self.toolbox.current();
        let found = set.tools.get(name).filter(|one| self.toolbox.offers(one));
        found.map(|one| one.tool.clone())
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.early.note(self.toolbox.current().generation);
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let early = self.early.take(|_| true);
        let mut seen = early.unwrap_or_else(|| self.toolbox.current().generation);
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.over.cancelled() => return Ok(()),
                () = tokio::time::sleep(limits::POLL) => {}
            }
            let now = self.toolbox.refreshed().await.generation;
            if now != seen && context.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
            seen = now;
        }
    }
}
