//! The skills extension: files are read when a skill is loaded, not before,
//! and only if they are what was listed.

use crate::peer::Peer;
use anyhow::{Context, Result, bail, ensure};
use switchboard_agent::skills::{self, SkillError};

/// Lists the skills and reads nothing.
pub async fn listed_only(peer: &Peer) -> Result<()> {
    let skills = skills::list(peer.dialogue()).await?;
    ensure!(!skills.is_empty(), "no skill is listed");
    Ok(())
}

/// Loads a skill whose `SKILL.md` is not what was listed. A client that did not
/// notice would go on to its other files.
pub async fn forged(peer: &Peer) -> Result<()> {
    let skills = skills::list(peer.dialogue()).await?;
    let skill = skills.first().context("no skill is listed")?;
    match skills::load(peer.dialogue(), skill).await {
        Err(SkillError::Mismatch { .. }) => return Ok(()),
        loaded => loaded.map(drop)?,
    }
    for file in skill.resources.iter().filter(|file| file.uri != skill.uri) {
        skills::read(peer.dialogue(), skill, &file.uri).await?;
    }
    bail!("a forged skill was loaded")
}
