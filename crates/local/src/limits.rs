//! The caps and times of this crate, in one place.

/// Lines of either side beyond which they are not compared one by one: all that is
/// not the same at both ends went or came.
pub const COMPARED_LINES: usize = 2000;
/// How many are remembered. Configurations have a few dozen.
pub const SECRETS: usize = 4096;
/// Shorter ones are parts of words.
pub const SHORTEST_SECRET: usize = 6;
/// Longer ones are files, and nobody repeats them whole.
pub const LONGEST_SECRET: usize = 16 * 1024;
/// A reference to a variable in a text, with its default, is no longer.
pub const LONGEST_REFERENCE: usize = 1024;
/// The deepest nesting that is read.
pub const YAML_DEPTH: usize = 64;

/// A longer value under the name `key` is no name that people give things.
pub const LONGEST_NAMED: usize = 64;
