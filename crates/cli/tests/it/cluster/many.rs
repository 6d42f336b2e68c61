//! Many sessions, and a replica that dies: all of them answer again, soon, and none is unknown.

use super::{AGAIN, AT_ONCE, Fleet, ping};
use http::{Method, StatusCode};
use std::time::{Duration, Instant};
use switchboard_testkit::{HttpClient, nats::Nats, world::soak_rounds};

/// Within which they answer again, where the machine does nothing else.
const SOON: Duration = Duration::from_secs(15);

/// Asks for each of these sessions until it answers; how long that took for the last, and how
/// often somebody had to be asked again.
async fn all_answer(at: &str, sessions: &[String], within: Duration) -> (Duration, usize) {
    let begun = Instant::now();
    let each = (0..AT_ONCE).map(|lane| async move {
        let mut client = HttpClient::new(&format!("{at}/mcp")).keep_alive();
        let mut again = 0;
        for session in sessions.iter().skip(lane).step_by(AT_ONCE) {
            let name = "mcp-session-id".to_owned();
            client.headers.insert(name, session.clone());
            loop {
                let sent = client.try_send(Method::POST, &[], ping().into()).await;
                let Ok(reply) = sent else {
                    client = client.clone_for(&[]).keep_alive();
                    continue;
                };
                match reply.status {
                    StatusCode::OK => break,
                    StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY => again += 1,
                    _ => panic!("{reply:?}"),
                }
                assert!(begun.elapsed() < within, "{reply:?}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        again
    });
    let again = futures_util::future::join_all(each).await;
    (begun.elapsed(), again.into_iter().sum())
}

/// `cargo xtask soak replica` runs it with 9,000 sessions, and holds it to 15 seconds.
#[tokio::test]
async fn all_sessions_answer_again_after_a_replica_was_killed() {
    let asked = soak_rounds();
    let (count, rounds) = match asked {
        Some(rounds) => (9000, rounds),
        None => (90, 1),
    };
    let within = asked.map_or(2 * AGAIN, |_| SOON);
    let mut fleet = Fleet::on(Nats::three().await, 3).await;
    for round in 0..rounds {
        let sessions = fleet.sessions(count).await;
        assert_eq!(sessions.len(), count);
        let dies = round % 3;
        fleet.replicas[dies].kill().await;
        let others = (0..3).filter(|at| *at != dies);
        let asked = others.zip(sessions.chunks(count / 2)).map(|(at, some)| {
            let at = &fleet.replicas[at].url;
            all_answer(at, some, within)
        });
        let asked = futures_util::future::join_all(asked).await;
        let last = asked.iter().map(|(took, _)| *took).max().unwrap();
        let again: usize = asked.iter().map(|(_, again)| again).sum();
        println!("{count} sessions answered again after {last:?}; {again} times later was said");
        assert!(last < within, "{last:?}");
        fleet.again(dies).await;
        fleet.until_all_are_known().await;
    }
}
