//! HTTP+SSE, as before 2025-03-26: a stream, and POSTs to the address it names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use switchboard_testkit::serve::{self, ReplyBody};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::channel::Client;
use crate::world::{World, lock};

type Clients = Arc<Mutex<HashMap<String, Arc<Client>>>>;

/// Serves until the process ends.
pub async fn serve(world: Arc<World>, port: u16) -> std::io::Result<()> {
    let clients = Clients::default();
    serve::serve(port, move |request| {
        handle(Arc::clone(&world), Arc::clone(&clients), request)
    })
    .await
}

async fn handle(
    world: Arc<World>,
    clients: Clients,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let (parts, body) = request.into_parts();
    match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/sse") => open(&world, &clients),
        (&Method::POST, "/messages") => {
            let query = parts.uri.query().unwrap_or_default();
            let key = query.strip_prefix("sessionId=").unwrap_or_default();
            let client = lock(&clients).get(key).cloned();
            let (Some(client), Ok(body)) = (client, body.collect().await) else {
                return serve::status(StatusCode::NOT_FOUND);
            };
            client.take(&body.to_bytes());
            serve::status(StatusCode::ACCEPTED)
        }
        (_, "/sse") => serve::status(StatusCode::METHOD_NOT_ALLOWED),
        _ => serve::status(StatusCode::NOT_FOUND),
    }
}

fn open(world: &Arc<World>, clients: &Clients) -> Response<ReplyBody> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let client = Arc::new(Client::new(world, sender.clone()));
    let key = client.key().to_owned();
    lock(clients).insert(key.clone(), client);
    let gone = CancellationToken::new();
    let (watched, clients) = (gone.clone(), Arc::clone(clients));
    let endpoint = format!("event: endpoint\ndata: /messages?sessionId={key}\n\n");
    tokio::spawn(async move {
        watched.cancelled().await;
        lock(&clients).remove(&key);
    });
    let body = ReplyBody::Opening(Some(Bytes::from(endpoint)), receiver, gone.drop_guard());
    serve::events(body)
}
