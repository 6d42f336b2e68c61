//! A server behind lines: its messages in, ours out, and its process with it.

use super::{LineError, LineWriter, Lines};
use crate::{
    budget::Budget,
    inbox::{Batches, deliver},
    limits,
    link::{Closed, Inbound, Receive, SendError},
};
use parking_lot::Mutex;
use std::{fmt, sync::Arc};
use switchboard_process::ServerProcess;
use switchboard_tasks as tasks;
use switchboard_wire::{Message, Payload, Revision, salvage_id};
use tokio::io::{AsyncRead, AsyncWrite};
use tracing::Instrument;

/// The link to a server that speaks in lines.
#[derive(Clone)]
pub struct StdioLink(Arc<Shared>);

struct Shared {
    writer: LineWriter,
    process: Option<ServerProcess>,
    reader: Mutex<Option<tokio::task::AbortHandle>>,
    batches: Arc<Batches>,
}

impl fmt::Debug for StdioLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioLink")
            .field("writer", &self.0.writer)
            .finish_non_exhaustive()
    }
}

impl StdioLink {
    /// Speaks with a process that was just started.
    pub fn process(
        mut process: ServerProcess,
        cap: usize,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let (stdin, stdout) = (process.take_stdin(), process.take_stdout());
        Self::start(stdin, stdout, Some(process), cap, budget, receive)
    }

    /// Speaks over any pair of streams, such as an in-process pipe.
    pub fn streams(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        cap: usize,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        Self::start(write, read, None, cap, budget, receive)
    }

    fn start(
        write: impl AsyncWrite + Send + Unpin + 'static,
        read: impl AsyncRead + Send + Unpin + 'static,
        process: Option<ServerProcess>,
        cap: usize,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let exited = process.as_ref().map(ServerProcess::exit_watch);
        let batches = Arc::new(Batches::default());
        let (writer, known) = (LineWriter::new(write), batches.clone());
        let link = Self(Arc::new(Shared {
            writer,
            process,
            reader: Mutex::new(None),
            batches,
        }));
        let told = receive.clone();
        let reading = async move {
            let why = read_all(Lines::new(read, cap, budget), &known, receive.as_ref()).await;
            // An exit status says more than the end of its output does.
            let status = match exited {
                Some(watch) => watch.soon().await,
                None => None,
            };
            receive.closed(match (why, status) {
                (None, Some(status)) => Closed::ByPeer(format!("the server exited ({status})")),
                (None, None) => Closed::ByPeer("the server closed its output".into()),
                (Some(fault), _) => Closed::Broken(fault.to_string()),
            });
        };
        let task = tasks::spawn_or(tasks::Kind::Reader, reading.in_current_span(), move || {
            told.closed(Closed::faulty());
        });
        *link.0.reader.lock() = Some(task.abort_handle());
        link
    }

    /// Says which revision is spoken from now on: it decides about batches.
    pub fn speak(&self, revision: Revision) {
        self.0.batches.speak(revision);
    }

    /// Queues a message.
    pub fn send(&self, payload: Payload) -> Result<(), SendError> {
        self.0.writer.send(payload)
    }

    /// The process behind the link, if it is one.
    pub fn server_process(&self) -> Option<&ServerProcess> {
        self.0.process.as_ref()
    }

    /// Closes the server's input and ends its process by the ladder.
    pub async fn close(&self) {
        self.0.writer.close();
        if let Some(process) = &self.0.process {
            process.stop().await;
        }
        if let Some(reader) = self.0.reader.lock().take() {
            reader.abort();
        }
    }
}

/// Hands over every message until the stream ends; says why if it broke.
async fn read_all(
    mut lines: Lines<impl AsyncRead + Unpin>,
    batches: &Batches,
    receive: &dyn Receive,
) -> Option<LineError> {
    let mut noise = 0u64;
    loop {
        match lines.next().await {
            Ok(Some(line)) if line.first() == Some(&b'[') && batches.are_spoken() => {
                deliver(receive, batches, line);
            }
            Ok(Some(line)) => match Message::parse(line.clone()) {
                Ok(message) => receive.message(Inbound {
                    message,
                    during: None,
                }),
                Err(fault) => {
                    noise += 1;
                    if noise <= limits::NOISE_WARNINGS {
                        let start: String =
                            String::from_utf8_lossy(&line).chars().take(80).collect();
                        tracing::warn!(fault = %fault, line = ?start, "a line on the server's stdout is no message");
                    }
                    // Only what looks like a message can be a lost reply.
                    if line.first() == Some(&b'{') {
                        receive.unreadable(fault, salvage_id(&line));
                    }
                }
            },
            Ok(None) => return None,
            Err(fault) => return Some(fault),
        }
    }
}
