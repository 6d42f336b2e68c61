//! What becomes of requests, as a collector gets it that nobody here wrote.

mod carried;
mod collector;
mod limits;
mod pairs;

use collector::{Collector, Span};
use switchboard_testkit::world::World;

/// The trace of this number, and the client's span in it.
fn client(number: u8) -> (String, String, String) {
    let trace = format!("{number:02x}").repeat(16);
    let span = format!("{:02x}", number ^ 0x55).repeat(8);
    let parent = format!("00-{trace}-{span}-01");
    (trace, span, parent)
}

/// A world whose programs send traces to this collector, over HTTP.
fn sending(world: World, collector: &Collector) -> World {
    world.variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.http)
}

/// The spans of this kind and name.
fn named<'a>(all: &'a [Span], kind: &str, name: &str) -> Vec<&'a Span> {
    let kind = format!("SPAN_KIND_{kind}");
    let found = all
        .iter()
        .filter(|span| span.kind == kind && span.name == name);
    found.collect()
}
