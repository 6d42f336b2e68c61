//! Where there is no keeper.

use super::{KeeperError, Kept};

pub(super) fn enter() -> Result<Kept, KeeperError> {
    Ok(Kept {
        keeper: None,
        ignores_hangup: false,
    })
}
