//! What stands in the place of a cluster's records in a program that knows no clusters.

use super::Options;
use crate::{
    context::Context,
    failure::{Code, Failure},
};
use clap::Args;
use std::convert::Infallible;

/// Whose records: those of this machine.
#[derive(Clone, Debug, Default, Args)]
pub struct OfCluster {}

impl OfCluster {
    /// They are never those of a cluster.
    pub fn shared(&self) -> Option<Infallible> {
        None
    }
}

/// Never done.
pub fn search(_: &Context, shared: &Infallible, _: &Options) -> Result<Code, Failure> {
    match *shared {}
}

/// Never done.
pub fn check(_: &Context, shared: &Infallible, _: bool) -> Result<Code, Failure> {
    match *shared {}
}
