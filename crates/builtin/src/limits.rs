//! Every cap of the built-in servers, in one place.

use std::time::Duration;

/// The longest path or name that an argument may hold, in bytes.
pub const PATH_BYTES: usize = 4 * 1024;

/// Lines that `read` returns when not told otherwise.
pub const READ_LINES: u64 = 2000;
/// The most text that one `read` returns, in bytes.
pub const READ_BYTES: usize = 256 * 1024;
/// The most bytes that one `read` returns as base64.
pub const READ_BLOB: u64 = 1024 * 1024;
/// A longer line is cut here, in characters.
pub const LINE_CHARS: usize = 2000;
/// How far into a file `read` looks for the line it should begin with.
pub const SCAN_BYTES: u64 = 1 << 28;
/// The largest file that can be read as a resource.
pub const RESOURCE_BYTES: u64 = 8 * 1024 * 1024;
/// The most that `write` takes, and the largest file that `edit` changes.
pub const WRITE_BYTES: usize = 16 * 1024 * 1024;

/// Entries of one directory that are looked at.
pub const DIRECTORY_ENTRIES: usize = 20_000;
/// Entries that one walk through a directory looks at.
pub const WALK_ENTRIES: usize = 200_000;
/// How deep a walk goes.
pub const WALK_DEPTH: usize = 64;
/// How long a walk takes at most.
pub const WALK_TIME: Duration = Duration::from_secs(20);
/// Lines of one `tree`.
pub const TREE_ENTRIES: usize = 2000;
/// Entries that one recursive `delete` removes at most.
pub const DELETE_ENTRIES: usize = 10_000;
/// Entries of a directory that is moved as a whole, at most: each is looked at.
pub const MOVE_ENTRIES: usize = 100_000;
/// The largest file that `grep` looks into.
pub const GREP_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The longest pattern, in bytes.
pub const PATTERN_BYTES: usize = 1000;
/// What a compiled pattern may take, in bytes.
pub const PATTERN_SIZE: usize = 1 << 20;
/// The most text that one `grep` returns, in bytes.
pub const GREP_BYTES: usize = 256 * 1024;
/// A longer matching line is cut here, in characters.
pub const GREP_LINE_CHARS: usize = 500;

/// Links that are followed one after the other to find out what is protected.
pub const LINKS: usize = 40;
/// Entries of a protected directory that are looked at for links.
pub const PROTECTED_LINKS: usize = 500;
/// Protected files that are compared with a file of several names.
pub const PROTECTED_FILES: usize = 20_000;

/// How long what is protected is taken for known while nothing is changed here.
pub const PROTECTED_TIME: Duration = Duration::from_secs(1);

/// Subscriptions of one connection.
pub const SUBSCRIPTIONS: usize = 256;
/// How often files, folders and memory are looked at for changes.
pub const POLL: Duration = Duration::from_millis(500);
/// Resources on one page of a list.
pub const RESOURCE_PAGE: usize = 200;

/// Calls that wait for the disk at once, of all servers; others wait.
pub const DISK_AT_ONCE: usize = 64;
/// Programs that run to their end at once, of all servers; others are refused.
pub const COMMANDS_AT_ONCE: usize = 64;
/// How long a command may take when not told otherwise.
pub const COMMAND_TIME: Duration = Duration::from_secs(120);
/// The longest time-out that can be asked for.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(3600);
/// What is kept of a command's output when not told otherwise, in bytes.
pub const OUTPUT_BYTES: usize = 100_000;
/// The most output that can be asked for.
pub const OUTPUT_BYTES_MAX: usize = 1_000_000;
/// What is kept of the beginning of stderr; of its end it is 64 KiB.
pub const STDERR_HEAD: usize = 8 * 1024;
/// How long the output of a command that has ended is waited for: a process
/// that it left behind may hold the pipe.
pub const OUTPUT_GRACE: Duration = Duration::from_millis(300);
/// How long a running command has to finish once its client has gone.
pub const CLIENT_GONE_GRACE: Duration = Duration::from_secs(1);
/// Background processes of one connection, running or ended.
pub const PROCESSES: usize = 16;
/// Unread output that is kept of each, in bytes.
pub const PROCESS_BUFFER: usize = 1024 * 1024;
/// The longest that `readProcess` waits for output.
pub const PROCESS_WAIT: Duration = Duration::from_secs(60);

/// The longest text that is remembered, in bytes.
pub const MEMORY_TEXT: usize = 64 * 1024;
/// The most text of entries that one answer holds, in bytes.
pub const MEMORY_BYTES: usize = 256 * 1024;
/// How long one question to the memory may take.
pub const MEMORY_TIME: Duration = Duration::from_secs(10);
/// Entries in the memory.
pub const MEMORY_ENTRIES: i64 = 100_000;
/// Tags of one entry.
pub const MEMORY_TAGS: usize = 32;

/// Manifests in one folder.
pub const MANIFESTS: usize = 256;
/// The largest manifest, in bytes.
pub const MANIFEST_BYTES: u64 = 256 * 1024;
/// Steps of one flow.
pub const FLOW_STEPS: usize = 32;
/// Flows that run at once, those that call each other included.
pub const FLOWS_AT_ONCE: usize = 32;
/// What the arguments of one step, or a flow's result, may take as JSON.
pub const FLOW_BYTES: usize = 4 * 1024 * 1024;
/// What the results of a flow's steps may take together, as JSON.
pub const FLOW_RESULTS: usize = 32 * 1024 * 1024;
/// How long a flow may take when its manifest does not say.
pub const FLOW_TIME: Duration = Duration::from_secs(600);
/// How long another program may take to make the file of a memory.
pub(crate) const MEMORY_MADE: Duration = Duration::from_millis(500);
/// How many may be between the question and the beginning.
pub const EARLY_CALLS: usize = 64;
/// The longest file that names another place, in bytes.
pub const POINTER_BYTES: u64 = 4096;
/// How many flows may call each other.
pub const FLOWS_DEEP: u64 = 8;
/// How long another program may keep the file of the memory.
pub const MEMORY_BUSY: Duration = Duration::from_secs(5);
/// How often it is looked whether another program has made the memory.
pub const MEMORY_PAUSE: Duration = Duration::from_millis(20);
