//! One client on one channel that carries everything both ways.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_testkit::json::{self, Message};
use tokio::sync::mpsc::UnboundedSender;

use crate::Eras;
use crate::call::Call;
use crate::fast;
use crate::stdio::{admits, era};
use crate::world::{Out, Session, World, lock};

/// A client: its session, and where its messages go.
pub struct Client {
    world: Arc<World>,
    session: Arc<Session>,
    out: UnboundedSender<Bytes>,
    key: String,
}

impl Client {
    pub fn new(world: &Arc<World>, out: UnboundedSender<Bytes>) -> Self {
        let session = Arc::new(Session::default());
        session.stand(Out::Stream(out.clone()));
        let random = || getrandom::u64().unwrap_or_default();
        let key = format!("{:016x}{:016x}", random(), random());
        if world.eras != Eras::Modern {
            lock(&world.sessions).insert(key.clone(), Arc::clone(&session));
        }
        Self {
            world: Arc::clone(world),
            session,
            out,
            key,
        }
    }

    /// Names the session.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Takes one message of the client's.
    pub fn take(&self, bytes: &[u8]) {
        let Some(message) = Message::read(bytes) else {
            let error =
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
            let _ = self.out.send(Bytes::from_static(error.as_bytes()));
            return;
        };
        let era = era(&message);
        if admits(self.world.eras, era)
            && let Some(mut reply) = fast::reply(&self.world, &message, era)
        {
            reply.head.extend_from_slice(&reply.tail);
            let _ = self.out.send(Bytes::from(reply.head));
            return;
        }
        match (&message.method, message.id) {
            (Some(_), Some(_)) => {
                let out = Out::Stream(self.out.clone());
                let Some(call) = Call::new(&self.world, &self.session, out, era, &message) else {
                    return;
                };
                let out = self.out.clone();
                tokio::spawn(async move {
                    let id = call.id.clone();
                    if let Some(reply) = call.run().await.render(&id) {
                        let _ = out.send(Bytes::from(reply));
                    }
                });
            }
            (Some(method), None) if method == "notifications/cancelled" => {
                if let Some(id) = json::path(bytes, &["params", "requestId"]) {
                    self.session.cancel(id);
                }
            }
            (None, Some(_)) => self.session.answered(bytes),
            _ => {}
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        lock(&self.world.sessions).remove(&self.key);
    }
}
