//! HTTP with server-sent events, as it was before 2025-03-26: one GET stream on
//! which everything comes, and a limits::SSE_POST for each message to the address that the
//! stream's first event (`endpoint`) names.

use super::{
    HttpOptions, HttpTarget,
    answer::{Answer, Content},
    fetch::{LEFTOVERS, Wanted, fetch_at},
    flights::Flight,
    gate::{Shut, is_initialized},
    headers::without_body,
    link::Shared,
    post::refusal,
    pump::Pulse,
    redirect,
    sse::{Decoder, Event},
};
use crate::{
    budget::Budget,
    dial::origin,
    inbox::{Batches, deliver},
    limits,
    limits::COUNTED_BYTES,
    link::{About, Closed, Outgoing, Receive, SendError, Undelivered},
};
use http::{Method, Uri};
use parking_lot::Mutex;
use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};
use switchboard_tasks as tasks;
use switchboard_wire::{Payload, Revision};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, timeout, timeout_at},
};
use tracing::Instrument;

/// The link to a server over HTTP+SSE. Opens its stream at once; what is sent
/// before the server has named its endpoint waits for that.
#[derive(Clone)]
pub struct SseLink(Arc<Owner>);

struct Owner {
    line: Arc<Line>,
    task: Mutex<Option<AbortHandle>>,
}

/// What the link's tasks share.
struct Line {
    http: Shared,
    batches: Batches,
    endpoint: watch::Sender<Option<Uri>>,
}

impl SseLink {
    /// A link to `target`, whose address is that of the stream.
    pub fn new(
        target: HttpTarget,
        options: HttpOptions,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let line = Arc::new(Line {
            http: Shared::new(target, options, budget, receive),
            batches: Batches::default(),
            endpoint: watch::Sender::new(None),
        });
        let told = line.clone();
        let task = tasks::spawn_or(
            tasks::Kind::Reader,
            listen(line.clone()).in_current_span(),
            move || {
                told.http.receive.closed(Closed::faulty());
            },
        )
        .abort_handle();
        Self(Arc::new(Owner {
            line,
            task: Mutex::new(Some(task)),
        }))
    }

    /// Says which revision is spoken from now on.
    pub fn speak(&self, revision: Revision) {
        self.0.line.http.speak(revision);
        self.0.line.batches.speak(revision);
    }

    /// Sends a message. Never waits.
    pub fn send(&self, out: Outgoing) -> Result<(), SendError> {
        let line = &self.0.line;
        let (request, gate) = match out.about {
            About::Request { id, .. } => (Some(id), None),
            About::Notification if is_initialized(&out.payload) => {
                (None, Some(line.http.gate.shut()))
            }
            _ => (None, None),
        };
        let (size, most) = (out.payload.len(), line.http.options.in_flight);
        let (flights, receive) = (&line.http.flights, &line.http.receive);
        flights.launch(request, size, most, receive, |flight| {
            post(line.clone(), flight, request, out.payload, gate)
        })
    }

    /// Stops sending a request. Nothing is reported for it any more.
    pub fn abandon(&self, request: u64) {
        self.0.line.http.flights.abandon(request);
    }

    /// Ends the stream and everything under way.
    pub async fn close(&self) {
        let http = &self.0.line.http;
        if http.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        http.flights.close(limits::LAST_WORDS).await;
        if let Some(task) = self.0.task.lock().take() {
            task.abort();
        }
        http.pool.clear();
        http.receive.closed(Closed::ByUs);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
        self.line.http.flights.stop();
        self.line.http.pool.clear();
    }
}

impl fmt::Debug for SseLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseLink")
            .field("origin", &origin(&self.0.line.http.url))
            .finish_non_exhaustive()
    }
}

/// Sends one message once it is known where to.
async fn post(
    line: Arc<Line>,
    flight: Flight,
    request: Option<u64>,
    payload: Payload,
    gate: Option<Shut>,
) {
    let mut known = line.endpoint.subscribe();
    let Ok(endpoint) = known.wait_for(Option::is_some).await.map(|at| at.clone()) else {
        return;
    };
    if request.is_some() {
        line.http.gate.pass().await;
    }
    let sent = tell(&line.http, &payload, endpoint.unwrap_or_default());
    let sent = timeout(limits::SSE_POST, sent)
        .await
        .unwrap_or(Err(Undelivered::TimedOut(limits::SSE_POST)));
    drop((payload, gate));
    let wanted = flight.land();
    match (sent, request) {
        (Err(why), Some(id)) if wanted => line.http.receive.undelivered(id, why),
        (Err(why), None) => tracing::debug!(%why, "a notification or response was not delivered"),
        _ => {}
    }
}

async fn tell(http: &Shared, payload: &Payload, endpoint: Uri) -> Result<(), Undelivered> {
    let spoken = http.spoken(None);
    let wanted = Wanted {
        method: Method::POST,
        headers: &spoken.headers,
        more: &[],
        payload,
    };
    let answer = fetch_at(http, wanted, endpoint).await?;
    match answer.status.as_u16() {
        200..=299 => {
            answer.discard(&http.pool, LEFTOVERS).await;
            Ok(())
        }
        // The session lived with the stream; it is over, or the address was never good.
        404 => Err(Undelivered::SessionExpired),
        _ => Err(refusal(answer).await),
    }
}

/// Opens the stream and hands over what comes on it, until it ends.
async fn listen(line: Arc<Line>) {
    let http = &line.http;
    match open(http).await {
        Ok(stream) => {
            let why = read(&line, stream).await;
            http.flights.stop();
            if !http.closed.load(Ordering::Relaxed) {
                http.receive.closed(Closed::ByPeer(why));
            }
        }
        Err(why) => {
            // Whoever waits learns the reason before the end of the link.
            for request in http.flights.requests() {
                http.receive.undelivered(request, why.clone());
            }
            http.flights.stop();
            http.receive.closed(Closed::Broken(why.to_string()));
        }
    }
}

async fn open(http: &Shared) -> Result<Answer, Undelivered> {
    let spoken = http.spoken(None);
    let headers = without_body(&spoken.headers);
    let wanted = Wanted {
        method: Method::GET,
        headers: &headers,
        more: &[],
        payload: &Payload::default(),
    };
    let limit = http.options.connect_timeout;
    let answer = timeout(limit, fetch_at(http, wanted, http.path()))
        .await
        .map_err(|_| Undelivered::TimedOut(limit))??;
    if !answer.status.is_success() {
        return Err(refusal(answer).await);
    }
    if answer.content() != Content::Events || answer.encoding().is_some() {
        return Err(Undelivered::Status {
            status: answer.status.as_u16(),
            preview: "the answer is no event stream".into(),
        });
    }
    Ok(answer)
}

/// Reads the stream; says why it ended.
async fn read(line: &Line, mut stream: Answer) -> String {
    let http = &line.http;
    let mut decoder = Decoder::new(http.options.message_cap);
    let mut pulse = Pulse::default();
    let named = Instant::now() + http.options.connect_timeout;
    loop {
        let silence = pulse.limit(http.options.silence_floor);
        let deadline = match (&*line.endpoint.borrow(), silence) {
            (None, _) => Some(named),
            (Some(_), Some(silence)) => Some(Instant::now() + silence),
            (Some(_), None) => None,
        };
        let chunk = match deadline {
            None => stream.chunk().await,
            Some(deadline) => match timeout_at(deadline, stream.chunk()).await {
                Ok(chunk) => chunk,
                Err(_) if line.endpoint.borrow().is_none() => {
                    return "the server named no endpoint in time".into();
                }
                Err(_) => return "the stream fell silent".into(),
            },
        };
        match chunk {
            None => return "the server closed the stream".into(),
            Some(Err(fault)) => return format!("the stream broke: {fault}"),
            Some(Ok(chunk)) => decoder.feed(chunk),
        }
        loop {
            match decoder.next() {
                Ok(Some(event)) => {
                    if let Err(why) = take(line, event) {
                        return why.to_string();
                    }
                }
                Ok(None) => break,
                Err(fault) => return fault.to_string(),
            }
        }
        pulse.saw(decoder.comments());
    }
}

fn take(line: &Line, event: Event) -> Result<(), EndpointError> {
    if event.name.as_deref() == Some("endpoint") {
        // The first one counts: a later one could lead our messages elsewhere.
        if line.endpoint.borrow().is_none() {
            let at = endpoint(&line.http.url, &line.http.path(), &event.data)?;
            line.endpoint.send_replace(Some(at));
        }
        return Ok(());
    }
    if event.data.trim_ascii().is_empty() {
        return Ok(());
    }
    let data = if event.data.len() < COUNTED_BYTES {
        event.data
    } else {
        line.http.budget.hold(Vec::from(event.data))
    };
    deliver(&*line.http.receive, &line.batches, data);
    Ok(())
}

/// Why messages cannot go where the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum EndpointError {
    #[error("the server's endpoint is no text")]
    NoText,
    #[error("the server's endpoint is empty")]
    Empty,
    #[error("the server's endpoint cannot be read")]
    Unreadable,
    #[error("the server names an endpoint at another origin, which is not used")]
    Elsewhere,
}

/// Where messages go: a path of the same origin, so that neither headers nor
/// messages reach anybody else.
fn endpoint(base: &Uri, path: &Uri, data: &[u8]) -> Result<Uri, EndpointError> {
    let text = std::str::from_utf8(data).map_err(|_| EndpointError::NoText)?;
    let text = text.trim();
    if text.is_empty() {
        return Err(EndpointError::Empty);
    }
    if text.starts_with('?') {
        let same = format!("{}{text}", path.path());
        return same.parse().map_err(|_| EndpointError::Unreadable);
    }
    redirect::follow(base, path, Some(text)).map_err(|_| EndpointError::Elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(data: &str) -> Result<String, EndpointError> {
        let base = "http://host:8080/a/sse?k=1".parse().unwrap();
        endpoint(&base, &"/a/sse?k=1".parse().unwrap(), data.as_bytes()).map(|uri| uri.to_string())
    }

    #[test]
    fn endpoints_of_the_same_origin() {
        assert_eq!(
            named("/messages?sessionId=1").as_deref(),
            Ok("/messages?sessionId=1")
        );
        assert_eq!(named("messages?s=1").as_deref(), Ok("/a/messages?s=1"));
        assert_eq!(named("?s=1").as_deref(), Ok("/a/sse?s=1"));
        assert_eq!(named("http://host:8080/m?s=1").as_deref(), Ok("/m?s=1"));
    }

    #[test]
    fn endpoints_elsewhere_are_not_used() {
        for data in [
            "http://evil/m",
            "//evil/m",
            "https://host:8080/m",
            "http://host/m",
            "",
            "\\\\evil",
        ] {
            assert!(named(data).is_err(), "{data}");
        }
    }
}
