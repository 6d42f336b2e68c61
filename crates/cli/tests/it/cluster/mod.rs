//! Several gateways as one: replicas that share their sessions, in homes of their own, on
//! one machine.

mod accounts;
mod applied;
mod away;
mod gone;
mod guesses;
mod handed;
mod history;
mod load;
mod many;
mod nemeses;
mod posted;
mod recorded;
mod refused;
mod sign_ins;
mod slow;
mod sprayed;
mod versions;
mod wire;
mod workers;

use http::StatusCode;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use switchboard_testkit::{
    HttpClient, LEGACY, Program, Reply,
    nats::Nats,
    world::{World, address, echo_http, kill, servers, worker_of},
};

/// How long a session may take until it answers again, with what a busy machine adds.
const AGAIN: Duration = Duration::from_secs(45);

/// NATS, a server, and replicas in front of it.
struct Fleet {
    nats: Nats,
    /// The folder with the cluster's key and certificates.
    folder: PathBuf,
    replicas: Vec<Replica>,
    servers: Value,
    /// What NATS lets replicas in by, where it asks.
    creds: Option<PathBuf>,
    /// Whether replicas want tokens, those of their own homes.
    has_tokens: bool,
    _server: Program,
    world: World,
}

/// One gateway, with a home that no other has.
struct Replica {
    world: World,
    program: Program,
    url: String,
}

impl Fleet {
    /// This many replicas on one NATS server.
    async fn start(count: usize) -> Self {
        Self::on(Nats::one().await, count).await
    }

    /// The sessions of clients, opened at each replica in turn.
    async fn sessions(&self, count: usize) -> Vec<String> {
        let each = self.replicas.iter().map(|replica| {
            let url = format!("{}/mcp", replica.url);
            async move { open(&url, count / self.replicas.len()).await }
        });
        let all = futures_util::future::join_all(each).await;
        all.into_iter().flatten().collect()
    }

    async fn on(nats: Nats, count: usize) -> Self {
        let server = echo_http(&[]);
        let servers = servers([("far", address(&server).await)]);
        let world = World::new();
        let folder = world.path("cluster");
        let mut fleet = Self {
            nats,
            folder,
            replicas: Vec::new(),
            servers,
            creds: None,
            has_tokens: false,
            _server: server,
            world,
        };
        fleet.grow(count, &[]).await;
        fleet.until_all_are_known().await;
        fleet
    }

    /// So many replicas more, each with a certificate of its own: `r0` is the first.
    async fn grow(&mut self, count: usize, more: &[&str]) {
        for _ in 0..count {
            let name = format!("r{}", self.replicas.len());
            self.certify(&self.folder, &name).await;
            let replica = self.replica(&name, more).await;
            self.replicas.push(replica);
        }
    }

    /// Makes a certificate in a folder with an authority.
    async fn certify(&self, folder: &std::path::Path, name: &str) {
        let folder = folder.to_str().unwrap();
        let args = ["cluster", "ca", folder, "--name", name];
        self.world.run(&args).await.ok();
    }

    fn key(&self) -> String {
        self.folder.join("cluster.key").display().to_string()
    }

    /// Starts a replica with this certificate of ours.
    async fn replica(&self, certificate: &str, more: &[&str]) -> Replica {
        self.replica_by(&self.nats.url(), certificate, more).await
    }

    /// The same, for which NATS is there.
    async fn replica_by(&self, nats: &str, certificate: &str, more: &[&str]) -> Replica {
        let file = self.folder.join(format!("{certificate}.pem"));
        let world = World::with(&self.servers);
        let program = self.launch_by(nats, &world, &file, more);
        let url = program.url().await;
        Replica {
            world,
            program,
            url,
        }
    }

    /// Starts a replica again that has ended, at its address.
    async fn again(&mut self, number: usize) {
        let address = self.replicas[number].url.replace("http://", "");
        let file = self.folder.join(format!("r{number}.pem"));
        let world = self.replicas[number].world.clone();
        let program = self.launch(&world, &file, &["--http", &address]);
        program.url().await;
        self.replicas[number].program = program;
    }

    fn launch(&self, world: &World, certificate: &std::path::Path, more: &[&str]) -> Program {
        self.launch_by(&self.nats.url(), world, certificate, more)
    }

    fn launch_by(
        &self,
        url: &str,
        world: &World,
        certificate: &std::path::Path,
        more: &[&str],
    ) -> Program {
        let key = self.key();
        let creds = self.creds.iter().map(|file| file.as_os_str());
        let creds = creds.flat_map(|file| ["--cluster-creds".as_ref(), file]);
        let anywhere = ["--http", "127.0.0.1:0"];
        let place = if more.contains(&"--http") {
            &[][..]
        } else {
            &anywhere
        };
        let open = match self.has_tokens || more.contains(&"--token-file") {
            true => &["serve"][..],
            false => &["serve", "--no-auth"],
        };
        world
            .launch(open)
            .args(place)
            .args(["--cluster", url, "--cluster-key-file", &key])
            .args(creds)
            .arg("--cluster-cert")
            .arg(certificate)
            .args(more)
            .spawn()
    }

    /// What `cluster status` says.
    async fn status(&self) -> Vec<Value> {
        let (url, key) = (self.nats.url(), self.key());
        let creds = self.creds.as_ref().map(|file| file.display().to_string());
        let args = ["cluster", "status", "--json", "--cluster", &url];
        let mut args = [&args[..], &["--cluster-key-file", &key]].concat();
        if let Some(creds) = &creds {
            args.extend(["--cluster-creds", creds]);
        }
        let mut ran = self.world.run(&args).await;
        // A busy machine may keep NATS from answering within what a command waits, and
        // servers of NATS that are looking for a leader answer that they have none (503).
        let begun = std::time::Instant::now();
        while ran.err.contains("NATS") && begun.elapsed() < AGAIN {
            tokio::time::sleep(Duration::from_millis(100)).await;
            ran = self.world.run(&args).await;
        }
        ran.json().as_array().unwrap().clone()
    }

    /// Waits until each replica has said that it is there, and the others have heard it.
    async fn until_all_are_known(&self) {
        if self.replicas.is_empty() {
            return;
        }
        let begun = std::time::Instant::now();
        while self.status().await.len() < self.replicas.len() {
            assert!(begun.elapsed() < AGAIN, "{:?}", self.status().await);
        }
        // A session of each, asked for at each of the others.
        for one in &self.replicas {
            let client = one.legacy().await;
            for other in &self.replicas {
                until_ok(&mut other.as_well(&client)).await;
            }
        }
    }
}

impl Replica {
    async fn legacy(&self) -> HttpClient {
        let mut client = HttpClient::new(&format!("{}/mcp", self.url));
        client.initialize(LEGACY).await;
        client
    }

    /// The same client, at this replica.
    fn as_well(&self, client: &HttpClient) -> HttpClient {
        let mut other = HttpClient::new(&format!("{}/mcp", self.url));
        other.headers = client.headers.clone();
        other
    }

    /// Kills it at once.
    async fn kill(&mut self) {
        let worker = worker_of(self.program.pid()).await;
        kill(&worker.to_string());
        self.program.wait(AGAIN).await;
    }
}

fn ping() -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string()
}

/// Asks until there is an answer; meanwhile nobody says that there is no such session.
async fn until_ok(client: &mut HttpClient) -> Duration {
    let begun = std::time::Instant::now();
    let mut unknown = 0;
    loop {
        let reply = client.post(ping()).await;
        match reply.status {
            StatusCode::OK => return begun.elapsed(),
            StatusCode::SERVICE_UNAVAILABLE => {
                assert!(reply.header("retry-after").is_some(), "{reply:?}");
            }
            // What was on its way when its replica died; what is sent later finds another.
            StatusCode::BAD_GATEWAY => {
                unknown += 1;
                assert_eq!(unknown, 1, "{reply:?}");
            }
            _ => panic!("{reply:?}"),
        }
        assert!(begun.elapsed() < AGAIN, "{reply:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn is_unknown(reply: &Reply) -> bool {
    reply.status == StatusCode::NOT_FOUND
        && reply.message()["error"]["message"] == "Session not found"
}

/// Leaves a file to its owner alone.
fn private(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let alone = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(file, alone).unwrap();
}

/// Clients that do something at the same time, each on a connection that it keeps.
const AT_ONCE: usize = 16;

/// Opens so many sessions that nobody closes.
async fn open(url: &str, count: usize) -> Vec<String> {
    let each = (0..AT_ONCE).map(|lane| async move {
        let mut client = HttpClient::new(url).keep_alive();
        let params = switchboard_testkit::initialize_params(LEGACY);
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut ids = Vec::new();
        for _ in (lane..count).step_by(AT_ONCE) {
            let reply = client.post(hello.to_string()).await;
            assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
            ids.push(
                reply
                    .header("mcp-session-id")
                    .expect("a session")
                    .to_owned(),
            );
        }
        ids
    });
    let all = futures_util::future::join_all(each).await;
    all.into_iter().flatten().collect()
}
