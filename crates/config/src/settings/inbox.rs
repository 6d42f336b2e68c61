//! `approvals`: who is asked what a person has to answer, and who is told that something
//! waits. For the user and the administrator to say; a repository has no say in it.

use super::section::Section;
use crate::{fault::Fault, read::Doc};
use serde::{Deserialize, Deserializer, de::Error};
use std::{collections::BTreeMap, fmt};

/// What settings say about questions to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inbox {
    /// `askAt`: who is asked.
    pub ask_at: Option<AskAtWord>,
    /// `askAtOf`: the same for single principals.
    pub ask_at_of: Option<BTreeMap<String, AskAtWord>>,
    /// `notify`: whether the desktop tells that something waits.
    pub notify: Option<bool>,
    /// `webhook`: what is told that something waits.
    pub webhook: Option<Webhook>,
}

/// The section.
const HERE: &str = "approvals";
/// Everything that it can have.
const KEYS: [&str; 4] = ["askAt", "askAtOf", "notify", "webhook"];

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskAtWord {
    /// The client.
    Client,
    /// Whoever looks at the inbox.
    Inbox,
    /// Both.
    Both,
}

/// `webhook`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Where it is told: https, or an address of this machine.
    #[serde(deserialize_with = "address")]
    pub address: String,
    /// What it is signed with.
    #[serde(deserialize_with = "secret")]
    pub secret: String,
}

/// Characters that a secret must have at least.
// tidy: the shortest secret that protects anything, not a cap
const SHORTEST_SECRET: usize = 16;

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let wrong = || D::Error::custom("`address` must be https, or http on this machine");
    let url = url::Url::parse(&text).map_err(|_| wrong())?;
    let is_here = match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => Ok(text),
        "http" if is_here => Ok(text),
        _ => Err(wrong()),
    }
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    match text.len() >= SHORTEST_SECRET {
        true => Ok(text),
        false => Err(D::Error::custom(format!(
            "`secret` must have at least {SHORTEST_SECRET} characters"
        ))),
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a secret, too.
        f.write_str("Webhook")
    }
}

impl Inbox {
    /// Puts what `other` says in the place of what was said before.
    pub fn overrule(&mut self, other: Self) {
        let Self {
            ask_at,
            ask_at_of,
            notify,
            webhook,
        } = other;
        self.ask_at = ask_at.or(self.ask_at);
        self.ask_at_of = ask_at_of.or(self.ask_at_of.take());
        self.notify = notify.or(self.notify);
        self.webhook = webhook.or(self.webhook.take());
    }

    /// Adds what a file says; later files win.
    pub fn read(&mut self, doc: &Doc<'_>) -> Vec<Fault> {
        let example = r#"{"askAt": "both"}"#;
        match Section::open(doc, HERE, &KEYS, example) {
            Err(faults) => faults,
            Ok(section) => section
                .part("askAt", &mut self.ask_at)
                .part("askAtOf", &mut self.ask_at_of)
                .part("notify", &mut self.notify)
                .part("webhook", &mut self.webhook)
                .faults(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fault::Source, read::with};

    fn read(text: &str) -> (Inbox, Vec<String>) {
        let mut found = Inbox::default();
        let faults = with(text, &Source::File("/s.json".into()), |doc| found.read(doc));
        let faults = faults.unwrap().iter().map(ToString::to_string).collect();
        (found, faults)
    }

    #[test]
    fn who_is_asked_and_told() {
        let (found, faults) = read(
            r#"{"approvals": {"askAt": "both", "askAtOf": {"ci": "inbox"}, "notify": false,
                "webhook": {"address": "https://x.example/h", "secret": "0123456789abcdef"}}}"#,
        );
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(found.ask_at, Some(AskAtWord::Both));
        let of = found.ask_at_of.unwrap();
        assert_eq!(of.get("ci"), Some(&AskAtWord::Inbox));
        assert_eq!(found.notify, Some(false));
        assert!(found.webhook.is_some());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, told) in [
            (r#"{"approvals": {"askAt": "nobody"}}"#, "askAt"),
            (r#"{"approvals": {"askedAt": "both"}}"#, "askedAt"),
            (
                r#"{"approvals": {"webhook": {"address": "http://x.example/", "secret": "0123456789abcdef"}}}"#,
                "must be https",
            ),
            (
                r#"{"approvals": {"webhook": {"address": "https://x.example/", "secret": "short"}}}"#,
                "at least 16",
            ),
        ] {
            let (_, faults) = read(text);
            assert!(
                faults.iter().any(|fault| fault.contains(told)),
                "{faults:?}"
            );
        }
    }
}
