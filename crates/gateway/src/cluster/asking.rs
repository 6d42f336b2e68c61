//! Whether a replica is there that was not heard of: it is asked.

use super::{Cluster, NoAnswer, Node};
use crate::limits;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use switchboard_transport::http::http1::Request;
use switchboard_wire::Payload;

/// Where a replica says which one it is.
pub(crate) const HERE: &str = "/replica";
/// In what it says so.
pub(crate) const REPLICA: HeaderName = HeaderName::from_static("switchboard-replica");

impl Cluster {
    /// Asks those that should have said that they are there: one that is slow, or cut off
    /// from the ledger alone, is not to be taken for dead.
    pub(super) async fn keep_asking(&self) {
        loop {
            let silent = self.nodes.silent().into_iter();
            let others = silent.filter(|(id, _)| *id != self.id);
            let asked = futures_util::stream::iter(others);
            asked
                .for_each_concurrent(limits::NODES_ASKED, async |(id, node)| {
                    self.asks_whether(&id, &node).await;
                })
                .await;
            tokio::time::sleep(limits::NODES_LOOK).await;
        }
    }

    async fn asks_whether(&self, id: &str, node: &Node) {
        let besides = [(header::HOST, HeaderValue::from_static("replica"))];
        let request = Request {
            method: Method::GET,
            target: Uri::from_static(HERE),
            headers: &HeaderMap::new(),
            without: &[],
            besides: &besides,
            more: HeaderMap::new(),
            payload: &Payload::default(),
        };
        let asked = self.links.ask(id, node, None, &request);
        let is_gone = match tokio::time::timeout(limits::NODE_ANSWERS, asked).await {
            Ok(Ok(answer)) => match answer.headers().get(&REPLICA) {
                Some(it) if it == id => return self.nodes.answered(id),
                // Another has its place, so that it has none.
                Some(_) => true,
                // An older version does not know the question.
                None => false,
            },
            Ok(Err(NoAnswer::Refused)) => true,
            Ok(Err(_)) | Err(_) => false,
        };
        if is_gone {
            self.nodes.refused(id);
        }
    }
}
