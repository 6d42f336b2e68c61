//! Without `gateway`: gateways that run are left alone.

use crate::{Options, roster::Prepared};
use std::{collections::HashMap, path::Path};
use switchboard_config::{Loaded, Permissions};

/// A running gateway, of which this build uses none.
#[derive(Clone, Copy, Debug)]
pub enum Attached {}

/// A server that is reached through a running gateway, of which there is none.
pub type ViaGateway = Attached;

pub(crate) fn answering(_: &Options) -> Vec<Attached> {
    Vec::new()
}

pub(crate) fn lead(
    _: &mut [Prepared],
    _: &Path,
    _: &Permissions,
    _: &mut [Attached],
) -> HashMap<String, ViaGateway> {
    HashMap::new()
}

pub(crate) fn bring_along(_: &Options, _: &mut Loaded) {}
