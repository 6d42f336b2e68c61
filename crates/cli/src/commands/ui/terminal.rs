//! The terminal: taken, drawn on, and always given back, whatever ends us.

use super::{
    hangup::Hangup,
    quiet::Quiet,
    stopping::{Stopping, Wanted},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use crossterm::{
    event::{Event, EventStream},
    terminal as mode,
};
use futures_util::StreamExt;
use std::{
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};
use switchboard_screen::{Key, Message, painter::Frame};
use tokio::process::Command;

/// Whether a terminal is to be given back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was, if it was taken. Also for whoever ends the process.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Each for itself: one that fails must not keep the others from being done. Text is
        // pasted as keys again, the screen of before is there, and the cursor is seen.
        for text in ["\x1b[?2004l", "\x1b[?1049l", "\x1b[?25h"] {
            let _ = send(text);
        }
        let _ = mode::disable_raw_mode();
    }
}

fn take() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    mode::enable_raw_mode()?;
    // A screen of its own, pasted text apart from keys, no cursor.
    send("\x1b[?1049h\x1b[?2004h\x1b[?25l")
}

/// Writes to the terminal at once.
fn send(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A terminal that is ours until this is dropped.
pub struct Terminal {
    keys: Option<EventStream>,
    hangup: Hangup,
    stopping: Stopping,
    quiet: Option<Quiet>,
    /// Whether somebody wants to read afterwards what was logged meanwhile.
    tells: bool,
}

/// What a terminal tells.
pub enum Happened {
    /// Something for the screen.
    Told(Message),
    /// Somebody stopped us, and let us go on.
    Stopped,
    /// Nothing that means anything.
    Nothing,
}

impl Terminal {
    /// Takes the terminal; with `tells`, what was logged meanwhile is printed afterwards.
    pub fn take(tells: bool) -> io::Result<Self> {
        let (stopping, hangup) = (Stopping::listen()?, Hangup::watch()?);
        let quiet = Quiet::begin()?;
        // From here on it is given back, whatever fails.
        let mut terminal = Self {
            keys: None,
            hangup,
            stopping,
            quiet: Some(quiet),
            tells,
        };
        take()?;
        terminal.keys = Some(EventStream::new());
        Ok(terminal)
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = mode::size()?;
        // Recorders and containers often say 0.
        Ok(if size.0 == 0 || size.1 == 0 {
            (80, 24)
        } else {
            size
        })
    }

    /// What happens next.
    pub async fn next(&mut self) -> io::Result<Happened> {
        let Some(keys) = &mut self.keys else {
            return std::future::pending().await;
        };
        let event = tokio::select! {
            event = keys.next() => event,
            () = self.hangup.gone() => return Err(io::ErrorKind::UnexpectedEof.into()),
            wanted = self.stopping.next() => {
                if wanted == Wanted::Stop {
                    self.give_back();
                    self.stopping.stop();
                }
                return Ok(Happened::Stopped);
            }
        };
        // Whoever had the terminal has closed it.
        let event = event.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))??;
        Ok(match event {
            Event::Key(key) => {
                Key::of(key).map_or(Happened::Nothing, |key| Happened::Told(Message::Key(key)))
            }
            Event::Paste(text) => Happened::Told(Message::Pasted(text)),
            Event::Resize(columns, rows) => Happened::Told(Message::Resized(columns, rows)),
            _ => Happened::Nothing,
        })
    }

    /// Writes the cells that changed, all at once.
    pub fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        send(&frame.text())
    }

    /// Asks the terminal to put this into its clipboard.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let text = STANDARD.encode(text);
        send(&format!("\x1b]52;c;{text}\x07"))
    }

    /// Stops, as Ctrl-Z has it, until somebody lets us go on.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.give_back();
        self.stopping.stop_job();
        self.take_again()
    }

    /// Takes the terminal once more.
    pub fn take_again(&mut self) -> io::Result<()> {
        if self.quiet.is_none() {
            self.quiet = Some(Quiet::begin()?);
        }
        take()?;
        if self.keys.is_none() {
            self.keys = Some(EventStream::new());
        }
        Ok(())
    }

    fn give_back(&mut self) {
        // Its thread would take keys that are not ours.
        self.keys = None;
        restore();
        if let Some(quiet) = self.quiet.take() {
            // What a panic said is worth reading, and was not seen.
            quiet.end(self.tells || std::thread::panicking());
        }
    }

    /// Lets a command have the terminal until it ends and somebody has read what it wrote.
    pub async fn lend(&mut self, mut command: Command) -> io::Result<()> {
        self.give_back();
        let ended = match command.spawn() {
            Ok(mut child) => child.wait().await,
            Err(error) => Err(error),
        };
        let how = match ended.map(|status| status.code()) {
            Ok(Some(0)) => "done".to_owned(),
            Ok(Some(code)) => format!("exit code {code}"),
            Ok(None) => "ended by a signal".to_owned(),
            Err(error) => error.to_string(),
        };
        mode::enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        send(&format!(
            "\r\n[{how}] press a key to go back to the screen "
        ))?;
        let mut keys = EventStream::new();
        loop {
            match keys.next().await {
                Some(Ok(Event::Key(_))) | None => break,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
            }
        }
        drop(keys);
        self.take_again()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.give_back();
    }
}
