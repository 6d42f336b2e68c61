//! The states of all servers as one stream.

use crate::scripted::Scripted;
use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_host::{Client, Host, NoSink, State, StateEvents, permission::Rules};
use switchboard_transport::Budget;
use switchboard_wire::{Revision, name::Style};

/// The next states, one after the other; sorted by server where that is what counts.
async fn next(events: &mut StateEvents, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    for _ in 0..count {
        let event = tokio::time::timeout(Duration::from_secs(20), events.next()).await;
        let event = event.expect("an event").expect("the host is there");
        told.push(format!("{} {}", event.server, event.state));
    }
    told
}

#[tokio::test]
async fn every_state_is_told_as_it_happens() {
    let (good, bad) = (Scripted::new("good"), Scripted::broken("bad"));
    // The same before and after, so that it is not touched.
    let same = || {
        let mut spec = good.spec();
        spec.identity = "same".into();
        spec
    };
    let specs = vec![same(), bad.spec()];
    let host = Host::new(
        specs,
        Rules::everything_allowed(),
        Style::Short,
        Budget::default(),
    );
    host.set_aside([
        ("off".into(), State::Disabled),
        ("new".into(), State::PendingApproval),
    ]);
    let mut events = host.state_events();
    let at_first = [
        "bad not-connected",
        "good not-connected",
        "new pending-approval",
        "off disabled",
    ];
    assert_eq!(next(&mut events, 4).await, at_first);

    let none = Bytes::from_static(b"{}");
    let client = Client::new("p".into(), Revision::NEWEST_LEGACY, none, Arc::new(NoSink));
    let client = Arc::new(client);
    for (name, last) in [("good", "good connected"), ("bad", "bad failed: ")] {
        let server = host.server(name).expect("it is configured");
        let _ = server.connection(&client).await;
        let told = next(&mut events, 2).await;
        assert_eq!(told[0], format!("{name} pending"));
        assert!(told[1].starts_with(last), "{told:?}");
    }

    // One goes, one is switched off, one is approved.
    host.replace(vec![same(), Scripted::new("new").spec()]);
    host.set_aside([
        ("off".into(), State::Disabled),
        ("bad".into(), State::Disabled),
    ]);
    let mut told = next(&mut events, 3).await;
    told.sort();
    assert_eq!(told, ["bad disabled", "bad gone", "new not-connected"]);

    // Who comes later hears how things are now.
    let mut late = host.state_events();
    let now = next(&mut late, 4).await;
    let all = [
        "bad disabled",
        "good connected",
        "new not-connected",
        "off disabled",
    ];
    assert_eq!(now, all);
    host.set_aside([]);
    let mut told = next(&mut late, 2).await;
    told.sort();
    assert_eq!(told, ["bad gone", "off gone"]);
}
