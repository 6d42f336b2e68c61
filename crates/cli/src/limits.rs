//! The caps and times of this crate, in one place.

use std::time::Duration;

/// How often a call is sent again after pages were visited.
pub const VISITS: u32 = 3;
/// How often a field is asked for that does not fit.
pub const FIELD_TRIES: usize = 5;
/// Fields that a form may have.
pub const FORM_FIELDS: usize = 64;
/// How long other servers are waited for once one has the tool: they could
/// have one of the same name.
pub const OTHER_SERVERS: Duration = Duration::from_secs(3);
/// How much longer than its server a gateway may take to answer.
pub const GATEWAY_GRACE: Duration = Duration::from_secs(10);
/// How often a file is looked at for more.
pub const LOG_LOOK: Duration = Duration::from_millis(200);
/// Characters of a server's name beside its lines.
pub const LOG_LABEL: usize = 24;
/// A longer line is shown in pieces.
pub const LOG_LINE: usize = 64 * 1024;
/// How long a gateway may take: its servers start meanwhile.
pub const RECONNECT: Duration = Duration::from_secs(120);
/// News that have not been shown yet.
pub const NEWS: usize = 64;
/// Changes of what may be seen and called this close together are looked at once.
pub const RULES_PAUSE: Duration = Duration::from_millis(50);
/// How often `up` looks what servers use.
pub const USED_LOOK: Duration = Duration::from_secs(2);
/// How long `list`, which has shown all else by then, waits for a list that was
/// never there before.
pub const FIRST_CONNECTORS: Duration = Duration::from_secs(2);
/// How long a command that is done waits for a list that is on its way.
pub const LAST_CONNECTORS: Duration = Duration::from_secs(1);
/// Signals this close together are one: what is sent to the whole process group
/// (`kill -TERM -PGID`, systemd) reaches us directly and by way of the keeper.
pub const ONE_SIGNAL: Duration = Duration::from_millis(500);
/// How often `stats` looks again.
pub const STATS_LOOK: Duration = Duration::from_secs(2);
/// Characters of a name that `stats` shows.
pub const STATS_NAME: usize = 40;
/// Things that one command does and that are recorded apart.
pub const DONE: usize = 1000;
/// Lines shown around a change.
pub const DIFF_AROUND: usize = 2;
/// Rows that a page leaves for what stands around it.
pub const PAGE_AROUND: usize = 4;
/// Warnings that are remembered.
pub const WARNINGS_KEPT: usize = 1024;
/// How long the word that a call is given up may take to leave before its server ends.
pub const LAST_WORD: Duration = Duration::from_millis(20);
/// How long a gateway that was told to stop may take: its servers have their time, too.
pub const ENDING: Duration = Duration::from_secs(60);
/// How often it is looked whether it has ended.
pub const ENDING_LOOK: Duration = Duration::from_millis(20);
/// How long it is looked for whoever took the place of a gateway before us.
pub const REPLACED: Duration = Duration::from_secs(3);
/// Bytes of what is kept of the last `up`.
pub const REMEMBERED: u64 = 64 * 1024;
/// So many servers nobody has to be told the sum of.
pub const FEW_SERVERS: usize = 3;
/// Calls that `traffic` remembers to have shown, so that none stands there twice.
pub const TRAFFIC_SHOWN: usize = 100_000;
/// Tools that `stats --bill` names of those that nobody called.
pub const BILL_SHOWN: usize = 20;

// The screen.

/// Messages that the screen has not looked at yet.
pub const SCREEN_MESSAGES: usize = 256;
/// How often a gateway is looked for that is not there.
pub const GATEWAY_LOOK: Duration = Duration::from_millis(500);
/// Bytes of one line that a command writes.
pub const COMMAND_LINE: usize = 64 * 1024;
/// Bytes of what `doctor` prints.
pub const FINDINGS: usize = 4 * 1024 * 1024;
/// Lines of our own log that are kept while the screen is there, to be printed where it
/// ends badly.
pub const KEPT_STDERR: usize = 200;
/// How long the last of it is waited for.
pub const STDERR_END: Duration = Duration::from_millis(500);
/// How long the servers of the host inside may take to end.
pub const HOST_END: Duration = Duration::from_secs(10);
/// Names that an error lists.
pub const NAMED: usize = 20;
/// How often `up` looks whether it has come to the front, where it was in the background.
pub const FRONT_LOOK: Duration = Duration::from_secs(1);
/// Connections of replicas to its servers that a worker takes, unless it is told otherwise.
#[cfg(feature = "cluster")]
pub const WORKER_ROOM: u32 = 1024;
/// Servers that were signed for workers which one has in use at a time, unless it is told
/// otherwise.
#[cfg(feature = "cluster")]
pub const HIRE_ROOM: u32 = 64;
/// Bytes of a file that is applied to a cluster; what is more does not fit.
#[cfg(feature = "cluster")]
pub const APPLIED: u64 = 1024 * 1024;
/// Characters of what somebody says about what is applied.
#[cfg(feature = "cluster")]
pub const NOTE: usize = 200;
