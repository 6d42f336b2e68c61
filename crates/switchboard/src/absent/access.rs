//! Without `sign-in`: servers are reached without credentials of ours, and entries that
//! want some are at fault.

use crate::{apart::Apart, dirs::Dirs, spec::not_built};
use serde_json::Value;
use std::{path::Path, sync::Arc};
use switchboard_config::{
    Fault, SignIn,
    expand::{self, Expanded},
};
use switchboard_host::StandIn;
use switchboard_transport::http::Authorize;

/// Where sign-ins would be kept.
#[derive(Clone, Copy, Debug)]
pub enum TokenStore {}

/// A server's way in, of which this build has none.
#[derive(Clone, Copy, Debug)]
pub enum Authority {}

/// Where sign-ins are kept: nowhere.
#[derive(Clone, Debug)]
pub struct Access(());

/// The ways in to one server: none.
#[derive(Clone, Default)]
pub struct WayIn {
    /// OAuth, where nothing else is configured instead.
    pub authority: Option<Authority>,
    /// What the requests to it are given to.
    pub authorize: Option<Arc<dyn Authorize>>,
}

impl Access {
    /// Nobody signs in.
    pub fn new(
        _: &Path,
        _: &Dirs,
        _: &SignIn,
        _: Option<TokenStore>,
        _: expand::Lookup<'_>,
    ) -> Self {
        Self(())
    }

    /// The same for a gateway.
    pub fn for_clients(self) -> Self {
        self
    }

    pub(crate) fn stand_in(&self, _: &Expanded, authority: Option<&Authority>) -> Option<StandIn> {
        authority.map(|authority| match *authority {})
    }

    /// The ways in to a remote server: none, and a fault where its entry has one.
    pub fn way_in(&self, entry: &Expanded, _: Option<&Apart>) -> Result<WayIn, Vec<Fault>> {
        let oauth = entry.written.get("oauth").is_some_and(Value::is_object);
        let wanted = [
            ("oauth", oauth),
            ("headersHelper", entry.headers_helper.is_some()),
        ];
        match wanted.into_iter().find(|(_, wanted)| *wanted) {
            Some((field, _)) => Err(vec![not_built(entry, field, "sign-in")]),
            None => Ok(WayIn::default()),
        }
    }
}
