//! Looking names up as the system does, with a fault of our own: hyper's does not
//! say whether it was the name that led nowhere.

use super::error::Unresolved;
use futures_util::{TryFutureExt, future::MapErr};
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiFuture, GaiResolver, Name};
use std::{
    io,
    task::{Context, Poll},
};
use tower_service::Service;

/// The system's resolver.
#[derive(Clone)]
pub(super) struct Resolver(GaiResolver);

impl Default for Resolver {
    fn default() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = Unresolved;
    type Future = MapErr<GaiFuture, fn(io::Error) -> Unresolved>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        self.0.poll_ready(context).map_err(Unresolved)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        self.0.call(name).map_err(Unresolved)
    }
}
