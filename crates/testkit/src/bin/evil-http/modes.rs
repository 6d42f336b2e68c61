//! The modes, with their rows in `docs/design/faults.md`.

/// Name, row, what happens.
pub const MODES: &[(&str, &str, &str)] = &[
    ("none", "-", "nothing at all"),
    (
        "session-404",
        "25",
        "a session is unknown after --after requests",
    ),
    (
        "half-open-sse",
        "26",
        "an event stream with --limit comments (0), one every --delay ms, then not a byte",
    ),
    (
        "retry-zero",
        "27",
        "a stream that says retry: 0 and ends without a reply",
    ),
    (
        "retry-huge",
        "27",
        "a stream that says retry: 10^12 and ends without a reply",
    ),
    (
        "sse-huge-event",
        "28",
        "one event of --limit bytes (256 MiB) that never ends",
    ),
    (
        "sse-huge-line",
        "28",
        "one legal event of --limit bytes (64 MiB)",
    ),
    (
        "sse-comments",
        "28",
        "a million comments (--limit), then the reply",
    ),
    (
        "sse-line-ends",
        "28",
        "CR, LF and CRLF mixed, a BOM, many data lines; the reply is legal",
    ),
    (
        "sse-event-names",
        "28",
        "the reply under an odd event name, with odd fields",
    ),
    ("sse-no-reply", "28", "a stream that ends without a reply"),
    (
        "sse-cut-event",
        "28",
        "a stream that ends in the middle of the reply's event",
    ),
    (
        "sse-orphans",
        "23",
        "replies to other ids, then the reply, twice",
    ),
    (
        "progress-flood",
        "37",
        "100,000 progress notifications (--limit), then the reply",
    ),
    (
        "drip-headers",
        "30",
        "one byte of the headers every --delay ms, for ever",
    ),
    ("drip-body", "30", "one byte of the body every --delay ms"),
    ("hang", "30", "no byte of a response"),
    ("redirect-off-origin", "34", "307 to the second origin"),
    ("redirect-303", "34", "303 to the second origin"),
    ("redirect-loop", "34", "307 to itself"),
    (
        "redirect-same-origin",
        "34",
        "308 to /other on the same origin, which works",
    ),
    ("redirect-scheme", "34", "302 to file:///etc/passwd"),
    ("html-200", "35", "an HTML page with 200"),
    ("empty-200", "35", "200 with no body"),
    ("empty-202", "35", "202 for a request"),
    ("empty-204", "35", "204 for a request"),
    ("wrong-type", "35", "the reply as text/plain"),
    ("no-type", "35", "the reply without a content type"),
    ("not-json", "35", "application/json that is not JSON"),
    ("wrong-id", "5", "a reply to another id"),
    (
        "gzip-bomb",
        "17",
        "a gzip body that grows to --limit bytes (1 GiB)",
    ),
    (
        "endless-body",
        "12",
        "a JSON body of --limit bytes (256 MiB) that never ends",
    ),
    ("reset-body", "50", "a reset in the middle of the body"),
    (
        "cut-body",
        "50",
        "the end of the connection in the middle of the body",
    ),
    ("close", "50", "the end of the connection before any byte"),
    ("length-short", "32", "Content-Length smaller than the body"),
    ("length-two", "32", "two different Content-Length headers"),
    (
        "chunked-garbage",
        "32",
        "chunked, with chunk sizes that are none",
    ),
    ("bad-status", "32", "a status line that is none"),
    ("headers-many", "33", "10,000 headers (--limit)"),
    ("header-huge", "33", "a header of 1 MiB (--limit)"),
    ("status-400", "35", "400 with a plain text"),
    ("status-401", "63", "401 with a challenge"),
    ("status-403", "63", "403 with insufficient_scope"),
    ("status-404", "25", "404 with a plain text"),
    ("status-405", "35", "405"),
    ("status-429", "108", "429 with Retry-After: 1"),
    (
        "status-500",
        "44",
        "500 with an HTML page that holds a secret path",
    ),
    ("status-503", "108", "503 with Retry-After: 1"),
    (
        "session-id-odd",
        "82",
        "a session id of 4 KiB with every visible character",
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
        println!("{name:20} {row:4} {what}");
    }
}
