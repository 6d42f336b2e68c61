//! Answers to the same question, of which an older one must not come after a newer: each is
//! asked for beside the others, and a gateway that waits for a server may take its time.

use parking_lot::Mutex;
use std::collections::HashMap;

/// What is asked for just now, by its path.
#[derive(Default)]
pub struct Newest(Mutex<HashMap<String, Asked>>);

#[derive(Default)]
struct Asked {
    /// How often it was asked for, since somebody waited for it last.
    begun: u64,
    /// The newest that was answered.
    answered: u64,
    /// How many wait for it.
    waiting: usize,
}

impl Newest {
    /// Somebody asks for it; the number of that.
    pub fn begin(&self, path: &str) -> u64 {
        let mut all = self.0.lock();
        let asked = all.entry(path.to_owned()).or_default();
        asked.begun += 1;
        asked.waiting += 1;
        asked.begun
    }

    /// It is answered; whether that is still worth knowing.
    pub fn end(&self, path: &str, number: u64) -> bool {
        let mut all = self.0.lock();
        let Some(asked) = all.get_mut(path) else {
            return true;
        };
        let is_newer = number > asked.answered;
        asked.answered = asked.answered.max(number);
        asked.waiting -= 1;
        if asked.waiting == 0 {
            all.remove(path);
        }
        is_newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_answer_does_not_come_after_a_newer() {
        let newest = Newest::default();
        let (first, second, other) = (
            newest.begin("tools"),
            newest.begin("tools"),
            newest.begin("state"),
        );
        assert!(newest.end("tools", second));
        let third = newest.begin("tools");
        assert!(!newest.end("tools", first), "it knows less");
        assert!(newest.end("tools", third) && newest.end("state", other));
        // In their order both are told, and nothing is kept of what nobody waits for.
        let (first, second) = (newest.begin("tools"), newest.begin("tools"));
        assert!(newest.end("tools", first) && newest.end("tools", second));
        assert!(newest.0.lock().is_empty());
    }
}
