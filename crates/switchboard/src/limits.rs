//! The caps of what is assembled here, in one place.

use std::time::Duration;

/// Calls that one connection to a server of one's own may have in flight.
pub const CALLS: usize = 1024;
/// Chunks of stdin that such a server reads ahead.
pub const READ_AHEAD: usize = 8;
/// The size of one, in bytes.
pub const CHUNK: usize = 16 * 1024;

/// Bytes between a client on our own streams and servers of its own before the writer
/// waits.
pub const PIPE_BYTES: usize = 64 * 1024;
/// The largest private key that is read.
pub const KEY_BYTES: u64 = 64 * 1024;
/// How long a gateway on this machine may take to answer what needs nobody
/// else. One that is frozen, or has no room left, is passed by.
pub const PROMPT: Duration = Duration::from_secs(1);
/// How long it may take to read its configuration again.
pub const RELOAD: Duration = Duration::from_secs(10);
/// No answer is longer.
pub const CONTROL_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Event streams of `/api/v1` at once; one listener has at most half of what others leave.
pub const API_STREAMS: usize = 256;
/// How many of them are kept for operators, admins and the control token.
pub const API_STREAMS_KEPT: usize = 32;
/// Events of one topic that are kept for whoever comes back.
pub const API_EVENTS_KEPT: usize = 1024;
/// Bytes of them.
pub const API_EVENTS_BYTES: usize = 4 * 1024 * 1024;
/// Characters of a question's own words that lists and events have; one question has all.
pub const API_QUESTION_TEXT: usize = 1000;
/// Bytes of what a question is about that an event has; one that has more is fetched.
pub const API_QUESTION_BYTES: usize = 4 * 1024;
/// Bytes of all questions in a list; those after it are shortened as in events.
pub const API_QUESTIONS_BYTES: usize = 4 * 1024 * 1024;
/// How often it is looked for what changed while somebody listens.
pub const API_LOOK: Duration = Duration::from_secs(1);
/// How often it is looked at what processes use, at most.
pub const API_MEASURE: Duration = Duration::from_secs(2);
/// What changes within this time is told together.
pub const API_TOGETHER: Duration = Duration::from_millis(20);
/// How old the count of a server's lists may be although they are the same: rules and
/// pins may have changed.
pub const API_COUNT: Duration = Duration::from_secs(3);
/// Single-use codes that are good at once.
pub const API_CODES: usize = 16;
/// How long a code is good.
pub const API_CODE_GOOD: Duration = Duration::from_secs(60);
/// Sessions at once that codes opened.
pub const API_SESSIONS: usize = 64;
/// Sign-ins at an identity provider that newer tokens are had for.
pub const API_SIGN_INS: usize = 1024;
/// How many of them are one principal's; a newer one takes the place of its oldest.
pub const API_SIGN_INS_EACH: usize = 16;
/// A session that nobody has used for this long ends.
pub const API_SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest event that is read of a gateway.
pub const API_EVENT_BYTES: usize = 4 * 1024 * 1024;
/// How long a gateway may take to begin an answer that has to ask servers.
pub const API_ANSWER: Duration = Duration::from_secs(120);
/// The same for a call, which its own limits end much earlier: longer than any of them.
pub const API_CALL: Duration = Duration::from_secs(200_000);
/// Items of a list that are answered.
pub const API_LIST: usize = 5000;
/// Records on one page, unless it is said how many.
pub const API_PAGE: usize = 200;
/// Bytes of a server's stderr that are looked at.
pub const API_STDERR_BYTES: u64 = 256 * 1024;
/// Lines of it.
pub const API_STDERR_LINES: usize = 1000;
/// Bytes that are read of what a sign-in's own place says to whoever comes back to it.
pub const API_COME_BACK_BYTES: u64 = 64 * 1024;
/// Bytes of a snippet.
pub const API_SNIPPET: usize = 256 * 1024;
/// Tools that one request writes rules for.
pub const API_RULES: usize = 500;
/// Entries that wait for approval.
pub const API_PROPOSALS: usize = 32;
/// Bytes of such an entry.
pub const API_PROPOSAL_BYTES: usize = 128 * 1024;
/// Bytes of the file that keeps one.
pub const API_PROPOSAL_FILE_BYTES: u64 = 1024 * 1024;
/// Files that are looked at for them.
pub const API_PROPOSAL_FILES: usize = 256;
/// How long they are kept, in milliseconds.
pub const API_PROPOSAL_KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// The same for what it knows without asking anybody.
pub const API_PROMPT: Duration = Duration::from_secs(5);
/// How long an event stream may be silent before its gateway counts as gone.
pub const API_SILENCE: Duration = Duration::from_secs(60);
/// How often a gateway asks itself whether it is time.
pub const CONNECTORS_LOOK: Duration = Duration::from_secs(1);
/// How often files are looked at.
pub const FILES_LOOK: Duration = Duration::from_secs(1);
/// Files that are looked at.
pub const FILES_WATCHED: usize = 1000;
/// How often the sources of a server that is developed are looked at.
pub const SOURCES_LOOK: Duration = Duration::from_millis(250);
/// How much longer than a look takes is waited for the next one, where there are many.
pub const SOURCES_REST: u32 = 10;
/// How long is waited for it at most.
pub const SOURCES_LOOK_LONGEST: Duration = Duration::from_secs(5);
/// How long they must have stayed as they are before it starts again: several files are
/// often written at once.
pub const SOURCES_QUIET: Duration = Duration::from_millis(150);
/// How long is waited for that.
pub const SOURCES_SETTLE: Duration = Duration::from_secs(3);
/// Sources that are looked at.
pub const SOURCES_WATCHED: usize = 20_000;
/// Folders that are looked into for them.
pub const SOURCES_FOLDERS: usize = 5_000;
/// How long built-in servers may take to end what they have started.
pub const BUILTIN_CLOSING: Duration = Duration::from_secs(3);
/// Characters of a server's name that a file's name keeps.
pub const LOG_NAME_CHARS: usize = 100;
/// How often a worker looks again whether it can run what it could not.
pub const HIRES_LOOK: Duration = Duration::from_secs(10);
/// How often it is looked at what was approved.
pub const PINS_LOOK: Duration = Duration::from_secs(1);
/// How long a start may keep its place. One that takes longer goes on without
/// it, so that a slow or broken server never holds up another.
pub const START_PLACE: Duration = Duration::from_secs(3);
/// Requests whose answers are waited for; more than a client may have in flight.
pub const RELAY_UNANSWERED: usize = 64 * 1024;
/// Questions that a client has not answered.
pub const RELAY_QUESTIONS: usize = 4096;
/// Subscriptions that are made again.
pub const RELAY_SUBSCRIPTIONS: usize = 4096;
/// How long nothing may come while an answer is owed before the gateway is asked
/// whether it is there.
pub const RELAY_SILENCE: Duration = Duration::from_secs(5);
/// How long that may take. While somebody is let in nothing else is read.
pub const RELAY_PROBE: Duration = Duration::from_secs(15);
/// How much longer than it gives what is in flight a gateway may take to finish, once the
/// client of a relay has closed its end.
pub const RELAY_GRACE: Duration = Duration::from_secs(2);
/// How long the client may take to take the last of it.
pub const RELAY_LAST_WRITE: Duration = Duration::from_secs(1);
/// Bytes that may wait for the client before nothing more is read for it.
pub const RELAY_WAITING_BYTES: usize = 1024 * 1024;
/// No answer to the handshake is longer.
pub const RELAY_HEAD_BYTES: usize = 16 * 1024;
/// Notes that are looked at; more gateways than this nobody runs.
pub const NOTES: usize = 64;
/// No note is longer.
pub const NOTE_BYTES: u64 = 64 * 1024;
/// How often a gateway looks at its note.
pub const NOTE_RENEWAL: Duration = Duration::from_secs(5);
/// How often we look whether somebody has signed in elsewhere.
pub const SIGNED_IN_LOOK: Duration = Duration::from_secs(2);
/// How long answers on their way out are waited for at the end.
pub const STAND_IN_FAREWELL: Duration = Duration::from_secs(2);
/// Calls at once; each of them waits for the same sign-in.
pub const STAND_IN_CALLS: usize = 64;
/// Longer than any token; a file with more is not one.
pub const TOKEN_FILE_BYTES: u64 = 4096;
/// A token shorter than this could be guessed.
pub const SHORTEST_TOKEN: usize = 16;
/// A folder's time may stand still for as long as this while it changes.
pub const FOLDER_GRAIN: Duration = Duration::from_millis(100);
/// How long a connection to the list of connectors may take.
pub const CONNECTORS_CONNECT: Duration = Duration::from_secs(5);
/// How long fetching the list of connectors may take.
pub const CONNECTORS_TOTAL: Duration = Duration::from_secs(10);
/// The largest list of connectors.
pub const CONNECTORS_BYTES: usize = 1024 * 1024;

/// How long a gateway rests before it connects again to servers that must be there and
/// are not.
pub const REQUIRED_LOOK: Duration = Duration::from_secs(5);

/// Calls in an answer of `GET calls` where nobody says how many.
pub const API_CALLS_PAGE: usize = 100;
/// Calls in an answer of `GET calls`.
pub const API_CALLS_MOST: usize = 1000;
/// Searches of messages at once; everybody has one.
pub const API_SEARCHES: usize = 4;
/// Searches of one who asks that wait for their turn.
pub const API_SEARCHES_WAITING: usize = 4;
/// How long they wait.
pub const API_SEARCH_TURN: Duration = Duration::from_secs(2);
/// Bytes of messages that have the text of one search, and are looked through again without
/// their secrets.
pub const API_SEARCH_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an answer that is made piece by piece, before they are sent.
pub const API_PIECE: usize = 64 * 1024;
/// How long whoever asked may take nothing of it.
pub const API_PIECE_TAKEN: Duration = Duration::from_secs(60);
/// Looks at files and lists at once, each on a thread of its own.
pub const API_LOOKS: usize = 16;
/// How many of them are one principal's, or one session's.
pub const API_LOOKS_EACH: usize = 4;
/// How many more of one's wait for their turn.
pub const API_LOOKS_WAITING: usize = 32;
/// Letters of a server's name that is added.
pub const API_NAME: usize = 128;
/// Bytes of a filter.
pub const API_FILTER_BYTES: usize = 4096;
/// Bytes of messages that are looked through at once, without a turn.
pub const API_READ_AT_ONCE: usize = 32 * 1024;
/// How often it is looked for calls that began or ended, while somebody listens.
pub const API_CALLS_LOOK: Duration = Duration::from_millis(100);
/// How often a call is made again at most.
pub const API_REPLAYS: u32 = 100;
/// Steps of a path at which an argument is set: nobody nests arguments so deep.
pub const API_PATH_STEPS: usize = 64;
/// Arguments that are set at once.
pub const API_PUTS: usize = 1000;
/// Differences between two results that are told.
pub const API_DIFFERENCES: usize = 200;

/// Days for which it is remembered that a tool was called.
pub const USES_DAYS: u64 = 30;
/// Tools of which that is remembered.
pub const USES_TOOLS: usize = 5000;
/// Bytes of the file that remembers it.
pub const USES_BYTES: u64 = 4 * 1024 * 1024;
/// How often it is written, where anything changed.
pub const USES_LOOK: Duration = Duration::from_secs(60);

/// How often it is looked what servers wait for, while somebody wants to know.
pub const STANDING_LOOK: Duration = Duration::from_secs(2);
/// Breakpoints that are set at once.
pub const BREAKPOINTS: usize = 32;
/// How long they stay after somebody last looked at what waits.
pub const BREAKPOINT_PATIENCE: Duration = Duration::from_secs(600);
/// Schemas that say something about one field of a form, where secrets are put back.
pub const FORM_ALTERNATIVES: usize = 64;
/// Questions about servers that are shown.
pub const STANDING_OPEN: usize = 256;
/// Those that were answered and can still be looked up.
pub const STANDING_CLOSED: usize = 100;
/// What is told of questions elsewhere at one time.
pub const OUT_UNDER_WAY: usize = 16;
/// How often it is tried to tell one.
pub const OUT_TRIES: u32 = 4;
/// The first pause before it is tried again; each is four times the one before.
pub const OUT_PAUSE: Duration = Duration::from_millis(500);
/// How long one try may take.
pub const OUT_TRY: Duration = Duration::from_secs(10);
/// Characters of what a desktop is told.
pub const OUT_TITLE: usize = 200;
/// Addresses at which questions can be answered once.
pub const OUT_TICKETS: usize = 1024;
/// How long after an answer a sign-in is asked for again, in milliseconds, where nobody
/// made it.
pub const SIGN_IN_AGAIN_MS: u64 = 120_000;
/// How large a page of a server's may be that is shown in the console.
pub const APP_BYTES: usize = 4 * 1024 * 1024;
/// How many of them wait for their frame to fetch them.
pub const APP_PAGES: usize = 8;
/// How long one waits for that.
pub const APP_KEPT: Duration = Duration::from_secs(30);
/// How many hosts of one kind a page's wishes are looked at for.
pub const APP_HOSTS: usize = 32;
/// How many resources are watched for whoever looks at a page.
pub const API_WATCHED: usize = 64;
/// How long the address of one may be.
pub const API_URI: usize = 4096;

/// How long a gateway that is to take another's place may take until it serves.
pub const HANDOVER: Duration = Duration::from_secs(60);
/// The pause after somebody who wanted our place could not be heard.
pub const HANDOVER_PAUSE: Duration = Duration::from_millis(100);
/// Sockets that are handed over.
pub const HANDED: usize = 8;
/// Bytes of what is said beside the sockets.
pub const HANDOVER_BYTES: u32 = 4096;

/// By how much a replica may be ahead of what is kept of what was applied.
pub const APPLIED_LEAP: u64 = 1_000_000;

/// How long a gateway that ends has for copying what it recorded last to other replicas.
pub const RECORDS_END: Duration = Duration::from_secs(3);
