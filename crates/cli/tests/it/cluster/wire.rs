//! NATS as its protocol is written: what somebody could do who can reach it.

use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// A connection that hears all, and can say anything.
pub(super) struct Listener {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Listener {
    pub(super) async fn new(url: &str) -> Self {
        let mut listener = Self::connect(url, "").await;
        listener.say(b"SUB sb.> 1\r\nPING\r\n").await;
        while listener.line().await != "PONG" {}
        listener
    }

    /// One that is let in under this name, and has asked for nothing.
    pub(super) async fn let_in(url: &str, name: &str, password: &str) -> Self {
        let who = format!(",\"user\":\"{name}\",\"pass\":\"{password}\"");
        Self::connect(url, &who).await
    }

    async fn connect(url: &str, who: &str) -> Self {
        let address = url.strip_prefix("nats://").unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        let (read, write) = stream.into_split();
        let mut listener = Self {
            read: BufReader::new(read),
            write,
        };
        let hello = format!("CONNECT {{\"verbose\":false,\"headers\":true{who}}}\r\nPING\r\n");
        listener.say(hello.as_bytes()).await;
        while listener.line().await != "PONG" {}
        listener
    }

    /// What NATS has against this, if anything.
    pub(super) async fn refused(&mut self, command: &str) -> Option<String> {
        self.say(format!("{command}\r\nPING\r\n").as_bytes()).await;
        let mut why = None;
        loop {
            let line = self.line().await;
            match &*line {
                "PONG" => return why,
                "PING" => self.say(b"PONG\r\n").await,
                said if said.starts_with("-ERR") => why = Some(line),
                _ => {}
            }
        }
    }

    async fn say(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.read.read_line(&mut line);
        tokio::time::timeout(Duration::from_secs(60), read)
            .await
            .expect("NATS says something")
            .unwrap();
        line.trim_end().to_owned()
    }

    /// The next message: its subject, and all of it.
    pub(super) async fn next(&mut self) -> (String, Vec<u8>) {
        loop {
            let line = self.line().await;
            let mut words = line.split(' ');
            match words.next() {
                Some("MSG" | "HMSG") => {}
                Some("PING") => {
                    self.say(b"PONG\r\n").await;
                    continue;
                }
                _ => continue,
            }
            let subject = words.next().unwrap().to_owned();
            let length: usize = words.next_back().unwrap().parse().unwrap();
            let mut payload = vec![0; length + 2];
            self.read.read_exact(&mut payload).await.unwrap();
            return (subject, payload);
        }
    }

    /// What is answered to this, at a subject that it may hear.
    pub(super) async fn ask(&mut self, subject: &str, answers: &str, payload: &str) -> String {
        let length = payload.len();
        let asked = format!("SUB {answers} 9\r\nPUB {subject} {answers} {length}\r\n{payload}\r\n");
        self.say(asked.as_bytes()).await;
        let (_, answer) = self.next().await;
        self.say(b"UNSUB 9\r\n").await;
        String::from_utf8(answer).unwrap()
    }

    /// Puts something else in the place of what is kept there.
    pub(super) async fn publish(&mut self, subject: &str, payload: &[u8]) {
        let head = format!("PUB {subject} {}\r\n", payload.len());
        self.say(&[head.as_bytes(), payload, b"\r\nPING\r\n"].concat())
            .await;
    }
}
