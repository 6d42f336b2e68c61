//! Whether somebody said yes to what manifests run.

use std::{error::Error, fmt, path::Path, sync::Arc};

/// Why somebody's yes does not hold for a manifest, in words.
pub type Reason = Box<dyn Error + Send + Sync>;

/// Knows which manifests were approved, and as what. A no comes with its reason.
pub trait Approval: Send + Sync {
    /// Whether this manifest is one that was approved.
    fn manifest(&self, file: &Path, bytes: &[u8]) -> Result<(), Reason>;

    /// Whether everything that this manifest runs is as it was approved: asked
    /// before each run.
    fn run(&self, file: &Path, bytes: &[u8]) -> Result<(), Reason>;
}

/// Whose folder it is.
#[derive(Clone, Default)]
pub struct Trust {
    /// Who has to be asked about each manifest; nobody where the folder is the
    /// user's own affair.
    pub approval: Option<Arc<dyn Approval>>,
    /// Manifests get none of our variables.
    pub withholds_variables: bool,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("asks", &self.approval.is_some())
            .field("withholds_variables", &self.withholds_variables)
            .finish()
    }
}

impl Trust {
    pub(super) fn may_be_offered(&self, file: &Path, bytes: &[u8]) -> Result<(), Reason> {
        match &self.approval {
            Some(approval) => approval.manifest(file, bytes),
            None => Ok(()),
        }
    }

    pub(super) fn may_run(&self, file: &Path, bytes: &[u8]) -> Result<(), Reason> {
        match &self.approval {
            Some(approval) => approval.run(file, bytes),
            None => Ok(()),
        }
    }
}
