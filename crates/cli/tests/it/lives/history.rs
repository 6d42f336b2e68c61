//! Clients that call while their gateway is hurt: what happened is noted, and decided
//! afterwards.

use std::time::Duration;
use switchboard_testkit::{
    Program,
    history::{
        Caller, Fault, History, Lanes, Life, Nemesis, Note, Violation, What, Work, check, doctored,
    },
    world::{World, address, echo_http, servers, tries},
};

const LONG: Duration = Duration::from_secs(60);
/// Clients that call at the same time.
const LANES: u64 = 6;

/// A world with a server that writes down what it does, and outlives gateways.
struct Scene {
    world: World,
    _server: Program,
}

impl Scene {
    async fn new() -> Self {
        let server = echo_http(&[]);
        let world = World::with(&servers([("far", address(&server).await)]));
        Self {
            world,
            _server: server,
        }
    }

    /// Lets clients call while `nemeses` do their worst, one after the other; what was noted.
    async fn run(&self, life: &mut Life<'_>, nemeses: &[Nemesis], seed: u64) -> Vec<Note> {
        let history = History::default();
        let effects = self.world.path(format!("effects-{seed}"));
        let work = Work {
            tool: "far__progress".into(),
            effects: effects.clone(),
            steps: 8,
            interval: 15,
        };
        let mut callers = Vec::new();
        for _ in 0..LANES {
            let url = format!("{}/mcp", life.url());
            callers.push(Caller::new(&url, &history, &work).await);
        }
        let lanes = Lanes::begin(callers);
        for (round, nemesis) in nemeses.iter().enumerate() {
            // After some answers, and a moment that differs from round to round.
            lanes.answered(20, LONG).await;
            let moment = (seed + round as u64) * 977 % 40_000;
            tokio::time::sleep(Duration::from_micros(moment)).await;
            life.suffer(*nemesis, &history).await;
        }
        lanes.end().await;
        history.with_effects(&effects)
    }
}

/// What is planted is found, and nothing else: the notes of a real run, in which nothing
/// is wrong, are made wrong in each way.
#[tokio::test]
async fn what_is_planted_is_found() {
    let scene = Scene::new().await;
    let mut life = Life::begin(&scene.world, &["--no-auth"]).await;
    let pause = Nemesis::Pause(Duration::from_millis(700));
    let notes = scene.run(&mut life, &[pause], 0).await;
    assert_eq!(check(&notes), [], "{notes:#?}");
    for fault in Fault::ALL {
        let (wrong, expected) = doctored(&notes, fault);
        assert_eq!(check(&wrong), [expected], "{fault:?}");
    }
}

/// A gateway that has nowhere to keep them loses its sessions, and that is found: it is
/// no doctored fault, but a real one.
#[tokio::test]
async fn a_gateway_that_keeps_nothing_is_found_out() {
    let scene = Scene::new().await;
    let state = "home/.local/state/switchboard/sessions";
    scene.world.write(state, "in the way");
    let mut life = Life::begin(&scene.world, &["--no-auth"]).await;
    let notes = scene.run(&mut life, &[Nemesis::Kill], 3).await;
    let found = check(&notes);
    let lost = |found: &&Violation| matches!(found, Violation::SessionLost(_));
    assert_eq!(found.iter().filter(lost).count() as u64, LANES, "{found:?}");
}

/// Seeds of the rounds: a few, or as many as a longer run asks for.
fn rounds() -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let first = number("SWITCHBOARD_SOAK_SEED").unwrap_or_default();
    first..first + number("SWITCHBOARD_SOAK_ROUNDS").unwrap_or(2)
}

#[tokio::test]
async fn no_promise_is_broken_whatever_is_done_to_a_gateway() {
    let scene = Scene::new().await;
    let mut life = Life::begin(&scene.world, &["--no-auth"]).await;
    for seed in rounds() {
        let pause = Nemesis::Pause(Duration::from_millis(200 + seed * 131 % 1500));
        let mut nemeses = [Nemesis::Kill, Nemesis::Restart, pause, Nemesis::Kill];
        let by = usize::try_from(seed % 4).unwrap();
        nemeses.rotate_left(by);
        let notes = scene.run(&mut life, &nemeses, seed).await;
        let found = check(&notes);
        assert_eq!(found, [], "seed {seed}: {}", told(&notes, &found));
    }
}

/// The notes of the requests that something is wrong with.
fn told(notes: &[Note], found: &[Violation]) -> String {
    let wrong = format!("{found:?}");
    let numbers: Vec<&str> = wrong
        .split(|c: char| !c.is_ascii_digit())
        .filter(|number| !number.is_empty())
        .collect();
    let concerns = |note: &&Note| {
        let text = format!("{:?}", note.what);
        let mut words = text.split(|c: char| !c.is_ascii_digit());
        matches!(note.what, What::Hurt | What::Well) || words.any(|word| numbers.contains(&word))
    };
    let lines = notes.iter().filter(concerns);
    lines.map(|note| format!("\n{note:?}")).collect()
}

/// Calls go on while the gateway is stopped and started again, many times.
#[tokio::test]
async fn many_restarts_under_load_lose_nothing() {
    let scene = Scene::new().await;
    let mut life = Life::begin(&scene.world, &["--no-auth"]).await;
    let asked_for = std::env::var("SWITCHBOARD_SOAK_ROUNDS").ok();
    let count = asked_for.and_then(|count| count.parse().ok());
    let restarts = vec![Nemesis::Restart; count.unwrap_or(tries(20, 100))];
    let notes = scene.run(&mut life, &restarts, 7).await;
    let found = check(&notes);
    assert_eq!(found, [], "{}", told(&notes, &found));
    let answered = |note: &&Note| matches!(note.what, What::Answered { .. });
    let answered = notes.iter().filter(answered).count();
    println!("{} restarts, {answered} calls answered", restarts.len());
}
