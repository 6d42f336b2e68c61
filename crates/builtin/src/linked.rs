//! Serving one end of a pair in the same process: messages come and go as the
//! bytes they are, without lines and without a pipe. Any rmcp service can be
//! plugged in this way, ours or somebody else's.

use crate::serve::{Plugged, SESSIONS, Session};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, sink, stream::BoxStream};
use rmcp::{
    RoleServer, ServiceExt,
    model::ErrorCode,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc};
use switchboard_tasks as tasks;

/// Serves `incoming` in a task of its own and answers through `send`, until
/// either side ends. A panic in there ends that task, and nothing worse.
pub fn linked<S: Session>(
    server: S,
    incoming: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    send: impl Fn(Bytes) + Send + Sync + 'static,
) {
    serve(Plugged::new(server), incoming.boxed(), Arc::new(send));
}

/// Where answers go.
type Answer = Arc<dyn Fn(Bytes) + Send + Sync>;

fn serve(server: Plugged, incoming: BoxStream<'static, Bytes>, send: Answer) {
    let Plugged {
        service,
        over,
        farewell,
    } = server;
    let answer = send.clone();
    let messages = incoming.filter_map(move |bytes| {
        let message = read(&bytes, &*answer);
        async move { message }
    });
    let ended = over.clone();
    let end = futures_util::stream::poll_fn(move |_| {
        ended.cancel();
        std::task::Poll::Ready(None)
    });
    let messages = Box::pin(messages.chain(end));
    let out = sink::unfold(
        send,
        |send, message: TxJsonRpcMessage<RoleServer>| async move {
            match serde_json::to_vec(&message) {
                Ok(bytes) => send(Bytes::from(bytes)),
                Err(fault) => tracing::warn!(%fault, "an answer cannot be written"),
            }
            Ok::<_, Infallible>(send)
        },
    );
    tasks::spawn_in(&SESSIONS, tasks::Kind::Builtin, async move {
        let ends = over.drop_guard();
        match service.serve((Box::pin(out), messages)).await {
            Ok(running) => drop(running.waiting().await),
            Err(fault) => tracing::debug!(%fault, "a built-in server ended"),
        }
        drop(ends);
        farewell.await;
    });
}

/// Reads a message. A request that cannot be read is still answered.
fn read(bytes: &[u8], send: &dyn Fn(Bytes)) -> Option<RxJsonRpcMessage<RoleServer>> {
    let fault = match serde_json::from_slice(bytes) {
        Ok(message) => return Some(message),
        Err(fault) => fault,
    };
    tracing::debug!(%fault, "a message that cannot be read");
    let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
    if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
        let error = json!({ "code": ErrorCode::INVALID_REQUEST.0, "message": format!("Invalid request: {fault}") });
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        send(Bytes::from(answer.to_string()));
    }
    None
}
