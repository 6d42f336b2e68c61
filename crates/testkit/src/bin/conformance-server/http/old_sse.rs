//! The HTTP+SSE transport of 2024-11-05: a GET of `/sse` opens the one stream
//! of a client, and says where to POST.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::body::{KEEP_ALIVE, empty, events, keep_alive, message_event};
use super::{HttpResponse, read_json};
use crate::conversation::Conversation;
use crate::lock;
use crate::server::{Server, random_id};

const MAX_CLIENTS: usize = 256;
const MAX_QUEUED: usize = 256;

type Conversations = Arc<Mutex<HashMap<String, Arc<Conversation>>>>;

/// The clients whose stream is open.
#[derive(Default)]
pub(super) struct Clients(Conversations);

impl Clients {
    pub(super) fn open(&self, server: Arc<Server>) -> HttpResponse {
        let id = random_id();
        let (queue, queued) = mpsc::channel::<Value>(MAX_QUEUED);
        {
            let mut clients = lock(&self.0);
            if clients.len() >= MAX_CLIENTS {
                return empty(StatusCode::SERVICE_UNAVAILABLE);
            }
            let conversation = Conversation::legacy_only(server, queue);
            clients.insert(id.clone(), Arc::new(conversation));
        }
        let endpoint = format!("event: endpoint\ndata: /messages?sessionId={id}\n\n");
        let leave = LeaveOnDrop(Arc::clone(&self.0), id);
        let messages = stream::unfold((queued, leave), |(mut queued, leave)| async {
            match timeout(KEEP_ALIVE, queued.recv()).await {
                Ok(None) => None,
                Ok(Some(message)) => Some((message_event(&message), (queued, leave))),
                Err(_) => Some((keep_alive(), (queued, leave))),
            }
        });
        events(stream::iter([Bytes::from(endpoint)]).chain(messages))
    }

    pub(super) async fn post(&self, request: Request<Incoming>) -> HttpResponse {
        let query = request.uri().query().unwrap_or_default();
        let id = query.strip_prefix("sessionId=").unwrap_or_default();
        let Some(conversation) = lock(&self.0).get(id).cloned() else {
            return empty(StatusCode::NOT_FOUND);
        };
        let (parts, body) = request.into_parts();
        match read_json(&parts.headers, body).await {
            Ok(value) => {
                conversation.take(value).await;
                empty(StatusCode::ACCEPTED)
            }
            Err(refusal) => refusal,
        }
    }
}

/// The client is gone when its stream is.
struct LeaveOnDrop(Conversations, String);

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        let conversation = lock(&self.0).remove(&self.1);
        if let Some(conversation) = conversation {
            conversation.close();
        }
    }
}
