//! One file for each subject.

mod brought;
mod managed;
mod scopes;
mod trust;
