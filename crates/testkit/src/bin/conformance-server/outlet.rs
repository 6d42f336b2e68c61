//! Where the messages that belong to one request, or to none, are sent.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::event_stream::EventStream;

/// One direction: towards the client.
#[derive(Clone)]
pub(crate) enum Outlet {
    /// A bounded queue: stdout, or the response stream of one modern request.
    Queue(mpsc::Sender<Value>),
    /// A resumable event stream of a legacy HTTP session.
    Stream(Arc<EventStream>),
}

impl Outlet {
    /// Sends, waiting while a queue is full. A client that is gone is not an
    /// error: its request will be dropped by the transport.
    pub(crate) async fn send(&self, message: Value) {
        match self {
            Self::Queue(queue) => {
                let _ = queue.send(message).await;
            }
            Self::Stream(stream) => stream.append(message),
        }
    }

    /// Sends without waiting; false if there was no room or nobody is left.
    pub(crate) fn try_send(&self, message: Value) -> bool {
        match self {
            Self::Queue(queue) => queue.try_send(message).is_ok(),
            Self::Stream(stream) => {
                stream.append(message);
                true
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Queue(queue) => queue.is_closed(),
            Self::Stream(stream) => stream.has_ended(),
        }
    }
}
