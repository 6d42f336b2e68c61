//! What a server that works does wrong all the same, for whoever looks after it.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The latest remark on each topic.
#[derive(Debug, Default)]
pub struct Remarks(Mutex<BTreeMap<&'static str, Remark>>);

#[derive(Debug)]
struct Remark {
    text: String,
    /// How often it was made, where that is counted.
    times: u64,
}

impl Remarks {
    /// Says something on a topic, or takes back what was said. Whether that is news.
    pub(crate) fn set(&self, topic: &'static str, text: Option<String>) -> bool {
        let mut remarks = self.0.lock();
        let news = remarks.get(topic).map(|known| &known.text) != text.as_ref();
        match text {
            Some(text) => remarks.insert(topic, Remark { text, times: 1 }),
            None => remarks.remove(topic),
        };
        news
    }

    /// Says something that may happen again, and counts how often it did.
    pub(crate) fn count(&self, topic: &'static str, text: String) {
        let mut remarks = self.0.lock();
        let times = remarks.get(topic).map_or(0, |known| known.times) + 1;
        remarks.insert(topic, Remark { text, times });
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        let said = |Remark { text, times }: &Remark| match times {
            0 | 1 => text.clone(),
            times => format!("{text} ({times} times)"),
        };
        self.0.lock().values().map(said).collect()
    }
}
