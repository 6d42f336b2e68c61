//! Three gateways that are one in the place of one, where `cargo xtask soak sprayed` asks
//! for that: each request goes to any of them, and a test is not to notice.

use super::{switchboard, until};
use crate::{Launch, Program, nats::Nats, spray::spray};
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

const COUNT: usize = 3;
/// How long they may take until they know each other.
const KNOWN: Duration = Duration::from_secs(60);

/// Whether a gateway is to be three.
pub(super) fn are_wanted() -> bool {
    std::env::var_os("SWITCHBOARD_TEST_SPRAYED").is_some_and(|value| value == "1")
}

/// Starts them: one of the programs, and where clients come in. The others, and NATS,
/// live as long as the runtime of the test.
pub(super) async fn start(launch: &Launch) -> (Program, String) {
    let nats = Nats::one().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (url, keys) = (nats.url(), folder.path().join("keys"));
    let key = keys.join("cluster.key");
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for number in 0..COUNT {
        let name = format!("r{number}");
        let made = switchboard().args(["cluster", "ca"]).arg(&keys);
        let (status, _, said) = made.args(["--name", &name]).spawn().output(KNOWN).await;
        assert!(status.success(), "{said}");
        let program = launch
            .again()
            .args(["--cluster", &url, "--cluster-name", &name])
            .arg("--cluster-key-file")
            .arg(&key)
            .arg("--cluster-cert")
            .arg(keys.join(format!("{name}.pem")))
            .spawn();
        let at = program.url().await;
        let at = at.trim_start_matches("http://").parse();
        places.push(at.expect("a gateway says where it listens"));
        all.push(program);
    }
    let begun = Instant::now();
    while there(&url, &key).await < COUNT {
        assert!(begun.elapsed() < KNOWN, "they do not know each other");
        until(Duration::from_millis(100), || None::<()>).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = listener.local_addr().map(|at| format!("http://{at}"));
    let first = all.swap_remove(0);
    let seed = std::env::var("SWITCHBOARD_SOAK_SEED");
    let seed = seed.ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    tokio::spawn(async move {
        let _lives_as_long = (all, nats, folder);
        spray(listener, places, seed).await
    });
    (first, url.expect("it listens"))
}

/// How many say that they are there.
async fn there(url: &str, key: &std::path::Path) -> usize {
    let asked = switchboard().args(["cluster", "status", "--json", "--cluster", url]);
    let asked = asked.arg("--cluster-key-file").arg(key);
    let (_, said, _) = asked.spawn().output(KNOWN).await;
    let said: Value = serde_json::from_slice(&said).unwrap_or_default();
    said.as_array().map_or(0, Vec::len)
}
