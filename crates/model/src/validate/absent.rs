//! Without `validate`: nothing is checked.

use super::Verdict;
use serde_json::Value;
use std::time::Duration;

/// What would check values, in a build with `validate`.
#[derive(Debug, Default)]
pub struct Validators(());

impl Validators {
    /// Validators whose checks would take no longer than this.
    pub fn new(_: Duration) -> Self {
        Self(())
    }

    /// Cannot tell.
    #[expect(
        clippy::unused_async,
        reason = "it takes time where there is `validate`"
    )]
    pub async fn check(&self, _: &[u8], _: &[u8]) -> Verdict {
        Verdict::Unchecked("this build has no `validate`".to_owned())
    }

    /// Nothing is looked at.
    pub fn left_out(&self, _: &[u8]) -> Vec<String> {
        Vec::new()
    }

    /// How many compiled schemas are kept.
    pub fn kept(&self) -> usize {
        0
    }
}

/// Where a schema breaks the rules of the newest dialect, which nobody can tell here.
pub(crate) fn dialect_fault(_: &Value) -> Option<String> {
    None
}
