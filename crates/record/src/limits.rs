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
/// Bytes of these. A record that finds room may have more.
pub const AUDIT_WAITING: usize = 8 * 1024 * 1024;
/// From so many bytes on they are written at once: what was said is still in the cache of
/// the processor then.
pub const AUDIT_ENOUGH: usize = 192 * 1024;
/// How soon records are on disk, where not each of them is waited for; and how often it
/// is tried again where they cannot be written.
pub const AUDIT_SECOND: Duration = Duration::from_secs(1);
/// How long records gather before they are written, where not each of them is waited
/// for: whoever writes need not be woken for each. Where many come, it is sooner.
pub const AUDIT_GATHER: Duration = Duration::from_millis(100);
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
/// Bytes of how the lines of a caller begin that are remembered, since most come again.
pub const AUDIT_KEPT_CALLER: usize = 1024;
/// Names in one record: of tools that were pinned, or are not what they were.
pub const AUDIT_NAMES: usize = 100;
/// Problems that `audit verify` names; all of them are counted.
pub const AUDIT_PROBLEMS: usize = 100;
/// Places of what follows a call that each thread keeps for those that come, of each kind.
pub const FOLLOW_SPARE: usize = 64;
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

/// Bytes of a line of a cassette; a call that has more is not recorded.
pub const CASSETTE_LINE: usize = 64 * 1024 * 1024;
/// Lines of a cassette that is read.
pub const CASSETTE_LINES: usize = 100_000;
/// Bytes of a cassette that is read.
pub const CASSETTE_BYTES: u64 = 512 * 1024 * 1024;
/// A cassette is ended, and the next one begun, when it would have more bytes.
pub const CASSETTE_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Cassettes that are kept in a folder that is recorded into.
pub const CASSETTE_FILES: usize = 64;
/// Servers that a cassette begins with.
pub const CASSETTE_SERVERS: usize = 1000;
/// Calls that wait to be written. What comes on top is not recorded, and counted.
pub const CASSETTE_QUEUE: usize = 8192;
/// Bytes of these.
pub const CASSETTE_WAITING: usize = 64 * 1024 * 1024;
/// Calls that are written at once.
pub const CASSETTE_BATCH: usize = 256;
/// How long the end of a gateway waits until its last calls are recorded.
pub const CASSETTE_CLOSE: Duration = Duration::from_secs(5);
/// Calls under way that are recorded.
pub const CASSETTE_OPEN: usize = 4096;
/// Bytes of these, with what was said and asked meanwhile.
pub const CASSETTE_OPEN_BYTES: usize = 64 * 1024 * 1024;
/// Notices and questions of one call that are recorded.
pub const CASSETTE_BETWEEN: usize = 10_000;
/// Places in which two values differ that are named.
pub const CASSETTE_DIFFERENCES: usize = 100;
/// Characters of a value that is named there.
pub const CASSETTE_VALUE: usize = 500;
/// Recorded requests of a method among which the one is looked for that is closest.
pub const CASSETTE_CLOSEST: usize = 1000;
/// Pages of its tools that a server is asked for before any of them is called.
pub const CASSETTE_PAGES: usize = 100;
/// How long a client may take to answer what a replayed server asks.
pub const CASSETTE_QUESTION: Duration = Duration::from_secs(600);
/// How long a replayed call takes at most, however long it took when it was recorded.
pub const CASSETTE_IN_TIME: Duration = Duration::from_secs(600);
/// Calls that a replayed server answers at once.
pub const CASSETTE_REPLAYING: usize = 1024;
/// Calls that are listed, and calls whose messages are kept.
pub const TAP_CALLS: usize = 10_000;
/// Bytes of messages that are kept, with what it takes to keep them.
pub const TAP_BYTES: usize = 32 * 1024 * 1024;
/// Messages of one call that are kept; of others is known how many there were.
pub const TAP_MESSAGES: usize = 1000;
/// A call may have one part in so many of what is kept.
pub const TAP_SHARE: usize = 2;
/// Parts of a message from so many bytes on are kept once, if another message of the
/// same call has them already.
pub const TAP_SHARED_PIECE: usize = 4096;
/// Parts of a long message that are kept each by itself; of more, the small ones are joined.
pub const TAP_PIECES: usize = 64;
/// Of what may be kept, one part in so many is made free at once when it is full.
pub const TAP_SLACK: usize = 64;
/// Bytes of memory that messages are written into before more is taken.
pub const TAP_SEGMENT: usize = 64 * 1024;
/// Such pieces of memory that there may be at least.
pub const TAP_SEGMENTS: usize = 16;
/// Bytes of messages that are copied at once for whoever reads them: calls wait meanwhile.
pub const TAP_COPIED: usize = 32 * 1024;
/// Messages of them.
pub const TAP_COPIED_MESSAGES: usize = 64;
/// How long messages are kept after somebody last looked.
pub const TAP_PATIENCE: Duration = Duration::from_secs(600);
/// How often it is looked whether anybody still looks.
pub const TAP_LOOK: Duration = Duration::from_secs(5);
/// Characters of a name in the list of calls.
pub const TAP_NAME: usize = 200;
/// Characters of what went wrong, in the list of calls.
pub const TAP_ERROR: usize = 300;
/// Clients whose names are known without reading them again.
pub const TAP_CLIENT_NAMES: usize = 64;
/// Bytes of what a client says of itself that is remembered for that.
pub const TAP_CLIENT_INFO: usize = 1024;
/// How long the last message of a call may come after its end.
pub const TAP_SETTLE: Duration = Duration::from_millis(300);
/// Differences between two messages that are told.
pub const TAP_EDITS: usize = 1000;
/// How deep messages are compared; below that they are the same or another.
pub const TAP_DEPTH: usize = 64;
/// Bytes of what was there before, in a difference.
pub const TAP_EXCERPT: usize = 400;

/// Texts of JSON in texts of JSON that are looked into for secrets; what is deeper is hidden.
pub const TAP_JSON_WITHIN: usize = 6;
/// Places of a text that begin as JSON does and are none, before the rest counts as words.
pub const TAP_JSON_TRIES: usize = 16;
