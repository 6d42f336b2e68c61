//! A server behind lines: its messages in, ours out, and its process with it.

use super::{LineError, LineWriter, Lines};
use crate::{
    budget::Budget,
    inbox::{Batches, deliver},
    limits,
    link::{Closed, Inbound, Receive, SendError},
};
use parking_lot::Mutex;
use std::{fmt, os::fd::AsFd, sync::Arc};
use switchboard_process::ServerProcess;
use switchboard_tasks as tasks;
use switchboard_wire::{
    Cut, ErrorObject, Message, ParseError, Payload, Revision, code, salvage_id,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    process::ChildStdout,
};
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

/// What a server is spoken with.
struct Streams<W, R> {
    write: W,
    read: R,
    /// What makes room between the server and us once a line has become long.
    widen: Option<fn(&R)>,
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
        let streams = Streams {
            write: stdin,
            read: stdout,
            widen: Some(widen as fn(&ChildStdout)),
        };
        Self::start(streams, Some(process), cap, budget, receive)
    }

    /// Speaks over any pair of streams, such as an in-process pipe.
    pub fn streams(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        cap: usize,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let streams = Streams {
            write,
            read,
            widen: None,
        };
        Self::start(streams, None, cap, budget, receive)
    }

    fn start<W, R>(
        streams: Streams<W, R>,
        process: Option<ServerProcess>,
        cap: usize,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
        R: AsyncRead + Send + Unpin + 'static,
    {
        let Streams { write, read, widen } = streams;
        let exited = process.as_ref().map(ServerProcess::exit_watch);
        let batches = Arc::new(Batches::default());
        let (writer, known) = (LineWriter::new(write), batches.clone());
        let answering = writer.clone();
        let link = Self(Arc::new(Shared {
            writer,
            process,
            reader: Mutex::new(None),
            batches,
        }));
        let told = receive.clone();
        let reading = async move {
            let lines = Lines::new(read, cap, budget).widened_by(widen);
            let why = read_all(lines, &known, &answering, receive.as_ref()).await;
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

/// Has the system hold more of what a server writes. Who sends long lines and has to wait for
/// us after every 64 KiB of them wakes us as often. Where the system refuses, it stays as it is.
#[cfg(target_os = "linux")]
fn widen(pipe: &impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, limits::LONG_LINE_PIPE);
}

/// Pipes grow by themselves there.
#[cfg(not(target_os = "linux"))]
fn widen(_: &impl AsFd) {}

/// Hands over every message until the stream ends; says why if it broke.
async fn read_all(
    mut lines: Lines<impl AsyncRead + Unpin>,
    batches: &Batches,
    writer: &LineWriter,
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
            // Others use the server too: what is too long is lost, and nothing else.
            Err(LineError::TooLong(cap)) => {
                if let Err(fault) = leave_out(&mut lines, cap, writer, receive).await {
                    return Some(fault);
                }
            }
            Err(fault) => return Some(fault),
        }
    }
}

/// Leaves out a line that is too long, and tells whoever waits for it: at once where its
/// beginning says who that is, since its end may be far, or by its end. Fails where somebody
/// could wait for ever for what was in it.
async fn leave_out(
    lines: &mut Lines<impl AsyncRead + Unpin>,
    cap: usize,
    writer: &LineWriter,
    receive: &dyn Receive,
) -> Result<(), LineError> {
    let tell = |cut| {
        let fault = ParseError::TooLong(cap);
        match cut {
            Cut::Reply(id) => receive.unreadable(fault, Some(id)),
            Cut::Request(id) => {
                let error = ErrorObject::new(code::INVALID_REQUEST, fault.to_string());
                receive.unreadable(fault, None);
                let _ = writer.send(error.response(Some(&id)));
            }
            Cut::Notice | Cut::Unknown => receive.unreadable(fault, None),
        }
    };
    let head = lines.beginning();
    // What asks may still say under which id.
    let early =
        Some(Cut::of(&head, b"")).filter(|cut| matches!(cut, Cut::Reply(_) | Cut::Request(_)));
    let told = early.is_some();
    if let Some(cut) = early {
        tell(cut);
    }
    let (tail, whole) = lines.leave_out().await?;
    // It broke off, and what it ends with may be another message, which nobody saw.
    if !whole && matches!(tail.trim_ascii_end().last(), Some(b'}' | b']')) {
        return Err(LineError::TooLong(cap));
    }
    if !told {
        let cut = Cut::of(&head, &tail);
        // A reply, for all we know.
        if cut == Cut::Unknown && matches!(head.first(), Some(b'{' | b'[')) {
            return Err(LineError::TooLong(cap));
        }
        tell(cut);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Undelivered;
    use tokio::{
        io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf},
        sync::mpsc,
    };

    /// Everything that is handed over, as text.
    struct Heard(mpsc::UnboundedSender<String>);

    impl Receive for Heard {
        fn message(&self, inbound: Inbound) {
            let raw = String::from_utf8_lossy(inbound.message.raw()).into_owned();
            let _ = self.0.send(raw);
        }

        fn unreadable(&self, fault: ParseError, during: Option<u64>) {
            let _ = self.0.send(format!("{during:?}: {fault}"));
        }

        fn undelivered(&self, _: u64, _: Undelivered) {}

        fn closed(&self, why: Closed) {
            let _ = self.0.send(why.to_string());
        }
    }

    const CAP: usize = 100_000;

    /// A link, what it hears, and the server's side of it.
    fn stage() -> (
        StdioLink,
        mpsc::UnboundedReceiver<String>,
        (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>),
    ) {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (read, write) = tokio::io::split(ours);
        #[expect(clippy::disallowed_methods, reason = "a test that reads all of it")]
        let (heard, hears) = mpsc::unbounded_channel();
        let link = StdioLink::streams(read, write, CAP, Budget::default(), Arc::new(Heard(heard)));
        (link, hears, tokio::io::split(theirs))
    }

    /// The system holds more for who sends long lines, and for nobody else.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_pipe_is_made_wider_once_a_line_was_long() {
        let (mut write, read) = tokio::net::unix::pipe::pipe().unwrap();
        let seen = read.as_fd().try_clone_to_owned().unwrap();
        let size = || rustix::pipe::fcntl_getpipe_size(&seen).unwrap();
        let before = size();
        assert!(before < limits::LONG_LINE_PIPE);
        let mut lines = Lines::new(read, CAP * 10, Budget::default()).widened_by(Some(widen));
        write.write_all(b"short\n").await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap(), "short");
        assert_eq!(size(), before);
        let long = "a".repeat(limits::LONG_LINE * 3);
        let line = format!("{long}\n");
        let writing = tokio::spawn(async move { write.write_all(line.as_bytes()).await });
        assert_eq!(lines.next().await.unwrap().unwrap(), long);
        writing.await.unwrap().unwrap();
        assert_eq!(size(), limits::LONG_LINE_PIPE);
    }

    /// What is too long is lost for whoever it is for; the connection goes on.
    #[tokio::test]
    async fn a_line_that_is_too_long_fails_its_own_request_alone() {
        let (link, mut hears, (read, mut write)) = stage();
        let long = "a".repeat(3 * CAP);
        let lines = [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"{long}"}}}}"#),
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","result":{{"a":"{long}"}},"id":3}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"m","id":"q","params":{{"a":"{long}"}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":"{long}"}}}}"#),
            format!("noise {long}"),
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#.to_owned(),
        ];
        let writing = tokio::spawn(async move {
            for line in lines {
                write.write_all(format!("{line}\n").as_bytes()).await?;
            }
            std::io::Result::Ok(write)
        });
        let lost = format!("it is longer than {CAP} bytes, the most that a message may have");
        for right in [
            &format!("Some(1): {lost}"),
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            &format!("Some(3): {lost}"),
            &format!("None: {lost}"),
            &format!("None: {lost}"),
            &format!("None: {lost}"),
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
        ] {
            assert_eq!(hears.recv().await.as_deref(), Some(right));
        }
        // Whoever asked is told.
        let mut answers = BufReader::new(read).lines();
        let answer = answers.next_line().await.unwrap().unwrap();
        assert!(answer.contains(r#""id":"q","error":"#), "{answer}");
        assert!(answer.contains(&lost), "{answer}");
        drop(writing.await.unwrap().unwrap());
        drop(link);
    }

    /// Where an answer may be lost and nobody knows whose, or no end comes, the connection
    /// ends, and with it all that waits.
    #[tokio::test]
    async fn nobody_waits_for_what_was_lost_in_a_line() {
        let long = "a".repeat(3 * CAP);
        let next = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
        let first = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"{long}"#);
        let lost = format!("Some(1): {}", ParseError::TooLong(CAP));
        for (line, heard) in [
            // The next answer comes in the same line.
            (format!("{first}{next}\n"), Some(&lost)),
            (format!("noise {long}{next}\n"), None),
            // Whose it is stands where nobody looks.
            (
                format!(r#"{{"result":"{long}","id":1,"x":{{"y":"{long}"}}}}"#) + "\n",
                None,
            ),
            (format!(r#"[{{"id":1,"result":"{long}"}}]"#) + "\n", None),
            // The end does not come.
            (first, Some(&lost)),
        ] {
            let (_link, mut hears, (_read, mut write)) = stage();
            let writing = tokio::spawn(async move {
                write.write_all(line.as_bytes()).await?;
                std::io::Result::Ok(write)
            });
            if let Some(heard) = heard {
                assert_eq!(hears.recv().await.as_ref(), Some(heard));
            }
            let closed = Closed::Broken(LineError::TooLong(CAP).to_string());
            assert_eq!(hears.recv().await, Some(closed.to_string()));
            drop(writing.await.unwrap());
        }
    }
}
