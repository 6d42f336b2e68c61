//! Starting and ending server processes, and the keeper, by which nothing
//! survives our own death.
//!
//! A server runs in a process group of its own, with an environment from an
//! allow list, three pipes and nothing else of ours. It ends with all that it
//! started: by the ladder, or at once when the [`ServerProcess`] is dropped.
//! Nothing here knows of messages: framing is `transport`'s.
//!
//! | module | what |
//! |---|---|
//! | `command`, `environment`, `surroundings`, `tag` | what is started, and with what |
//! | `stderr`, `kept` | what it writes to stderr: the last of it in memory, more on disk |
//! | `room` | empty directories to start in |
//! | `child` | a running server and its pipes |
//! | `family`, `kin` | which processes are the server's |
//! | `ladder` | how they end |
//! | `table`, `registry` | the machine's processes, and ours among them |
//! | `descendants` | everything below us, whosever it is |
//! | `usage` | what processes use of the machine |
//! | `caps`, `cgroup` | what a server may use of it, and who sees to that |
//! | `orphans` | what nobody looks after, for telling |
//! | [`keeper`] | the program as three processes, each of which ends what the others leave |
//! | [`descriptors`] | how many files may be open, here and in what we start |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod caps;
mod cgroup;
mod child;
mod command;
mod descendants;
pub mod descriptors;
mod desktop;
mod environment;
mod exit;
mod family;
pub mod keeper;
mod kept;
mod kin;
mod ladder;
mod limits;
mod orphans;
mod registry;
mod room;
mod stderr;
mod surroundings;
mod table;
mod tag;
mod usage;

pub use caps::{Caps, Holding, Passed, holding};
pub use child::{ExitWatch, ServerProcess, passed_caps};
pub use command::{ServerCommand, SpawnError, Start};
pub use desktop::notify;
pub use environment::{for_children, path_outside, without_secrets};
pub use exit::Exit;
pub use kept::put_aside;
pub use ladder::{GIVE_UP_AFTER, KILL_AFTER, Rung, Stopped, TERMINATE_AFTER};
pub use orphans::{Orphan, orphans};
pub use room::Room;
pub use stderr::{KEPT as STDERR_KEPT, LineSink, StderrRing};
pub use surroundings::{Inherit, ROWS as INHERITED, Row as InheritedRow, Table};
pub use usage::{Usage, age_of, own_usage, usage_of};
