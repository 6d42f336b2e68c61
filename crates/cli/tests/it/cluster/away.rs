//! NATS that is away while clients call: nothing of what they do at the replica that has their
//! sessions needs it.

use super::{AGAIN, Fleet};
use http::StatusCode;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_testkit::{
    text_of,
    world::{soak_rounds, to_the_end},
};

/// `cargo xtask soak away` has it away for a minute.
#[tokio::test]
async fn no_call_of_a_local_session_fails_while_nats_is_away() {
    let asked = soak_rounds();
    let away = asked.map_or(Duration::from_secs(3), |_| Duration::from_secs(60));
    let mut fleet = Fleet::start(3).await;
    let (stop, calls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut lanes = Vec::new();
    for lane in 0..9 {
        let mut client = fleet.replicas[lane % 3].legacy().await.keep_alive();
        let (stop, calls) = (stop.clone(), calls.clone());
        lanes.push(tokio::spawn(async move {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                let nonce = format!("{lane} {number}");
                if lane < 6 {
                    let said = client.call("far__echo", json!({"nonce": nonce})).await;
                    assert_eq!(text_of(&said), nonce, "{said}");
                } else {
                    // One that is told of on its way.
                    let arguments = json!({"steps": 4, "intervalMs": 40, "marker": nonce});
                    let params = json!({"name": "far__progress", "arguments": arguments});
                    let stream = client.stream("tools/call", params).await;
                    assert_eq!(stream.status, StatusCode::OK);
                    let (told, answer) = to_the_end(stream).await;
                    assert_eq!((told.len(), text_of(&answer)), (4, &*nonce), "{answer}");
                }
                calls.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let goes_on = async |calls: &AtomicUsize| {
        let before = calls.load(Ordering::Relaxed);
        let more = || (calls.load(Ordering::Relaxed) > before + 30).then_some(());
        let more = switchboard_testkit::world::until(AGAIN, more).await;
        more.expect("calls are answered");
    };
    for _ in 0..asked.unwrap_or(1) {
        goes_on(&calls).await;
        fleet.nats.kill(0).await;
        tokio::time::sleep(away).await;
        goes_on(&calls).await;
        fleet.nats.restart(0).await;
        goes_on(&calls).await;
    }
    stop.store(true, Ordering::Relaxed);
    for lane in lanes {
        lane.await.expect("no call fails");
    }
    println!("{} calls, none failed", calls.load(Ordering::Relaxed));
}
