//! The caps and times of this crate, in one place.

use std::time::Duration;

/// How long another process may take to renew.
pub const RENEWAL_ELSEWHERE: Duration = Duration::from_secs(45);
/// How long a renewal that another replica began and did not end is waited for at least.
pub const RENEWAL_UNKNOWN: Duration = Duration::from_secs(60);
/// How long showing a refresh token may take, with all that the issuer asks for besides.
pub const RENEWAL_SHOWN: Duration = Duration::from_secs(45);
/// How long a renewed sign-in is tried to be stored that could not be at once.
pub const RENEWED_STORED: Duration = Duration::from_secs(3600);
/// How often that is tried.
pub const RENEWED_PAUSE: Duration = Duration::from_secs(2);
/// With a token that still works, a renewal is waited for no longer than this.
pub const RENEWAL_WHILE_VALID: Duration = Duration::from_secs(2);
/// How often scopes may be added within [`STEP_WINDOW`].
pub const STEPS: usize = 3;
/// The time within which those steps are counted.
pub const STEP_WINDOW: Duration = Duration::from_secs(3600);
/// Connections at once; a browser makes two or three.
pub const CALLBACK_CONNECTIONS: usize = 16;
/// Keys are fetched anew after this.
pub const KEYS_LIVE: Duration = Duration::from_secs(600);
/// How long keys are good that could not be fetched anew: an issuer that is away for a
/// while locks nobody out, and what it withdrew does not live for ever.
pub const KEYS_TRUSTED: Duration = Duration::from_secs(24 * 3600);
/// How long one who comes in waits for newer keys of an issuer, where there are older ones.
pub const KEYS_RENEWAL: Duration = Duration::from_secs(2);
/// A token with an unknown key makes us look again, but not more often than this:
/// otherwise anybody could make us flood the issuer.
pub const KEYS_LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The longest token that is looked at.
pub const TOKEN_BYTES: usize = 16 * 1024;
/// At most this many origins' nonces are kept; a server has two.
pub const NONCES: usize = 16;
/// Characters of a server's own words that are shown.
pub const SHOWN_CHARS: usize = 300;
/// How long a helper may take.
pub const HELPER: Duration = Duration::from_secs(10);
/// How much it may print.
pub const HELPER_OUTPUT: u64 = 64 * 1024;
/// An identity token is renewed this long before it ends, in seconds.
pub const IDENTITY_MARGIN: u64 = 60;
/// How far clocks may differ, in seconds.
pub const LEEWAY: u64 = 30;
/// How long a keychain may take.
pub const KEYCHAIN: Duration = Duration::from_secs(5);
/// How long a finding counts.
pub const REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// A token is renewed at most this long before it expires.
pub const MARGIN_MS: u64 = 30_000;
/// After a failure that certainly changed nothing, wait this long, doubling.
pub const FIRST_RENEWAL_WAIT: Duration = Duration::from_secs(2);
/// No such wait is longer.
pub const LONGEST_RENEWAL_WAIT: Duration = Duration::from_secs(60);
/// No record comes near this.
pub const RECORD_BYTES: u64 = 4 * 1024 * 1024;
/// How long what opens a browser may take to say that it cannot: it returns at once, or stays as long as the browser.
pub const BROWSER_START: Duration = Duration::from_secs(3);
/// How long the page that says that all is done may take to reach the browser.
pub const LAST_PAGE: Duration = Duration::from_millis(50);
/// How long we rest where a connection could not be taken.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long the head of a request to us may take.
pub const CALLBACK_HEAD: Duration = Duration::from_secs(10);
/// How long one connection of a browser may last.
pub const CALLBACK_CONNECTION: Duration = Duration::from_secs(20);
/// How much longer than a person another process may take to sign in.
pub const SIGN_IN_GRACE: Duration = Duration::from_secs(10);
/// How long another process may hold an identity token that is to be forgotten.
pub const DISCARD_LOCK: Duration = Duration::from_secs(30);
/// How long a connection to an issuer may take.
pub const NET_CONNECT: Duration = Duration::from_secs(10);
/// How long one request to an issuer may take.
pub const NET_TOTAL: Duration = Duration::from_secs(30);
/// How long a person may take to sign in.
pub const PERSON: Duration = Duration::from_secs(300);
/// How long one may stay at the issuer's page until a page of ours has them back.
pub const PERSON_AT_PAGE: Duration = Duration::from_secs(600);
/// How many ask the issuer at once for people who sign in, and as many for those who have.
pub const PEOPLE_ASKING: usize = 4;
/// How many more wait until they can.
pub const PEOPLE_WAITING: usize = 32;
/// How long they wait.
pub const PEOPLE_TURN: Duration = Duration::from_secs(2);
/// How many sign-ins are remembered that were ended, so that each is ended once.
pub const PEOPLE_ENDED: usize = 4096;
/// How soon a lock that others hold is tried again.
pub const LOCK_PAUSE: Duration = Duration::from_millis(2);
/// No such pause is longer.
pub const LONGEST_LOCK_PAUSE: Duration = Duration::from_millis(50);
/// How many steps of a sign-in are kept: a whole one has about ten.
pub const JOURNAL_STEPS: usize = 40;
/// How many lines of one message of a sign-in are kept.
pub const JOURNAL_LINES: usize = 60;
/// How many letters of one line are kept.
pub const JOURNAL_TEXT: usize = 400;
