//! Event streams: the one that answers a request, and in the legacy era the one
//! for everything else. A lost one is resumed with GET and `Last-Event-ID`.

use super::{
    answer::{Answer, Content},
    backoff::Backoff,
    fetch::{LEFTOVERS, Wanted, fetch},
    gate::Shut,
    headers::{LAST_EVENT, Spoken, without_body},
    link::Shared,
    pump::{Ended, Pump},
};
use crate::{limits, link::Undelivered};
use http::{HeaderValue, Method};
use std::{pin::pin, sync::Arc};
use switchboard_wire::{Era, Payload};
use tokio::time::{sleep, timeout};

/// What became of an attempt to open a stream.
enum Opened {
    /// It is open.
    Stream(Answer),
    /// There will be none: the status, or 200 where the answer is no event stream.
    Refused(u16),
    /// Not now.
    Later(String),
}

/// Reads the stream that answers request `id`. Gives it back with its reply
/// handed over, so that the connection can be kept if it ends soon.
pub(super) async fn answer(
    shared: &Shared,
    mut answer: Answer,
    id: u64,
    spoken: &Spoken,
) -> Result<Option<Answer>, Undelivered> {
    let mut pump = Pump::new(shared, Some(id));
    match pump.read(&mut answer).await {
        Ended::Answered => return Ok(Some(answer)),
        Ended::TooLarge(fault) => return Err(Undelivered::Unknown(fault.to_string())),
        Ended::Lost(why) => {
            drop(answer);
            // Only the legacy era can resume, and only from an id.
            if spoken.era == Some(Era::Modern) || pump.decoder.last_id().is_none() {
                return Err(lost(&why));
            }
        }
    }
    // Rare and large, so it does not make every request's future larger.
    Box::pin(resume(shared, pump)).await
}

/// Resumes a request's stream until its reply comes or there is no hope.
async fn resume(shared: &Shared, mut pump: Pump<'_>) -> Result<Option<Answer>, Undelivered> {
    let mut backoff = Backoff::default();
    let mut why = String::new();
    while backoff.failures() <= limits::STREAM_RESUMED {
        sleep(backoff.next(pump.decoder.retry())).await;
        // Asked for each time: the stream of `initialize` itself belongs to the
        // session that its head gave.
        let spoken = shared.spoken(None);
        let mut stream = match open(shared, &spoken, pump.decoder.last_id().map(|id| &**id)).await {
            Opened::Stream(stream) => stream,
            Opened::Refused(status) => {
                return Err(lost(&format!("it cannot be resumed (HTTP {status})")));
            }
            Opened::Later(fault) => {
                why = fault;
                continue;
            }
        };
        match pump.read(&mut stream).await {
            Ended::Answered => return Ok(Some(stream)),
            Ended::TooLarge(fault) => return Err(Undelivered::Unknown(fault.to_string())),
            Ended::Lost(fault) => why = fault,
        }
        if pump.progress {
            backoff.succeeded();
        }
    }
    Err(lost(&format!(
        "resuming it failed {} times: {why}",
        limits::STREAM_RESUMED
    )))
}

fn lost(why: &str) -> Undelivered {
    Undelivered::Unknown(format!("the stream ended before the answer came: {why}"))
}

/// Keeps the stream open for what the server says outside of any request. Only
/// one of these runs, so there is one dialer, however often it breaks. `gate`
/// keeps requests back until the first attempt is decided.
pub(super) async fn listen(shared: Arc<Shared>, gate: Shut) {
    let shared = &*shared;
    let mut pump = Pump::new(shared, None);
    let mut backoff = Backoff::default();
    gate.alone().await;
    let mut gate = Some(gate);
    loop {
        let spoken = shared.spoken(None);
        let last = pump.decoder.last_id().map(|id| &**id);
        // Boxed: it is large, and the stream is there for as long as the connection.
        let opening = Box::pin(open_holding(shared, &spoken, last, gate.take()));
        match opening.await {
            Opened::Stream(mut stream) => {
                match pump.read(&mut stream).await {
                    // Coming back to the same place would bring the same event.
                    Ended::TooLarge(fault) => {
                        tracing::warn!(%fault, "the server's stream is begun anew");
                        pump.decoder.forget_id();
                    }
                    ended => tracing::debug!(?ended, "the server's stream is opened again"),
                }
                if pump.progress {
                    backoff.succeeded();
                }
            }
            Opened::Refused(status) => {
                // A session that is gone is noticed by the next request; the
                // stream of a new one may be opened then.
                if !(status == 404 && spoken.session) && status != 401 && status != 403 {
                    shared.refuse_stream();
                }
                tracing::debug!(status, "the server has no stream of its own");
                return;
            }
            Opened::Later(why) => tracing::debug!(%why, "the server's stream could not be opened"),
        }
        sleep(backoff.next(pump.decoder.retry())).await;
    }
}

/// Opens the stream; the gate is let go when that is decided or takes long.
async fn open_holding(
    shared: &Shared,
    spoken: &Spoken,
    last: Option<&str>,
    gate: Option<Shut>,
) -> Opened {
    let mut opening = pin!(open(shared, spoken, last));
    if let Some(_held) = gate
        && let Ok(opened) = timeout(limits::STREAM_HEAD, &mut opening).await
    {
        return opened;
    }
    opening.await
}

/// Asks for a stream, from after event `last` where there was one.
async fn open(shared: &Shared, spoken: &Spoken, last: Option<&str>) -> Opened {
    let headers = without_body(&spoken.headers);
    let last = last
        .and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok())
        .map(|id| (LAST_EVENT, id));
    let wanted = Wanted {
        method: Method::GET,
        headers: &headers,
        more: last.as_slice(),
        payload: &Payload::default(),
    };
    let answer = match fetch(shared, wanted).await {
        Ok(answer) => answer,
        Err(Undelivered::Status { status, .. }) => return Opened::Refused(status),
        Err(why) => return Opened::Later(why.to_string()),
    };
    let status = answer.status.as_u16();
    match status {
        200..=299 if answer.content() == Content::Events && answer.encoding().is_none() => {
            Opened::Stream(answer)
        }
        408 | 429 | 500 | 502..=599 => {
            answer.discard(&shared.pool, LEFTOVERS).await;
            Opened::Later(format!("HTTP {status}"))
        }
        _ => {
            answer
                .discard(&shared.pool, limits::REFUSAL_LEFTOVERS)
                .await;
            Opened::Refused(status)
        }
    }
}
