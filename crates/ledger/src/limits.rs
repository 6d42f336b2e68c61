//! The caps and times of this crate, in one place.

use std::time::Duration;

/// Bytes of one value.
pub const VALUE: usize = 64 * 1024 * 1024;
/// Requests to a ledger in a file that wait for their turn.
pub const WAITING: usize = 65_536;
/// Requests that are written together at most.
pub const TOGETHER: usize = 1024;
/// Bytes of a ledger in a file: some millions of sessions.
pub const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// How long nothing is added after a disk was found to be full, so that what is there can
/// be read and removed meanwhile.
pub const FULL_AGAIN: Duration = Duration::from_secs(5);
/// How long a file is waited for that another process writes.
pub const FILE_BUSY: Duration = Duration::from_secs(5);
/// Entries and streams that are swept away at once at most.
pub const SWEPT: usize = 1000;
/// How often a space that is watched is looked through for changes of other processes.
pub const WATCH_LOOK: Duration = Duration::from_millis(200);
/// Entries of a space that can be watched.
pub const WATCHED: usize = 10_000;
/// Bytes of one value that goes to other machines: what NATS takes in one message, with
/// room for its head.
pub const NATS_VALUE: usize = 960 * 1024;
/// How long NATS is waited for: to connect, and to answer. Longer than most elections of
/// a new leader take.
pub const NATS_ANSWER: Duration = Duration::from_secs(5);
/// How often somebody who is not connected to NATS tries again at least.
pub const NATS_AGAIN: Duration = Duration::from_secs(2);
/// How long nodes of NATS are waited for that start together with us.
pub const NATS_GATHERS: Duration = Duration::from_secs(10);
/// How long they may take to choose who leads what is kept, when we begin.
pub const NATS_LEADS: Duration = Duration::from_secs(20);
/// Requests to NATS that wait for their answer at once.
pub const NATS_ASKED: usize = 1024;
/// Renewals of entries that are under way at once.
pub const NATS_RENEWALS: usize = 64;
/// Messages that are asked for together when many are read.
pub const NATS_TOGETHER: usize = 256;
/// How long what was counted of a space is good for, besides what this process changes.
pub const NATS_COUNTED: Duration = Duration::from_secs(10);
/// Spaces whose counts are remembered.
pub const NATS_COUNTS: usize = 10_000;
/// Items of one stream that NATS keeps by itself: what a session's streams have at most.
/// Where fewer are wanted, that costs a request more.
pub const NATS_ITEMS: i64 = 1026;
/// For how long what was read in vain is read again, where NATS says so at once.
pub const NATS_READ_AGAIN: Duration = Duration::from_millis(500);
/// How often somebody who reads waits for what is there, and not yet where it is read.
pub const NATS_LOOK: Duration = Duration::from_millis(20);
