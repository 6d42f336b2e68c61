//! Where outposts come in, at the place of other replicas: to stay connected, and with the
//! links that they were asked for.

use super::{body::Body, reply};
use crate::{
    cluster::{
        Cluster,
        outposts::{ATTEND, LINK, PROTOCOL, headers},
    },
    limits,
};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use std::sync::Arc;
use switchboard_local::visible;
use switchboard_tasks as tasks;
use tokio::time::timeout;

/// Whether a request is an outpost's.
pub(super) fn is_meant(request: &Request<Incoming>) -> bool {
    matches!(request.uri().path(), ATTEND | LINK)
}

/// Answers it: the connection is the outpost's from then on.
pub(super) fn answer(
    cluster: &Arc<Cluster>,
    certificate: &[u8],
    mut request: Request<Incoming>,
) -> Response<Body> {
    let Some(comer) = cluster.outpost(request.headers(), certificate) else {
        let name = request.headers().get(headers::NAME);
        let name = name.and_then(|name| name.to_str().ok()).map(visible::line);
        let name = name.as_deref();
        tracing::warn!(
            name,
            "who came as a worker has not its certificate, or not the cluster's key: it is refused"
        );
        return reply::status(StatusCode::FORBIDDEN);
    };
    let says = |name| {
        let value: Option<&HeaderValue> = request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    if says(header::UPGRADE).as_deref() != Some(PROTOCOL) {
        return reply::status(StatusCode::UPGRADE_REQUIRED);
    }
    let (link, place) = (says(headers::LINK), says(headers::PLACE));
    let is_link = request.uri().path() == LINK;
    if is_link {
        let is_expected = |link: &String| cluster.outposts().expects(link, &comer);
        if !link.as_ref().is_some_and(is_expected) {
            return reply::status(StatusCode::NOT_FOUND);
        }
    }
    let upgrading = hyper::upgrade::on(&mut request);
    let outposts = cluster.outposts().clone();
    tasks::spawn(tasks::Kind::Connection, async move {
        let upgraded = match timeout(limits::UPGRADE, upgrading).await {
            Ok(Ok(upgraded)) => upgraded,
            Ok(Err(fault)) => return tracing::debug!(%fault, "a worker's connection broke"),
            Err(_) => return tracing::debug!("a worker's connection was not upgraded in time"),
        };
        match link.filter(|_| is_link) {
            Some(link) => outposts.arrived(&link, &comer, place, upgraded),
            None => outposts.attend(comer, upgraded).await,
        }
    });
    switched()
}

fn switched() -> Response<Body> {
    let mut answer = reply::status(StatusCode::SWITCHING_PROTOCOLS);
    let headers = answer.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    answer
}
