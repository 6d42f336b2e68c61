//! The modes, with their rows in `docs/design/faults.md`.

/// Name, row, what happens.
pub const MODES: &[(&str, &str, &str)] = &[
    ("none", "-", "nothing at all"),
    // At the start
    (
        "banner",
        "2",
        "banner, blank lines, BOM and npx noise before and between messages",
    ),
    ("crash-start", "44", "exits with 1 and a message on stderr"),
    (
        "crash-loop",
        "44",
        "answers the handshake, then exits at once",
    ),
    ("hang-start", "45", "reads, never answers"),
    ("exit-on-probe", "39", "exits when server/discover arrives"),
    ("silent-probe", "39", "never answers server/discover"),
    (
        "odd-probe",
        "39",
        "answers server/discover with things that are no result",
    ),
    ("deaf", "43", "never reads stdin"),
    (
        "stderr-flood",
        "43",
        "writes to stderr without a newline, up to --limit bytes",
    ),
    (
        "stubborn",
        "41",
        "ignores SIGINT, SIGTERM and the end of stdin",
    ),
    (
        "control-text",
        "15 16",
        "ANSI, OSC, bidi, CR LF in names, descriptions, results, stderr",
    ),
    // tools/list
    ("pages-same", "11", "every page has the same cursor"),
    ("pages-fresh", "11", "every page has a new cursor"),
    ("pages-empty", "11", "every page has the cursor \"\""),
    ("pages-huge", "11", "every page has a new cursor of 1 MiB"),
    (
        "pages-slow",
        "11",
        "every page takes --delay ms and has a new cursor",
    ),
    ("tools-many", "12", "50,000 tools (--limit)"),
    (
        "description-huge",
        "12",
        "a description of 50 MiB (--limit)",
    ),
    (
        "bad-tool",
        "13",
        "one bad tool among 100, another kind of bad for each list",
    ),
    (
        "bad-header",
        "14",
        "tools with CR LF, empty and case-duplicate x-mcp-header",
    ),
    // The tool `strike`
    (
        "endless-line",
        "1",
        "a reply that never ends, up to --limit bytes",
    ),
    ("half-line", "1", "half a reply, then silence"),
    ("deep", "3", "a result nested 100,000 deep (--limit)"),
    ("odd-ids", "5", "replies with odd ids, then the right one"),
    ("bad-utf8", "6", "a reply with invalid UTF-8"),
    ("nul", "6", "a reply with a raw NUL byte"),
    (
        "cr-only",
        "6",
        "a reply that ends with CR only, then one with LF",
    ),
    ("batch", "7", "the reply inside an array"),
    (
        "server-request",
        "7",
        "a request from the server before the reply, also in the modern era",
    ),
    ("huge-result", "12", "a result of 1 GiB of base64 (--limit)"),
    (
        "late-reply",
        "23",
        "the reply comes after --delay ms, cancelled or not",
    ),
    ("duplicate-reply", "23", "the reply comes twice"),
    (
        "orphan-reply",
        "23",
        "replies to ids that nobody used come first",
    ),
    (
        "progress-flood",
        "37",
        "100,000 progress notifications (--limit), then the reply",
    ),
    (
        "log-flood",
        "37",
        "100,000 log messages (--limit), then the reply",
    ),
    (
        "list-changed-storm",
        "38",
        "200 tools/list_changed (--limit), then the reply",
    ),
    ("deaf-later", "43", "stops reading stdin for good"),
    ("crash-call", "44", "exits with 3"),
    ("hang-call", "46", "never replies"),
    (
        "endless-progress",
        "46",
        "sends progress for ever and never replies",
    ),
    ("large-notices", "31", "sends notices of 8 MiB without end"),
    (
        "ask-elicitation",
        "47",
        "asks elicitation/create during the call",
    ),
    (
        "ask-sampling",
        "47",
        "asks sampling/createMessage during the call",
    ),
    ("ask-unknown", "47", "asks something that no client has"),
    (
        "ask-and-hang",
        "47",
        "asks elicitation/create and never replies",
    ),
    ("input-required", "48", "asks for input for ever (modern)"),
    (
        "bad-result",
        "19",
        "a reply with neither result nor error, one with both, then the right one",
    ),
];

/// Whether there is such a mode.
pub fn known(mode: &str) -> bool {
    MODES.iter().any(|(name, _, _)| *name == mode)
}

/// Prints the table.
#[expect(clippy::print_stdout, reason = "the result of --list-modes")]
pub fn print() {
    for (name, row, what) in MODES {
        println!("{name:20} {row:6} {what}");
    }
}
