//! The mark by which a server's processes are known.
//!
//! Ancestry alone cannot tell whose an orphan is: when its parent dies it
//! becomes a child of ours, like the orphans of every other server. So each
//! server gets a random value in its environment, which all that it starts
//! inherit and which Linux shows in `/proc/PID/environ`.

use std::ffi::OsString;
use switchboard_local::random::{self, NoRandomness};

/// The variable that carries the tag.
pub(crate) const VARIABLE: &str = "SWITCHBOARD_SERVER_TAG";

/// One server's random mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag(String);

impl Tag {
    /// A new tag that no other server has, nor can guess.
    pub(crate) fn random() -> Result<Self, NoRandomness> {
        random::id().map(Self)
    }

    /// The value for the server's environment. When we are ourselves a server
    /// of another Switchboard, its tag stays in front, so that it still
    /// recognises what we start.
    pub(crate) fn value(&self) -> OsString {
        match std::env::var(VARIABLE) {
            Ok(outer) if !outer.is_empty() => format!("{outer},{}", self.0).into(),
            _ => self.0.clone().into(),
        }
    }

    /// Whether an environment (NUL-separated, as the kernel shows it) carries
    /// this tag.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "nobody's environment can be read there")
    )]
    pub(crate) fn is_in(&self, environ: &[u8]) -> bool {
        environ
            .split(|byte| *byte == 0)
            .filter_map(|pair| pair.strip_prefix(VARIABLE.as_bytes()))
            .filter_map(|rest| rest.strip_prefix(b"="))
            .any(|value| {
                value
                    .split(|byte| *byte == b',')
                    .any(|one| one == self.0.as_bytes())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_alone_and_in_a_chain_but_not_in_part() {
        let tag = Tag("abc".into());
        assert!(tag.is_in(b"A=1\0SWITCHBOARD_SERVER_TAG=abc\0B=2\0"));
        assert!(tag.is_in(b"SWITCHBOARD_SERVER_TAG=outer,abc,inner"));
        assert!(!tag.is_in(b"SWITCHBOARD_SERVER_TAG=abcd\0"));
        assert!(!tag.is_in(b"X_SWITCHBOARD_SERVER_TAG=abc\0"));
        assert!(!tag.is_in(b""));
    }

    #[test]
    fn tags_differ() {
        assert_ne!(Tag::random().unwrap(), Tag::random().unwrap());
    }
}
