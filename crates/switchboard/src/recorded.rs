//! What this machine has recorded, copied to where all replicas have it; and a look at what
//! others have there. It reads behind whoever writes, so that no call waits for it.

use crate::limits::RECORDS_END;
use std::{
    collections::HashMap,
    io,
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_gateway::{
    RecordChain, RecordHead, RecordPiece, RecordPlace, Records, Shortened, limits,
};
use switchboard_ledger::LedgerError;
use switchboard_record::audit::{Audit, Follower, Keep, Record};
use switchboard_tasks as tasks;
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Copies, for as long as it is kept.
#[derive(Debug)]
pub(crate) struct Recorded {
    copier: Arc<Copier>,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// Why something was not copied.
#[derive(Debug, thiserror::Error)]
enum NotCopied {
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    #[error("{0}")]
    File(#[from] io::Error),
    #[error("the thread that reads records broke off")]
    BrokeOff,
}

#[derive(Debug)]
struct Copier {
    records: Records,
    keep: Keep,
    audit: Arc<Audit>,
    /// Whoever copies does it alone.
    at: Mutex<Option<At>>,
}

/// How far it has come.
#[derive(Debug)]
struct At {
    follower: Follower,
    chain: RecordChain,
    place: RecordPlace,
    /// When that was last said.
    said: Instant,
}

impl Recorded {
    pub(crate) fn begin(records: &Records, keep: Keep, audit: Arc<Audit>) -> Self {
        let copier = Arc::new(Copier {
            records: records.clone(),
            keep,
            audit,
            at: Mutex::default(),
        });
        let (stop, same) = (CancellationToken::new(), copier.clone());
        let stopped = stop.clone();
        let task = tasks::spawn(tasks::Kind::Upkeep, async move {
            tokio::join!(same.keep_copying(&stopped), same.keep_looking(&stopped));
        });
        Self {
            copier,
            stop,
            task: AbortOnDropHandle::new(task),
        }
    }

    /// Copies the last that was recorded.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let rest = async {
            let _ = self.task.await;
            self.copier.copy().await
        };
        if !matches!(tokio::time::timeout(RECORDS_END, rest).await, Ok(Ok(()))) {
            tracing::warn!(
                "the last that was recorded could not be copied to where other replicas have it; the next start does"
            );
        }
    }
}

impl Copier {
    async fn keep_copying(&self, stop: &CancellationToken) {
        let mut was_told = false;
        let mut pause = Duration::ZERO;
        while stop
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
            .is_some()
        {
            pause = limits::RECORDS_LOOK;
            match self.copy().await {
                Ok(()) if std::mem::take(&mut was_told) => {
                    tracing::info!(
                        "what is recorded is copied to where other replicas have it again"
                    );
                }
                Err(why) if !std::mem::replace(&mut was_told, true) => {
                    tracing::warn!(%why, "what is recorded cannot be copied to where other replicas have it; it is tried again");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }

    async fn keep_looking(&self, stop: &CancellationToken) {
        let mut known: HashMap<RecordChain, RecordHead> = HashMap::new();
        while stop
            .run_until_cancelled(tokio::time::sleep(limits::RECORDS_OTHERS))
            .await
            .is_some()
        {
            let found = self.records.shortened(&mut known).await;
            for one in found.into_iter().flatten() {
                let Shortened {
                    chain,
                    replica,
                    was,
                    is,
                } = one;
                tracing::warn!(%chain, replica, was, is, "what a replica has recorded is shorter, or something else, than it was");
                self.audit.record(
                    Record::new("audit.shortened")
                        .plain("chain", chain.to_string())
                        .plain("replica", replica)
                        .plain("was", was)
                        .plain("is", is),
                );
            }
        }
    }

    /// Copies all that is there.
    async fn copy(&self) -> Result<(), NotCopied> {
        let mut held = self.at.lock().await;
        let mut at = match held.take() {
            Some(at) => at,
            None => match self.begin().await? {
                Some(at) => at,
                None => return Ok(()),
            },
        };
        loop {
            let before = at.place.head.as_ref().map_or(0, |head| head.count);
            let read = tasks::blocking(move || {
                let next = at.follower.next(limits::RECORDS_PIECE);
                (at, next)
            });
            let next;
            (at, next) = read.await.map_err(|_| NotCopied::BrokeOff)?;
            let added = match next? {
                Some(piece) => {
                    let piece = RecordPiece {
                        from: piece.from,
                        to: piece.to,
                        hash: piece.hash,
                        text: piece.text,
                    };
                    self.records.add(&at.chain, &at.place, &piece).await
                }
                None if before > 0 && at.said.elapsed() > limits::RECORDS_AGAIN => {
                    self.records.say_again(&at.chain, &at.place).await
                }
                None => {
                    *held = Some(at);
                    return Ok(());
                }
            };
            match added? {
                Some(place) => (at.place, at.said) = (place, Instant::now()),
                // Another gateway of this machine is copying the same, or was.
                None => return Ok(()),
            }
        }
    }

    /// Where to go on. What is here must be what was copied; where it is not, that is said,
    /// what was copied stays, and all that is here is copied anew beside it.
    async fn begin(&self) -> Result<Option<At>, NotCopied> {
        let keep = self.keep.clone();
        let opened = tasks::blocking(move || Follower::open(&keep)).await;
        let Some(follower) = opened.map_err(|_| NotCopied::BrokeOff)?? else {
            return Ok(None);
        };
        let heads = self.records.heads().await?.into_iter();
        let ours = heads.filter(|(chain, _)| chain.name == follower.chain());
        let ours = ours.map(|(chain, _)| chain).max();
        let first = RecordChain {
            name: follower.chain().to_owned(),
            time: 0,
        };
        let mut chain = ours.unwrap_or(first);
        let mut place = self.records.place(&chain).await?;
        let copied = place.head.clone().map(|head| (head.count, head.hash));
        let read = tasks::blocking(move || {
            let (mut follower, copied) = (follower, copied);
            let same = match &copied {
                None => Ok(true),
                Some((count, hash)) => {
                    let here = follower.hash_of(*count);
                    here.map(|here| here.as_deref() == Some(hash))
                }
            };
            if let (Ok(true), Some((count, _))) = (&same, copied) {
                follower.go_behind(count);
            }
            let written = follower.written();
            (follower, same, written)
        });
        let (follower, same, written) = read.await.map_err(|_| NotCopied::BrokeOff)?;
        if !same? {
            let copied = place.head.as_ref().map(|head| head.count);
            let here = written?;
            tracing::error!(
                copied,
                here,
                "what this machine has recorded is not what other replicas have of it: records were cut off or altered"
            );
            self.audit.record(
                Record::new("audit.differs")
                    .plain("chain", chain.to_string())
                    .plain("copied", copied)
                    .plain("here", here),
            );
            chain = chain.anew();
            place = self.records.place(&chain).await?;
        }
        Ok(Some(At {
            follower,
            chain,
            place,
            said: Instant::now(),
        }))
    }
}
