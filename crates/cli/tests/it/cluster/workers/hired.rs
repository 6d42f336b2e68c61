//! Workers that run what somebody has signed for them.

use super::{
    super::{AGAIN, Fleet},
    Worker, pid,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::{
    HttpClient,
    world::{World, alive, children, echo, servers, until},
};

const SOON: Duration = Duration::from_secs(30);

impl Fleet {
    /// A replica that follows what is applied, and has nothing else.
    pub(super) async fn hiring() -> Self {
        Self::following(1, &[]).await
    }

    /// Applies these servers, and waits until the replica runs them.
    pub(in super::super) async fn hire(&self, all: &[(&str, Value)]) -> u64 {
        let all = all.iter().cloned();
        let all = all.map(|(name, entry)| (name.to_owned(), entry));
        let all: serde_json::Map<String, Value> = all.collect();
        let text = json!({ "mcpServers": all });
        let file = self.world.write("fleet.json", text.to_string());
        let told = self.apply(&[file.to_str().unwrap()]).await;
        let version = told["version"].as_u64().expect("a version");
        self.until_run(version).await;
        version
    }

    /// A worker that hires itself out, and has nothing else.
    pub(super) async fn hired(&self, name: &str, more: &[&str]) -> Worker {
        self.hired_in(World::new(), name, more).await
    }

    pub(in super::super) async fn hired_in(
        &self,
        world: World,
        name: &str,
        more: &[&str],
    ) -> Worker {
        let keys = self.applies("pub");
        let more = [&["--hire", &keys][..], more].concat();
        self.worker_in(world, name, &more).await
    }

    /// What a worker is shown to make of a server that was signed, once that is `wanted`.
    pub(super) async fn until_shown(&self, worker: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let shown = self.workers().await;
            let found = shown.into_iter().find(|row| row["worker"] == worker);
            let found = found.unwrap_or_default();
            if wanted(&found) {
                return found;
            }
            assert!(begun.elapsed() < AGAIN, "{found}");
        }
    }

    /// Waits until a worker is shown not to run `notes`, for this reason.
    async fn until_why(&self, worker: &str, why: &str) {
        let is_why = |row: &Value| {
            let hire = &row["hires"][0];
            let said = hire["why"].as_str();
            hire["runs"] == false && said.is_some_and(|said| said.contains(why))
        };
        self.until_shown(worker, is_why).await;
    }
}

/// An entry that workers run.
pub(in super::super) fn signed(args: &[&str]) -> Value {
    json!({"type": "worker", "runs": echo(args)})
}

/// An entry with more in it.
fn with(mut entry: Value, key: &str, value: Value) -> Value {
    entry[key] = value;
    entry
}

/// Asks a server until what it says has this in it: workers come and go, and a replica hears
/// of it a moment later.
pub(super) async fn until_said(client: &mut HttpClient, server: &str, text: &str) {
    let begun = Instant::now();
    loop {
        let said = client.call(&format!("{server}__pid"), json!({})).await;
        if said.to_string().contains(text) {
            return;
        }
        assert!(begun.elapsed() < AGAIN, "{said}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(super) async fn ended(process: i32) {
    let gone = until(SOON, || (!alive(process)).then_some(())).await;
    assert!(gone.is_some(), "{process} runs still");
}

#[tokio::test]
async fn a_worker_runs_what_was_signed_as_it_is_now_and_no_longer() {
    let fleet = Fleet::hiring().await;
    let own = World::with(&servers([("mine", echo(&[]))]));
    let worker = fleet.hired_in(own, "home", &[]).await;
    let first = fleet.hire(&[("notes", signed(&[]))]).await;
    let mut client = fleet.replicas[0].legacy().await;
    let one = pid(&mut client).await;
    assert!(children(worker.pid().await).contains(&one));
    let shown = fleet
        .until_shown("home", |row| row["applied"] == first)
        .await;
    let notes = json!([{"server": "notes", "runs": true}]);
    assert_eq!(shown["hires"], notes, "{shown}");
    // What is its own is nobody else's.
    assert_eq!(shown["offers"], json!([]), "{shown}");
    // Another version: the process of the one before ends.
    fleet.hire(&[("notes", signed(&["--name", "other"]))]).await;
    ended(one).await;
    let two = pid(&mut client).await;
    assert_ne!(one, two);
    // What has not changed goes on.
    let both = [
        ("notes", signed(&["--name", "other"])),
        ("more", signed(&[])),
    ];
    fleet.hire(&both).await;
    assert_eq!(pid(&mut client).await, two);
    // Switched off, and on again.
    let off = with(signed(&["--name", "other"]), "disabled", json!(true));
    fleet.hire(&[("notes", off)]).await;
    ended(two).await;
    fleet.hire(&[("notes", signed(&[]))]).await;
    let three = pid(&mut client).await;
    // Withdrawn.
    let last = fleet.hire(&[]).await;
    ended(three).await;
    worker
        .program
        .wait_for_line("a server of the cluster was withdrawn")
        .await;
    let shown = fleet
        .until_shown("home", |row| row["applied"] == last)
        .await;
    assert_eq!(shown["hires"], json!([]), "{shown}");
    assert!(children(worker.pid().await).is_empty());
}

/// One that starts again runs the newest; one that was never told whom to believe runs nothing.
#[tokio::test]
async fn a_worker_that_starts_again_runs_what_holds_by_then() {
    let fleet = Fleet::hiring().await;
    let mut worker = fleet.hired("home", &[]).await;
    fleet.hire(&[("notes", signed(&[]))]).await;
    let mut client = fleet.replicas[0].legacy().await;
    pid(&mut client).await;
    worker.kill().await;
    let version = fleet.hire(&[("notes", signed(&["--name", "b"]))]).await;
    let again = fleet.hired_in(worker.world.clone(), "home", &[]).await;
    let process = pid(&mut client).await;
    assert!(children(again.pid().await).contains(&process));
    let line = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap();
    assert!(line.contains("--name\0b"), "{line:?}");
    fleet
        .until_shown("home", |row| row["applied"] == version)
        .await;
    drop(again);
    let nobody = fleet.worker_in(World::new(), "other", &[]).await;
    let line = "none of them hires anything out";
    until_said(&mut client, "notes", line).await;
    assert!(children(nobody.pid().await).is_empty());
    let keys = World::new().write("keys", "apply:nothing\n");
    let keys = keys.to_str().unwrap();
    let wrong = fleet.launch_worker(&World::new(), "other", &["--hire", keys]);
    let (status, _, said) = wrong.output(AGAIN).await;
    assert_eq!(status.code(), Some(3), "{said}");
}

/// Labels, names, room and programs decide where it runs.
#[tokio::test]
async fn an_entry_is_run_by_workers_that_are_what_it_asks_for() {
    let fleet = Fleet::hiring().await;
    let plain = fleet.hired("plain", &[]).await;
    let gpu = with(signed(&[]), "labels", json!({"gpu": "yes"}));
    fleet.hire(&[("notes", gpu)]).await;
    let mut client = fleet.replicas[0].legacy().await;
    let why = "it asks for the label gpu=yes";
    until_said(&mut client, "notes", why).await;
    fleet.until_why("plain", why).await;
    assert!(children(plain.pid().await).is_empty());
    let strong = fleet.hired("strong", &["--label", "gpu=yes"]).await;
    let process = pid(&mut client).await;
    assert!(children(strong.pid().await).contains(&process));
    // By their names.
    let named = with(signed(&[]), "workers", json!(["pl*"]));
    fleet.hire(&[("notes", named)]).await;
    ended(process).await;
    let process = pid(&mut client).await;
    assert!(children(plain.pid().await).contains(&process));
    fleet.until_why("strong", "it is for the workers pl*").await;
    // A program that is not there yet.
    let absent = json!({"type": "worker", "runs": {"command": "no-such-program"}});
    fleet.hire(&[("notes", absent)]).await;
    fleet
        .until_why("plain", "no program \"no-such-program\"")
        .await;
    until_said(&mut client, "notes", "no-such-program").await;
}

#[tokio::test]
async fn a_worker_has_as_many_of_them_in_use_as_it_may() {
    let fleet = Fleet::hiring().await;
    let worker = fleet.hired("home", &["--hire-room", "1"]).await;
    let all = [("notes", signed(&[])), ("more", signed(&[]))];
    fleet.hire(&all).await;
    let mut client = fleet.replicas[0].legacy().await;
    let first = pid(&mut client).await;
    let full = "as many servers of the cluster as it may (1)";
    until_said(&mut client, "more", full).await;
    assert_eq!(children(worker.pid().await), [first]);
    let second = fleet.hired("office", &[]).await;
    until_said(&mut client, "more", "result").await;
    assert_eq!(children(second.pid().await).len(), 1);
}

/// Copies are counted among them as among workers with servers of their own.
#[tokio::test]
async fn one_copy_of_what_was_signed_runs_at_a_time() {
    let fleet = Fleet::hiring().await;
    let mut workers = vec![fleet.hired("one", &[]).await, fleet.hired("two", &[]).await];
    let alone = with(signed(&[]), "isolation", json!("session"));
    fleet
        .hire(&[("notes", with(alone, "copies", json!(1)))])
        .await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = fleet.replicas[0].legacy().await;
        pid(&mut client).await;
        clients.push(client);
    }
    let mut runs = Vec::new();
    for worker in &workers {
        runs.push(children(worker.pid().await).len());
    }
    let at = runs.iter().position(|count| *count == 3);
    let at = at.unwrap_or_else(|| panic!("{runs:?}"));
    assert_eq!(runs[1 - at], 0);
    workers[at].kill().await;
    let process = pid(&mut clients[0]).await;
    assert!(children(workers[1 - at].pid().await).contains(&process));
}

/// What the worker's machine says holds: its names, its administrator, its own files.
#[tokio::test]
async fn what_the_worker_s_own_settings_say_comes_first() {
    let fleet = Fleet::hiring().await;
    fleet.hire(&[("notes", signed(&[]))]).await;
    // The name is taken.
    let own = servers([("notes", echo(&["--name", "own"]))]);
    let offers = ["--offer", "notes"];
    let named = fleet.hired_in(World::with(&own), "named", &offers).await;
    fleet.until_why("named", "the entry of the same name").await;
    let shown = fleet.workers().await;
    assert_eq!(shown[0]["offers"], json!(["notes"]), "{shown:?}");
    let mut client = fleet.replicas[0].legacy().await;
    until_said(&mut client, "notes", "the entry of the same name").await;
    assert!(children(named.pid().await).is_empty());
    drop(named);
    // Its administrator does not permit it.
    let managed = World::new();
    let denied = json!({"deniedMcpServers": [{"serverName": "notes"}]});
    managed.write("etc/managed-settings.json", denied.to_string());
    let held = fleet.hired_in(managed.clone(), "held", &[]).await;
    fleet.until_why("held", "policy does not permit it").await;
    assert!(children(held.pid().await).is_empty());
    // And it stops what runs, as soon as somebody says so.
    managed.write("etc/managed-settings.json", "{}");
    let process = pid(&mut client).await;
    managed.write_settings(&json!({"disabledMcpServers": ["notes"]}));
    ended(process).await;
    fleet.until_why("held", "switched off").await;
    // Whoever had a link there is told so, and gets another when it may run again.
    until_said(&mut client, "notes", "switched off").await;
    managed.write_settings(&json!({}));
    until_said(&mut client, "notes", "result").await;
}

/// A worker whose own settings cannot be read starts nothing new, and ends what is withdrawn.
#[tokio::test]
async fn what_is_withdrawn_ends_also_where_settings_are_broken() {
    let fleet = Fleet::hiring().await;
    let worker = fleet.hired("home", &[]).await;
    let both = [("notes", signed(&[])), ("more", signed(&[]))];
    fleet.hire(&both).await;
    let mut client = fleet.replicas[0].legacy().await;
    let process = pid(&mut client).await;
    until_said(&mut client, "more", "result").await;
    let settings = worker.world.settings();
    worker.world.write(&settings, "{");
    let line = "but cannot be used; what runs goes on";
    worker.program.wait_for_line(line).await;
    assert_eq!(pid(&mut client).await, process);
    fleet
        .hire(&[("more", signed(&[])), ("new", signed(&[]))])
        .await;
    ended(process).await;
    until_said(&mut client, "more", "result").await;
    let line = "this worker's own settings cannot be used";
    until_said(&mut client, "new", line).await;
    worker.world.write(&settings, "{}");
    until_said(&mut client, "new", "result").await;
}

/// What the worker has in its environment is not for whoever signs, unless it says so.
#[tokio::test]
async fn nothing_of_the_worker_s_gets_into_what_it_runs_for_others() {
    let fleet = Fleet::hiring().await;
    let env = json!({"GOT": "${SECRET}", "PLAIN": "${ABSENT:-default}"});
    let asks = json!({"type": "worker", "runs": with(echo(&[]), "env", env)});
    fleet.hire(&[("notes", asks)]).await;
    let world = || World::repository().variable("SECRET", "canary");
    let closed = world();
    let all = json!({"inheritEnv": ["SECRET"]});
    closed.write_settings(&all);
    let closed = fleet.hired_in(closed, "closed", &[]).await;
    fleet.until_why("closed", "say --hire-env SECRET").await;
    assert!(children(closed.pid().await).is_empty());
    drop(closed);
    let lends = ["--hire-env", "SECRET"];
    let _lending = fleet.hired_in(world(), "lending", &lends).await;
    let mut client = fleet.replicas[0].legacy().await;
    let process = pid(&mut client).await;
    let environ = std::fs::read_to_string(format!("/proc/{process}/environ")).unwrap();
    let has = |pair: &str| environ.split('\0').any(|it| it == pair);
    assert!(has("GOT=canary") && has("PLAIN=default"), "{environ:?}");
    assert!(!has("SECRET=canary"), "{environ:?}");
    // Nor does it start in the worker's folder, although that is trusted.
    let folder = std::fs::read_link(format!("/proc/{process}/cwd")).unwrap();
    assert!(!folder.ends_with("repo"), "{folder:?}");
    assert!(
        std::fs::read_dir(&folder).unwrap().next().is_none(),
        "{folder:?}"
    );
    // Files of the worker's are not read either.
    let files = json!({"GOT": "${file:/etc/hostname}"});
    let reads = json!({"type": "worker", "runs": with(echo(&[]), "env", files)});
    fleet.hire(&[("notes", reads)]).await;
    ended(process).await;
    fleet.until_why("lending", "your own files only").await;
}

/// Nobody signs what no worker could run.
#[tokio::test]
async fn what_workers_could_not_run_is_not_signed() {
    let fleet = Fleet::hiring().await;
    let key = fleet.applies("key");
    for (wrong, says) in [
        (json!({"url": "https://example.com/"}), "runs.url"),
        (json!({"command": "x", "envFile": "/etc/x"}), "runs.envFile"),
        (json!({"command": 5}), "runs.command"),
        (json!({"args": []}), "runs"),
        (json!("x"), "must be an object"),
        (json!({"type": "worker", "runs": {}}), "runs.runs"),
    ] {
        let entry = json!({"type": "worker", "runs": wrong});
        let all = json!({"mcpServers": {"notes": entry}});
        let file = fleet.world.write("bad.json", all.to_string());
        let args = [file.to_str().unwrap(), "--yes"];
        let ran = fleet.apply_with(&key, &args).await;
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.err.contains(says), "{says}: {ran:?}");
    }
}
