//! A server behind a WebSocket.

use super::{WsEnd, WsOptions, WsReader, WsWriter, handshake};
use crate::{
    budget::Budget,
    dial::origin,
    http::HttpTarget,
    inbox::{Batches, deliver},
    limits,
    link::{About, Closed, Outgoing, Receive, SendError, Undelivered},
};
use http::Uri;
use parking_lot::Mutex;
use std::{fmt, sync::Arc};
use switchboard_tasks as tasks;
use switchboard_wire::{Payload, Revision};
use tokio::{task::AbortHandle, time::timeout};
use tracing::Instrument;

/// Closed as planned.
const NORMAL: u16 = 1000;

/// The link to a server over a WebSocket. Connects at once; what is sent before
/// the connection stands is kept.
#[derive(Clone)]
pub struct WsLink(Arc<Owner>);

struct Owner {
    shared: Arc<Shared>,
    task: Mutex<Option<AbortHandle>>,
}

struct Shared {
    url: Uri,
    receive: Arc<dyn Receive>,
    batches: Batches,
    state: Mutex<State>,
}

enum State {
    Connecting {
        waiting: Vec<(Option<u64>, Payload)>,
        bytes: usize,
    },
    Open(WsWriter),
    Ended,
}

impl WsLink {
    /// A link to `target`.
    pub fn new(
        target: HttpTarget,
        options: WsOptions,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let shared = Arc::new(Shared {
            url: target.url.clone(),
            receive,
            batches: Batches::default(),
            state: Mutex::new(State::Connecting {
                waiting: Vec::new(),
                bytes: 0,
            }),
        });
        let running = run(shared.clone(), target, options, budget);
        let told = shared.clone();
        let task = tasks::spawn_or(tasks::Kind::Reader, running.in_current_span(), move || {
            *told.state.lock() = State::Ended;
            told.receive.closed(Closed::faulty());
        })
        .abort_handle();
        Self(Arc::new(Owner {
            shared,
            task: Mutex::new(Some(task)),
        }))
    }

    /// Says which revision is spoken from now on: it decides about batches.
    pub fn speak(&self, revision: Revision) {
        self.0.shared.batches.speak(revision);
    }

    /// Queues a message. Never waits.
    pub fn send(&self, out: Outgoing) -> Result<(), SendError> {
        let mut state = self.0.shared.state.lock();
        match &mut *state {
            State::Open(writer) => writer.send(out.payload),
            State::Ended => Err(SendError::Closed),
            State::Connecting { waiting, bytes } => {
                if *bytes + out.payload.len() > limits::SEND_QUEUE_BYTES {
                    return Err(SendError::Full(*bytes));
                }
                *bytes += out.payload.len();
                let request = match out.about {
                    About::Request { id, .. } => Some(id),
                    _ => None,
                };
                waiting.push((request, out.payload));
                Ok(())
            }
        }
    }

    /// Says goodbye and ends the connection.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.0.shared.state.lock(), State::Ended);
        if let State::Open(writer) = before {
            writer.close(NORMAL, "");
            let _ = timeout(limits::WS_FAREWELL, writer.closed()).await;
        }
        if let Some(task) = self.0.task.lock().take() {
            task.abort();
            self.0.shared.receive.closed(Closed::ByUs);
        }
    }
}

async fn run(shared: Arc<Shared>, target: HttpTarget, options: WsOptions, budget: Budget) {
    let (writer, reader) = match handshake::connect(&target, &options, budget).await {
        Ok(socket) => socket,
        Err(why) => return shared.fail(&why),
    };
    if shared.open(&writer) {
        let why = shared.read(reader).await;
        *shared.state.lock() = State::Ended;
        shared.receive.closed(match why {
            WsEnd::Closed(said) => {
                Closed::ByPeer(format!("the server closed the connection{said}"))
            }
            other => Closed::Broken(other.to_string()),
        });
    }
}

impl Shared {
    /// Sends what was kept. False if we were closed in the meantime.
    fn open(&self, writer: &WsWriter) -> bool {
        let mut state = self.state.lock();
        let before = std::mem::replace(&mut *state, State::Open(writer.clone()));
        let State::Connecting { waiting, .. } = before else {
            *state = State::Ended;
            return false;
        };
        for (_, payload) in waiting {
            let _ = writer.send(payload);
        }
        true
    }

    /// Tells everybody who waits that there will be no connection.
    fn fail(&self, why: &Undelivered) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Ended);
        if let State::Connecting { waiting, .. } = before {
            for request in waiting.into_iter().filter_map(|(request, _)| request) {
                self.receive.undelivered(request, why.clone());
            }
        }
        self.receive.closed(Closed::Broken(why.to_string()));
    }

    async fn read(&self, mut reader: WsReader) -> WsEnd {
        loop {
            match reader.next().await {
                Ok(bytes) => deliver(&*self.receive, &self.batches, bytes),
                Err(end) => return end,
            }
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

impl fmt::Debug for WsLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsLink")
            .field("origin", &origin(&self.0.shared.url))
            .finish_non_exhaustive()
    }
}
