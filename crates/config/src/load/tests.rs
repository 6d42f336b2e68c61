//! One file for each subject.

mod applied;
mod brought;
mod managed;
mod scopes;
mod trust;
