//! Workers: machines that run servers for replicas, here in homes of their own.

mod ends;
mod fenced;
mod hired;
mod history;
mod knock;
mod refused;
mod served;
mod unsigned;

pub(super) use hired::signed;

use super::{AGAIN, Fleet};
use serde_json::{Value, json};
use switchboard_testkit::{
    HttpClient, Program,
    nats::Nats,
    text_of,
    world::{World, echo, kill, servers, worker_of},
};

/// A worker, with a home that no other has.
pub(super) struct Worker {
    pub(super) program: Program,
    world: World,
}

impl Fleet {
    /// Replicas that have one server, `notes`, which workers run.
    async fn of_workers(replicas: usize, entry: Value) -> Self {
        let mut fleet = Self::on(Nats::one().await, 0).await;
        fleet.servers = servers([("notes", entry)]);
        fleet.grow(replicas, &[]).await;
        fleet
    }

    /// Makes a worker's certificate.
    pub(super) async fn certify_worker(&self, name: &str) {
        let folder = self.folder.to_str().unwrap();
        let args = ["cluster", "ca", folder, "--name", name, "--worker"];
        self.world.run(&args).await.ok();
    }

    /// A worker of this name, with an echo server that is called `notes`.
    pub(super) async fn worker(&self, name: &str, more: &[&str]) -> Worker {
        self.worker_with(name, &servers([("notes", echo(&[]))]), more)
            .await
    }

    async fn worker_with(&self, name: &str, servers: &Value, more: &[&str]) -> Worker {
        self.worker_in(World::with(servers), name, more).await
    }

    async fn worker_in(&self, world: World, name: &str, more: &[&str]) -> Worker {
        self.certify_worker(name).await;
        let program = self.launch_worker(&world, name, more);
        program.wait_for_line("connected to a replica").await;
        Worker { program, world }
    }

    pub(super) fn launch_worker(&self, world: &World, name: &str, more: &[&str]) -> Program {
        let (url, key) = (self.nats.url(), self.folder.join("worker.key"));
        let key = key.to_str().unwrap();
        world
            .launch(&["worker", "--join", &url, "--cluster-key-file", key])
            .arg("--cluster-cert")
            .arg(self.folder.join(format!("{name}.pem")))
            .args(more)
            .spawn()
    }

    /// The workers that `cluster status` shows.
    pub(super) async fn workers(&self) -> Vec<Value> {
        let all = self.status().await;
        all.into_iter()
            .filter(|one| one.get("worker").is_some())
            .collect()
    }
}

impl Worker {
    /// Its process, without those that look after it.
    async fn pid(&self) -> i32 {
        worker_of(self.program.pid()).await
    }

    /// Kills it at once.
    async fn kill(&mut self) {
        kill(&self.pid().await.to_string());
        self.program.wait(AGAIN).await;
    }
}

/// The process that answers, asked until one does.
pub(super) async fn pid(client: &mut HttpClient) -> i32 {
    let begun = std::time::Instant::now();
    loop {
        let said = client.call("notes__pid", json!({})).await;
        match said.get("result") {
            Some(_) => return text_of(&said).parse().expect("a number"),
            None => assert!(begun.elapsed() < AGAIN, "{said}"),
        }
    }
}

fn any() -> Value {
    json!({"type": "worker"})
}
