//! Reading many messages: by a consumer that NATS forgets when nobody uses it, or one message
//! after the other by those who may have no consumers.

use super::{fault, names};
use crate::{Entry, Item, LedgerError, limits};
use async_nats::jetstream::{
    Message,
    consumer::{AckPolicy, Consumer, DeliverPolicy, pull},
    stream::{RawMessageErrorKind, Stream},
};
use futures_util::StreamExt;
use std::{collections::BTreeMap, time::Instant};
use switchboard_local::random;
use tokio::time::timeout;

type Reader = Consumer<pull::Config>;

async fn reader(
    stream: &Stream,
    filter_subject: String,
    deliver_policy: DeliverPolicy,
    headers_only: bool,
) -> Result<Reader, LedgerError> {
    let config = pull::Config {
        // With a name what it reads stands in what is asked for, so that NATS can be told who
        // may read what.
        name: Some(random::id().map_err(fault)?),
        filter_subject,
        deliver_policy,
        headers_only,
        ack_policy: AckPolicy::None,
        memory_storage: true,
        num_replicas: 1,
        inactive_threshold: limits::NATS_ANSWER,
        ..pull::Config::default()
    };
    stream.create_consumer(config).await.map_err(fault)
}

/// NATS would forget it by itself, in a while.
async fn done(stream: &Stream, reader: &Reader) {
    let _ = stream.delete_consumer(&reader.cached_info().name).await;
}

/// How many messages there are at these subjects.
pub(super) async fn count(stream: &Stream, subjects: String) -> Result<u64, LedgerError> {
    let reader = reader(stream, subjects, DeliverPolicy::All, true).await?;
    done(stream, &reader).await;
    Ok(reader.cached_info().num_pending)
}

/// Reads as many as there are now, or until it is enough.
async fn each(
    stream: &Stream,
    reader: Reader,
    mut take: impl FnMut(&Message, u64) -> bool,
) -> Result<(), LedgerError> {
    let mut left = reader.cached_info().num_pending;
    'all: while left > 0 {
        let together = left.min(limits::NATS_TOGETHER as u64);
        let asked = reader
            .fetch()
            .max_messages(usize::try_from(together).unwrap_or(1));
        let mut messages = asked.messages().await.map_err(fault)?;
        let before = left;
        let late = |_| fault("it has stopped answering");
        while let Some(message) = timeout(limits::NATS_ANSWER, messages.next())
            .await
            .map_err(late)?
        {
            let message = message.map_err(fault)?;
            let sequence = message.info().map_err(fault)?.stream_sequence;
            left = left.saturating_sub(1);
            if !take(&message, sequence) {
                break 'all;
            }
        }
        if left == before {
            // What was there has been removed meanwhile.
            break;
        }
    }
    done(stream, &reader).await;
    Ok(())
}

/// Whether what was read in vain is read again, after a moment: a consumer that was made just
/// now may not be there yet for whoever asks it first, which says nothing of NATS.
async fn is_read_again(begun: Instant) -> bool {
    let is_soon = begun.elapsed() < limits::NATS_READ_AGAIN;
    if is_soon {
        tokio::time::sleep(limits::NATS_LOOK).await;
    }
    is_soon
}

/// The first entries behind a name, in the order of their names.
pub(super) async fn entries(
    stream: &Stream,
    subjects: String,
    after: &str,
    most: usize,
    names_only: bool,
) -> Result<BTreeMap<String, Entry>, LedgerError> {
    let begun = Instant::now();
    loop {
        let read = listed(stream, subjects.clone(), after, most, names_only).await;
        if read.is_ok() || !is_read_again(begun).await {
            return read;
        }
    }
}

async fn listed(
    stream: &Stream,
    subjects: String,
    after: &str,
    most: usize,
    names_only: bool,
) -> Result<BTreeMap<String, Entry>, LedgerError> {
    let mut found = BTreeMap::new();
    if most == 0 {
        return Ok(found);
    }
    let reader = reader(stream, subjects, DeliverPolicy::All, names_only).await?;
    each(stream, reader, |message, revision| {
        let name = names::name_of(&message.subject).filter(|name| name.as_str() > after);
        if let Some(name) = name {
            let value = message.payload.clone();
            found.insert(name, Entry { revision, value });
            if found.len() > most {
                found.pop_last();
            }
        }
        true
    })
    .await?;
    Ok(found)
}

/// The entries at these subjects, each asked for: for a few of them. One that is written meanwhile
/// moves behind those that are still to come, so that none is left out.
pub(super) async fn one_by_one(
    stream: &Stream,
    subjects: &str,
    most: usize,
) -> Result<BTreeMap<String, Entry>, LedgerError> {
    let mut found = BTreeMap::new();
    let mut from = 1;
    // Whoever writes faster than this reads does not keep it for ever.
    for _ in 0..=2 * most {
        let next = stream.get_first_raw_message_by_subject(subjects, from);
        let message = match next.await {
            Ok(message) => message,
            Err(why) if why.kind() == RawMessageErrorKind::NoMessageFound => break,
            Err(why) => return Err(fault(why)),
        };
        from = message.sequence + 1;
        if let Some(name) = names::name_of(&message.subject) {
            let (revision, value) = (message.sequence, message.payload);
            found.insert(name, Entry { revision, value });
        }
        if found.len() > most {
            found.pop_last();
        }
    }
    Ok(found)
}

/// The first messages of a stream from a number on.
pub(super) async fn items(
    stream: &Stream,
    subject: &str,
    number: u64,
    most: usize,
) -> Result<Vec<Item>, LedgerError> {
    let begun = Instant::now();
    loop {
        let read = read_from(stream, subject, number, most).await;
        if read.is_ok() || !is_read_again(begun).await {
            return read;
        }
    }
}

async fn read_from(
    stream: &Stream,
    subject: &str,
    number: u64,
    most: usize,
) -> Result<Vec<Item>, LedgerError> {
    let from = DeliverPolicy::ByStartSequence {
        start_sequence: number.max(1),
    };
    let reader = reader(stream, subject.to_owned(), from, false).await?;
    let mut items = Vec::new();
    each(stream, reader, |message, number| {
        let value = message.payload.clone();
        items.push(Item { number, value });
        items.len() < most
    })
    .await?;
    Ok(items)
}
