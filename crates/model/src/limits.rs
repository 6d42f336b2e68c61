//! The caps and times of this crate, in one place.

use std::time::Duration;

// What a model is shown.

/// Characters of a tool's description (and of a server's instructions) that a model gets.
pub const DESCRIPTION_CHARS: usize = 2048;
/// Bytes of a tool's schema beyond which a model gets an open object instead: it would cost 64,000 tokens.
pub const MODEL_SCHEMA_BYTES: usize = 256 * 1024;
/// Levels of subschemas that a model gets; model APIs refuse very deep ones.
pub const MODEL_SCHEMA_DEPTH: usize = 16;
/// Bytes that count as one token where nothing better is known. An estimate, and shown as one.
pub const BYTES_PER_TOKEN: usize = 4;

/// Tokens of a result, estimated, beyond which it goes to a file (`MAX_MCP_OUTPUT_TOKENS`).
pub const RESULT_TOKENS: usize = 25_000;
/// Characters of a result beyond which it goes to a file.
pub const RESULT_CHARS: usize = 100_000;
/// The most that a tool's `anthropic/maxResultSizeChars` can raise that to.
pub const RESULT_CHARS_CEILING: usize = 500_000;
/// Bytes of one blob, image or sound in a result, decoded. More than the message cap lets
/// through by default; it holds where that setting was raised.
pub const BLOB_BYTES: usize = 64 * 1024 * 1024;
/// Images of one result that a model gets; further ones go to files. Model APIs judge requests with more strictly.
pub const RESULT_IMAGES: usize = 20;
/// Bytes, in base64, of all images of one result: half of what one API request may weigh.
pub const RESULT_IMAGE_BYTES: usize = 16 * 1024 * 1024;
/// Content items of one result that are converted one by one.
pub const RESULT_ITEMS: usize = 10_000;
/// The longer edge of an image for a model. APIs take 8,000 pixels, but only 2,000 in a
/// request with more than 20 images, and an image stays in the conversation.
pub const IMAGE_EDGE: u32 = 2000;
/// Bytes of an image for a model: APIs take 5 MiB of base64.
pub const IMAGE_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;
/// Pixels that an image may declare before it is decoded: 200 MB in memory at four bytes each.
pub const IMAGE_PIXELS: u64 = 50_000_000;
/// Memory that decoding one image may take.
pub const IMAGE_ALLOC: u64 = 256 * 1024 * 1024;

/// How long a large result is kept.
pub const STORE_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Bytes of all large results together; the oldest go first.
pub const STORE_BYTES: u64 = 1024 * 1024 * 1024;
/// Files of large results; the oldest go first.
pub const STORE_FILES: usize = 2000;
/// Lines of one page that is read back.
pub const PAGE_LINES: usize = 2000;
/// Characters of one page that is read back: well under what would be stored again.
pub const PAGE_CHARS: usize = 50_000;
/// Characters of one line of a page; a longer one counts as several.
pub const PAGE_LINE_CHARS: usize = 2000;
/// Memory that a pattern to search with may take when it is compiled.
pub const PATTERN_BYTES: usize = 1024 * 1024;

// Checking values against schemas.

/// How long one validation may take.
pub const VALIDATION: Duration = Duration::from_millis(100);
/// The same for calls of the program's own, and of an agent: they wait anyway.
pub const PATIENT_VALIDATION: Duration = Duration::from_secs(2);
/// Validations that may run at once, abandoned ones included.
pub const VALIDATIONS_AT_ONCE: usize = 16;
/// Stack of a validation: it recurses over value and schema together.
pub const VALIDATION_STACK: usize = 64 * 1024 * 1024;
/// Bytes of a schema that values are checked against.
pub const SCHEMA_BYTES: usize = 1024 * 1024;
/// Subschemas of a schema that values are checked against.
pub const SCHEMA_NODES: usize = 10_000;
/// Patterns of such a schema.
pub const SCHEMA_PATTERNS: usize = 256;
/// Patterns for the names of one object's members; each is tried on each name.
pub const SCHEMA_NAME_PATTERNS: usize = 32;
/// How many subschemas may apply to one and the same value, each inside or referred to by the
/// one before: each step costs stack, at every level of the value.
pub const SCHEMA_CHAIN: usize = 128;
/// Bytes of a value that is checked.
pub const CHECKED_BYTES: usize = 4 * 1024 * 1024;
/// Compiled schemas that are kept.
pub const SCHEMAS_KEPT: usize = 512;
/// Characters of a pattern that are told.
pub const PATTERN_TOLD: usize = 200;
/// Faults of one value that are told.
pub const ISSUES_TOLD: usize = 8;

// Finding tools.

/// A model's context window in tokens, unless the agent says otherwise.
pub const CONTEXT_WINDOW: usize = 200_000;
/// Tools that a search returns unless told otherwise, and at most.
pub const FOUND_TOOLS: (usize, usize) = (5, 50);
/// Characters of a search query that are read.
pub const QUERY_CHARS: usize = 1000;
/// Words of one tool that are indexed: a longer text would only drown the others.
pub const INDEXED_WORDS: usize = 600;
/// Characters of the start that are shown all the same.
pub const PREVIEW_CHARS: usize = 500;
/// Levels that are described.
pub const DESCRIBED_DEPTH: usize = 3;
/// Keys of one object that are named.
pub const DESCRIBED_KEYS: usize = 10;
/// Characters of one key.
pub const DESCRIBED_KEY_CHARS: usize = 60;
/// How long a look at the directory counts.
pub const STORE_LOOK: Duration = Duration::from_secs(3600);
/// Characters before and after a match in a line that is too long to show.
pub const MATCH_AROUND: usize = 200;
/// References that are followed at the root, and combinators inside combinators.
pub const ROOT_STEPS: usize = 16;
/// Branches at the root that are merged, all together.
pub const ROOT_BRANCHES: usize = 500;
/// The most characters of an argument's name.
pub const ARGUMENT_NAME_CHARS: usize = 64;
/// Faults that are left out one by one before everything is given up.
pub const SOUND_ROUNDS: usize = 64;
/// Characters of a value that are quoted.
pub const QUOTED_CHARS: usize = 80;
/// Values of an `enum` that are named.
pub const NAMED_VALUES: usize = 20;
/// Alternatives inside alternatives that are told.
pub const NESTED_ALTERNATIVES: usize = 3;

/// Fields of a form that are drawn; what is beyond them is filled in as text.
pub const FORM_FIELDS: usize = 500;
/// How deep forms go.
pub const FORM_DEPTH: usize = 8;
