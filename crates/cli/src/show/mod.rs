//! How things look to a person.

pub mod answered;
pub mod anthropic;
pub mod content;
pub mod diff;
pub mod hidden;
pub mod live;
pub mod out;
pub mod pages;
pub mod safe;
pub mod sums;
pub mod term;
