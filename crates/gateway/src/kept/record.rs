//! What is written of a session, and how: under a name and sealed with a key that both
//! follow from its id, which only its client and we know. Whoever reads the file learns
//! neither ids nor what they belong to.

use crate::session::seal::{self, KeyBytes, Seal};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use switchboard_ledger::Key;
use switchboard_local::hex;

/// The form of what is written. One that is newer than we know is left alone.
pub(super) const VERSION: u8 = crate::forms::SESSION;

/// What makes a session the one that it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// The form of this.
    pub version: u8,
    /// The server whose path it was opened at; nothing for all servers as one.
    pub path: String,
    /// The text of what its client said in `initialize`, without `_meta`.
    pub greeting: String,
    /// The least severe log message that its client wants, where it said so.
    pub level: Option<u8>,
    /// What it listens to: servers, and addresses of their own.
    pub subscriptions: Vec<(String, String)>,
    /// The process that has it.
    pub owner: String,
    /// How often it was brought back. Numbers of streams and events begin anew behind
    /// all that a process before could have used.
    pub epoch: u32,
}

/// What follows from the id of a session. Every session has one for as long as it is in
/// memory and needs it now and then: so it is bytes, and made ready when it is used.
pub(crate) struct Secret {
    key: KeyBytes,
    /// Half of a digest tells sessions apart as well as all of it.
    name: [u8; 16],
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

pub(super) fn name_of(what: &str, of: &str) -> String {
    hex(digest_of(what, of))
}

fn digest_of(what: &str, of: &str) -> impl AsRef<[u8]> {
    seal::digest_of([what.as_bytes(), of.as_bytes()])
}

/// The space of a principal's sessions.
pub(super) fn space_of(principal: &str) -> String {
    format!("sessions/{}", name_of("principal", principal))
}

impl Secret {
    pub(super) fn of(id: &str) -> Self {
        let mut name = [0; 16];
        let digest = digest_of("session name", id);
        name.iter_mut()
            .zip(digest.as_ref())
            .for_each(|(to, from)| *to = *from);
        Self {
            key: seal::key_of(name_of("session seal", id).as_bytes()),
            name,
        }
    }

    fn name(&self) -> String {
        hex(self.name)
    }

    /// Where the session is, among those of its principal.
    pub(super) fn key(&self, principal: &str) -> Key {
        Key::new(space_of(principal), self.name())
    }

    /// The name of one of its streams.
    pub(super) fn stream(&self, number: u64) -> String {
        format!("events/{}/{number}", self.name())
    }

    pub(super) fn close(&self, content: &[u8]) -> Bytes {
        let seal = Seal::with(&self.key);
        seal.close_bytes(content, self.name().as_bytes()).into()
    }

    pub(super) fn open(&self, sealed: &Bytes) -> Option<Vec<u8>> {
        let seal = Seal::with(&self.key);
        seal.open_bytes(sealed.to_vec(), self.name().as_bytes())
    }

    pub(super) fn close_record(&self, record: &Record) -> Bytes {
        self.close(&serde_json::to_vec(record).unwrap_or_default())
    }

    pub(super) fn open_record(&self, sealed: &Bytes) -> Option<Found> {
        let text = self.open(sealed)?;
        let about: About = serde_json::from_slice(&text).ok()?;
        if about.version > VERSION {
            let About { version, owner } = about;
            return Some(Found::Newer { version, owner });
        }
        serde_json::from_slice(&text).ok().map(Found::Known)
    }
}

/// What is found of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All that makes it the one that it was.
    Known(Box<Record>),
    /// A newer version has written it, and only whose it is can be read.
    Newer {
        /// The form of it.
        version: u8,
        /// The process that has it.
        owner: String,
    },
}

impl Found {
    /// The process that has it.
    pub(super) fn owner(&self) -> &str {
        match self {
            Self::Known(record) => &record.owner,
            Self::Newer { owner, .. } => owner,
        }
    }
}

/// What every form says.
#[derive(Deserialize)]
struct About {
    version: u8,
    owner: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_session_can_be_read_without_its_id() {
        let record = Record {
            version: VERSION,
            path: "canary-path".into(),
            greeting: r#"{"clientInfo":{"name":"canary-client"}}"#.into(),
            level: Some(3),
            subscriptions: vec![("canary-server".into(), "canary://uri".into())],
            owner: "canary-owner".into(),
            epoch: 2,
        };
        let secret = Secret::of("canary-id");
        let sealed = secret.close_record(&record);
        let key = secret.key("canary-principal");
        let written = format!("{key:?} {}", String::from_utf8_lossy(&sealed));
        assert!(!written.contains("canary"), "{written}");
        let known = Some(Found::Known(Box::new(record)));
        assert_eq!(Secret::of("canary-id").open_record(&sealed), known);
        assert_eq!(Secret::of("canary-ie").open_record(&sealed), None);
        assert_ne!(key, Secret::of("canary-ie").key("canary-principal"));
        assert_ne!(key, secret.key("canary-principam"));
    }

    #[test]
    fn of_what_a_newer_version_wrote_it_is_known_whose_it_is() {
        let secret = Secret::of("id");
        let version = VERSION + 1;
        let text = format!(r#"{{"version":{version},"owner":"new","path":["another","form"]}}"#);
        let found = secret.open_record(&secret.close(text.as_bytes()));
        let owner = "new".to_owned();
        assert_eq!(found, Some(Found::Newer { version, owner }));
    }
}
