//! What follows from the cluster's key: ids of sessions that nobody else can make, and the
//! seal of what replicas tell each other through others.

use crate::session::seal::{self, Binding, Seal};
use aws_lc_rs::{digest, hmac};
use std::fmt;
use subtle::ConstantTimeEq;
use switchboard_local::{hex, random};

/// Digits of what is random in a session's id, and of what proves it.
const RANDOM: usize = 32; // tidy: a form
const PROOF: usize = 16; // tidy: a form
/// Bytes of what proves a message.
pub(super) const TAG: usize = 16; // tidy: a form

/// The keys of a cluster: the first is used, all are good.
pub struct ClusterKeys(Vec<Key>);

/// What a worker has as well, and what only replicas have.
struct Key {
    vouches: hmac::Key,
    seals: Seal,
    /// The same as that of the whole, for files of workers.
    name: String,
    whole: Option<Whole>,
}

/// What only replicas have.
struct Whole {
    proves: hmac::Key,
    /// Where calls wait for their clients.
    tickets: hmac::Key,
    hides: Seal,
    /// What clients hold for us.
    wraps: Seal,
    /// What goes from replica to replica through NATS.
    frames: hmac::Key,
    /// What says nothing of it, and is the same wherever it is.
    name: String,
}

/// What stands before a worker's key.
const WORKERS: &str = "worker:";

/// Why a file has no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKeys {
    /// Neither one nor two lines.
    #[error("it must have one key, or two while one takes the place of the other")]
    Count,
    /// No key.
    #[error("a key is 64 hexadecimal digits on a line of its own")]
    Form,
    /// It opens less than a replica needs.
    #[error("it is a worker's key, and a replica needs the cluster's own")]
    Workers,
}

/// The replica that an id names, whoever made it.
pub(super) fn named(id: &str) -> Option<&str> {
    id.split_once('.').map(|(replica, _)| replica)
}

impl ClusterKeys {
    /// Reads the text of a file.
    pub fn read(text: &str) -> Result<Self, BadKeys> {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys: Result<Vec<Key>, BadKeys> = lines.map(Key::read).collect();
        let keys = keys?;
        match keys.len() {
            1 | 2 => Ok(Self(keys)),
            _ => Err(BadKeys::Count),
        }
    }

    /// A new key, as the text of a file.
    pub fn make() -> std::io::Result<String> {
        Ok(format!("{}\n", hex(random::bytes::<32>()?)))
    }

    /// What workers get of the keys in the text of a file, as the text of theirs: they
    /// make no session's id with it, and open no sign-in.
    pub fn for_workers(text: &str) -> Result<String, BadKeys> {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|line| Ok(format!("{WORKERS}{}\n", workers(line)?)));
        keys.collect()
    }

    /// The same, if they are all that a replica needs.
    pub fn whole(self) -> Result<Self, BadKeys> {
        match self.0.iter().all(|key| key.whole.is_some()) {
            true => Ok(self),
            false => Err(BadKeys::Workers),
        }
    }

    /// What the cluster is called in files of its replicas, by each of its keys.
    pub fn names(&self) -> Vec<String> {
        let whole = self.0.iter().filter_map(|key| key.whole.as_ref());
        whole.map(|whole| whole.name.clone()).collect()
    }

    /// The same in files of its workers, which know no other.
    pub fn workers_names(&self) -> Vec<String> {
        self.0.iter().map(|key| key.name.clone()).collect()
    }

    /// A new id for a session of this replica.
    pub(super) fn session(&self, owner: &str) -> String {
        let random = random::id().expect("the operating system gives random bytes");
        let body = format!("{owner}.{random}");
        let proof = self.0[0].proof(&body);
        // With a worker's key it is one that no replica takes.
        format!("{body}.{}", proof.unwrap_or_default())
    }

    /// The replica that has made this id, if it was one of ours: see also [`named`].
    pub(super) fn owner<'a>(&self, id: &'a str) -> Option<&'a str> {
        let (body, proof) = id.rsplit_once('.')?;
        let (owner, random) = body.split_once('.')?;
        if (random.len(), proof.len()) != (RANDOM, PROOF) {
            return None;
        }
        let is_proven = |key: &Key| {
            let ours = key.proof(body);
            ours.is_some_and(|ours| bool::from(ours.as_bytes().ct_eq(proof.as_bytes())))
        };
        self.0.iter().any(is_proven).then_some(owner)
    }

    /// What a client holds for a call that waits at a replica: which, what proves that one
    /// of ours has said so, and what only that replica opens.
    pub(super) fn ticket(&self, replica: &str, sealed: &str) -> String {
        let proof = self.0[0].stamp(replica, sealed).unwrap_or_default();
        format!("{replica}.{proof}.{sealed}")
    }

    /// The replica at which the call of a ticket waits, if one of ours has made it.
    pub(super) fn waits_at<'a>(&self, ticket: &'a str) -> Option<&'a str> {
        let (named, sealed) = ticket.rsplit_once('.')?;
        let (replica, proof) = named.rsplit_once('.')?;
        let is_proven = |key: &Key| {
            let ours = key.stamp(replica, sealed);
            ours.is_some_and(|ours| bool::from(ours.as_bytes().ct_eq(proof.as_bytes())))
        };
        self.0.iter().any(is_proven).then_some(replica)
    }

    /// What shows that whoever says something has the key.
    pub(super) fn vouch(&self, said: &str) -> String {
        self.0[0].voucher(said)
    }

    /// Whether whoever said something has the key.
    pub(super) fn is_vouched_for(&self, said: &str, voucher: &str) -> bool {
        let is_it = |key: &Key| bool::from(key.voucher(said).as_bytes().ct_eq(voucher.as_bytes()));
        self.0.iter().any(is_it)
    }

    /// Seals what stands under a name.
    pub(super) fn close(&self, content: &[u8], name: &str) -> Vec<u8> {
        self.0[0].seals.close_bytes(content, name.as_bytes())
    }

    /// Seals what a client holds for us; nothing where this is a worker's key.
    pub(super) fn wrap(&self, content: &[u8], binding: &Binding) -> Option<String> {
        let whole = self.0[0].whole.as_ref()?;
        Some(whole.wraps.close(content, binding))
    }

    /// Opens it again, at whichever replica the client comes back to.
    pub(super) fn unwrap(&self, sealed: &str, binding: &Binding) -> Option<Vec<u8>> {
        let mut keys = self.0.iter().filter_map(|key| key.whole.as_ref());
        keys.find_map(|whole| whole.wraps.open(sealed, binding))
    }

    /// What shows that a message was sent by a replica; nothing where this is a worker's key.
    pub(super) fn tag(&self, message: &[&[u8]]) -> Option<Vec<u8>> {
        let whole = self.0[0].whole.as_ref()?;
        Some(tagged(&whole.frames, message).as_ref()[..TAG].to_vec())
    }

    /// Whether a replica has sent a message.
    pub(super) fn is_tagged(&self, message: &[&[u8]], tag: &[u8]) -> bool {
        let mut keys = self.0.iter().filter_map(|key| key.whole.as_ref());
        keys.any(|whole| {
            let ours = tagged(&whole.frames, message);
            bool::from(ours.as_ref()[..TAG].ct_eq(tag))
        })
    }

    /// Opens what stands under a name.
    pub(super) fn open(&self, sealed: &[u8], name: &str) -> Option<Vec<u8>> {
        let mut keys = self.0.iter();
        keys.find_map(|key| key.seals.open_bytes(sealed.to_vec(), name.as_bytes()))
    }

    /// Seals what workers must not read; nothing where this is a worker's key.
    pub(super) fn hide(&self, content: &[u8], name: &str) -> Option<Vec<u8>> {
        let whole = self.0[0].whole.as_ref()?;
        Some(whole.hides.close_bytes(content, name.as_bytes()))
    }

    /// Opens it again.
    pub(super) fn reveal(&self, hidden: &[u8], name: &str) -> Option<Vec<u8>> {
        let mut keys = self.0.iter().filter_map(|key| key.whole.as_ref());
        keys.find_map(|whole| whole.hides.open_bytes(hidden.to_vec(), name.as_bytes()))
    }
}

fn digits(line: &str) -> Result<String, BadKeys> {
    let is_key = line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_key
        .then(|| line.to_ascii_lowercase())
        .ok_or(BadKeys::Form)
}

/// The key that workers get of one.
fn workers(line: &str) -> Result<String, BadKeys> {
    Ok(hex(derived("workers' key", &digits(line)?)))
}

impl Key {
    fn read(line: &str) -> Result<Self, BadKeys> {
        let (workers, whole) = match line.strip_prefix(WORKERS) {
            Some(key) => (digits(key)?, None),
            None => {
                let line = digits(line)?;
                let whole = Whole {
                    proves: signs("session ids", &line),
                    tickets: signs("tickets", &line),
                    hides: Seal::of(derived("secrets", &line).as_ref()),
                    wraps: Seal::of(derived("states", &line).as_ref()),
                    frames: signs("frames", &line),
                    name: hex(&derived("name", &line).as_ref()[..8]),
                };
                (workers(&line)?, Some(whole))
            }
        };
        Ok(Self {
            vouches: signs("workers", &workers),
            seals: Seal::of(derived("entries", &workers).as_ref()),
            name: hex(&derived("workers' name", &workers).as_ref()[..8]),
            whole,
        })
    }

    fn voucher(&self, said: &str) -> String {
        hex(hmac::sign(&self.vouches, said.as_bytes()))
    }

    fn stamp(&self, replica: &str, sealed: &str) -> Option<String> {
        let said = [replica.as_bytes(), sealed.as_bytes()];
        let tag = tagged(&self.whole.as_ref()?.tickets, &said);
        Some(hex(&tag.as_ref()[..PROOF / 2]))
    }

    fn proof(&self, body: &str) -> Option<String> {
        let tag = hmac::sign(&self.whole.as_ref()?.proves, body.as_bytes());
        Some(hex(&tag.as_ref()[..PROOF / 2]))
    }
}

fn signs(what: &str, key: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, derived(what, key).as_ref())
}

fn tagged(key: &hmac::Key, message: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for part in message {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.sign()
}

fn derived(what: &str, key: &str) -> digest::Digest {
    seal::digest_of(["switchboard cluster", what, key].map(str::as_bytes))
}

/// A new id for a replica, behind the name by which load balancers know it.
pub(super) fn replica(name: Option<&str>) -> std::io::Result<String> {
    let random = hex(random::bytes::<8>()?);
    Ok(match name {
        Some(name) => format!("{name}-{random}"),
        None => random,
    })
}

impl fmt::Debug for ClusterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKeys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> ClusterKeys {
        ClusterKeys::read(text).unwrap()
    }

    #[test]
    fn an_id_is_good_where_the_key_is_the_same_and_nothing_was_changed() {
        let (one, two) = (ClusterKeys::make().unwrap(), ClusterKeys::make().unwrap());
        let ours = keys(&one);
        let owner = replica(Some("one")).unwrap();
        let id = ours.session(&owner);
        assert_eq!(ours.owner(&id), Some(&*owner));
        assert_eq!(keys(&two).owner(&id), None);
        // While keys change, both are good; new ids are made with the first.
        let both = keys(&format!("# new\n{two}\n{one}"));
        assert_eq!(both.owner(&id), Some(&*owner));
        assert_eq!(keys(&two).owner(&both.session(&owner)), Some(&*owner));
        for at in 0..id.len() {
            let mut forged = id.clone().into_bytes();
            forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(ours.owner(&forged), None, "{forged}");
        }
        for other in ["", ".", "..", &id[1..], &format!("{id}0"), &"0".repeat(32)] {
            assert_eq!(ours.owner(other), None, "{other}");
        }
    }

    #[test]
    fn a_ticket_leads_to_its_replica_where_the_key_is_the_same_and_nothing_was_changed() {
        let (one, two) = (ClusterKeys::make().unwrap(), ClusterKeys::make().unwrap());
        let ours = keys(&one);
        let replica = replica(Some("one")).unwrap();
        let ticket = ours.ticket(&replica, "sealed-text_");
        assert_eq!(ours.waits_at(&ticket), Some(&*replica));
        assert!(ticket.ends_with(".sealed-text_"), "{ticket}");
        assert_eq!(keys(&two).waits_at(&ticket), None);
        assert_eq!(
            keys(&format!("{two}{one}")).waits_at(&ticket),
            Some(&*replica)
        );
        // A session's id proves nothing about a ticket.
        assert_eq!(ours.waits_at(&ours.session(&replica)), None);
        for at in 0..ticket.len() {
            let mut forged = ticket.clone().into_bytes();
            forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(ours.waits_at(&forged), None, "{forged}");
        }
        for other in ["", ".", "..", &format!("{replica}.sealed-text_")] {
            assert_eq!(ours.waits_at(other), None, "{other}");
        }
        // A worker's key makes none.
        let theirs = keys(&ClusterKeys::for_workers(&one).unwrap());
        assert_eq!(ours.waits_at(&theirs.ticket(&replica, "x")), None);
        assert_eq!(theirs.waits_at(&ticket), None);
    }

    #[test]
    fn what_is_sealed_opens_under_its_name_alone() {
        let ours = keys(&ClusterKeys::make().unwrap());
        let sealed = ours.close(b"canary", "one");
        assert!(!sealed.windows(6).any(|part| part == b"canary"));
        assert_eq!(ours.open(&sealed, "one").as_deref(), Some(&b"canary"[..]));
        assert_eq!(ours.open(&sealed, "two"), None);
        let strangers = keys(&ClusterKeys::make().unwrap());
        assert_eq!(strangers.open(&sealed, "one"), None);
        assert_eq!(ours.open(b"short", "one"), None);
    }

    #[test]
    fn a_worker_s_key_makes_no_session_and_opens_no_secret() {
        let text = ClusterKeys::make().unwrap();
        let (ours, theirs) = (keys(&text), keys(&ClusterKeys::for_workers(&text).unwrap()));
        let sealed = theirs.close(b"said", "one");
        assert_eq!(ours.open(&sealed, "one").as_deref(), Some(&b"said"[..]));
        assert!(ours.is_vouched_for("me", &theirs.vouch("me")));
        assert_eq!(ours.owner(&theirs.session("one")), None);
        assert_eq!(theirs.owner(&ours.session("one")), None);
        let hidden = ours.hide(b"canary", "one").unwrap();
        assert_eq!(ours.reveal(&hidden, "one").as_deref(), Some(&b"canary"[..]));
        assert_eq!(ours.reveal(&hidden, "two"), None);
        assert_eq!(theirs.reveal(&hidden, "one"), None);
        assert_eq!(theirs.open(&hidden, "one"), None);
        assert!(theirs.hide(b"canary", "one").is_none());
        assert_eq!(theirs.whole().unwrap_err(), BadKeys::Workers);
        assert!(ours.whole().is_ok());
    }

    #[test]
    fn a_file_without_keys_says_so() {
        let key = ClusterKeys::make().unwrap();
        for (text, why) in [
            (String::new(), BadKeys::Count),
            (key.repeat(3), BadKeys::Count),
            ("secret".into(), BadKeys::Form),
            (key.replace('\n', "0"), BadKeys::Form),
        ] {
            assert_eq!(ClusterKeys::read(&text).unwrap_err(), why, "{text}");
        }
    }
}
