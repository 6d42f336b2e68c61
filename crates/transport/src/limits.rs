//! The caps of this crate, in one place.

use std::time::Duration;

/// The most bytes that may wait to be written to one peer.
pub const SEND_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// How often it is looked whether anybody still reads our standard output, once that matters.
pub const READER_LOOK: Duration = Duration::from_millis(50);
/// How long a peer may refuse to read before the link is given up.
pub const WRITE_STALL: Duration = Duration::from_secs(30);
/// How much is read from a pipe at once.
pub const READ_CHUNK: usize = 64 * 1024;
/// Messages at least this large are counted against the [`Budget`](crate::Budget); smaller ones where they wait in a queue.
pub const COUNTED_BYTES: usize = 16 * 1024;
/// Bytes of large messages in memory, of all: room for a few large results, small beside any machine's memory. Where there are several principals, one has half.
pub const BUDGET_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of large messages that a principal may hold even where everybody together holds too many.
pub const FREE_BYTES: usize = 1024 * 1024;
/// How long a message or a new call waits for room before it is refused.
pub const ROOM_WAIT: Duration = Duration::from_secs(5);
/// A queue that holds no more than this is not behind, and its small messages are not counted. Beyond it each is, whatever its size.
pub const QUEUE_STEP: usize = 16 * 1024;
/// What a message in a queue costs besides its bytes.
pub const QUEUED_MESSAGE: usize = 256;
/// Bytes of small messages that wait in all queues; one that is behind then ends. Where there are several principals, one has half.
pub const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// How long it is not looked again for something that could give way, after there was nothing.
pub const GIVE_WAY_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of answers that wait to be read by the clients of one of several principals; further large ones fail.
pub const ANSWER_BYTES: usize = 128 * 1024 * 1024;
/// Calls in flight at once, of all; where there are several principals, one has half.
pub const CALLS: usize = 4096;
/// Calls in flight that a principal may have even where everybody together has too many.
pub const FREE_CALLS: usize = 64;
/// How much is read at once of an answer that is passed on before its end: each such answer
/// holds no more than a few pieces.
pub const PASSED_PIECE: usize = 256 * 1024;
/// The same while large messages take half of the budget: many are passed on then.
pub const PASSED_PIECE_CROWDED: usize = 64 * 1024;
/// What is kept of the beginning and of the end of a line that is longer than a message may be.
pub const CUT_LINE_ENDS: usize = 4 * 1024;
/// How long such a line may become before its server is given up.
pub const CUT_LINE_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How long nothing may come of it before its end: whoever else uses the server waits.
pub const CUT_LINE_STALL: Duration = Duration::from_secs(5);
/// How long its end may take in all.
pub const CUT_LINE_TIME: Duration = Duration::from_secs(60);
/// A line that is longer than this without an end gets a buffer of its own, which it keeps.
pub const LONG_LINE: usize = 64 * 1024;
/// How much room such a buffer has at least.
pub const LONG_LINE_ROOM: usize = 256 * 1024;
/// How much the system holds of what a server writes, once it has sent a long line. The pipes
/// of one user's programs have 64 MiB together, beyond which it gives them less.
pub const LONG_LINE_PIPE: usize = 256 * 1024;
/// A buffer for a long line with less room than this is made larger before more is read.
pub const LEAST_READ: usize = 16 * 1024;
/// Buffers at least this large are used again.
pub const SPARE_FROM: usize = 64 * 1024;
/// Buffers larger than this are not.
pub const SPARE_LARGEST: usize = 2 * 1024 * 1024;
/// Bytes of all buffers that wait to be used again. They count in no budget, and stay within it together with what does.
pub const SPARE_BYTES: usize = 16 * 1024 * 1024;
/// Buffers that nobody has used for this long go back to the system.
pub const SPARE_LOOK: Duration = Duration::from_secs(2);
/// Messages smaller than this are copied out of the buffer that an HTTP
/// connection was read into, so that the buffer is free again at once.
pub const COPIED_BYTES: usize = 4 * 1024;
/// Lines on a server's stdout that are no messages and are still worth a warning.
pub const NOISE_WARNINGS: u64 = 5;
/// Characters of the scopes that a server asks for which are shown.
pub const SCOPE_CHARS: usize = 500;
/// What wakes those who wait can pass one of them by: they look by themselves as well.
pub const ROOM_LOOK: Duration = Duration::from_millis(250);
/// A peer that says nothing for this long is probed, and is dead if it answers
/// none of the probes: noticed after 30 s, whatever the streams on it carry.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// How far those probes are apart.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// How many of them there are.
pub const KEEPALIVE_PROBES: u32 = 3;
/// The longest head of a proxy's answer.
pub const PROXY_HEAD_BYTES: usize = 8 * 1024;
/// How much of a large answer is counted before it is read; what it really
/// takes is counted as it comes. A server that announces more than it sends
/// can hold no more than this of the budget.
pub const RESERVED_BYTES: usize = 1024 * 1024;
/// The most that is allocated on the strength of an announcement. Growing would
/// take up to twice as much; what is not filled takes no memory.
pub const ALLOCATED_BYTES: usize = 8 * 1024 * 1024;
/// How long the budget may hold an answer back before it is read all the same.
pub const RESERVE_WAIT: Duration = Duration::from_secs(20);
/// No wait is longer, whatever the server asks for.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// No wait that the server asks for is shorter.
pub const SHORTEST_BACKOFF: Duration = Duration::from_millis(200);
/// The first of the doubling steps.
pub const BACKOFF_STEP: Duration = Duration::from_secs(1);
/// How long the rest of an answer that nobody needs may take.
pub const LEFTOVERS: Duration = Duration::from_millis(250);
/// How often one request may be refused and tried again. Who authorizes decides;
/// this only bounds a mistake of theirs. A nonce, a refresh and three step-ups fit.
pub const REFUSALS: u32 = 6;
/// How long requests wait at most.
pub const GATE: Duration = Duration::from_secs(5);
/// How long a POST may take to be accepted. Its answer comes on the stream, in its own time.
pub const SSE_POST: Duration = Duration::from_secs(60);
/// How long messages without an answer may take to leave when the link closes.
pub const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long ending a session may take.
pub const SESSION_DELETE: Duration = Duration::from_secs(2);
/// The most that is read from a server over HTTP at once, and the longest head of an
/// answer: 256 large answers at a time take no more than that of each.
pub const HTTP_READ_BUFFER: usize = 64 * 1024;
/// How much room the first read of an answer has.
pub const HTTP_FIRST_READ: usize = 4 * 1024;
/// Headers of one answer.
pub const HTTP_HEADERS: usize = 100;
/// Heads that only announce the answer (1xx).
pub const HTTP_INFORMATIONAL: usize = 8;
/// The longest line between the pieces of a body.
pub const HTTP_LINE: usize = 4 * 1024;
/// Shelves for unused connections to one server, at most one for each thread.
pub const POOL_SHELVES: usize = 8;
/// Unused connections to one server that may be there until they are looked at.
pub const POOL_BURST: usize = 1024;
/// How often unused connections are looked at.
pub const POOL_SWEEP: Duration = Duration::from_secs(5);
/// How long the beginning of an unexpected body is waited for.
pub const PREVIEW: Duration = Duration::from_secs(2);
/// How much of a body is looked at.
pub const PREVIEW_BYTES: usize = 2048;
/// How many characters are shown.
pub const PREVIEW_CHARS: usize = 200;
/// How many redirects one request follows.
pub const REDIRECTS: usize = 5;
/// Longer ids are not remembered: they could not be sent back in a header.
pub const EVENT_ID_BYTES: usize = 4096;
/// Below this size copying is cheaper than a second piece.
pub const COPY_BELOW: usize = 16 * 1024;
/// How often in a row a request's stream is resumed without anything coming.
pub const STREAM_RESUMED: u32 = 5;
/// How long requests wait for the head of the server's stream. Some servers
/// hold it back until they have something to say.
pub const STREAM_HEAD: Duration = Duration::from_millis(500);
/// How long the goodbye may take.
pub const WS_FAREWELL: Duration = Duration::from_secs(1);
/// tungstenite's own default would give every connection 128 KiB.
pub const WS_READ_BUFFER: usize = 16 * 1024;
/// How long a connection to a server may take, by default.
pub const CONNECT: Duration = Duration::from_secs(30);
/// How long a message without an answer may take to be accepted, by default.
pub const NOTIFICATION: Duration = Duration::from_secs(30);
/// How long the body of an answer may stand still, by default.
pub const BODY_STALL: Duration = Duration::from_secs(30);
/// How long a connection that nobody uses is kept, by default.
pub const IDLE: Duration = Duration::from_secs(30);
/// No stream is taken for dead before it has been silent for this long, by default.
pub const SILENCE_FLOOR: Duration = Duration::from_secs(5);
/// How long a stream that lasts may be silent before it is looked at, by default.
pub const LASTING_SILENCE: Duration = Duration::from_secs(30);
/// How long the rest of a refusal that nobody needs may take.
pub const REFUSAL_LEFTOVERS: Duration = Duration::from_millis(50);
/// How often it is looked whether everything that was queued is written.
pub const DRAIN_LOOK: Duration = Duration::from_millis(2);
/// How often a peer on a WebSocket is pinged, by default.
pub const PING: Duration = Duration::from_secs(15);
/// How long a peer on a WebSocket may be silent, by default.
pub const WS_SILENCE: Duration = Duration::from_secs(30);
