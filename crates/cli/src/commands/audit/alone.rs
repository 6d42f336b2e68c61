//! What stands in the place of a cluster's records in a program that knows no clusters.

use super::Options;
use crate::{
    context::Context,
    failure::{Code, Failure},
};
use std::convert::Infallible;

/// Never done.
pub fn search(_: &Context, shared: &Infallible, _: &Options) -> Result<Code, Failure> {
    match *shared {}
}

/// Never done.
pub fn check(_: &Context, shared: &Infallible, _: bool) -> Result<Code, Failure> {
    match *shared {}
}
