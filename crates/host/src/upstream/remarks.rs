//! What a server that works does wrong all the same, for whoever looks after it.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The latest remark on each topic.
#[derive(Debug, Default)]
pub struct Remarks(Mutex<BTreeMap<&'static str, String>>);

impl Remarks {
    /// Says something on a topic, or takes back what was said. Whether that is news.
    pub(crate) fn set(&self, topic: &'static str, text: Option<String>) -> bool {
        let mut remarks = self.0.lock();
        let before = match text.clone() {
            Some(text) => remarks.insert(topic, text),
            None => remarks.remove(topic),
        };
        before != text
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().values().cloned().collect()
    }
}
