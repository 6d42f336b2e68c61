//! One line that somebody types.

use crate::{key::Key, limits};

/// A line with a cursor in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    text: Vec<char>,
    at: usize,
}

impl Input {
    /// A line with something in it, and the cursor behind that.
    pub fn with(text: &str) -> Self {
        let text: Vec<char> = text.chars().take(limits::INPUT_CHARS).collect();
        Self {
            at: text.len(),
            text,
        }
    }

    /// What is in it.
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// What stands before the cursor.
    pub fn before(&self) -> String {
        self.text[..self.at].iter().collect()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts text where the cursor is. Line breaks become spaces: this is one line.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars() {
            if self.text.len() >= limits::INPUT_CHARS {
                return;
            }
            let c = if c == '\n' || c == '\r' || c == '\t' {
                ' '
            } else {
                c
            };
            self.text.insert(self.at, c);
            self.at += 1;
        }
    }

    /// Takes away what stands before the cursor, back to this many characters.
    pub fn replace_before(&mut self, keep: usize, with: &str) {
        let keep = keep.min(self.at);
        self.text.drain(keep..self.at);
        self.at = keep;
        self.insert(with);
    }

    /// Whether the key was for a line like this.
    pub fn key(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) => self.insert(&c.to_string()),
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            Key::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.text.len()),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.text.len(),
            Key::Ctrl('u') => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            Key::Ctrl('k') => self.text.truncate(self.at),
            Key::Ctrl('w') => {
                let mut from = self.at;
                while from > 0 && self.text[from - 1] == ' ' {
                    from -= 1;
                }
                while from > 0 && self.text[from - 1] != ' ' {
                    from -= 1;
                }
                self.text.drain(from..self.at);
                self.at = from;
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited() {
        let mut input = Input::with("one two");
        assert!(input.key(Key::Ctrl('w')));
        assert_eq!(input.text(), "one ");
        input.insert("dré\ni");
        assert_eq!(input.text(), "one dré i");
        input.key(Key::Left);
        input.key(Key::Backspace);
        assert_eq!(input.text(), "one dréi");
        input.key(Key::Home);
        input.key(Key::Delete);
        assert_eq!(input.text(), "ne dréi");
        assert!(!input.key(Key::Enter));
        input.key(Key::End);
        input.key(Key::Ctrl('u'));
        assert!(input.is_empty());
        assert!(!input.key(Key::Backspace));
    }
}
