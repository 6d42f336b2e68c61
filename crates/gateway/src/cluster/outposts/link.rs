//! An outpost dials out: to stay connected to a replica, and for each link of a server.

use super::{LINK, PROTOCOL, frames::headers};
use crate::{
    cluster::{
        fingerprint,
        keys::ClusterKeys,
        links::{self, NoAnswer},
        nodes::Node,
    },
    limits,
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::{client::conn::http1, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use switchboard_tasks as tasks;
use switchboard_transport::dial::LinkTls;
use tokio::time::timeout;

/// By what an outpost comes in.
pub(super) struct Pass {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) keys: Arc<ClusterKeys>,
    pub(super) tls: LinkTls,
}

/// Why a replica does not take an outpost.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWay {
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it refuses this worker ({0})")]
    Refused(StatusCode),
    #[error("{0}")]
    Broken(String),
}

/// What an outpost says when it comes in, and the replica judges: it holds for these two
/// alone.
pub(crate) fn claim(name: &str, id: &str, own: &str, theirs: &str) -> String {
    format!("{name} {id} {own} {theirs}")
}

impl Pass {
    /// Comes in at a replica.
    pub(super) async fn attend(&self, node: &Node) -> Result<TokioIo<Upgraded>, NoWay> {
        self.dial(node, super::ATTEND, &[]).await
    }

    /// Brings a link that was asked for.
    pub(super) async fn bring(
        &self,
        node: &Node,
        link: &str,
        place: Option<String>,
    ) -> Result<TokioIo<Upgraded>, NoWay> {
        let link = (headers::LINK, link.to_owned());
        let place = place.map(|place| (headers::PLACE, place));
        let more: Vec<_> = std::iter::once(link).chain(place).collect();
        self.dial(node, LINK, &more).await
    }

    async fn dial(
        &self,
        node: &Node,
        path: &str,
        more: &[(HeaderName, String)],
    ) -> Result<TokioIo<Upgraded>, NoWay> {
        let broken = |fault: &dyn std::fmt::Display| NoWay::Broken(fault.to_string());
        let stream = links::shaken(&self.tls, node).await;
        let stream = stream.map_err(|_: NoAnswer| NoWay::Unreachable)?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|fault| broken(&fault))?;
        tasks::spawn(tasks::Kind::Connection, async move {
            if let Err(fault) = connection.with_upgrades().await {
                tracing::debug!(%fault, "a link to a replica ended badly");
            }
        });
        let request = self.request(node, path, more).map_err(|it| broken(&it))?;
        let asked = timeout(limits::LINK_CONNECT, sender.send_request(request)).await;
        let answer = asked.map_err(|_| NoWay::Unreachable)?;
        let answer = answer.map_err(|fault| broken(&fault))?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(NoWay::Refused(answer.status()));
        }
        let upgraded = hyper::upgrade::on(answer).await;
        Ok(TokioIo::new(upgraded.map_err(|fault| broken(&fault))?))
    }

    fn request(
        &self,
        node: &Node,
        path: &str,
        more: &[(HeaderName, String)],
    ) -> http::Result<Request<Empty<Bytes>>> {
        let own = fingerprint(self.tls.own());
        let claim = claim(&self.name, &self.id, &own, &node.fingerprint);
        let mut request = Request::get(path)
            .header(header::HOST, HeaderValue::from_static("replica"))
            .header(header::CONNECTION, HeaderValue::from_static("upgrade"))
            .header(header::UPGRADE, HeaderValue::from_static(PROTOCOL))
            .header(headers::NAME, &self.name)
            .header(headers::ID, &self.id)
            .header(headers::PROOF, self.keys.vouch(&claim));
        for (name, value) in more {
            request = request.header(name, value);
        }
        request.body(Empty::new())
    }
}
