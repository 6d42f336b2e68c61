//! The readers of the testkit, which know nothing of this crate.

#[path = "../../../../testkit/src/json.rs"]
pub(super) mod json;
#[path = "../../../../testkit/src/one_reading/mod.rs"]
pub(super) mod one_reading;
