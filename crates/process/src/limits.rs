//! The caps of this crate, in one place.

use std::time::Duration;

/// How long one look for those who start others while they are killed may take.
pub(crate) const NEW_FACES: Duration = Duration::from_millis(50);
/// Directories of servers that were killed that are removed when one is made.
pub(crate) const ROOMS_TIDIED: usize = 256;
/// How often another name is tried for an empty directory.
pub(crate) const ROOM_TRIES: usize = 16;

/// Bytes of what one server writes to stderr that are kept on disk, in two files.
pub(crate) const STDERR_KEPT: u64 = 64 * 1024 * 1024;
/// The same of all servers together; the oldest files go first.
pub(crate) const STDERR_KEPT_ALL: u64 = 1024 * 1024 * 1024;
/// Files of that kind; the oldest go first.
pub(crate) const STDERR_FILES: usize = 500;
/// Someone who cannot be killed (another user's, or asleep in the kernel) must
/// not keep us for ever.
pub(crate) const UNKILLABLE_AFTER: Duration = Duration::from_secs(2);
/// Nor before they were looked for this often, each time killed again.
pub(crate) const UNKILLABLE_LOOKS: u32 = 8;
/// How long killing all that is below us may take, where new ones keep coming.
pub(crate) const KILLING: Duration = Duration::from_secs(30);
/// How often those of one server are killed at least before they count as unkillable.
pub(crate) const KILLS_AT_LEAST: u32 = 3;
/// A dead child that nobody waited for in this time is nobody's.
pub(crate) const ORPHANED_AFTER: Duration = Duration::from_millis(500);
/// The same for one of our own group, which more likely is somebody's.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);
/// How long after the first news of dead children they are looked for.
pub(crate) const SWEEP_AFTER: Duration = Duration::from_millis(50);
/// How often we ask for the guard where its end does not show by itself.
pub(crate) const GUARD_ASKED_EVERY: Duration = Duration::from_millis(100);
/// How long the disk may take before what comes is not kept any more: the server
/// would have to wait with us.
pub(crate) const STDERR_DISK: Duration = Duration::from_secs(2);
/// SIGTERM is sent this long after SIGINT.
pub const TERMINATE_AFTER: Duration = Duration::from_millis(100);
/// SIGKILL is sent this long after SIGINT.
pub const KILL_AFTER: Duration = Duration::from_millis(500);
/// Nobody is waited for longer than this.
pub const GIVE_UP_AFTER: Duration = Duration::from_millis(600);
/// Those who left the group got no SIGINT with it: once only they are left,
/// they get SIGTERM, and this long to follow it.
pub(crate) const OUTSIDERS_GRACE: Duration = Duration::from_millis(100);
/// How much of the end is kept in memory.
pub const STDERR_IN_MEMORY: usize = 64 * 1024;
/// A longer line goes to the sink in pieces of this size.
pub(crate) const STDERR_LINE: usize = 8 * 1024;
/// A longer line is cut in an error message.
pub(crate) const STDERR_LINE_SHOWN: usize = 1000;
/// How long a server may use more of the processor than it may, on average.
pub(crate) const CPU_WINDOW: Duration = Duration::from_secs(10);
/// How many looks at it are kept.
pub(crate) const CPU_SAMPLES: usize = 128;
/// Microseconds in which the kernel gives a server its share of the processor.
pub(crate) const CPU_PERIOD: u64 = 100_000;
/// Threads that each process of a server may have where the kernel counts them.
pub(crate) const THREADS_EACH: u64 = 64;
/// How many times the memory that a server may use each of its processes may ask for,
pub(crate) const DATA_TIMES: u64 = 4;
/// and in any case this much.
pub(crate) const DATA_LEAST: u64 = 256 * 1024 * 1024;
/// No environment is longer than the kernel lets a command line be.
pub(crate) const ENVIRONMENT_BYTES: u64 = 8 * 1024 * 1024;
/// How often newcomers are looked for, and how many at once.
pub(crate) const NEWCOMER_ROUNDS: usize = 20;
/// How long a process whose pipes have just closed may take to end.
pub(crate) const EXIT_SOON: Duration = Duration::from_millis(250);
/// How often it is looked whether a process has ended, where nothing tells.
pub(crate) const EXIT_LOOK: Duration = Duration::from_millis(20);
/// How soon it is looked again whether anybody is left of a group whose leader has ended.
pub(crate) const GROUP_PAUSE: Duration = Duration::from_millis(100);
/// No such pause is longer.
pub(crate) const LONGEST_GROUP_PAUSE: Duration = Duration::from_secs(5);
/// How soon it is looked again whether those who were killed are gone.
pub(crate) const DEATH_LOOK: Duration = Duration::from_micros(500);
/// No such pause is longer.
pub(crate) const LONGEST_DEATH_LOOK: Duration = Duration::from_millis(10);
/// How often it is looked in a row whether nobody of a server is left, while processes end.
pub(crate) const LOOKS_FOR_THE_LAST: usize = 4;
/// How long those who are killed at once may take to be gone.
pub(crate) const KILLED_AT_ONCE: Duration = Duration::from_millis(100);
/// How long a start under way may hold up the end of everything.
pub(crate) const STARTS_HELD: Duration = Duration::from_millis(100);
/// How soon a process is looked at again that is just becoming another program.
pub(crate) const BECOMING_PAUSE: Duration = Duration::from_micros(200);
/// How long telling the desktop something may take.
pub(crate) const NOTIFY: Duration = Duration::from_secs(5);
/// How long the worker may take to give its terminal back before the keeper stops.
pub(crate) const STOPS_WITHIN: Duration = Duration::from_secs(1);
/// How often it is looked whether it has.
pub(crate) const STOPPED_LOOK: Duration = Duration::from_millis(5);
/// Processes above us that are looked through for a shell.
pub(crate) const ANCESTORS: usize = 64;
