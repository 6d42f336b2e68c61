//! However we end, nothing that we started outlives us (fault 40).
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use switchboard_testkit::world::{
    Gateway, alive, children, guard_of, numbers, servers, stdio, tries, until, worker_of,
};
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY, StdioClient, bin, initialize_params, text_of,
};

/// After this long nothing may be alive, whatever happens.
const GONE: Duration = Duration::from_secs(120);
/// What it takes at most, half of the time (a few milliseconds on an idle machine).
const USUAL: Duration = Duration::from_secs(10);

/// A server behind a launcher that stays, with processes that do not want to die.
fn clinger(pids: &Path, options: &str) -> Value {
    let (clinger, pids) = (bin("clinger"), pids.display());
    let line = format!(
        "'{}' --pid-file '{pids}' {options}; true",
        clinger.display()
    );
    json!({"command": "sh", "args": ["-c", line]})
}

/// An ordinary server behind the same kind of launcher.
fn behind_sh(name: &str) -> Value {
    let line = format!("'{}' --stdio; true", bin(name).display());
    json!({"command": "sh", "args": ["-c", line]})
}

/// One run of the gateway over stdio, with everything below it.
struct Run {
    client: StdioClient,
    guard: i32,
    worker: i32,
    /// Whoever must be gone in the end.
    below: Vec<i32>,
    _folder: tempfile::TempDir,
}

impl Run {
    async fn start(options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pids");
        let all = servers([
            ("cling", clinger(&file, options)),
            ("plain", behind_sh("echo-server")),
        ]);
        let mut client = StdioClient::new(stdio(&all).spawn());
        client.initialize(LEGACY).await;
        let answer = client.call("cling__pids", json!({})).await;
        let told: Value = serde_json::from_str(text_of(&answer)).unwrap();
        let plain = client.call("plain__pid", json!({})).await;
        let keeper = client.program.pid();
        let guard = guard_of(keeper).await;
        let worker = worker_of(keeper).await;
        let mut below = descendants(keeper);
        below.extend(
            told["pids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|pid| pid.as_i64().unwrap() as i32),
        );
        below.push(text_of(&plain).parse().unwrap());
        below.extend(numbers(&std::fs::read_to_string(&file).unwrap()));
        below.sort_unstable();
        below.dedup();
        // Keeper aside: guard, worker, two launchers, two servers at least.
        assert!(below.len() >= 6, "{below:?}");
        assert!(below.iter().all(|pid| alive(*pid)), "{below:?}");
        Self {
            client,
            guard,
            worker,
            below,
            _folder: folder,
        }
    }

    async fn gone(&self) -> Duration {
        all_gone(&self.below).await
    }
}

fn descendants(pid: i32) -> Vec<i32> {
    let below = children(pid);
    below
        .iter()
        .flat_map(|child| [vec![*child], descendants(*child)].concat())
        .collect()
}

fn kill(pid: i32) {
    // It may have followed the other by now.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

/// How long it took until none of them was alive.
async fn all_gone(pids: &[i32]) -> Duration {
    let started = Instant::now();
    let none = || pids.iter().all(|pid| !alive(*pid)).then_some(());
    if until(GONE, none).await.is_none() {
        let left: Vec<String> = pids
            .iter()
            .filter(|pid| alive(**pid))
            .map(|pid| who(*pid))
            .collect();
        panic!("alive after {GONE:?}: {left:?}");
    }
    started.elapsed()
}

fn who(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!(
        "{pid} {}",
        String::from_utf8_lossy(&line).replace('\0', " ")
    )
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (middle, most) = (times[times.len() / 2], times[times.len() - 1]);
    eprintln!(
        "figure: {what}: {} rounds, middle {middle:?}, most {most:?}",
        times.len()
    );
    assert!(middle < USUAL, "half of them took longer than {middle:?}");
}

/// The variants in turn, each three times at least; `cargo xtask soak full` has more.
const OPTIONS: [&str; 4] = [
    "--setsid",
    "--no-pipe",
    "--setsid --no-pipe --daemonise",
    "--setsid --no-pipe --clear-env --ignore-signals",
];

#[tokio::test]
async fn orphans_of_the_process_that_the_user_sees() {
    let mut times = Vec::new();
    for round in 0..tries(12, 34) {
        let run = Run::start(OPTIONS[round % 4]).await;
        kill(run.client.program.pid());
        times.push(run.gone().await);
    }
    report("kill -9 of the keeper", times);
}

#[tokio::test]
async fn orphans_of_the_working_process() {
    let mut times = Vec::new();
    for round in 0..tries(12, 33) {
        let mut run = Run::start(OPTIONS[round % 4]).await;
        kill(run.worker);
        times.push(run.gone().await);
        let status = run.client.program.wait(DEADLINE).await;
        assert!(!status.success(), "the user must see that it was killed");
    }
    report("kill -9 of the worker", times);
}

#[tokio::test]
async fn orphans_of_one_and_then_of_the_other() {
    let mut times = Vec::new();
    for round in 0..tries(12, 33) {
        let run = Run::start(OPTIONS[round / 2 % 4]).await;
        let (keeper, worker) = (run.client.program.pid(), run.worker);
        let (first, second) = if round % 2 == 0 {
            (keeper, worker)
        } else {
            (worker, keeper)
        };
        kill(first);
        // Sometimes while the survivor is at work, sometimes after it.
        tokio::time::sleep(Duration::from_millis([400, 200, 100][round % 3])).await;
        kill(second);
        times.push(run.gone().await);
    }
    report("kill -9 of one, then of the other", times);
}

/// Which rounds: a sample, or as many as `cargo xtask soak orphans` wants.
fn rounds() -> Range<usize> {
    let number = |name: &str| {
        let set = std::env::var(name).ok();
        set.map(|text| text.parse::<usize>().expect("a number"))
    };
    let first = number("SWITCHBOARD_SOAK_SEED").unwrap_or_default();
    first..first + number("SWITCHBOARD_SOAK_ROUNDS").unwrap_or(21)
}

/// Any two of the three, as a signal to a group or an impatient script kills
/// them: one after the other without a pause, in either order.
#[tokio::test]
async fn orphans_of_any_two_at_once() {
    let mut times = Vec::new();
    for round in rounds() {
        let run = Run::start(OPTIONS[round / 6 % 4]).await;
        let (keeper, guard, worker) = (run.client.program.pid(), run.guard, run.worker);
        // `kill -9 -PGID` finds the other two.
        assert_eq!(group_of(keeper), group_of(worker));
        assert_ne!(group_of(keeper), group_of(guard));
        let (first, second) = [
            (keeper, worker),
            (worker, keeper),
            (keeper, guard),
            (guard, keeper),
            (guard, worker),
            (worker, guard),
        ][round % 6];
        kill(first);
        kill(second);
        times.push(run.gone().await);
    }
    report("kill -9 of two at once", times);
}

fn group_of(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(2).unwrap().parse().unwrap()
}

#[tokio::test]
async fn orphans_after_sigterm_and_after_the_end_of_stdin() {
    let mut times = Vec::new();
    for options in OPTIONS {
        let mut run = Run::start(options).await;
        run.client.program.signal(Signal::TERM);
        let status = run.client.program.wait(GONE).await;
        assert!(status.success(), "{status}");
        times.push(run.gone().await);

        let mut run = Run::start(options).await;
        run.client.close();
        run.client.program.wait(GONE).await;
        times.push(run.gone().await);
    }
    report("SIGTERM and the end of stdin", times);
}

async fn pids_in(file: &Path, at_least: usize) -> Vec<i32> {
    let read = || {
        let pids = numbers(&std::fs::read_to_string(file).unwrap_or_default());
        (pids.len() >= at_least).then_some(pids)
    };
    until(GONE, read)
        .await
        .expect("the server wrote its processes down")
}

#[tokio::test]
async fn orphans_of_a_failed_initialize() {
    let folder = tempfile::tempdir().unwrap();
    let mut times = Vec::new();
    for (round, options) in OPTIONS.iter().enumerate() {
        let file = folder.path().join(round.to_string());
        let options = format!("--fail-initialize {options}");
        let mut gateway = Gateway::start(&servers([("cling", clinger(&file, &options))])).await;
        let mut client = gateway.client("/mcp/cling");
        let params = initialize_params(LEGACY);
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = client.post(hello.to_string()).await.message();
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("cling"),
            "{answer}"
        );
        times.push(all_gone(&pids_in(&file, 2).await).await);
        assert!(alive(gateway.worker().await));
        // It is tried again in the background; what that started goes with the gateway.
        gateway.program.signal(Signal::TERM);
        gateway.program.wait(GONE).await;
        all_gone(&numbers(&std::fs::read_to_string(&file).unwrap())).await;
    }
    report("a failed initialize", times);
}

/// A server that is merely stopped, because the only client it was for has gone.
#[tokio::test]
async fn orphans_of_a_client_that_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("pids");
    let mut entry = clinger(&file, "--setsid --no-pipe --daemonise");
    entry["isolation"] = "session".into();
    let gateway = Gateway::start(&servers([("cling", entry)])).await;
    let mut client: HttpClient = gateway.legacy("/mcp/cling").await;
    client.call("pids", json!({})).await;
    let pids = pids_in(&file, 5).await;
    let reply = client.send(http::Method::DELETE, &[], "").await;
    assert_eq!(reply.status, 200);
    report("a client that leaves", vec![all_gone(&pids).await]);
    // What is dead still has to be reaped, which takes half a second.
    let worker = gateway.worker().await;
    for _ in 0..30 {
        if descendants(worker).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("left behind: {:?}", descendants(worker));
}
