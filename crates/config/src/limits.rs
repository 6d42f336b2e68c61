//! The caps of this crate, in one place.

use std::time::Duration;

/// Bytes of one configuration file. The largest seen in the wild (a client's
/// own state file with its history) is well below this.
pub const FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Servers that one file may name. Each is judged, and most of them would be started.
pub const SERVERS: usize = 2_000;

/// How long we wait for another writer of the same folder who does not get on.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);

/// How many times that while others get on: each of them writes the file anew.
pub const LOCK_WAITS: u32 = 10;

/// How often we look whether it has finished.
pub const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Files of one client that are looked at, and entries of a folder in which they are
/// looked for.
pub const CLIENT_FILES: usize = 64;

/// See [`CLIENT_FILES`].
pub const CLIENT_FOLDER: usize = 4096;

/// Permission rules of one file; where there are more, nothing is permitted.
pub const RULES: usize = 10_000;
/// Bytes of a client's file that we write into: what it was before is kept whole, and
/// the copy has to stay below [`FILE_BYTES`] when it is written as JSON.
pub const CONNECTED_BYTES: usize = 8 * 1024 * 1024;

/// Bytes and variables of a file that an entry names as `envFile`.
pub const ENV_FILE_BYTES: usize = 1024 * 1024;

/// See [`ENV_FILE_BYTES`].
pub const ENV_FILE_VARIABLES: usize = 1000;

/// Bytes of a file that a text takes in as `${file:path}`.
pub const FILE_VALUE_BYTES: usize = 64 * 1024;

/// Servers in a list of connectors.
pub const CONNECTORS: usize = 500;

/// Characters in the name of a connector.
pub const CONNECTOR_NAME: usize = 128;

/// How long a list of connectors is good before it is fetched again.
pub const CONNECTORS_FRESH: Duration = Duration::from_secs(15 * 60);

/// How long we wait before a list that could not be fetched is asked for again.
pub const CONNECTORS_RETRY: Duration = Duration::from_secs(60);

/// Servers that are named in one sentence; the others are counted.
pub const NAMED_SERVERS: usize = 12;

/// Bytes of programs and scripts of a repository that one approval is bound to.
pub const BOUND_BYTES: u64 = 64 * 1024 * 1024;

/// Files of a repository that one approval is bound to.
pub const BOUND_FILES: usize = 1024;

/// Words of one entry that are looked at to find them.
pub const BOUND_LOOKS: usize = 10_000;

/// Words of one entry that are looked up as programs, to hold the files that they
/// really are against rules.
pub const POLICY_LOOKS: usize = 64;

/// Directories that one entry may name, from each of which its words are looked at.
pub const BOUND_DIRECTORIES: usize = 64;

/// Entries of one directory that a shell's `*` is held against, and files that one
/// word with it may stand for.
pub const BOUND_NAMES: usize = 10_000;

/// See [`BOUND_NAMES`].
pub const BOUND_MATCHES: usize = 256;

/// Manifests of one folder, and bytes of each: what the built-in `tools` takes.
pub const BOUND_MANIFESTS: usize = 256;

/// See [`BOUND_MANIFESTS`].
pub const MANIFEST_BYTES: u64 = 256 * 1024;

/// How much of a script is read to find its interpreter. Systems read 256 bytes.
pub const FIRST_LINE_BYTES: u64 = 4 * 1024;

/// How many links a path may go through, as the system has it.
pub const LINKS: usize = 40;

/// Letters of a bundle of options behind which the name of a module is looked for.
pub const GLUED_LETTERS: usize = 64;
/// Milliseconds that a process may be unused at most by the word of a repository's
/// entry, where the user's settings say nothing: as long as it is by default.
pub const IDLE: u64 = 30 * 60 * 1000;

/// Copies of a server that an entry of type `worker` can ask for.
pub const WORKER_COPIES: u32 = 64;
