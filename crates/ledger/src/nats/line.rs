//! What is appended to streams stands in a line, in the order in which it was asked for.

use super::{Shared, fault, living};
use crate::{Keep, LedgerError, limits};
use async_nats::jetstream::{context::PublishAckFuture, message::PublishMessage};
use bytes::Bytes;
use futures_util::future::try_join_all;
use std::sync::Arc;
use switchboard_tasks as tasks;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// The line.
pub(super) struct Line(mpsc::Sender<Append>);

struct Append {
    subject: String,
    values: Vec<Bytes>,
    keep: Keep,
    said: oneshot::Sender<Result<u64, LedgerError>>,
}

impl Line {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (sender, line) = mpsc::channel(limits::WAITING);
        tasks::spawn(tasks::Kind::Background, write(shared, line));
        Self(sender)
    }

    /// Adds to the line, at once; what became of it is known later.
    pub(super) fn add(
        &self,
        subject: String,
        values: Vec<Bytes>,
        keep: Keep,
    ) -> impl Future<Output = Result<u64, LedgerError>> + Send + use<> {
        let (said, heard) = oneshot::channel();
        let append = Append {
            subject,
            values,
            keep,
            said,
        };
        let added = self.0.try_send(append).map_err(|why| match why {
            mpsc::error::TrySendError::Full(_) => LedgerError::Busy,
            mpsc::error::TrySendError::Closed(_) => LedgerError::Gone,
        });
        async move {
            added?;
            heard.await.unwrap_or(Err(LedgerError::Gone))
        }
    }
}

/// Writes what stands in the line: one after the other is sent, and answers are waited
/// for beside.
async fn write(shared: Arc<Shared>, mut line: mpsc::Receiver<Append>) {
    let asked = Arc::new(Semaphore::new(limits::NATS_ASKED));
    while let Some(append) = line.recv().await {
        let Ok(place) = asked.clone().acquire_owned().await else {
            return;
        };
        let Append {
            subject,
            values,
            keep,
            said,
        } = append;
        let sent = send(&shared, &subject, values, keep).await;
        let shared = shared.clone();
        tasks::spawn(tasks::Kind::Background, async move {
            let answered = match sent {
                Ok(sent) => answered(&shared, &subject, sent, keep).await,
                Err(why) => Err(why),
            };
            let _ = said.send(answered);
            drop(place);
        });
    }
}

async fn send(
    shared: &Shared,
    subject: &str,
    values: Vec<Bytes>,
    keep: Keep,
) -> Result<Vec<PublishAckFuture>, LedgerError> {
    shared.streams().await?;
    let mut sent = Vec::with_capacity(values.len());
    for value in values {
        let message = living(PublishMessage::build().payload(value), Some(keep.life));
        let one = shared.context.send_publish(subject.to_owned(), message);
        sent.push(one.await.map_err(fault)?);
    }
    Ok(sent)
}

/// The number of the last, when all are there.
async fn answered(
    shared: &Shared,
    subject: &str,
    sent: Vec<PublishAckFuture>,
    keep: Keep,
) -> Result<u64, LedgerError> {
    let all = try_join_all(sent.into_iter().map(IntoFuture::into_future));
    let last = all.await.map_err(fault)?.last().map(|one| one.sequence);
    let events = &shared.streams().await?.events;
    if i64::try_from(keep.items).is_ok_and(|items| items < limits::NATS_ITEMS) {
        let purge = events.purge().filter(subject).keep(keep.items);
        purge.await.map_err(fault)?;
    }
    match last {
        Some(last) => Ok(last),
        None => {
            let found = events.get_last_raw_message_by_subject(subject).await;
            Ok(found.map_or(0, |message| message.sequence))
        }
    }
}
