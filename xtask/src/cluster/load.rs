//! Clients of a cluster: each has a session, asks any replica, and counts what it is told.

use super::{Addresses, host, locked};
use std::{
    fmt,
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);
/// Calls of one session.
const CALLS: usize = 200;

/// Clients that ask.
pub struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    sessions: AtomicU64,
    answered: AtomicU64,
    later: AtomicU64,
    unknown: AtomicU64,
    broken: AtomicU64,
    lost: AtomicU64,
    wrong: AtomicU64,
}

/// What was told.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Sessions that were opened.
    pub sessions: u64,
    /// Calls that were answered.
    pub answered: u64,
    /// Requests that were told to come again.
    pub later: u64,
    /// Calls whose outcome nobody knows.
    pub unknown: u64,
    /// Requests at a replica that was not there, or died meanwhile.
    pub broken: u64,
    /// Requests that were told that there is no such session.
    pub lost: u64,
    /// Answers that belong to something else.
    pub wrong: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} sessions, {} calls answered, {} told to come again, {} outcome unknown, {} connections broken, {} sessions lost",
            self.sessions, self.answered, self.later, self.unknown, self.broken, self.lost
        )
    }
}

impl Load {
    /// This many clients.
    pub fn begin(clients: usize, addresses: Addresses) -> Self {
        let shared = Arc::new(Shared::default());
        let clients = (0..clients).map(|number| {
            let (shared, addresses) = (shared.clone(), addresses.clone());
            thread::spawn(move || {
                let mut turn = number;
                while !shared.stop.load(Ordering::Relaxed) {
                    session(&shared, &addresses, &mut turn);
                }
            })
        });
        let clients = clients.collect();
        Self { shared, clients }
    }

    /// What was told so far.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            sessions: of(&self.shared.sessions),
            answered: of(&self.shared.answered),
            later: of(&self.shared.later),
            unknown: of(&self.shared.unknown),
            broken: of(&self.shared.broken),
            lost: of(&self.shared.lost),
            wrong: of(&self.shared.wrong),
        }
    }

    /// Ends all clients.
    pub fn end(mut self) -> Counts {
        self.shared.stop.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            let _ = client.join();
        }
        self.counts()
    }
}

/// One session, from its begin on.
fn session(shared: &Shared, addresses: &Addresses, turn: &mut usize) {
    let next = |turn: &mut usize| {
        *turn += 1;
        let all = locked(addresses);
        host(&all[*turn % all.len()])
    };
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#;
    let opened = ask(&next(turn), None, hello);
    let Some((200, id)) = opened.map(|answer| (answer.status, answer.session)) else {
        shared.broken.fetch_add(1, Ordering::Relaxed);
        return thread::sleep(Duration::from_millis(100));
    };
    shared.sessions.fetch_add(1, Ordering::Relaxed);
    for call in 1..=CALLS {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let nonce = format!("{turn}-{call}");
        // A server of each replica's own, and one that a worker runs.
        let tool = ["far__echo", "near__echo"][call % 2];
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"nonce":"{nonce}"}}}}}}"#
        );
        let answer = ask(&next(turn), id.as_deref(), &text);
        let is_right = |answer: &Answer| answer.status == 200 && answer.body.contains(&nonce);
        if answer.as_ref().is_some_and(is_right) {
            shared.answered.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let count = match answer.map(|answer| answer.status) {
            None => &shared.broken,
            Some(503) => &shared.later,
            Some(502) => &shared.unknown,
            Some(404) => &shared.lost,
            Some(_) => &shared.wrong,
        };
        count.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
    }
}

struct Answer {
    status: u16,
    session: Option<String>,
    body: String,
}

/// Asks once; nothing where the connection fails.
fn ask(address: &str, session: Option<&str>, body: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    let session = session.map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id")
            .then(|| value.trim().to_owned())
    };
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        session: head.lines().find_map(header),
        body: body.to_owned(),
    })
}
