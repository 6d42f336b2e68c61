//! One home for several runs of the program: a gateway, its clients, commands.

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use switchboard_testkit::{LEGACY, Launch, Program, StdioClient};

/// A home with our settings in it.
pub struct Stage {
    folder: tempfile::TempDir,
}

/// A run to its end.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

impl Stage {
    pub fn new(servers: &Value) -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        stage.configure(servers);
        stage
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn settings(&self) -> PathBuf {
        self.home().join(".config/switchboard/settings.json")
    }

    /// Writes the user's servers, as an editor would.
    pub fn configure(&self, servers: &Value) {
        self.write(
            &self.settings(),
            &json!({ "mcpServers": servers }).to_string(),
        );
    }

    pub fn write(&self, file: &Path, text: &str) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let new = file.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(&new, file).unwrap();
    }

    /// The program in this home.
    pub fn launch(&self, args: &[&str]) -> Launch {
        self.at_home(Program::new(env!("CARGO_BIN_EXE_switchboard")).args(args))
    }

    /// The program in this home, with so many descriptors at most.
    pub fn launch_within(&self, descriptors: u32, args: &[&str]) -> Launch {
        let limited = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
        let shell = Program::new("/bin/sh").args(["-c", &limited]);
        let program = shell.arg(env!("CARGO_BIN_EXE_switchboard"));
        self.at_home(program.args(args))
    }

    fn at_home(&self, launch: Launch) -> Launch {
        let at = |path: &str| self.home().join(path);
        fs::create_dir_all(at("etc")).unwrap();
        launch
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", at(".config"))
            .env("XDG_DATA_HOME", at(".local/share"))
            .env("XDG_STATE_HOME", at(".local/state"))
            .env("XDG_CACHE_HOME", at(".cache"))
            .env("SWITCHBOARD_TEST_MANAGED_DIR", at("etc"))
            .cwd(self.home())
    }

    pub async fn run(&self, args: &[&str]) -> Ran {
        finish(self.launch(args)).await
    }

    /// A gateway on a free port, once other commands can find it.
    pub async fn gateway(&self) -> Program {
        self.gateway_with(&[]).await
    }

    pub async fn gateway_with(&self, args: &[&str]) -> Program {
        let args: Vec<&str> = ["serve", "--http", "127.0.0.1:0"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let program = self.launch(&args).spawn();
        program.url().await;
        let noted = super::serving::until(Duration::from_secs(20), || {
            (!self.notes().is_empty()).then_some(())
        });
        noted.await.expect("a note is left");
        program
    }

    /// A stdio client of `serve`.
    pub fn client(&self, args: &[&str]) -> StdioClient {
        let args: Vec<&str> = ["serve"].iter().chain(args).copied().collect();
        StdioClient::new(self.launch(&args).spawn())
    }

    /// A stdio client of `serve`, attached to the gateway that runs.
    pub async fn attached(&self, args: &[&str]) -> StdioClient {
        let mut client = self.client(args);
        client.initialize(LEGACY).await;
        client
            .program
            .wait_for_line("attached to the gateway")
            .await;
        client
    }

    /// The notes of running gateways.
    pub fn notes(&self) -> Vec<PathBuf> {
        let folder = self.home().join(".local/state/switchboard/gateways");
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .map(|file| file.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect()
    }

    /// A token of this home.
    pub fn token(&self, path: &str) -> String {
        let file = self.home().join(".local/share/switchboard").join(path);
        fs::read_to_string(file).unwrap().trim().to_owned()
    }
}

pub async fn finish(launch: Launch) -> Ran {
    let (status, out, err) = launch.spawn().output(Duration::from_secs(180)).await;
    Ran {
        code: status.code(),
        out: String::from_utf8(out).unwrap(),
        err,
    }
}

/// The names of the tools that a client is shown.
pub async fn tool_names(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until the list of tools is as it should be; each change before that is announced.
pub async fn until_listed(client: &mut StdioClient, right: impl Fn(&[String]) -> bool) {
    let listed = async {
        while !right(&tool_names(client).await) {
            client
                .notification("notifications/tools/list_changed")
                .await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), listed)
        .await
        .expect("the list becomes right");
}
