//! Texts as they stand in records.

use crate::limits;
use serde_json::Value;
use switchboard_local::{mixed, secret, visible};

/// Places for texts that were looked through.
// tidy: a size of memory that is made once, no cap.
const PLACES: usize = 512;

/// Texts from elsewhere as a record has them: on one line, not longer than they may be,
/// without what looks like a secret, and in quotes.
///
/// Names are the same from record to record, so that each is looked through once. A
/// place holds the last text that fell to it: whoever chooses names that fall together
/// has them looked through each time, and no more.
#[derive(Debug)]
pub(super) struct Said {
    places: Box<[Option<Known>]>,
    /// How many secrets were known when these were looked through.
    secrets: usize,
    /// The last text that is too long to be kept.
    long: String,
}

#[derive(Debug)]
struct Known {
    text: Box<str>,
    written: Box<str>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| None).collect(),
            secrets: secret::known_count(),
            long: String::new(),
        }
    }
}

impl Said {
    /// Looks at everything anew where more secrets are known by now, and says so.
    pub(super) fn renew(&mut self) -> bool {
        let secrets = secret::known_count();
        let is_new = std::mem::replace(&mut self.secrets, secrets) != secrets;
        if is_new {
            self.places.fill_with(|| None);
        }
        is_new
    }

    /// A text as it is written.
    pub(super) fn written(&mut self, text: &str) -> &str {
        if text.len() > limits::AUDIT_KEPT_TEXT {
            self.long = write(text);
            return &self.long;
        }
        let known = &mut self.places[place(text)];
        if known.as_ref().is_none_or(|known| *known.text != *text) {
            *known = None;
        }
        &known
            .get_or_insert_with(|| Known {
                text: text.into(),
                written: write(text).into(),
            })
            .written
    }
}

fn write(text: &str) -> String {
    Value::from(visible::line(&short(text))).to_string()
}

/// A text without what looks like a secret, and then not longer than it may be: half a
/// secret would not be known for one.
pub(super) fn short(text: &str) -> String {
    if text.len() > limits::AUDIT_RECORD {
        return format!("left out: {} bytes", text.len());
    }
    visible::cut(&secret::text(text), limits::AUDIT_TEXT)
}

/// Where a text is looked for.
fn place(text: &str) -> usize {
    (mixed(0, text.as_bytes()) >> 32) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_the_second_time_until_more_is_known() {
        let mut said = Said::default();
        for text in ["a", "", "say \"ü\"\n", "long long name of a tool", "a"] {
            let once = write(text);
            assert_eq!(said.written(text), once);
            assert_eq!(said.written(text), once);
        }
        assert_eq!(said.written("say \"ü\"\n"), r#""say \"ü\"\\n""#);
        let secret = "maple-canary-of-said";
        assert_eq!(said.written(secret), format!("{secret:?}"));
        secret::remember(secret);
        assert!(said.renew() && !said.renew());
        assert_eq!(said.written(secret), format!("{:?}", secret::HIDDEN));
        let long = secret.repeat(100);
        assert!(!said.written(&long).contains("maple"));
    }
}
