//! Messages as lines: the stdio transport, for a child process, for our own
//! standard streams, or for any other pair of byte streams.

mod lines;
mod link;
mod reader;
mod writer;

pub use lines::{LineError, Lines};
pub use link::StdioLink;
pub use reader::nobody_reads_stdout;
pub use writer::LineWriter;
