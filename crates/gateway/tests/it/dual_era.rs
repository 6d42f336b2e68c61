//! A program that speaks both eras: a process for each that is in use, and no longer.

use crate::support::Client;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_gateway::{Gateway, GatewayOptions};
use switchboard_host::{Host, ServerSpec, Target, permission::Rules};
use switchboard_process::ServerCommand;
use switchboard_testkit::{DEADLINE, bin};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;

/// How long a copy is kept without being used.
const PAUSE: Duration = Duration::from_millis(50);

fn gateway() -> Arc<Gateway> {
    let command = ServerCommand {
        program: bin("echo-server").into(),
        args: ["--stdio"].map(Into::into).to_vec(),
        ..ServerCommand::default()
    };
    let mut spec = ServerSpec::new("e", Target::Stdio(command));
    spec.timeouts.unused_era = PAUSE;
    let rules = Rules::everything_allowed();
    let host = Host::new(vec![spec], rules, Style::default(), Budget::default());
    Gateway::new(host, GatewayOptions::default())
}

async fn pid(client: &mut Client) -> String {
    let params = json!({"name": "pid", "arguments": {}});
    let answer: Value = client.ask("tools/call", params).await;
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).join("exe").exists()
}

#[tokio::test]
async fn the_copy_that_nobody_uses_ends_while_there_is_the_other() {
    let gateway = gateway();
    let (mut old, _) = Client::legacy(&gateway, Some("e")).await;
    let mut new = Client::modern(&gateway, Some("e"));
    let (first, second) = (pid(&mut old).await, pid(&mut new).await);
    assert_ne!(first, second, "it speaks both eras");
    // A modern client leaves nothing behind: its copy ends between two uses. The other
    // client is there all the time, and so is its copy.
    gone(&second).await;
    assert_eq!(pid(&mut old).await, first);
    let third = pid(&mut new).await;
    assert!(is_alive(&third) && third != first);
    // It leaves, and the other goes on: now its copy ends.
    drop(old);
    let begun = Instant::now();
    while is_alive(&first) {
        assert!(begun.elapsed() < DEADLINE, "it was not ended");
        pid(&mut new).await;
        tokio::time::sleep(PAUSE / 5).await;
    }
    // The only one stays, used or not.
    let last = pid(&mut new).await;
    tokio::time::sleep(PAUSE * 10).await;
    assert!(is_alive(&last), "it is the only one");
    assert_eq!(pid(&mut new).await, last);
    // Who comes later has one again.
    let (mut old, _) = Client::legacy(&gateway, Some("e")).await;
    assert!(is_alive(&pid(&mut old).await));
}

async fn gone(pid: &str) {
    let begun = Instant::now();
    while is_alive(pid) {
        assert!(begun.elapsed() < DEADLINE, "{pid} was not ended");
        tokio::time::sleep(PAUSE).await;
    }
}
