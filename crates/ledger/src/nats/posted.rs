//! NATS as a way for messages that nobody keeps.

use super::{Nats, fault};
use crate::{Arrival, Pending, Post, limits, refused};
use async_nats::{StatusCode, client::RequestErrorKind};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future::ready, stream::BoxStream};

impl Post for Nats {
    fn send(&self, to: &str, message: Bytes) -> Pending<()> {
        let to = to.to_owned();
        self.asks(|shared| async move {
            let sending = shared.client.publish(to, message);
            // Where it cannot be reached, what is to be sent would wait without end.
            match tokio::time::timeout(limits::NATS_ANSWER, sending).await {
                Ok(sent) => sent.map_err(fault),
                Err(_) => Err(fault("it takes no message")),
            }
        })
    }

    fn send_noted(&self, to: &str, message: Bytes) -> Pending<()> {
        let to = to.to_owned();
        self.asks(|shared| async move {
            let notes = format!("{}.{to}", shared.unheard);
            let sending = shared.client.publish_with_reply(to, notes, message);
            match tokio::time::timeout(limits::NATS_ANSWER, sending).await {
                Ok(sent) => sent.map_err(fault),
                Err(_) => Err(fault("it takes no message")),
            }
        })
    }

    fn unheard(&self) -> Pending<BoxStream<'static, String>> {
        self.asks(|shared| async move {
            let before = format!("{}.", shared.unheard);
            let notes = shared.client.subscribe(format!("{before}>")).await;
            let unheard = notes.map_err(fault)?.filter_map(move |note| {
                let to = note.subject.strip_prefix(&*before).map(str::to_owned);
                // Nobody but NATS itself says anything else there.
                ready(to.filter(|_| note.status == Some(StatusCode::NO_RESPONDERS)))
            });
            Ok(unheard.boxed())
        })
    }

    fn hand_over(&self, to: &str, message: Bytes) -> Pending<bool> {
        let to = to.to_owned();
        if !self.is_connected() {
            // Nobody would say that nobody listens.
            return refused(fault("it cannot be reached"));
        }
        self.asks(|shared| async move {
            match shared.client.request(to, message).await {
                Ok(_) => Ok(true),
                Err(why) if why.kind() == RequestErrorKind::NoResponders => Ok(false),
                Err(why) => Err(fault(why)),
            }
        })
    }

    fn listen(&self, at: &str) -> Pending<BoxStream<'static, Arrival>> {
        let at = format!("{at}.*.*");
        self.asks(|shared| async move {
            let heard = shared.client.subscribe(at).await.map_err(fault)?;
            let heard = heard.map(|message| Arrival {
                to: message.subject.to_string(),
                message: message.payload,
                reply: message.reply.map(|reply| reply.to_string()),
            });
            Ok(heard.boxed())
        })
    }

    fn acknowledge(&self, arrival: &Arrival) -> Pending<()> {
        match &arrival.reply {
            Some(reply) => self.send(reply, Bytes::new()),
            None => ready(Ok(())).boxed(),
        }
    }
}
