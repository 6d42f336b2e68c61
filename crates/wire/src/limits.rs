//! The caps of this crate, in one place.

/// The largest message any transport accepts, by default.
pub const MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// How deep the envelope scan follows nested values before it refuses.
pub const SCAN_DEPTH: usize = 1024;
/// How deep a tree may be wherever one is built from a payload.
pub const TREE_DEPTH: usize = 128;
/// The longest id that is accepted; longer ones are an invalid request.
pub const ID_BYTES: usize = 8 * 1024;
/// The most messages one batch may hold.
pub const BATCH_MESSAGES: usize = 256;
/// The most parameters one tool may have mirrored into headers.
pub const MIRRORED_PARAMS: usize = 64;
/// How much of an argument's name is compared where a person is shown the arguments:
/// some readers keep no more of a key.
pub const KEY_BYTES: usize = 255;
/// Of messages at least this large, small parts that are kept are copies.
pub const LARGE_BYTES: usize = 16 * 1024;
/// What is left of an item's name at least, however long its server's is.
pub const NAME_KEPT: usize = 24;
/// How many hashes are tried before a collision is left as it is.
pub const NAME_ROUNDS: u64 = 16;
/// Results larger than this may be passed on before their end.
pub const PASS_FROM: usize = 64 * 1024;
/// How much is kept of a key that is cut, in a reply that is passed on before its end. A
/// longer one of the envelope ends it.
pub const PASSED_KEY_BYTES: usize = 4 * 1024;
/// Below this size copying is cheaper than a second piece.
pub const COPY_BELOW: usize = 16 * 1024;

/// Bytes of a `tracestate` that is passed on; a longer one is left out.
pub const TRACESTATE_BYTES: usize = 512;
/// Members of it.
pub const TRACESTATE_MEMBERS: usize = 32;
/// Bytes of a `baggage` that is passed on; a longer one is left out.
pub const BAGGAGE_BYTES: usize = 8192;
