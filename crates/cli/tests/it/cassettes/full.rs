//! A disk that has no room left for cassettes.

use super::recording::lines;
use serde_json::json;
use switchboard_testkit::{
    HttpClient, LEGACY, bin,
    world::{World, echo, servers},
};

/// The program goes on, says so once, and what is there can be played. A limit for the size of
/// files stands for a disk: what it refuses is refused in the same place.
#[tokio::test]
async fn the_program_goes_on_and_what_is_written_can_be_read() {
    let world = World::with(&servers([("s", echo(&[]))]));
    let limited = "trap '' XFSZ; ulimit -f 512; exec \"$0\" \"$@\"";
    let launch = world.launch_any("/bin/bash").args(["-c", limited]);
    let launch = launch.arg(bin("switchboard"));
    let args = [
        "serve",
        "--http",
        "127.0.0.1:0",
        "--no-auth",
        "--record",
        "tapes",
    ];
    let gateway = launch.args(args).spawn();
    let url = gateway.url().await;
    let mut client = HttpClient::new(&format!("{url}/mcp/s"));
    client.initialize(LEGACY).await;
    // More than fits, and then what would still fit.
    for n in 0..40 {
        let word = format!("{n}-{}", "x".repeat(40_000));
        let answer = client.call("echo", json!({"nonce": word})).await;
        assert_eq!(answer["result"]["content"][0]["text"], word);
    }
    for n in 0..40 {
        let answer = client
            .call("echo", json!({"nonce": format!("small {n}")}))
            .await;
        assert!(answer.get("result").is_some(), "{answer}");
    }
    gateway.wait_for_line("cassettes cannot be written").await;
    let told = gateway.stderr();
    assert_eq!(told.matches("cannot be written").count(), 1, "{told}");
    let folder = world.path("home/tapes");
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
    assert!(!files.is_empty());
    for file in files {
        assert!(file.metadata().unwrap().len() > 0, "{file:?}");
        let lines = lines(&file.path());
        assert!(lines.len() > 1, "{file:?}");
    }
    drop(gateway);
}
