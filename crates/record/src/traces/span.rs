//! Spans while they are open, and as they are sent.

use super::Shared;
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{Link, SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::{
    borrow::Cow,
    str::FromStr,
    sync::{Arc, LazyLock},
    time::SystemTime,
};
use switchboard_local::random;
use switchboard_wire::trace::TraceContext;
use tokio::time::Instant;

/// What made the spans.
static SCOPE: LazyLock<InstrumentationScope> = LazyLock::new(|| {
    InstrumentationScope::builder("switchboard")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
});

/// The time of day, by a clock that does not jump while a call lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    day: SystemTime,
    since: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            day: SystemTime::now(),
            since: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> SystemTime {
        self.at(Instant::now())
    }

    pub(super) fn at(&self, instant: Instant) -> SystemTime {
        self.day + instant.saturating_duration_since(self.since)
    }
}

/// A place of our own in a trace: below `parent`, or where a trace begins.
pub(super) fn below(parent: Option<&TraceContext>, shared: &Shared) -> TraceContext {
    let (trace, state) = match parent {
        Some(parent) => (parent.trace, parent.state.clone()),
        None => (number(), None),
    };
    let flags = parent.map_or(0, |parent| parent.flags);
    let recorded = shared.sampler.records(trace, parent);
    let span = number();
    TraceContext {
        trace,
        span,
        flags,
        state,
    }
    .recorded(recorded)
}

/// A place below one of our own.
pub(super) fn inside(parent: &TraceContext) -> TraceContext {
    TraceContext {
        span: number(),
        ..parent.clone()
    }
}

/// A number that nobody else has, and that is not zero.
fn number<const N: usize>() -> [u8; N] {
    let mut number = random::bytes::<N>().unwrap_or([0; N]);
    if number == [0; N] {
        number[N - 1] = 1;
    }
    number
}

/// A span that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: SpanKind,
    pub(super) at: TraceContext,
    pub(super) parent: Option<[u8; 8]>,
    /// Whether the parent is somebody else's.
    pub(super) is_remote: bool,
    pub(super) begun: SystemTime,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) links: Vec<TraceContext>,
}

impl Open {
    /// One below a span of ours.
    pub(super) fn inside(
        parent: &TraceContext,
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        begun: SystemTime,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            at: inside(parent),
            parent: Some(parent.span),
            is_remote: false,
            begun,
            attributes: Vec::new(),
            links: Vec::new(),
        }
    }

    /// It is over: queued, if its trace is recorded. `error` says what went wrong.
    pub(super) fn close(
        self,
        shared: &Arc<Shared>,
        ended: SystemTime,
        error: Option<&'static str>,
    ) {
        if self.at.is_recorded() {
            shared.queue.add(self.data(ended, error));
        }
    }

    fn data(self, ended: SystemTime, error: Option<&'static str>) -> SpanData {
        let mut attributes = self.attributes;
        // What its own client gave up went wrong for nobody.
        let status = match error {
            None | Some("cancelled") => Status::Unset,
            Some(_) => Status::error(""),
        };
        attributes.extend(error.map(|word| KeyValue::new("error.type", word)));
        let mut links = SpanLinks::default();
        let all = self.links.iter();
        links.links = all
            .map(|link| Link::new(context(link, false), Vec::new(), 0))
            .collect();
        SpanData {
            span_context: context(&self.at, false),
            parent_span_id: self.parent.map_or(SpanId::INVALID, SpanId::from_bytes),
            parent_span_is_remote: self.is_remote,
            span_kind: self.kind,
            name: self.name,
            start_time: self.begun,
            end_time: ended.max(self.begun),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status,
            instrumentation_scope: SCOPE.clone(),
        }
    }
}

fn context(at: &TraceContext, is_remote: bool) -> SpanContext {
    let state = at.state.as_deref();
    let state = state.and_then(|state| TraceState::from_str(state).ok());
    SpanContext::new(
        TraceId::from_bytes(at.trace),
        SpanId::from_bytes(at.span),
        TraceFlags::new(at.flags),
        is_remote,
        state.unwrap_or_default(),
    )
}
