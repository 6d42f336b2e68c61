//! The steps that led to a decision.

use crate::permission::{Decision, Reason};

/// Collects the reasons, where somebody wants them.
pub(super) struct Chain<'a>(pub(super) Option<&'a mut Vec<Reason>>);

impl Chain<'_> {
    pub(super) fn pass(&mut self, step: &'static str, found: impl FnOnce() -> String) {
        if let Some(reasons) = &mut self.0 {
            reasons.push(Reason {
                step,
                found: found(),
                decisive: false,
            });
        }
    }

    pub(super) fn allow(&mut self, step: &'static str, reason: String) -> Decision {
        self.pass(step, || reason);
        Decision::Allow
    }

    pub(super) fn ask(&mut self, step: &'static str, reason: String) -> Decision {
        self.pass(step, || reason.clone());
        Decision::Ask(reason)
    }

    pub(super) fn hold(&mut self, step: &'static str, reason: String) -> Decision {
        self.pass(step, || reason.clone());
        Decision::Held(reason)
    }

    pub(super) fn deny(&mut self, step: &'static str, reason: String) -> Decision {
        self.pass(step, || reason.clone());
        Decision::Deny(reason)
    }
}
