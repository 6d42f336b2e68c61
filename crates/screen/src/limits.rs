//! The caps and times of this crate, in one place.

use std::time::Duration;

/// The least time between two frames: ten in a second.
pub const FRAME: Duration = Duration::from_millis(100);
/// How often a server's stderr is read again while it is looked at.
pub const FOLLOW: Duration = Duration::from_millis(1000);
/// How often a running call is looked at for its progress.
pub const PROGRESS: Duration = Duration::from_millis(500);
/// Calls that are kept for the list.
pub const CALLS: usize = 500;
/// Lines of a command's output that are kept; older ones go.
pub const OUTPUT_LINES: usize = 5_000;
/// Characters of one line of output.
pub const OUTPUT_LINE: usize = 4_096;
/// Lines of a text or a tree that can be scrolled through.
pub const TEXT_LINES: usize = 20_000;
/// Characters of one line of a tree.
pub const TREE_LINE: usize = 2_000;
/// Places in which a call that was made again differs, that are shown.
pub const DIFFERENCES: usize = 50;
/// Lines of each side of one of them.
pub const DIFFERENCE_ROWS: usize = 6;
/// Commands that are remembered.
pub const HISTORY: usize = 200;
/// Characters of one field or of the command line.
pub const INPUT_CHARS: usize = 65_536;
/// Pages on top of each other; going further leaves the oldest.
pub const PAGES: usize = 16;
/// Running calls whose page was left for a view; leaving more forgets the page of the oldest.
pub const ASIDE: usize = 8;
/// Columns that a label takes before a line of an entry.
pub const LABEL: usize = 12;
/// Columns that a label takes before something that is known of a server or a question.
pub const FACT: usize = 9;
/// Columns that the bar has before what a page is called.
pub const TITLE: usize = 12;
/// Columns below which a list has no room for all of its own.
pub const NARROW: usize = 36;
/// Levels of a form; what lies deeper is written as JSON.
pub const FORM_DEPTH: usize = 6;
/// Items of one array, and fields of a form in all.
pub const FORM_ITEMS: usize = 500;
/// Marks on one character; a terminal shows few, and hostile texts have thousands.
pub const MARKS: usize = 4;
/// Completions that are offered.
pub const COMPLETIONS: usize = 200;
/// Bytes that are put into the clipboard: terminals take no more.
pub const COPY_BYTES: usize = 74_000;
