//! Requests that whoever waits for the answer drives: what happens while somebody does,
//! and what when nobody does any more.

use super::{
    peer::{Peer, request},
    server::{Server, Step, chunk, events, json, reply},
};
use std::{
    future::{pending, poll_fn},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use switchboard_testkit::DEADLINE;
use switchboard_transport::{Driving, SendError};
use switchboard_wire::Method;

/// Longer than a test takes.
const LONG: Duration = Duration::from_secs(60);

fn begin(peer: &Peer, id: u64) -> Driving {
    let begun = peer.link.begin(request(id, Method::ToolsCall, LONG));
    begun.expect("begun").expect("something to drive")
}

/// Polls it once, as somebody who then looks elsewhere.
fn once(driving: &mut Driving) -> Poll<()> {
    driving.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn nothing_leaves_before_somebody_waits_and_then_all_does() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let mut peer = Peer::new(&server);
    let mut driving = begin(&peer, 1);
    peer.silence(Duration::from_millis(50)).await;
    assert_eq!(server.connections(), 0);
    poll_fn(|context| driving.poll(context)).await;
    let (text, during) = peer.message().await;
    assert!(text.contains("\"id\":1,"), "{text}");
    assert_eq!(during, Some(1));
    // Its end is no reason to begin anew.
    assert!(once(&mut driving).is_ready());
    drop(driving);
    peer.ping(2).await;
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
}

#[tokio::test]
async fn what_nobody_drives_any_more_goes_on() {
    let server = Server::start(|seen| {
        let mut script = vec![Step::Wait(Duration::from_millis(50))];
        script.extend(json(&reply(seen)));
        script
    })
    .await;
    let mut peer = Peer::new(&server);
    // One that was never looked at, and one that is under way.
    drop(begin(&peer, 1));
    let mut driving = begin(&peer, 2);
    while server.seen().len() < 2 {
        assert!(once(&mut driving).is_pending());
        tokio::task::yield_now().await;
    }
    drop(driving);
    let mut answered = [peer.message().await.1, peer.message().await.1];
    answered.sort_unstable();
    assert_eq!(answered, [Some(1), Some(2)]);
}

#[tokio::test]
async fn what_was_abandoned_ends_with_whoever_drove_it() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let mut peer = Peer::new(&server);
    let mut driving = begin(&peer, 1);
    while server.seen().is_empty() {
        assert!(once(&mut driving).is_pending());
        tokio::task::yield_now().await;
    }
    peer.link.abandon(1);
    drop(driving);
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
    // And where it is in a task by then.
    let mut driving = begin(&peer, 2);
    while server.seen().len() < 2 {
        assert!(once(&mut driving).is_pending());
        tokio::task::yield_now().await;
    }
    drop(driving);
    peer.link.abandon(2);
    server
        .until("the other hang-up", |server| server.hung_up() == 2)
        .await;
    peer.silence(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn what_comes_before_the_answer_is_heard_and_the_answer_too() {
    let server = Server::start(|seen| {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
        vec![
            events(),
            chunk(&format!("data: {progress}\n\n")),
            Step::Wait(Duration::from_millis(50)),
            chunk(&format!("data: {}\n\n", reply(seen))),
            Step::Close,
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    let mut driving = begin(&peer, 1);
    let heard = tokio::select! {
        () = poll_fn(|context| driving.poll(context)) => panic!("it has ended"),
        heard = peer.message() => heard,
    };
    assert!(heard.0.contains("notifications/progress"), "{}", heard.0);
    drop(driving);
    assert!(peer.message().await.0.contains("\"id\":1,"));
}

#[tokio::test]
async fn closing_the_link_ends_what_is_driven() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let peer = Peer::new(&server);
    let mut driving = begin(&peer, 1);
    while server.seen().is_empty() {
        assert!(once(&mut driving).is_pending());
        tokio::task::yield_now().await;
    }
    peer.link.close().await;
    drop(driving);
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
    let refused = peer.link.begin(request(2, Method::Ping, LONG));
    assert!(matches!(refused, Err(SendError::Closed)), "{refused:?}");
}

#[test]
fn a_runtime_that_ends_takes_it_along() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let (server, peer) = runtime.block_on(async {
        let server = Server::start(|_| vec![Step::Hang]).await;
        let peer = Peer::new(&server);
        (server, peer)
    });
    let mut driving = begin(&peer, 1);
    runtime.spawn(async move { poll_fn(|context| driving.poll(context)).await });
    runtime.block_on(server.until("the request", |server| server.seen().len() == 1));
    // What drives it is dropped with it, and nothing can be started any more.
    runtime.shutdown_timeout(LONG);
}

#[test]
fn what_is_said_while_a_runtime_ends_does_not_stop_it() {
    /// Says something when it is dropped, as a call does that is given up.
    struct LastWord(Peer, Arc<AtomicBool>);
    impl Drop for LastWord {
        fn drop(&mut self) {
            self.0.tell("notifications/cancelled");
            self.1.store(true, Ordering::Release);
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let was_said = Arc::new(AtomicBool::new(false));
    let server = runtime.block_on(Server::start(|_| vec![Step::Hang]));
    let word = runtime.block_on(async { LastWord(Peer::new(&server), was_said.clone()) });
    runtime.spawn(async move {
        let _word = word;
        pending::<()>().await;
    });
    runtime.shutdown_timeout(DEADLINE);
    assert!(was_said.load(Ordering::Acquire), "the runtime hangs");
}
