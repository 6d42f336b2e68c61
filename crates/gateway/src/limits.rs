//! The caps and times of this crate, in one place.

use std::time::Duration;

/// How long an answer may take before a legacy client gets an event stream instead of plain JSON.
pub const PLAIN_ANSWER: Duration = Duration::from_millis(50);
/// How long a modern answer is waited for before its stream is opened, so that an error can still have its status.
pub const MODERN_PLAIN_ANSWER: Duration = Duration::from_secs(5);
/// What takes longer has not come at once, and is watched for the end of its client's admission.
pub const AT_ONCE: Duration = Duration::from_millis(100);
/// How long the headers of a connection's first request may take to arrive.
pub const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// The same for a later one. The wait for it counts as well, so this is longer
/// than clients keep theirs unused.
pub const HEADER_READ: Duration = Duration::from_secs(65);
/// How much of a request's head is read.
pub const REQUEST_HEAD: usize = 64 * 1024;
/// Headers of a request, in any version of HTTP: fewer than the hundred that are read of one
/// which another replica hands on, since that has more to say.
pub const REQUEST_HEADERS: usize = 90;
/// How much of such a request's head is read.
pub const LINK_HEAD: usize = REQUEST_HEAD + 16 * 1024;
/// Requests at once on one connection of HTTP/2: more than a client needs, and each is held to what a principal may have besides.
pub const HTTP2_STREAMS: u32 = 256;
/// What may arrive of one request on HTTP/2 before it is read.
pub const HTTP2_WINDOW: u32 = 256 * 1024;
/// The same of all requests of a connection.
pub const HTTP2_CONNECTION_WINDOW: u32 = 1024 * 1024;
/// What waits to be written of one answer on HTTP/2.
pub const HTTP2_SEND: usize = 256 * 1024;
/// How long nothing has to come on a connection of HTTP/2 until we ask whether anybody is there.
pub const HTTP2_PING: Duration = Duration::from_secs(30);
/// How long that answer may take.
pub const HTTP2_PONG: Duration = Duration::from_secs(20);
/// How long the change to a WebSocket may take.
pub const UPGRADE: Duration = Duration::from_secs(10);
/// How long the first message on a WebSocket or of an attached client may take.
pub const FIRST_MESSAGE: Duration = Duration::from_secs(30);
/// How long a body may pause.
pub const BODY_IDLE: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer that is passed on to it as it comes: until then it holds a connection of the server's.
pub const UNREAD: Duration = Duration::from_secs(60);
/// How much of a body that is too large is read and thrown away; beyond this the connection is closed.
pub const DISCARDED: usize = 64 * 1024 * 1024;
/// Bytes of a path and a query under `/api/v1/`.
pub const API_TARGET: usize = 16 * 1024;
/// Bytes of a body under `/api/v1/`.
pub const API_BODY: usize = 1024 * 1024;
/// The same of somebody who shows nothing, and can only bring a code.
pub const API_STRANGER_BODY: usize = 4 * 1024;
/// How long the body of somebody without a token may take, however slowly it comes.
pub const API_STRANGER_WAIT: Duration = Duration::from_secs(10);
/// How long the body of a request under `/api/v1` may take.
pub const API_WAIT: Duration = Duration::from_secs(120);
/// How often a quiet event stream says that it is alive.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What a client waits before it reconnects a stream, in milliseconds.
pub const RETRY_MS: u64 = 1000;
/// Bytes of what a client says of itself in `initialize`, which are kept for as long
/// as its session.
pub const GREETING: usize = 64 * 1024;
/// Bytes of what one `subscriptions/listen` asks for, which are kept while it is open.
pub const LISTEN_FILTER: usize = 256 * 1024;
/// Sessions in memory at once. Where they are kept on disk, those that nobody uses move
/// there when there is no room for more.
pub const SESSIONS: usize = 10_000;
/// Sessions of one principal that are kept on disk.
pub const SESSIONS_KEPT: u64 = 2_000_000;
/// That sessions cannot be kept is said this often at most.
pub const KEEPING_TOLD: Duration = Duration::from_secs(60);
/// Tasks of one principal of which it is kept whose they are.
pub const TASKS_KEPT: usize = 4096;
/// For how long.
pub const TASK_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long somebody waits who asks for a task that nobody has, for another replica to
/// have noted whose it is.
pub const TASK_LOOK: Duration = Duration::from_millis(100);
/// Sessions that move to disk at once when there is no room for more.
pub const SESSIONS_MOVED: usize = 512;
/// A session that nobody has used for this long moves to disk.
pub const SESSION_RESTS: Duration = Duration::from_secs(300);
/// How often it is noted on disk that a session is in use, at most.
pub const SESSION_TOUCHED: Duration = Duration::from_secs(600);
/// How long a session is waited for that another request just brings back from disk, or
/// that the gateway before this one still has.
pub const SESSION_COMES: Duration = Duration::from_secs(10);
/// How often what is kept of a session that ends is read again where somebody changed it.
pub const SESSION_END_TRIES: usize = 8;
/// Sessions that have ended, and of which that could not be written yet.
pub const SESSIONS_UNWRITTEN: usize = 10_000;
/// How often it is looked whether it has come.
pub const SESSION_LOOK: Duration = Duration::from_millis(5);
/// How often a stream is looked at that a process which ends still writes.
pub const STREAM_LOOK: Duration = Duration::from_millis(100);
/// A session that nobody has used for this long ends.
pub const SESSION_IDLE: Duration = Duration::from_secs(3600);
/// Idle connections that never asked for anything and are asked to end at a time
/// when room runs out.
pub const GIVE_WAY: usize = 64;
/// The same of those that asked for something before, where there are no others.
pub const GIVE_WAY_USED: usize = 8;
/// How long it is waited then until there is room.
pub const ROOM_PAUSE: Duration = Duration::from_millis(10);
/// How often a warning that comes again and again is told, at most.
pub const WARN_AGAIN: Duration = Duration::from_secs(60);
/// Connections at once, WebSockets and attached clients among them, as far as descriptors allow.
pub const CONNECTIONS: usize = 4096;
/// Connections that may wait to be taken.
pub const BACKLOG: u32 = 1024;
/// Requests of one client in flight.
pub const IN_FLIGHT: usize = 1024;
/// Questions open at one client.
pub const QUESTIONS: usize = 256;
/// Event streams of one session that are kept for resumption.
pub const STREAMS: usize = 64;
/// Events of one stream that are kept for resumption or for a slow reader.
pub const STREAM_EVENTS: usize = 1024;
/// What is kept on disk of one stream: its events, what is owed on it, and its end.
pub const STREAM_LINES: usize = 1026;
/// Events of this time are written together.
pub const EVENTS_TOGETHER: Duration = Duration::from_millis(25);
/// How often events are written again that could not be, and after which time each.
pub const EVENTS_TRIES: usize = 5;
/// See [`EVENTS_TRIES`].
pub const EVENTS_AGAIN: Duration = Duration::from_millis(500);
/// Bytes of events that wait to be written; what comes on top is not kept.
pub const EVENTS_BEHIND: usize = 16 * 1024 * 1024;
/// How long an answer waits until it is on disk, before its client gets it anyway.
pub const EVENT_WRITTEN: Duration = Duration::from_secs(2);
/// Bytes of the ids of requests that an event's id has, where they could not be kept.
pub const OWED_BYTES: usize = 512;
/// Bytes of one stream, likewise. A last answer is kept even if it is larger.
pub const STREAM_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that may wait on an event stream that cannot be resumed.
pub const MAILBOX_BYTES: usize = 64 * 1024 * 1024;
/// Messages of one client that wait to be looked at.
pub const POSTED: usize = 16;
/// How long the last words on a WebSocket may take.
pub const FAREWELL: Duration = Duration::from_secs(1);
/// Calls of one client of the plain dialect at once.
pub const PLAIN_CALLS: usize = 64;
/// Larger events are not kept once a stream has been read to its end.
pub const KEPT_EVENT: usize = 64 * 1024;
/// A finished stream is kept for this long.
pub const STREAM_KEPT: Duration = Duration::from_secs(300);
/// How long a legacy client's call goes on when the client has gone and may come back for the answer.
pub const DEPARTED: Duration = Duration::from_secs(600);
/// Answers at least this large are moved to a file when too many bytes are in memory.
pub const SPOOL_FROM: usize = 256 * 1024;
/// `subscriptions/listen` streams of one principal.
pub const LISTENS: usize = 256;
/// How long `subscriptions/listen` waits for servers before it acknowledges.
pub const LISTEN_ACK: Duration = Duration::from_millis(300);
/// How long a client that connected just before we stop may take to ask something.
pub const LAST_COMERS: Duration = Duration::from_millis(500);
/// How long calls in flight may take to finish after a stop was asked for.
pub const DRAIN: Duration = Duration::from_secs(10);
/// Lines of a client that are read before those before them have been looked at.
pub const LINES_AHEAD: usize = 64;
/// How long the last bytes to a client on lines may take to be taken.
pub const LAST_WRITE: Duration = Duration::from_secs(1);
/// Calls of modern clients that wait for an answer, at once.
pub const PARKED: usize = 1024;
/// The same of one principal.
pub const PARKED_PER_PRINCIPAL: usize = 256;
/// How long a call waits for its client to come back.
pub const PARKED_FOR: Duration = Duration::from_secs(600);
/// After a question, how long others that belong with it are waited for.
pub const SETTLE: Duration = Duration::from_millis(20);
/// How long that may take in all.
pub const SETTLE_MOST: Duration = Duration::from_millis(500);
/// How often a call is sent again after its pages have been visited.
pub const VISITS: u32 = 3;

/// Principals for whom it is kept what is found by searching.
pub const FINDERS: usize = 256;

/// Tasks on one page of `tasks/list` over all servers, after which no further server is asked.
pub const TASKS_PAGE: usize = 100;
/// How long one server's part of that list is waited for.
pub const TASKS_WAIT: Duration = Duration::from_secs(3);

/// Clients that are known to be there, for whoever asks.
pub const VISITORS: usize = 1024;
/// Characters of what one of them calls itself.
pub const VISITOR_NAME: usize = 100;
/// How long one that has no session counts as being there after it last asked.
pub const SEEN_FOR: Duration = Duration::from_secs(600);

/// How long a client may take to shake hands over TLS.
pub const TLS_HANDSHAKE: Duration = Duration::from_secs(10);
/// How often the files of our certificate are looked at.
pub const TLS_LOOK: Duration = Duration::from_secs(1);
/// How often the tokens are looked through for those that were revoked.
pub const REVOKED_LOOK: Duration = Duration::from_secs(1);
/// How long a token that was shown counts as good without a look: what a request takes that waits for nothing.
pub const JUST_SHOWN: Duration = Duration::from_millis(20);
/// The clock of the wall is looked at this often: it may be set, and it goes on
/// while the machine sleeps.
pub const CLOCK_LOOK: Duration = Duration::from_secs(30);
/// Wrong tokens within [`GUESSING`] that are answered at once; the answers to more of
/// them are held back, so that guessing is slow.
pub const GUESSES: u32 = 10;
/// The time within which wrong tokens are counted.
pub const GUESSING: Duration = Duration::from_secs(1);
/// How long the answers to more of them are held back.
pub const GUESS_HELD_BACK: Duration = Duration::from_millis(250);
/// How much is read back at once. Many answers may be read back side by side,
/// and each takes twice as much.
pub const SPOOL_CHUNK: usize = 32 * 1024;
/// How much of a client's known patience the first list leaves it, for the way there
/// and back.
pub const PATIENCE_LEFT: Duration = Duration::from_secs(2);
/// Servers of which it is said that something of them waits for approval, or that they
/// were not there in time.
pub const SERVERS_NAMED: usize = 20;
/// How often sessions are looked through for those that nobody uses.
pub const SESSIONS_LOOK: Duration = Duration::from_secs(30);

/// How long what a client still sends is read away after our last answer to it, so that
/// it gets that answer.
pub const LINGER: Duration = Duration::from_secs(2);
/// How much of it.
pub const LINGER_BYTES: usize = 64 * 1024 * 1024;
/// A piece of it.
pub const LINGER_BUFFER: usize = 16 * 1024;
/// Connections for which that is done at once.
pub const LINGERING: usize = 256;

/// How long a replica is known after it was last heard of.
pub const NODE_LIFE: Duration = Duration::from_secs(10);
/// How often a replica says that it is there.
pub const NODE_BEAT: Duration = Duration::from_secs(3);
/// How long a replica that begins waits until others can know of it, before it lets clients
/// in.
pub const NODE_TOLD: Duration = Duration::from_secs(3);
/// A replica where nobody listens any more has gone if it was not heard of for this long.
pub const NODE_MISSED: Duration = Duration::from_secs(4);
/// How long a replica that was not heard of for that long has to answer whoever asks it.
pub const NODE_ANSWERS: Duration = Duration::from_secs(3);
/// How long such an answer counts: longer than it takes to ask again.
pub const NODE_ANSWERED: Duration = Duration::from_secs(6);
/// Replicas that are asked at once whether they are there.
pub const NODES_ASKED: usize = 32;
/// How often it is looked which replicas there are.
pub const NODES_LOOK: Duration = Duration::from_secs(1);
/// Of session ids, tickets and messages that no replica made, one in so many is told of.
pub const FORGED_TOLD: u64 = 1000;
/// How long a replica that ends answers others, until they have heard that it does.
pub const DRAIN_TOLD: Duration = Duration::from_millis(2500);
/// Replicas of one cluster.
pub const NODES: usize = 1000;
/// How long a request waits whose session nobody can have at this moment.
pub const OWNER_COMES: Duration = Duration::from_secs(12);
/// How often it is looked meanwhile who has it.
pub const OWNER_LOOK: Duration = Duration::from_millis(200);
/// Sessions of which it is remembered that another replica has taken them over.
pub const MOVED: usize = 10_000;
/// Sessions of other replicas of which it is remembered that they made them.
pub const PROVEN: usize = 10_000;
/// Requests that are under way to one other replica, also streams that stay open; of one of
/// several principals half of what the others leave.
pub const FORWARDS: usize = 1024;
/// Connections to one other replica that are kept for the next request.
pub const LINKS_IDLE: usize = 64;
/// Connections that other replicas have to this one.
pub const LINKS: usize = 4096;
/// Bytes of a link to another replica that go into one message of NATS: larger ones are
/// slower there.
pub const POST_CHUNK: usize = 128 * 1024;
/// Bytes on their way to somebody who has not taken them yet.
pub const POST_CREDIT: usize = 1024 * 1024;
/// What a message counts for at least.
pub const POST_LEAST: usize = 1024;
/// Messages of one link that wait to be taken: more than anybody may send.
pub const POST_WAITING: usize = 2048;
/// On a link on which nothing was heard for this long, it is asked whether anybody listens.
pub const POST_QUIET: Duration = Duration::from_secs(1);
/// Links that came by NATS and wait to be attended to.
pub const POST_COMERS: usize = 64;
/// For how long a replica that could not be dialled is not dialled again, where NATS is a
/// way to it.
pub const WAY_AGAIN: Duration = Duration::from_secs(30);
/// How long a connection to another replica may take.
pub const LINK_CONNECT: Duration = Duration::from_secs(2);
/// How long an idle connection between replicas is kept open by whoever was connected to.
pub const LINK_IDLE: Duration = Duration::from_secs(60);
/// How long we keep one that is not used: less, so that it is not closed while a request leaves.
pub const LINK_KEPT: Duration = Duration::from_secs(45);
/// An answer of another replica that is taken whole before it is handed on.
pub const FORWARDED_WHOLE: u64 = 64 * 1024;
/// Bytes of the file with the cluster's keys.
pub const CLUSTER_KEYS: u64 = 4096;
/// How many sessions are looked up at once after others may have taken them over.
pub const SESSIONS_CHECKED: usize = 64;

/// How often it is looked whether something that replicas share has changed.
pub const NEWS_LOOK: Duration = Duration::from_millis(250);
/// How often all of it is looked at, whether or not anybody said that it has.
pub const NEWS_ALL: Duration = Duration::from_secs(10);
/// Sign-ins that replicas share.
pub const SIGN_INS: usize = 10_000;
/// How long it is kept that somebody has signed out: longer than anybody can be paused in
/// the middle of a renewal, and go on.
pub const SIGNED_OUT: Duration = Duration::from_secs(24 * 3600);
/// How long what replicas have recorded is kept where all of them have it.
pub const RECORDS_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Bytes of what one of them adds to it at once: less than NATS takes in one message.
pub const RECORDS_PIECE: usize = 256 * 1024;
/// Bytes of what one machine has recorded that are kept there; then the oldest go.
pub const RECORDS_BYTES: u64 = 512 * 1024 * 1024;
/// How often a replica looks whether it has recorded anything.
pub const RECORDS_LOOK: Duration = Duration::from_secs(1);
/// How often it looks at what others have.
pub const RECORDS_OTHERS: Duration = Duration::from_secs(10);
/// How often it says again how far its own goes, where nothing is added.
pub const RECORDS_AGAIN: Duration = Duration::from_secs(12 * 3600);
/// Chains of records of one cluster.
pub const RECORD_CHAINS: usize = 10_000;
/// Pieces of a chain that are listed at once.
pub const RECORD_PIECES: usize = 10_000;
/// Bytes of what can be applied to a cluster at once: less than NATS takes in one message.
pub const APPLIED: usize = 512 * 1024;
/// How often it is tried to tell workers of it where others do as well.
pub const APPLY_TRIES: usize = 5;
/// Servers for workers that can be applied to a cluster.
pub const HIRES: usize = 256;
/// Characters of why a worker does not run one of them.
pub const HIRE_WHY: usize = 200;
/// Versions of it that are kept, with the one that holds.
pub const APPLIED_KEPT: usize = 20;
/// Keys whose signatures count.
pub const APPLY_KEYS: usize = 16;
/// How long it counts how many wrong tokens another replica has seen within a second.
pub const GUESSED_ELSEWHERE: Duration = Duration::from_secs(3);
/// How long one of several replicas may renew a sign-in, unless it says so again.
pub const TURN_LIFE: Duration = Duration::from_secs(10);
/// Rights to do something alone that are shown, of each kind.
pub const LEASES_SHOWN: usize = 1000;
/// How often it says so again.
pub const TURN_BEAT: Duration = Duration::from_secs(3);
/// How long before that time is over it stops by itself.
pub const TURN_MARGIN: Duration = Duration::from_secs(2);
/// How soon a turn that another has is tried again.
pub const TURN_PAUSE: Duration = Duration::from_millis(50);
/// No such pause is longer.
pub const TURN_LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How often a change is tried that others were faster with.
pub const TURN_TRIES: usize = 5;

/// Bytes of what an outpost and a replica tell each other at once, beside links of servers.
pub const OUTPOST_FRAME: usize = 256 * 1024;
/// How often an outpost and a replica tell each other that they are there.
pub const OUTPOST_BEAT: Duration = Duration::from_secs(2);
/// One of them that was silent for this long is not there any more.
pub const OUTPOST_SILENCE: Duration = Duration::from_secs(8);
/// Outposts that one replica knows.
pub const OUTPOSTS: usize = 10_000;
/// What one outpost can be told at once.
pub const OUTPOST_TOLD: usize = 256;
/// Bytes between a link that can be ended from outside and its conversation, each way.
pub const OUTPOST_PIPE: usize = 64 * 1024;
/// How long a link of an outpost's server may take to be there.
pub const OUTPOST_OPENS: Duration = Duration::from_secs(5);
/// How long is waited for an outpost that runs a server, where none does.
pub const OUTPOST_COMES: Duration = Duration::from_secs(5);
/// How long is waited for a server that runs on as many outposts as it may, none of which
/// answers: longer than the right of one that has gone lasts.
pub const PLACE_COMES: Duration = Duration::from_secs(15);
/// How often it is asked for meanwhile.
pub const OUTPOST_AGAIN: Duration = Duration::from_millis(500);
/// How often an outpost that ends looks whether its links have.
pub const OUTPOST_LOOK: Duration = Duration::from_millis(20);
/// Outposts that are named where none runs a server.
pub const WHY_NOT: usize = 8;
/// Places of servers whose holders a replica remembers.
pub const PLACES: usize = 10_000;
/// How long an outpost may run a server whose copies are counted, unless it says so again.
pub const PLACE_LIFE: Duration = Duration::from_secs(10);
/// How often it says so again.
pub const PLACE_BEAT: Duration = Duration::from_secs(3);
/// How long a right lasts that was given back: what NATS takes at least.
pub const PLACE_OVER: Duration = Duration::from_secs(1);
/// How long before that time is over it stops by itself.
pub const PLACE_MARGIN: Duration = Duration::from_secs(2);
