//! A scripted HTTP server: it reads requests, remembers them, and answers with
//! exactly the bytes that the test says.

use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Duration};
use switchboard_testkit::DEADLINE;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Barrier, Notify},
    time::{sleep, timeout},
};

/// One request as it came.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub connection: usize,
    pub method: String,
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    /// Waits until as many requests have come as are to meet.
    Meet(Arc<Barrier>),
    /// Reads until the client hangs up.
    Hang,
    Close,
}

pub type Script = Vec<Step>;

type Answer = dyn Fn(&Seen) -> Script + Send + Sync;

#[derive(Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    hung_up: Mutex<usize>,
    connections: Mutex<usize>,
    closed: Mutex<usize>,
    changed: Notify,
}

/// A running server; ends with the test's runtime.
pub struct Server {
    port: u16,
    state: Arc<State>,
}

impl Server {
    pub async fn start(answer: impl Fn(&Seen) -> Script + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let answer: Arc<Answer> = Arc::new(answer);
        tokio::spawn({
            let state = state.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let number = {
                        let mut connections = state.connections.lock();
                        *connections += 1;
                        *connections
                    };
                    tokio::spawn(serve(stream, number, answer.clone(), state.clone()));
                }
            }
        });
        Self { port, state }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().clone()
    }

    pub fn connections(&self) -> usize {
        *self.state.connections.lock()
    }

    /// How many connections the client closed after an answer.
    pub fn closed(&self) -> usize {
        *self.state.closed.lock()
    }

    /// How many connections the client closed while the server hung.
    pub fn hung_up(&self) -> usize {
        *self.state.hung_up.lock()
    }

    /// Waits until something is so.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let waited = timeout(DEADLINE, async {
            loop {
                let changed = self.state.changed.notified();
                if is_so(self) {
                    return;
                }
                let _ = timeout(Duration::from_millis(50), changed).await;
            }
        });
        assert!(
            waited.await.is_ok(),
            "{what} did not happen; seen: {:#?}",
            self.seen()
        );
    }
}

async fn serve(mut stream: TcpStream, connection: usize, answer: Arc<Answer>, state: Arc<State>) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(mut request) = read_request(&mut stream, &mut buffer).await {
        request.connection = connection;
        state.seen.lock().push(request.clone());
        state.changed.notify_waiters();
        for step in answer(&request) {
            match step {
                Step::Write(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Wait(time) => sleep(time).await,
                Step::Meet(others) => {
                    others.wait().await;
                }
                Step::Hang => {
                    let mut byte = [0];
                    while matches!(stream.read(&mut byte).await, Ok(1..)) {}
                    *state.hung_up.lock() += 1;
                    state.changed.notify_waiters();
                    return;
                }
                Step::Close => return,
            }
        }
    }
    *state.closed.lock() += 1;
    state.changed.notify_waiters();
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap().split(' ');
    let mut request = Seen {
        method: first.next().unwrap().into(),
        path: first.next().unwrap().into(),
        ..Seen::default()
    };
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        let before = request
            .headers
            .insert(name.to_ascii_lowercase(), value.trim().into());
        assert!(before.is_none(), "the header {name} came twice");
    }
    let length: usize = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(buffer[end + 4..end + 4 + length].to_vec()).unwrap();
    buffer.drain(..end + 4 + length);
    Some(request)
}

pub fn write(bytes: impl Into<Vec<u8>>) -> Step {
    Step::Write(bytes.into())
}

/// An answer with a body of known length.
pub fn answer(status: &str, headers: &str, body: &str) -> Script {
    vec![write(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    ))]
}

pub fn json(body: &str) -> Script {
    answer("200 OK", "content-type: application/json\r\n", body)
}

/// The id that a request carries.
pub fn id(seen: &Seen) -> u64 {
    let rest = seen.body.split("\"id\":").nth(1).unwrap_or("0");
    rest.chars()
        .take_while(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap()
}

pub fn reply(seen: &Seen) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}",
        id(seen)
    )
}

pub fn accepted() -> Script {
    answer("202 Accepted", "", "")
}

pub const EVENTS_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The head of an event stream.
pub fn events() -> Step {
    write(EVENTS_HEAD)
}

pub fn chunk(text: &str) -> Step {
    write(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// Comments at some interval after a beginning, and then nothing.
pub fn falling_silent(mut script: Vec<Step>) -> Vec<Step> {
    for _ in 0..4 {
        script.push(chunk(": alive\n\n"));
        script.push(Step::Wait(Duration::from_millis(100)));
    }
    script.push(Step::Hang);
    script
}

pub fn last_chunk() -> Step {
    write("0\r\n\r\n")
}
