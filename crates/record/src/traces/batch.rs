//! Spans that wait to be sent, and the task that sends them.

use super::export::{Exporter, Unsent};
use crate::limits;
use opentelemetry_sdk::trace::SpanData;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use switchboard_tasks as tasks;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};

/// Spans that wait. Calls never do: what finds no room is dropped.
pub(super) struct Queue {
    waiting: mpsc::Sender<Told>,
    dropped: Arc<AtomicU64>,
}

/// What the task is told.
enum Told {
    /// Something is over.
    Span(Box<SpanData>),
    /// Everything before this is to be sent.
    Flush(oneshot::Sender<()>),
}

impl Queue {
    /// Begins the task.
    pub(super) fn begin(exporter: Exporter) -> Self {
        let (waiting, told) = mpsc::channel(limits::TRACE_QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let sending = Sending {
            exporter,
            dropped: dropped.clone(),
            said: 0,
            is_failing: false,
        };
        tasks::spawn(tasks::Kind::Upkeep, send_all(told, sending));
        Self { waiting, dropped }
    }

    pub(super) fn add(&self, span: SpanData) {
        if self.waiting.try_send(Told::Span(Box::new(span))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) async fn flush(&self) {
        let (done, sent) = oneshot::channel();
        let flush = async {
            if self.waiting.send(Told::Flush(done)).await.is_ok() {
                let _ = sent.await;
            }
        };
        if timeout(limits::TRACE_CLOSE, flush).await.is_err() {
            tracing::warn!("the last spans could not be sent in time");
        }
    }
}

/// Sends spans.
struct Sending {
    exporter: Exporter,
    dropped: Arc<AtomicU64>,
    /// How many of those that were dropped were said.
    said: u64,
    /// Whether the last could not be sent: it is said once.
    is_failing: bool,
}

async fn send_all(mut told: mpsc::Receiver<Told>, mut sending: Sending) {
    loop {
        let (mut batch, mut flushes) = (Vec::new(), Vec::new());
        let Some(first) = told.recv().await else {
            return;
        };
        let mut next = Some(first);
        let until = Instant::now() + limits::TRACE_PAUSE;
        // Those that come soon go along.
        while let Some(one) = next.take() {
            match one {
                Told::Span(span) => batch.push(*span),
                Told::Flush(done) => flushes.push(done),
            }
            if batch.len() < limits::TRACE_BATCH && flushes.is_empty() {
                next = timeout_at(until, told.recv()).await.ok().flatten();
            }
        }
        sending.send(batch).await;
        for done in flushes {
            let _ = done.send(());
        }
    }
}

impl Sending {
    async fn send(&mut self, batch: Vec<SpanData>) {
        let spans = batch.len() as u64;
        if spans > 0 {
            let failed = self.exporter.export(batch).await.err();
            if failed.is_some() {
                self.dropped.fetch_add(spans, Ordering::Relaxed);
            }
            self.say(failed);
        }
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > self.said && !self.is_failing {
            tracing::warn!(dropped = dropped - self.said, "spans were dropped");
            self.said = dropped;
        }
    }

    /// Says once that nothing can be sent, and once that it can again.
    fn say(&mut self, failed: Option<Unsent>) {
        match failed {
            Some(why) if !self.is_failing => {
                let to = self.exporter.place();
                tracing::warn!(to, %why, "traces cannot be sent; they are dropped meanwhile");
                self.is_failing = true;
            }
            None if self.is_failing => {
                tracing::info!("traces are sent again");
                self.is_failing = false;
            }
            _ => {}
        }
    }
}
