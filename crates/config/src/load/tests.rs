//! One file for each subject.

mod applied;
mod brought;
mod hired;
mod managed;
mod scopes;
mod trust;
