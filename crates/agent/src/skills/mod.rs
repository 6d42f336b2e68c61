//! Skills that servers offer (the extension of SEP-2640): a list of entries,
//! and files that are read when a skill is loaded, never before, and used only
//! if they are what the entry says.

mod frontmatter;

pub use frontmatter::FrontmatterError;

#[cfg(test)]
mod tests;

use crate::{dialogue::Dialogue, limits};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use switchboard_host::CallError;
use switchboard_local::hex;
use switchboard_wire::{Method, json};

/// What the extension is called where capabilities are declared.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// A skill as its server lists it.
#[derive(Clone, Debug, Deserialize)]
pub struct Skill {
    /// Where its `SKILL.md` is.
    pub uri: String,
    /// The frontmatter of that file.
    pub frontmatter: Value,
    /// All its files, that one included.
    #[serde(default)]
    pub resources: Vec<SkillFile>,
}

/// One file of a skill.
#[derive(Clone, Debug, Deserialize)]
pub struct SkillFile {
    /// Where it is.
    pub uri: String,
    /// `sha256:` and its digest in hexadecimal.
    pub digest: String,
    /// Its length in bytes.
    #[serde(default)]
    pub size: Option<u64>,
}

/// Why a skill, or a file of one, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// It could not be read.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It is not among the files that the entry lists.
    #[error("{0} is no file of this skill")]
    NotListed(String),
    /// It is not what the entry says.
    #[error("{uri} is not what its server listed: {why}")]
    Mismatch {
        /// Which file.
        uri: String,
        /// What differs.
        #[source]
        why: Mismatch,
    },
}

/// How a file of a skill differs from what its server listed.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// The answer is no result of a read.
    #[error(transparent)]
    Unreadable(#[from] serde_json::Error),
    /// Another file came, or several, or none.
    #[error("the server did not send exactly this file")]
    NotThisFile,
    /// Its bytes are not written as they should be.
    #[error("it is not base64")]
    NoBase64,
    /// It has another length.
    #[error("it has {found} bytes, not {listed}")]
    Size {
        /// What came.
        found: usize,
        /// What was listed.
        listed: u64,
    },
    /// Nobody here can tell whether it is the same.
    #[error("its digest is not of a kind that is known here")]
    UnknownDigest,
    /// It is another.
    #[error("its digest differs")]
    Digest,
    /// It is no text.
    #[error("it is not UTF-8")]
    NoText,
    /// What it says of itself cannot be read.
    #[error("its frontmatter cannot be read: {0}")]
    Frontmatter(#[from] FrontmatterError),
    /// It says something else of itself.
    #[error("its frontmatter differs")]
    OtherFrontmatter,
}

/// The skills that a server offers. None of their files is read.
pub async fn list(dialogue: &Dialogue) -> Result<Vec<Skill>, CallError> {
    #[derive(Deserialize)]
    struct Page {
        skills: Vec<Skill>,
        #[serde(rename = "nextCursor")]
        next: Option<String>,
    }
    let bad = |reason: String| CallError::Unreadable {
        server: dialogue.server().name().to_string(),
        reason,
    };
    let mut skills = Vec::new();
    let mut cursors = HashSet::new();
    let mut params = "{}".to_owned();
    for _ in 0..limits::LIST_PAGES {
        let text = dialogue.request(Method::SkillsList, &params).await?;
        let page: Page = serde_json::from_slice(&text).map_err(|fault| bad(fault.to_string()))?;
        skills.extend(page.skills);
        if skills.len() > limits::LIST_ITEMS {
            return Err(bad(format!(
                "it lists more than {} skills",
                limits::LIST_ITEMS
            )));
        }
        let Some(cursor) = page.next else {
            return Ok(skills);
        };
        params = format!("{{\"cursor\":{}}}", json::quote(&cursor));
        if !cursors.insert(cursor) {
            return Err(bad("its list of skills repeats a cursor".into()));
        }
    }
    Err(bad(format!(
        "its list of skills has more than {} pages",
        limits::LIST_PAGES
    )))
}

/// Loads a skill: the text of its `SKILL.md`, if it is the one that was listed.
pub async fn load(dialogue: &Dialogue, skill: &Skill) -> Result<String, SkillError> {
    let bytes = read(dialogue, skill, &skill.uri).await?;
    let mismatch = |why: Mismatch| SkillError::Mismatch {
        uri: skill.uri.clone(),
        why,
    };
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| mismatch(Mismatch::NoText))?;
    let found = frontmatter::read(&text).map_err(|why| mismatch(why.into()))?;
    if !frontmatter::same(&found, &skill.frontmatter) {
        return Err(mismatch(Mismatch::OtherFrontmatter));
    }
    Ok(text)
}

/// Reads one file of a skill, if it is the one that was listed.
pub async fn read(dialogue: &Dialogue, skill: &Skill, uri: &str) -> Result<Bytes, SkillError> {
    let listed = skill.resources.iter().find(|file| file.uri == uri);
    let file = listed.ok_or_else(|| SkillError::NotListed(uri.to_owned()))?;
    let params = format!("{{\"uri\":{}}}", json::quote(uri));
    let result = dialogue.request(Method::ResourcesRead, &params).await?;
    let mismatch = |why: Mismatch| SkillError::Mismatch {
        uri: uri.to_owned(),
        why,
    };
    let bytes = content(&result, uri).map_err(mismatch)?;
    verify(file, &bytes).map_err(mismatch)?;
    Ok(bytes)
}

/// The bytes of the one resource in a read's result.
fn content(result: &[u8], uri: &str) -> Result<Bytes, Mismatch> {
    #[derive(Deserialize)]
    struct Read {
        contents: Vec<Content>,
    }
    #[derive(Deserialize)]
    struct Content {
        uri: String,
        text: Option<String>,
        blob: Option<String>,
    }
    let read: Read = serde_json::from_slice(result)?;
    let mut found = read
        .contents
        .into_iter()
        .filter(|content| content.uri == uri);
    match (found.next(), found.next()) {
        (
            Some(Content {
                text: Some(text),
                blob: None,
                ..
            }),
            None,
        ) => Ok(text.into()),
        (
            Some(Content {
                text: None,
                blob: Some(blob),
                ..
            }),
            None,
        ) => STANDARD
            .decode(blob)
            .map(Bytes::from)
            .map_err(|_| Mismatch::NoBase64),
        _ => Err(Mismatch::NotThisFile),
    }
}

fn verify(file: &SkillFile, bytes: &[u8]) -> Result<(), Mismatch> {
    if let Some(listed) = file.size
        && listed != bytes.len() as u64
    {
        let found = bytes.len();
        return Err(Mismatch::Size { found, listed });
    }
    let expected = file
        .digest
        .strip_prefix("sha256:")
        .ok_or(Mismatch::UnknownDigest)?;
    let digest = hex(Sha256::digest(bytes));
    if !digest.eq_ignore_ascii_case(expected) {
        return Err(Mismatch::Digest);
    }
    Ok(())
}
