//! The far side of connectors: a list behind a token, on a real socket.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The token that opens it.
pub const TOKEN: &str = "t0ken-of-the-account";

/// What it answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Status line and body.
    Body(&'static str, String),
    /// A head with this `Location`.
    Moved(String),
    /// Nothing, while the connection stays open.
    Silence,
    /// A byte now and then, for ever.
    Drip,
}

/// An account's address.
pub struct Account {
    pub address: String,
    answer: Arc<Mutex<Answer>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Account {
    pub fn new(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let account = Self {
            address: listener.local_addr().unwrap().to_string(),
            answer: Arc::new(Mutex::new(answer)),
            asked: Arc::default(),
        };
        let (answer, asked) = (account.answer.clone(), account.asked.clone());
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (answer, asked) = (answer.lock().unwrap().clone(), asked.clone());
                thread::spawn(move || serve(socket, &answer, &asked));
            }
        });
        account
    }

    /// Lists these servers.
    pub fn listing(servers: &serde_json::Value) -> Self {
        Self::new(listed(servers))
    }

    pub fn url(&self) -> String {
        format!("http://{}/connectors", self.address)
    }

    /// From now on.
    pub fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// The heads of all requests.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

pub fn listed(servers: &serde_json::Value) -> Answer {
    let body = serde_json::json!({ "mcpServers": servers }).to_string();
    Answer::Body("200 OK", body)
}

fn serve(mut socket: TcpStream, answer: &Answer, asked: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0u8];
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    asked.lock().unwrap().push(head.clone());
    let opened = head
        .to_lowercase()
        .contains(&format!("authorization: bearer {TOKEN}"));
    let answer = if opened {
        answer.clone()
    } else {
        Answer::Body("401 Unauthorized", String::new())
    };
    let text = match answer {
        Answer::Body(status, body) => {
            format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        }
        Answer::Moved(to) => {
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
        }
        Answer::Silence => {
            // Until the other side has had enough.
            let _ = socket.read(&mut byte);
            return;
        }
        Answer::Drip => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            while socket.write_all(b" ").is_ok() {
                thread::sleep(std::time::Duration::from_millis(100));
            }
            return;
        }
    };
    let _ = socket.write_all(text.as_bytes());
}
