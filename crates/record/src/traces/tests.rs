use super::{batch::Queue, export, span, *};
use crate::limits;
use opentelemetry::trace::SpanKind;
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;

fn wanted(endpoint: &str, protocol: Protocol) -> Wanted {
    Wanted {
        endpoint: endpoint.to_owned(),
        protocol,
        headers: vec![("x-key".into(), "secret".into())],
        resource: vec![("service.name".into(), "s".into())],
        sampler: Sampler::default(),
        baggage_to: vec!["a".into()],
        parent: None,
    }
}

fn shared(endpoint: &str, protocol: Protocol) -> Arc<Shared> {
    let exporter = export::exporter(&wanted(endpoint, protocol)).unwrap();
    Arc::new(Shared {
        queue: Queue::begin(exporter),
        sampler: Sampler::default(),
        baggage_to: vec!["a".into()],
        parent: None,
        rounds: Rounds::default(),
    })
}

fn add(shared: &Arc<Shared>, count: usize) {
    let at = span::below(None, shared);
    for _ in 0..count {
        let open = span::Open::inside(&at, "x", SpanKind::Internal, SystemTime::now());
        open.close(shared, SystemTime::now(), None);
    }
}

#[tokio::test]
async fn addresses_are_looked_at_and_nobody_is_connected_to() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        for good in ["http://127.0.0.1:9", "https://collector.example:4317/x"] {
            export::exporter(&wanted(good, protocol)).unwrap();
        }
        for bad in ["", "collector", "ftp://collector", "http://", "/v1/traces"] {
            let made = export::exporter(&wanted(bad, protocol));
            assert!(made.is_err(), "{protocol:?} {bad:?}");
        }
    }
    let mut wrong = wanted("http://127.0.0.1:9", Protocol::Http);
    wrong.headers = vec![("no name".into(), "v".into())];
    assert!(export::exporter(&wrong).is_err());
    let shown = format!("{wrong:?}");
    assert!(!shown.contains("127.0.0.1"), "{shown}");
}

#[tokio::test]
async fn what_finds_the_queue_full_is_dropped_and_counted() {
    // It takes what comes, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let shared = shared(&address, Protocol::Http);
    // Nobody else runs meanwhile: there is one thread.
    add(&shared, limits::TRACE_QUEUE + 7);
    assert_eq!(shared.queue.dropped(), 7);
}

#[tokio::test]
async fn what_cannot_be_sent_is_dropped_and_counted() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let shared = shared("http://127.0.0.1:9", protocol);
        add(&shared, 3);
        shared.queue.flush().await;
        let counted = async {
            while shared.queue.dropped() < 3 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let counted = tokio::time::timeout(Duration::from_secs(60), counted).await;
        assert!(counted.is_ok(), "{protocol:?}");
    }
}

#[tokio::test]
async fn baggage_is_for_those_who_are_named() {
    let mut shared = shared("http://127.0.0.1:9", Protocol::Http);
    assert!(shared.gives_baggage("a") && !shared.gives_baggage("b"));
    Arc::get_mut(&mut shared).unwrap().baggage_to = vec!["*".into()];
    assert!(shared.gives_baggage("b"));
}
