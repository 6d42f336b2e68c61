//! The terminal: taken, drawn on, and always given back, whatever ends us.

use super::{
    hangup::Hangup,
    quiet::Quiet,
    stopping::{Stopping, Wanted},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use crossterm::{
    cursor,
    event::{DisableBracketedPaste, EnableBracketedPaste, Event, EventStream},
    execute, queue,
    style::Print,
    terminal::{self as mode, Clear, ClearType},
};
use futures_util::StreamExt;
use ratatui::backend::{Backend, CrosstermBackend};
use std::{
    io::{self, Stdout, Write},
    sync::atomic::{AtomicBool, Ordering},
};
use switchboard_screen::{Key, Message, painter::Frame};
use tokio::process::Command;

/// Whether a terminal is to be given back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was, if it was taken. Also for whoever ends the process.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        // Each for itself: one that fails must not keep the others from being done.
        let _ = execute!(out, DisableBracketedPaste);
        let _ = execute!(out, mode::LeaveAlternateScreen);
        let _ = execute!(out, cursor::Show);
        let _ = mode::disable_raw_mode();
    }
}

fn take() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    mode::enable_raw_mode()?;
    let mut out = io::stdout();
    execute!(
        out,
        mode::EnterAlternateScreen,
        EnableBracketedPaste,
        cursor::Hide
    )
}

/// A terminal that is ours until this is dropped.
pub struct Terminal {
    out: CrosstermBackend<Stdout>,
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
            out: CrosstermBackend::new(io::stdout()),
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
        queue!(self.out, mode::BeginSynchronizedUpdate, cursor::Hide)?;
        if frame.anew {
            queue!(self.out, Clear(ClearType::All))?;
        }
        let cells = frame.cells.iter().map(|(x, y, cell)| (*x, *y, cell));
        self.out.draw(cells)?;
        if let Some((column, row)) = frame.cursor {
            queue!(self.out, cursor::MoveTo(column, row), cursor::Show)?;
        }
        queue!(self.out, mode::EndSynchronizedUpdate)?;
        Write::flush(&mut self.out)
    }

    /// Asks the terminal to put this into its clipboard.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let text = STANDARD.encode(text);
        execute!(self.out, Print(format!("\x1b]52;c;{text}\x07")))
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
        let how = match ended {
            Ok(status) => match status.code() {
                Some(0) => "done".to_owned(),
                Some(code) => format!("exit code {code}"),
                None => "ended by a signal".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        mode::enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(
            io::stdout(),
            Print(format!("\r\n[{how}] press a key to go back to the screen "))
        )?;
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
