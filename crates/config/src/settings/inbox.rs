//! `approvals`: who is asked what a person has to answer, and who is told that something
//! waits. For the user and the administrator to say; a repository has no say in it.

use super::section::Section;
use crate::{
    expand::{self, Lookup, NotFilled},
    fault::Fault,
    read::Doc,
};
use serde::{Deserialize, Deserializer, de::Error};
use std::{collections::BTreeMap, fmt, path::Path};
use switchboard_local::secret;

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

/// `webhook`. Both may be written as what variables (`${VAR}`) and files (`${file:/path}`)
/// hold, which [`filled`](Self::filled) puts in.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Webhook {
    /// Where it is told: https, or an address of this machine.
    #[serde(deserialize_with = "address")]
    pub address: String,
    /// What it is signed with.
    #[serde(deserialize_with = "signed_with")]
    pub secret: String,
}

/// What is wrong with a webhook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookFault {
    /// What it refers to is not there.
    #[error("`{0}`: {1}")]
    NotFilled(&'static str, NotFilled),
    /// It would be told to anybody on the way.
    #[error("`address` must be https, or http on this machine")]
    Address,
    /// It protects nothing.
    #[error("`secret` must have at least {SHORTEST_SECRET} characters")]
    Short,
}

impl Webhook {
    /// The same with its variables and files filled in. `~/` is below `home`.
    ///
    /// # Errors
    /// What is not there, or is wrong once it is.
    pub fn filled(&self, lookup: Lookup<'_>, home: &Path) -> Result<Self, WebhookFault> {
        let fill = |field, text: &str| {
            let filled = expand::own_text(text, lookup, home);
            filled.map_err(|missing| WebhookFault::NotFilled(field, missing))
        };
        let filled = Self {
            address: fill("address", &self.address)?,
            secret: fill("secret", &self.secret)?,
        };
        is_safe(&filled.address)?;
        is_long(&filled.secret)?;
        // Neither is said by anything that we log or tell.
        secret::remember(&filled.secret);
        Ok(filled)
    }

    /// Whether its secret stands in the settings as it is, for everybody who reads them.
    pub fn is_written_out(&self) -> bool {
        !refers(&self.secret)
    }
}

/// Characters that a secret must have at least.
// tidy: the shortest secret that protects anything, not a cap
const SHORTEST_SECRET: usize = 16;

fn refers(text: &str) -> bool {
    text.contains("${")
}

/// What refers to something else is looked at once that is there.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if !refers(&text) {
        is_safe(&text).map_err(D::Error::custom)?;
    }
    Ok(text)
}

fn signed_with<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if !refers(&text) {
        is_long(&text).map_err(D::Error::custom)?;
    }
    Ok(text)
}

fn is_safe(address: &str) -> Result<(), WebhookFault> {
    let url = url::Url::parse(address).map_err(|_| WebhookFault::Address)?;
    let is_here = match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        _ => Err(WebhookFault::Address),
    }
}

fn is_long(secret: &str) -> Result<(), WebhookFault> {
    match secret.len() >= SHORTEST_SECRET {
        true => Ok(()),
        false => Err(WebhookFault::Short),
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
    fn a_secret_may_stand_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "of a file, long enough\n").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
        let hook = |address: &str, secret: &str| {
            let text = serde_json::json!({"approvals": {"webhook": {"address": address, "secret": secret}}});
            let (found, faults) = read(&text.to_string());
            assert!(faults.is_empty(), "{faults:?}");
            found.webhook.unwrap()
        };
        let lookup = |name: &str| match name {
            "HOOK_SECRET" => Some("of a variable, long enough".to_owned()),
            "HOOK_PATH" => Some("T0/B0/x".to_owned()),
            "SHORT" => Some("short".to_owned()),
            _ => None,
        };
        let filled = |hook: &Webhook| hook.filled(&lookup, folder.path());
        let one = hook("https://x.example/${HOOK_PATH}", "${HOOK_SECRET}");
        assert!(!one.is_written_out());
        let told = filled(&one).unwrap();
        assert_eq!(told.address, "https://x.example/T0/B0/x");
        assert_eq!(told.secret, "of a variable, long enough");
        let told = filled(&hook("https://x.example/", "${file:~/secret}")).unwrap();
        assert_eq!(told.secret, "of a file, long enough");
        assert!(hook("https://x.example/", "0123456789abcdef").is_written_out());
        for (address, secret, says) in [
            ("https://x.example/", "${NOT_SET}", "NOT_SET is not set"),
            ("https://x.example/", "${file:~/none}", "none"),
            ("https://x.example/", "${SHORT}", "at least 16"),
            (
                "http://${HOOK_PATH}.example/",
                "${HOOK_SECRET}",
                "must be https",
            ),
        ] {
            let wrong = filled(&hook(address, secret)).unwrap_err().to_string();
            assert!(wrong.contains(says), "{wrong}");
        }
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
