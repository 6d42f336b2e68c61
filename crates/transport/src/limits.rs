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
/// Lines at least this large keep the buffer that they were read into.
pub const HANDED_BYTES: usize = 256 * 1024;
/// Messages smaller than this are copied out of the buffer that an HTTP
/// connection was read into, so that the buffer is free again at once.
pub const COPIED_BYTES: usize = 4 * 1024;
/// Lines on a server's stdout that are no messages and are still worth a warning.
pub const NOISE_WARNINGS: u64 = 5;
/// Characters of the scopes that a server asks for which are shown.
pub const SCOPE_CHARS: usize = 500;
