//! Servers that use more of the machine than their entries allow: they end with all that
//! they started, and everybody is told why.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    HttpClient,
    world::{World, children, servers, until, worker_of},
};

/// How long anything may take on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(120);

/// A server whose tools use much: memory, processes, the processor.
const GREEDY: &str = r#"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer='"error":{"code":-32601,"message":"no"}'
  case "$line" in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"ok","inputSchema":{"type":"object"}},{"name":"eat","inputSchema":{"type":"object"}},{"name":"breed","inputSchema":{"type":"object"}},{"name":"spin","inputSchema":{"type":"object"}}]}' ;;
    *'"ok"'*) answer='"result":{"content":[{"type":"text","text":"fine"}]}' ;;
    *'"eat"'*) big=$(head -c 60000000 /dev/zero | tr '\0' x); sleep 1000 ;;
    *'"breed"'*) for n in 1 2 3 4 5 6 7 8; do setsid sleep 1000 & done; sleep 1000 ;;
    *'"spin"'*) while :; do :; done ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
"#;

fn greedy(limits: &Value) -> Value {
    json!({"command": "sh", "args": ["-c", GREEDY], "limits": limits})
}

struct Scene {
    world: World,
    client: HttpClient,
    worker: i32,
    _gateway: switchboard_testkit::Program,
}

impl Scene {
    async fn new(limits: &Value) -> Self {
        let world = World::with(&servers([("g", greedy(limits))]));
        let (program, url) = world.serve(&["--no-auth"]).await;
        let noted = until(LIMIT, || (!world.notes().is_empty()).then_some(())).await;
        noted.expect("a note is left");
        let worker = worker_of(program.pid()).await;
        let mut client = HttpClient::new(&format!("{url}/mcp"));
        client.deadline = LIMIT;
        Self {
            world,
            client,
            worker,
            _gateway: program,
        }
    }

    /// What a call is answered.
    async fn call(&mut self, tool: &str) -> String {
        let call = json!({"name": format!("g__{tool}"), "arguments": {}});
        let answer = self.client.modern("tools/call", call).await;
        answer.message().to_string()
    }

    async fn status(&self) -> Value {
        let status = self.world.run(&["status", "--json"]).await.ok().json();
        status[0]["servers"][0].clone()
    }

    async fn nobody_is_left(&self) {
        let gone = until(LIMIT, || children(self.worker).is_empty().then_some(()));
        let left = || format!("{:?}", children(self.worker));
        gone.await.unwrap_or_else(|| panic!("{}", left()));
    }

    /// A call that uses too much, and what is told of it.
    async fn passes(&mut self, tool: &str, limit: &str, allowed: &str) {
        assert!(self.call("ok").await.contains("fine"));
        let answer = self.call(tool).await;
        assert!(
            answer.contains("error") && answer.contains(limit),
            "{answer}"
        );
        assert!(answer.contains(allowed), "{answer}");
        self.nobody_is_left().await;
        let status = self.status().await;
        assert_eq!(status["state"], "failed", "{status}");
        let reason = status["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(limit), "{status}");
        // Once is an accident: it is there again.
        assert!(self.call("ok").await.contains("fine"));
    }
}

#[tokio::test]
async fn too_much_memory_ends_a_server() {
    let mut scene = Scene::new(&json!({"memory": "32 MiB"})).await;
    scene
        .passes("eat", "limits.memory", "32 MiB is allowed")
        .await;
    // One that does it again and again is not started for ever.
    let mut answer = String::new();
    for _ in 0..10 {
        answer = scene.call("eat").await;
        assert!(answer.contains("limits.memory"), "{answer}");
        if answer.contains("times in a row soon after its start") {
            return;
        }
    }
    panic!("it is started for ever: {answer}");
}

#[tokio::test]
async fn too_many_processes_end_with_their_server() {
    let mut scene = Scene::new(&json!({"processes": 5})).await;
    scene
        .passes("breed", "limits.processes", "5 are allowed")
        .await;
}

#[tokio::test]
async fn too_much_of_the_processor_for_too_long_ends_a_server() {
    let mut scene = Scene::new(&json!({"cpu": 0.2})).await;
    scene.passes("spin", "limits.cpu", "0.2 is allowed").await;
}

/// What is held to, by whom, and what is not.
#[test]
fn it_is_said_what_limits_count_for() {
    let limits = json!({"memory": "512 MiB", "cpu": 0.5, "processes": 20});
    let mut remote = json!({"type": "http", "url": "http://127.0.0.1:9"});
    remote["limits"] = limits.clone();
    let world = World::with(&servers([("g", greedy(&limits)), ("r", remote)]));
    let says = "limits: it may use 512 MiB of memory, 0.5 of a processor core, 20 processes; ";
    let explained = world.show(&["explain", "g"]).ok().out;
    assert!(explained.contains(says), "{explained}");
    let looked = explained.contains("it is looked at every second");
    let held = explained.contains("the kernel holds it to them");
    assert!(looked != held, "{explained}");
    let doctor = world.show(&["doctor", "--no-connect"]).ok().out;
    assert!(doctor.contains(says), "{doctor}");
    let explained = world.show(&["explain", "r"]).ok().out;
    assert!(
        explained.contains("limits count for programs only"),
        "{explained}"
    );
}
