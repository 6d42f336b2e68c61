//! The reserved keys of `_meta`.

/// What keys begin with that the protocol keeps for itself.
pub const RESERVED: &str = "io.modelcontextprotocol/";
/// Opts a request into progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The revision a modern request speaks.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who sends a modern request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the sender of a modern request can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The log level a modern request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Which `subscriptions/listen` a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Who answers, in a modern result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Which task a legacy message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The extension by which the modern era has tasks: both sides declare it.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// What a tool, or its result, says of the page that shows it (MCP Apps).
pub const UI: &str = "ui";
/// The member of that with the page's address.
pub const UI_PAGE_MEMBER: &str = "resourceUri";
/// The same address as a key of its own, as it was written at first.
pub const UI_PAGE: &str = "ui/resourceUri";
/// The extension by which there are such pages.
pub const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";
/// What such a page says that it is.
pub const UI_PAGE_KIND: &str = "text/html;profile=mcp-app";
/// Which place in which trace a request is made at (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";
/// What others keep beside that.
pub const TRACESTATE: &str = "tracestate";
/// What others want to have along (W3C Baggage).
pub const BAGGAGE: &str = "baggage";
