//! Keys beside lines that a command writes: each counts when it is pressed, and none is
//! echoed. Ctrl-C stays a signal, and what is written looks as always.

use super::{
    hangup::Hangup,
    stopping::{Stopping, Wanted},
};
use crate::limits;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use parking_lot::Mutex;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, stdin};
use switchboard::process::keeper;
use switchboard_screen::Key;

/// How the terminal was, where it is to be given back.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// What stands for no key at all.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// Gives the terminal back as it was, if keys were read. Also for whoever ends the process.
pub fn restore() {
    if let Some(before) = BEFORE.lock().take() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

/// The keys of the terminal, until this is dropped.
pub struct Keyboard {
    keys: Option<EventStream>,
    hangup: Hangup,
    stopping: Stopping,
}

impl Keyboard {
    /// Whoever runs in the background has no keys until it comes to the front.
    pub fn take() -> io::Result<Self> {
        let mut keyboard = Self {
            keys: None,
            hangup: Hangup::watch()?,
            stopping: Stopping::listen()?,
        };
        keyboard.take_again();
        Ok(keyboard)
    }

    /// Waits for this key. Ctrl-Z stops us meanwhile, as ever.
    pub async fn pressed(&mut self, wanted: char) {
        loop {
            match self.next().await {
                Some(Key::Char(key)) if key == wanted => return,
                Some(Key::Ctrl('z')) => {
                    self.give_back();
                    self.stopping.stop_job();
                    self.take_again();
                }
                _ => {}
            }
        }
    }

    /// The next key; nothing where something else happened.
    async fn next(&mut self) -> Option<Key> {
        let Some(keys) = &mut self.keys else {
            tokio::select! {
                () = tokio::time::sleep(limits::FRONT_LOOK) => {}
                wanted = self.stopping.next() => if wanted == Wanted::Stop {
                    self.stopping.stop();
                },
            }
            self.take_again();
            return None;
        };
        tokio::select! {
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) => Key::of(key),
                Some(Ok(_)) => None,
                // The terminal is gone; a signal says so to whoever wants to know.
                Some(Err(_)) | None => std::future::pending().await,
            },
            () = self.hangup.gone() => {
                self.keys = None;
                std::future::pending().await
            }
            // Others had the terminal, or have it still.
            wanted = self.stopping.next() => {
                match wanted {
                    Wanted::Stop => {
                        self.give_back();
                        self.stopping.stop();
                        self.take_again();
                    }
                    // The keys are not let go of: two who read them one after the other
                    // would wait for each other.
                    Wanted::GoOn if keeper::is_in_front() => {
                        let _ = take();
                    }
                    Wanted::GoOn => self.give_back(),
                }
                None
            }
        }
    }

    /// Takes the keys, if they are ours to take: the system stops whoever takes others'.
    pub fn take_again(&mut self) {
        if self.keys.is_none() && keeper::is_in_front() && take().is_ok() {
            self.keys = Some(EventStream::new());
        }
    }

    /// Lets somebody else have them.
    pub fn give_back(&mut self) {
        self.keys = None;
        if keeper::is_in_front() {
            restore();
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn take() -> io::Result<()> {
    let now = tcgetattr(stdin())?;
    let mut keys = now.clone();
    keys.local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO);
    // The terminal is given back before anybody else gets it.
    keys.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
    BEFORE.lock().get_or_insert(now);
    tcsetattr(stdin(), OptionalActions::Now, &keys)?;
    Ok(())
}
