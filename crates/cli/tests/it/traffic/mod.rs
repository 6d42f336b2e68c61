//! What is seen of calls as they pass through: both sides of each, and each once more.

mod copied;
mod list;
mod principals;
mod replay;
mod secrets;
mod sides;

use serde_json::Value;
use switchboard_testkit::world::World;

/// The calls that a filter lets through, the oldest first.
async fn calls(world: &World, filter: &str) -> Vec<Value> {
    let args = [
        "traffic",
        "--no-follow",
        "--json",
        "-n",
        "1000",
        "--filter",
        filter,
    ];
    let ran = world.run(&args).await;
    assert_eq!(ran.code, Some(0), "{filter}: {}", ran.err);
    let lines = ran.out.lines();
    let read = |line: &str| serde_json::from_str(line).expect("an object on each line");
    lines.map(read).collect()
}

/// The numbers of the calls that a filter lets through, the oldest first.
async fn ids(world: &World, filter: &str) -> Vec<String> {
    let calls = calls(world, filter).await;
    calls.iter().map(|call| call["id"].to_string()).collect()
}

/// One call with its messages.
async fn shown(world: &World, id: &str) -> Value {
    let ran = world.run(&["traffic", "show", id, "--json"]).await;
    assert_eq!(ran.code, Some(0), "{id}: {}", ran.err);
    ran.json()
}
