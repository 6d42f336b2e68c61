//! The caps and times of this crate, in one place.

use std::time::Duration;

/// Lines of the access log that wait to be written. What comes on top is dropped,
/// counted and said.
pub const ACCESS_QUEUE: usize = 8192;
/// Lines that are written at once.
pub const ACCESS_BATCH: usize = 512;
/// How long the end of a gateway waits until what is queued is on disk.
pub const ACCESS_CLOSE: Duration = Duration::from_secs(5);
/// Characters of a name in the access log: a client's, a tool's, a request's id.
pub const ACCESS_NAME: usize = 200;

/// A log file is put aside when it has this many bytes.
pub const LOG_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// A log file is put aside when it is this old.
pub const LOG_FILE_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Log files that were put aside and are kept, besides the one that is written.
pub const LOG_FILES_KEPT: usize = 4;

/// Records of the audit that wait to be written. Calls whose record finds no room wait.
pub const AUDIT_QUEUE: usize = 4096;
/// Places of records that were written and are used again.
pub const AUDIT_SPARE: usize = 512;
/// How soon records are on disk, where not each of them is waited for; and how often it
/// is tried again where they cannot be written.
pub const AUDIT_SECOND: Duration = Duration::from_secs(1);
/// How long records gather before they are written, where not each of them is waited
/// for: whoever writes need not be woken for each. As many as can come in this time
/// have room in the queue.
pub const AUDIT_GATHER: Duration = Duration::from_millis(50);
/// How long the end of a gateway waits until its last records are on disk.
pub const AUDIT_CLOSE: Duration = Duration::from_secs(10);
/// How long somebody who appends waits for the lock of the folder.
pub const AUDIT_LOCK: Duration = Duration::from_secs(10);
/// How long it rests between two looks at that lock.
pub const AUDIT_LOCK_PAUSE: Duration = Duration::from_millis(2);
/// A file of records is put aside when it has this many bytes.
pub const AUDIT_BYTES: u64 = 16 * 1024 * 1024;
/// A file of records is put aside when it is this old.
pub const AUDIT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Files of records that were put aside and are kept.
pub const AUDIT_FILES: usize = 256;
/// Bytes of one record. Arguments that would make it longer are left out, and that is said.
pub const AUDIT_RECORD: usize = 64 * 1024;
/// Bytes of arguments that are recorded, where they are.
pub const AUDIT_ARGUMENTS: usize = 16 * 1024;
/// Characters of a name or a reason in a record.
pub const AUDIT_TEXT: usize = 1000;
/// Bytes of a text that is remembered as it is written, since most come again.
pub const AUDIT_KEPT_TEXT: usize = 256;
/// Names in one record: of tools that were pinned, or are not what they were.
pub const AUDIT_NAMES: usize = 100;
/// Problems that `audit verify` names; all of them are counted.
pub const AUDIT_PROBLEMS: usize = 100;
/// Servers whose calls are counted apart; those of others are counted together.
pub const METRIC_SERVERS: usize = 100;
/// Tools of one server that are counted apart; its other tools are counted together.
pub const METRIC_TOOLS: usize = 100;
/// Servers, methods and tools that are counted apart, in all.
pub const METRIC_CELLS: usize = 1000;
/// Ways in which these ended that are counted apart, in all.
pub const METRIC_OUTCOMES: usize = 4000;
/// Bytes of a tool's name that is counted apart.
pub const METRIC_LABEL: usize = 128;
/// Spans that wait to be sent. What comes on top is dropped and counted.
pub const TRACE_QUEUE: usize = 8192;
/// Spans that are sent at once.
pub const TRACE_BATCH: usize = 512;
/// How long spans wait for others to be sent with.
pub const TRACE_PAUSE: Duration = Duration::from_secs(1);
/// How long a collector may take to be connected to.
pub const TRACE_CONNECT: Duration = Duration::from_secs(5);
/// How long a collector may take for what is sent at once, with what is tried again.
pub const TRACE_SEND: Duration = Duration::from_secs(10);
/// How long the end of a gateway waits until its last spans are sent.
pub const TRACE_CLOSE: Duration = Duration::from_secs(3);
/// Bytes of a collector's answer that are read.
pub const TRACE_ANSWER: usize = 64 * 1024;
/// Characters of a name in a span: a client's, a tool's, a request's id.
pub const TRACE_NAME: usize = 200;
/// Spans of one call, besides those of its client's requests. Others are counted in it.
pub const TRACE_PARTS: usize = 64;
/// Requests whose answer was a question that are remembered until it is answered.
pub const TRACE_ROUNDS: usize = 1024;
