//! Where there is no keeper.

use super::{KeeperError, Kept};

pub(super) fn enter(_: &[&str]) -> Result<Kept, KeeperError> {
    super::hide_memory();
    Ok(Kept {
        keeper: None,
        ignores_hangup: false,
    })
}

pub(super) fn stand_guard(_: &[&str]) {}
