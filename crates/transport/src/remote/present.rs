//! With `http`: the links as they are.

use super::{Carrier, NotBuilt};
pub use crate::http::Driving;
use crate::{
    Budget, Link, Receive,
    http::{HttpOptions, HttpTarget},
    ws::WsOptions,
};
pub(crate) use crate::{
    dial::DialError,
    http::{HttpLink, SseLink},
    ws::WsLink,
};
use std::sync::Arc;

#[expect(
    clippy::unnecessary_wraps,
    reason = "a build without `http` says so here"
)]
pub(super) fn open(
    carrier: Carrier,
    target: HttpTarget,
    budget: Budget,
    receive: Arc<dyn Receive>,
) -> Result<Link, NotBuilt> {
    let options = HttpOptions::default;
    Ok(match carrier {
        Carrier::Http => Link::Http(HttpLink::new(target, options(), budget, receive)),
        Carrier::Sse => Link::Sse(SseLink::new(target, options(), budget, receive)),
        Carrier::Ws => Link::Ws(WsLink::new(target, WsOptions::default(), budget, receive)),
    })
}
