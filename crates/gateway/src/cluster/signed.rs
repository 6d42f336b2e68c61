//! What somebody has applied to a whole cluster, and who that was. Whoever keeps it, or has
//! the cluster's key, can change none of it: it counts by its signature, which binds every
//! entry as it is written, and the version that it is.

use super::part::{Hire, Part};
use crate::limits;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};
use switchboard_host::pins::SignedPins;
use switchboard_local::{hex, random};
use zeroize::Zeroizing;

/// What stands before the key of whoever may apply, and before what replicas know it by.
const SECRET: &str = "sign:";
const PUBLIC: &str = "apply:";

/// The forms of what is signed: one byte for it, the signer's key, the signature, and what
/// was signed. The second has approvals and pins.
const FORMS: [u8; 2] = [1, 2];
const KEY: usize = 32; // tidy: a form
const SIGNATURE: usize = 64; // tidy: a form

/// What a signature is about, so that it is good for nothing else, nor for another form.
fn about(part: Part, form: u8, text: &[u8]) -> Vec<u8> {
    let about = format!("switchboard cluster {} {form}\0", part.word());
    [about.as_bytes(), text].concat()
}

/// What holds for all replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// Larger each time.
    pub version: u64,
    /// When it was signed, in seconds since 1970.
    pub at: u64,
    /// What whoever signed it says about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Settings, in their order.
    #[serde(default)]
    pub documents: Vec<Document>,
    /// Who comes in by which token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenDigest>,
    /// Entries of repositories that may run, each bound to what it would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// What definitions of servers are to be, by what they are pinned under.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, SignedPins>,
    /// What outposts are to run, by name: all that there is in what is for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hires: BTreeMap<String, Hire>,
}

impl Statement {
    /// The form in which it is written: whoever does not know what more it says than an
    /// earlier program could must not go by the rest.
    fn form(&self) -> u8 {
        match self.approvals.is_empty() && self.pins.is_empty() {
            true => FORMS[0],
            false => FORMS[1],
        }
    }
}

/// An entry of a repository that may run, and what that means: the same that an approval on
/// one machine is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The server.
    pub name: String,
    /// The real directory of the file that it is written in.
    pub directory: String,
    /// The file that its command is, where that can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The entry as written.
    pub entry: serde_json::Value,
    /// What of it lies in the repository, and what that was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, String>,
}

/// A file of settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// What it was called.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A client's token, which cannot be told from this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenDigest {
    /// Whom it lets in.
    pub name: String,
    /// SHA-256 of it, in hexadecimal digits.
    pub sha256: String,
}

/// A statement that somebody has signed whose signature counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What it says.
    pub statement: Statement,
    /// The first digits of the signer's key.
    pub signer: String,
    /// All of it, as it is kept.
    pub bytes: Vec<u8>,
}

/// Why something does not count that was to be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplied {
    /// It does not open with the cluster's key, or is nothing of ours.
    #[error("it was not written by anybody of this cluster")]
    Altered,
    /// It is of a later program.
    #[error("a newer version of the program wrote it (form {0})")]
    Newer(u8),
    /// There is no signature.
    #[error("nobody has signed it")]
    Unsigned,
    /// A key that nobody here knows.
    #[error("the key that signed it ({0}) is none of those that may")]
    Stranger(String),
    /// What it says is not what was signed.
    #[error("it is not what was signed")]
    Forged,
    /// It was there before.
    #[error("it is version {version}, and {known} holds already: somebody has put an old one back")]
    Older {
        /// Its own.
        version: u64,
        /// The one that holds.
        known: u64,
    },
    /// Two of one number.
    #[error("it is another version {0} than the one that holds")]
    Twice(u64),
}

/// Why a file has no such key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadApplyKey {
    /// Not the one to sign with.
    #[error("a key to sign with is a line sign: and 64 hexadecimal digits")]
    Secret,
    /// Not those to check with.
    #[error("a key of whoever may apply is a line apply: and 64 hexadecimal digits")]
    Public,
    /// It is the other half.
    #[error("it is the key to sign with, which is for whoever applies, and no replica's")]
    Swapped,
    /// None, or more than anybody can look through.
    #[error("it must have between 1 and {} keys", limits::APPLY_KEYS)]
    Count,
}

/// Whoever may apply: the key to sign with.
pub struct ApplyKey(Ed25519KeyPair);

/// Whose signatures count.
#[derive(Clone, PartialEq, Eq)]
pub struct ApplyKeys(Vec<[u8; KEY]>);

fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn key_of(digits: &str) -> Option<[u8; KEY]> {
    if digits.len() != KEY * 2 || !digits.is_ascii() {
        return None;
    }
    let mut key = [0; KEY];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(key)
}

impl ApplyKey {
    /// A new key, as the text of a file, and what replicas get of it, likewise.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn make() -> std::io::Result<(String, String)> {
        let seed = Zeroizing::new(random::bytes::<KEY>()?);
        let refused = |_| std::io::Error::other("no key can be made of random numbers");
        let key = Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(refused)?;
        let public = hex(key.public_key().as_ref());
        let secret = hex(*seed);
        Ok((format!("{SECRET}{secret}\n"), format!("{PUBLIC}{public}\n")))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// When there is no such key in it.
    pub fn read(text: &str) -> Result<Self, BadApplyKey> {
        let mut lines = lines(text);
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(BadApplyKey::Secret);
        };
        let seed = line.strip_prefix(SECRET).and_then(key_of);
        let seed = Zeroizing::new(seed.ok_or(BadApplyKey::Secret)?);
        let key = Ed25519KeyPair::from_seed_unchecked(&*seed);
        key.map(Self).map_err(|_| BadApplyKey::Secret)
    }

    /// The signatures of this one count.
    pub fn public(&self) -> ApplyKeys {
        let mut key = [0; KEY];
        key.copy_from_slice(self.0.public_key().as_ref());
        ApplyKeys(vec![key])
    }

    /// What it is once it is signed.
    pub fn signed(&self, part: Part, statement: &Statement) -> Signed {
        Signed {
            statement: statement.clone(),
            signer: hex(&self.0.public_key().as_ref()[..6]),
            bytes: self.sign(part, statement),
        }
    }

    /// Signs.
    pub fn sign(&self, part: Part, statement: &Statement) -> Vec<u8> {
        let text = serde_json::to_vec(statement).unwrap_or_default();
        let form = statement.form();
        let signature = self.0.sign(&about(part, form, &text));
        let key = self.0.public_key().as_ref();
        [&[form], key, signature.as_ref(), &text].concat()
    }
}

impl ApplyKeys {
    /// Reads the text of a file: a line for each.
    ///
    /// # Errors
    /// When there are none in it.
    pub fn read(text: &str) -> Result<Self, BadApplyKey> {
        let mut keys = Vec::new();
        for line in lines(text) {
            if line.starts_with(SECRET) {
                return Err(BadApplyKey::Swapped);
            }
            let key = line.strip_prefix(PUBLIC).and_then(key_of);
            keys.push(key.ok_or(BadApplyKey::Public)?);
        }
        match keys.len() {
            1..=limits::APPLY_KEYS => Ok(Self(keys)),
            _ => Err(BadApplyKey::Count),
        }
    }

    /// These and those.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// What was signed, if it was by one of these, for these, and says what it said then.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn open(&self, part: Part, bytes: &[u8]) -> Result<Signed, NotApplied> {
        let (form, rest) = bytes.split_first().ok_or(NotApplied::Altered)?;
        if !FORMS.contains(form) {
            return Err(NotApplied::Newer(*form));
        }
        let (key, rest) = rest.split_at_checked(KEY).ok_or(NotApplied::Altered)?;
        let (signature, text) = rest
            .split_at_checked(SIGNATURE)
            .ok_or(NotApplied::Altered)?;
        if signature.iter().all(|byte| *byte == 0) {
            return Err(NotApplied::Unsigned);
        }
        let signer = hex(&key[..6]);
        if !self.0.iter().any(|known| known == key) {
            return Err(NotApplied::Stranger(signer));
        }
        let signed = UnparsedPublicKey::new(&ED25519, key);
        let verified = signed.verify(&about(part, *form, text), signature);
        verified.map_err(|_| NotApplied::Forged)?;
        let statement: Statement = serde_json::from_slice(text).map_err(|_| NotApplied::Altered)?;
        Ok(Signed {
            statement,
            signer,
            bytes: bytes.to_vec(),
        })
    }
}

impl fmt::Debug for ApplyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApplyKey")
    }
}

impl fmt::Debug for ApplyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.0.iter().map(|key| hex(&key[..6]));
        f.debug_list().entries(keys).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Part = Part::Replicas;

    fn pair() -> (ApplyKey, ApplyKeys) {
        let (secret, public) = ApplyKey::make().unwrap();
        let (secret, public) = (ApplyKey::read(&secret), ApplyKeys::read(&public));
        (secret.unwrap(), public.unwrap())
    }

    fn statement() -> Statement {
        let document = Document {
            name: "servers.json".into(),
            text: r#"{"mcpServers": {"a": {"command": "true"}}}"#.into(),
        };
        Statement {
            version: 3,
            documents: vec![document],
            ..Statement::default()
        }
    }

    #[test]
    fn what_was_signed_opens_and_nothing_that_differs_from_it() {
        let (key, keys) = pair();
        assert_eq!(key.public(), keys);
        let bytes = key.sign(ALL, &statement());
        let signed = keys.open(ALL, &bytes).unwrap();
        assert_eq!(signed.statement, statement());
        // Nor does it count for whom it was not signed.
        let forged = Err(NotApplied::Forged);
        assert_eq!(keys.open(Part::Outposts, &bytes), forged);
        // Any one bit.
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(keys.open(ALL, &other).is_err(), "{at}");
        }
        for cut in 0..bytes.len() {
            assert!(keys.open(ALL, &bytes[..cut]).is_err(), "{cut}");
        }
        let (_, others) = pair();
        let stranger = NotApplied::Stranger(signed.signer);
        assert_eq!(others.open(ALL, &bytes), Err(stranger));
        assert!(others.and(keys.clone()).open(ALL, &bytes).is_ok());
        let mut unsigned = bytes;
        unsigned[1 + KEY..1 + KEY + SIGNATURE].fill(0);
        assert_eq!(keys.open(ALL, &unsigned), Err(NotApplied::Unsigned));
    }

    #[test]
    fn a_program_that_knows_no_approvals_does_not_go_by_the_rest() {
        let (key, keys) = pair();
        assert_eq!(key.sign(ALL, &statement())[0], FORMS[0]);
        let approval = Approval {
            name: "a".into(),
            directory: "/srv/project".into(),
            program: Some("/usr/bin/node".into()),
            entry: serde_json::json!({"command": "node", "args": ["a.js"]}),
            contents: BTreeMap::from([("/srv/project/a.js".into(), "sha256:00".into())]),
        };
        let mut more = statement();
        more.approvals.push(approval);
        more.pins.insert("a".into(), SignedPins::default());
        let mut bytes = key.sign(ALL, &more);
        assert_eq!(bytes[0], FORMS[1]);
        assert_eq!(keys.open(ALL, &bytes).unwrap().statement, more);
        // Nor can anybody make it look as if there were nothing that it does not know.
        bytes[0] = FORMS[0];
        assert_eq!(keys.open(ALL, &bytes), Err(NotApplied::Forged));
    }

    #[test]
    fn a_file_with_another_key_says_so() {
        let (secret, public) = ApplyKey::make().unwrap();
        assert_eq!(ApplyKey::read(&public).unwrap_err(), BadApplyKey::Secret);
        assert_eq!(ApplyKeys::read(&secret), Err(BadApplyKey::Swapped));
        assert_eq!(ApplyKeys::read("# none\n"), Err(BadApplyKey::Count));
        assert_eq!(ApplyKeys::read("apply:é"), Err(BadApplyKey::Public));
        let many = public.repeat(limits::APPLY_KEYS + 1);
        assert_eq!(ApplyKeys::read(&many), Err(BadApplyKey::Count));
        let shown = format!("{:?}", ApplyKey::read(&secret).unwrap());
        assert!(!shown.contains(secret.trim()), "{shown}");
    }
}
