//! The caps and times of this crate, in one place.

use std::time::Duration;

/// How long a server may take to start and shake hands (`MCP_TIMEOUT`).
pub const CONNECT: Duration = Duration::from_secs(30);
/// How long a tool call may take (`MCP_TOOL_TIMEOUT`).
pub const TOOL_CALL: Duration = Duration::from_millis(100_000_000);
/// How long any other request may take (`MCP_REQUEST_TIMEOUT_MS`).
pub const REQUEST: Duration = Duration::from_secs(60);
/// How long a stdio server may be silent after `server/discover` before `initialize` is sent as well.
pub const PROBE_SILENCE: Duration = Duration::from_secs(3);
/// How long a server of which enough is known is left alone after a list was
/// asked for, so that the answers of a start are not held up by what it starts.
pub const KNOWN_PAUSE: Duration = Duration::from_millis(100);
/// How long the first merged list waits for servers of which no list is known yet,
/// where it is not known how long its client waits.
pub const FIRST_LIST: Duration = Duration::from_secs(8);
/// How long a server may give no sign of life before the first merged list is
/// answered without it, once all others are there.
pub const SILENCE: Duration = Duration::from_secs(3);
/// How often it is looked for a sign of life.
pub const SILENCE_LOOK: Duration = Duration::from_millis(250);
/// How long a handshake waits for servers that have not introduced themselves, and
/// a list for servers of which an older one is known.
pub const KNOWN_LIST: Duration = Duration::from_secs(3);
/// How long the first merged list waits until what is known of its servers is on
/// disk, for the next start.
pub const MEMORY_WRITTEN: Duration = Duration::from_secs(1);
/// How long a list is taken for what it is at most, whatever its server says.
pub const LIST_TTL: Duration = Duration::from_secs(24 * 3600);
/// How long a list whose servers tell of changes is good for, in what clients are told.
pub const TOLD_TTL: Duration = Duration::from_secs(300);
/// How long a whole list, page by page, may take to fetch.
pub const LIST_FETCH: Duration = Duration::from_secs(30);
/// Pages of one list.
pub const LIST_PAGES: usize = 100;
/// Items of one list.
pub const LIST_ITEMS: usize = 2048;
/// The longest cursor that a server may give.
pub const CURSOR_BYTES: usize = 64 * 1024;
/// Items left out of a list that are named; all of them are counted.
pub const LEFT_OUT_NAMED: usize = 20;
/// Characters of such a name that are kept.
pub const LEFT_OUT_NAME_CHARS: usize = 80;
/// Items on one page of a merged list.
pub const MERGED_PAGE: usize = 1000;
/// Events that may wait in one exchange.
pub const EXCHANGE_EVENTS: usize = 256;
/// Their bytes; one message may be larger if it waits alone.
pub const EXCHANGE_BYTES: usize = 4 * 1024 * 1024;
/// A notice that is larger than this gives way while anything waits.
pub const LARGE_NOTICE: usize = 256 * 1024;
/// Events that wait before progress is told by its newest step only: fewer are a
/// burst, and no sign that nobody reads.
pub const BURST_EVENTS: usize = 16;
/// Questions that one call may have open at once.
pub const OPEN_INPUTS: usize = 64;
/// Calls that may be in flight on one connection.
pub const CALLS_IN_FLIGHT: usize = 4096;
/// How long a call waits for its client's turn where clients take turns.
pub const TURN_WAIT: Duration = Duration::from_secs(30);
/// Calls that may wait for a turn on one connection.
pub const TURNS_WAITING: usize = 1024;
/// How long a server must not have asked anything before its clients need no turns any more.
pub const TURNS_QUIET: Duration = Duration::from_secs(15 * 60);
/// How often a call that nothing was sent of is put to the next copy of a server that has just ended.
pub const STARTS: u32 = 3;
/// How long the end of a connection that takes nothing any more may take to be known.
pub const ENDING: Duration = Duration::from_secs(5);
/// Characters of a client's name that others are shown.
pub const CLIENT_NAME: usize = 100;
/// Subscriptions of one client to one server.
pub const SUBSCRIPTIONS: usize = 1024;
/// Bytes of the address or id of one of them.
pub const SUBSCRIBED_BYTES: usize = 8 * 1024;
/// Subscriptions that are renewed side by side after a reconnect.
pub const SUBSCRIBING: usize = 16;
/// Copies of one server that modern clients with keys of their own have at once.
pub const KEYED_COPIES: usize = 64;
/// Copies of one server that single sessions have for themselves at once.
pub const SESSION_COPIES: usize = 128;
/// The same of all servers together, with those of clients that gave a key.
pub const COPIES: usize = 1024;
/// How long a copy by a key is kept without a call.
pub const KEYED_IDLE: Duration = Duration::from_secs(15 * 60);
/// How often such a copy is looked at, at most.
pub const KEYED_PAUSE: Duration = Duration::from_secs(10);
/// How long one of the two processes of a program that speaks both eras is kept
/// without being used.
pub const UNUSED_ERA: Duration = Duration::from_secs(60);
/// How long a process is kept that nobody uses, where nothing else is said.
pub const IDLE: Duration = Duration::from_secs(30 * 60);
/// How often it is looked whether processes are used: so many times in the time that
/// they may be unused,
pub const IDLE_LOOKS: u32 = 4;
/// not more often than this,
pub const IDLE_LOOK: Duration = Duration::from_millis(100);
/// and not more seldom.
pub const LONGEST_IDLE_LOOK: Duration = Duration::from_secs(60);
/// How often servers are looked at whose processes may use only so much.
pub const CAPS_LOOK: Duration = Duration::from_secs(1);
/// How long one that passed such a cap must have run before it counts for nothing that
/// it was ended: one that passes it sooner is started less and less often.
pub const CAPS_STAYED_UP: Duration = Duration::from_secs(600);
/// Clients of one connection that are told apart by whether they had anything done;
/// if there were more, all that are there count.
pub const CALLERS: usize = 1024;
/// The longest wait before another attempt to connect.
pub const BACKOFF_CAP: Duration = Duration::from_secs(30);
/// How long what is being started or ended may take to end when a server is out of use.
pub const CLOSING: Duration = Duration::from_secs(3);
/// How long a connection that nobody used must have held before its end is no sign of a
/// server that cannot stay up.
pub const STAYED_UP: Duration = Duration::from_secs(60);
/// Clients that are remembered before those who left are looked for.
pub const CLIENTS: usize = 1024;
/// Attempts in a row that fail before nothing happens any more until somebody asks.
pub const ATTEMPTS: u32 = 8;
/// Requests in a row that may get lost before the connection is made anew.
pub const LOST_IN_A_ROW: u32 = 3;
/// How long what is in flight on a connection that is not used any more may take.
pub const RUNS_OUT: Duration = Duration::from_secs(15 * 60);
/// How often it is looked whether any of it is left.
pub const RUNS_OUT_LOOK: Duration = Duration::from_millis(100);
/// How long changes of what is known of a server are gathered before they are written down.
pub const MEMORY_DELAY: Duration = Duration::from_millis(200);
/// Bytes that are kept on disk of what is known of one server.
pub const MEMORY_BYTES: u64 = 8 * 1024 * 1024;
/// Servers of which something is kept on disk.
pub const MEMORIES: usize = 2000;
/// How many of them are forgotten together, the oldest first, where there are more.
pub const MEMORIES_CLEARED: usize = 200;
/// Folders of them for which it is known how much room there is.
pub const MEMORY_FOLDERS: usize = 64;
/// Characters of a tool's title that are kept.
pub const TITLE_CHARS: usize = 2048;
/// Characters of a server's instructions that are passed on in a merged answer.
pub const INSTRUCTIONS_CHARS: usize = 2048;
/// How long, and how often, the last words of a process that has ended are waited for.
pub const LAST_WORDS: (Duration, u32) = (Duration::from_millis(10), 5);
/// Lines of a server's stderr that a failed start shows.
pub const STDERR_LINES: usize = 10;

/// Changes of servers' states that may wait for a listener; one that falls
/// further behind hears the present states once more.
pub const STATE_EVENTS: usize = 256;
/// How often it is told that a call is still running.
pub const STILL_RUNNING: Duration = Duration::from_secs(30);

/// Answers to permission questions that are remembered.
pub const ANSWERS_KEPT: usize = 10_000;
/// Servers whose tools' names are kept ready for decisions.
pub const REGISTERS: usize = 1024;
/// How long somebody may take to say whether a call may go ahead.
pub const CONSENT: Duration = Duration::from_secs(600);
/// Bytes of such a question to a client, which shows all arguments; a call that
/// would need more is refused.
pub const CONSENT_BYTES: usize = 64 * 1024;
/// How often a call is sent again after its pages have been visited in its client's place.
pub const VISITS: u32 = 3;
/// Pages that a call waits for at one time.
pub const PAGES: usize = 8;
/// Bytes of a tool's definition that are kept to show what changed.
pub const PINNED_BYTES: usize = 64 * 1024;
/// The same of all definitions of one server together; hashes are kept of all.
pub const PINS_TEXT: usize = 4 * 1024 * 1024;
/// The same of pins of a server that are signed for several machines.
pub const SIGNED_PINS_TEXT: usize = 64 * 1024;
/// Principals of one server who have a book of pins; further ones share one.
pub const PIN_BOOKS: usize = 64;
/// Tools of one server that are pinned, and prompts; what is new beyond them waits
/// where anything does.
pub const PINS: usize = 8192;
/// Tools of one server that are noted as waiting for approval, and prompts.
pub const PINS_WAITING: usize = 2048;
/// Files of pins that wait for the disk side by side.
pub const PINS_SYNCED: usize = 8;
/// Names of them that are told.
pub const PINS_NAMED: usize = 10;
/// Lines that are shown around a change of a definition.
pub const PIN_CHANGE_AROUND: usize = 2;
/// Characters of one line of such a change that are shown.
pub const PIN_CHANGE_LINE_CHARS: usize = 400;
/// Lines of such a change that are shown.
pub const PIN_CHANGE_LINES: usize = 400;
/// How deep JSON may be that somebody is to look at.
pub const SEEN_DEPTH: usize = 127;
/// Bytes of a name that a model is told although it waits for approval.
pub const PLAIN_NAME: usize = 64;
/// How long after a server's first use another connection to it, beside the first,
/// is part of that.
pub const FIRST_USE: Duration = Duration::from_secs(60);
/// Merged lists that are kept made.
pub const MERGED_VIEWS: usize = 256;
/// Looks at all servers that are remembered, each for one client or principal and list.
pub const SETTLED: usize = 16384;
/// Tasks and pages of one server whose owners are known; of one principal.
pub const OWNED_EACH: usize = 4096;
/// The same of all principals together.
pub const OWNED: usize = 65_536;
/// Copies of one server of which it is known whose things are whose, before those
/// that nobody uses are forgotten.
pub const OWNED_COPIES: usize = 1024;
/// Principals whose tasks of earlier lives are remembered, of one server.
pub const RECALLED: usize = 1024;
/// Owners of one server's copies whose lists are kept, before those that nobody
/// uses are forgotten.
pub const CATALOGS: usize = 1024;
/// How much an in-process server that speaks in lines may have unread.
pub const IN_PROCESS_BUFFER: usize = 256 * 1024;
/// Rounds of one request, at most.
pub const ROUNDS: u32 = 10;
/// How often a task is asked for, where the server says nothing sensible.
pub const TASK_POLL: Duration = Duration::from_millis(500);
/// No shorter pause than this that a server asks for is kept, in milliseconds.
pub const SHORTEST_TASK_POLL: u64 = 50;
/// No longer one either, in milliseconds.
pub const LONGEST_TASK_POLL: u64 = 5_000;
/// No lock file is larger.
pub const IDE_LOCK_BYTES: u64 = 64 * 1024;
/// More lock files are not looked at.
pub const IDE_LOCKS: usize = 256;
/// How long clients wait for the server's acknowledgement.
pub const LISTEN_ACKNOWLEDGED: Duration = Duration::from_millis(300);
/// How long the old stream waits for the new one's.
pub const LISTEN_HANDOVER: Duration = Duration::from_secs(5);
/// Before a server that ends the stream by itself is asked again.
pub const LISTEN_PAUSE: Duration = Duration::from_secs(1);
/// Characters of something wrong that are shown.
pub const WRONG_SHOWN: usize = 200;
/// The first pause before a request is sent again; each is twice the one before.
pub const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// The first pause before a connection is tried again; each is twice the one before.
pub const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Those who watch calls that are found without a lock; there may be more.
pub const OBSERVERS_AT_HAND: usize = 4;
/// How long two clocks that were read together tell each other's time.
pub const CLOCK_KEPT: Duration = Duration::from_millis(20);
/// Places of watched calls that each thread keeps for those that come.
pub const WATCHED_SPARE: usize = 64;

/// Questions that wait for a person in the inbox; of all.
pub const DESK_QUESTIONS: usize = 1024;
/// The same of one principal.
pub const DESK_QUESTIONS_EACH: usize = 64;
/// Bytes of one of them.
pub const DESK_QUESTION_BYTES: usize = 256 * 1024;
/// Bytes of all of them.
pub const DESK_BYTES: usize = 32 * 1024 * 1024;
/// Calls that are held at breakpoints; of all.
pub const HELD_CALLS: usize = 256;
/// The same of one principal.
pub const HELD_CALLS_EACH: usize = 32;
/// Characters of what such a call names, where it is shown.
pub const HELD_NAME: usize = 200;
/// Bytes of what is held of one of them.
pub const HELD_MESSAGE_BYTES: usize = 256 * 1024;
/// Bytes of what is held of all of them.
pub const HELD_BYTES: usize = 8 * 1024 * 1024;
/// Those that are over and can still be looked up.
pub const DESK_CLOSED: usize = 200;
/// What is new of them that may wait for a listener.
pub const DESK_NEWS: usize = 256;
/// Characters of a client's word for its answer that are kept.
pub const DESK_WORD: usize = 40;
/// A question that ends this short before its time has run out of it.
pub const DESK_SLACK: Duration = Duration::from_secs(1);
/// How often a client is told that its call waits for a person.
pub const STILL_WAITING: Duration = Duration::from_secs(10);
/// What is left of a client's patience when its call is given up.
pub const PATIENCE_LEFT: Duration = Duration::from_secs(2);

/// How long what is under way on a connection to another machine may take to finish, when
/// that machine ends.
pub const FAR_FINISHES: Duration = Duration::from_secs(30);
/// How often it is looked meanwhile whether it has.
pub const FAR_LOOK: Duration = Duration::from_millis(20);
