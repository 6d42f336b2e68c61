//! The caps and times of this crate, in one place; the seeds' constants are the defaults.

use std::time::Duration;

/// How long a server may take to start and shake hands (`MCP_TIMEOUT`).
pub const CONNECT: Duration = Duration::from_secs(30);
/// How long a tool call may take (`MCP_TOOL_TIMEOUT`).
pub const TOOL_CALL: Duration = Duration::from_millis(100_000_000);
/// How long any other request may take (`MCP_REQUEST_TIMEOUT_MS`).
pub const REQUEST: Duration = Duration::from_secs(60);
/// How long a stdio server may be silent after `server/discover` before `initialize` is sent as well.
pub const PROBE_SILENCE: Duration = Duration::from_secs(3);
/// How long the first merged list waits for servers that have no catalog yet.
pub const FIRST_LIST: Duration = Duration::from_secs(3);
/// How long a whole list, page by page, may take to fetch.
pub const LIST_FETCH: Duration = Duration::from_secs(30);
/// Pages of one list.
pub const LIST_PAGES: usize = 100;
/// Items of one list.
pub const LIST_ITEMS: usize = 2048;
/// Items on one page of a merged list.
pub const MERGED_PAGE: usize = 1000;
/// Events that may wait in one exchange.
pub const EXCHANGE_EVENTS: usize = 256;
/// Questions that one call may have open at once.
pub const OPEN_INPUTS: usize = 64;
/// Calls that may be in flight on one connection.
pub const CALLS_IN_FLIGHT: usize = 4096;
/// Subscriptions of one client to one server.
pub const SUBSCRIPTIONS: usize = 1024;
/// The longest wait before another attempt to connect.
pub const BACKOFF_CAP: Duration = Duration::from_secs(30);
/// Characters of a server's instructions that are passed on in a merged answer.
pub const INSTRUCTIONS_CHARS: usize = 2048;
/// Lines of a server's stderr that a failed start shows.
pub const STDERR_LINES: usize = 10;
