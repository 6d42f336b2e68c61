//! Our own house is not in the tree: what `files` leaves alone, whatever its
//! roots are and however somebody comes to it.

use crate::support::screen::Shown;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use switchboard_testkit::world::World;
use switchboard_testkit::{LEGACY, Launch, StdioClient};

/// What is in every secret file, and must be in no answer.
pub(super) const CANARY: &str = "CANARY-7f3a";

/// Neither read nor changed, below the home directory.
const SECRET: [&str; 23] = [
    ".ssh/id_ed25519",
    ".ssh/deep/er/config",
    ".gnupg/secring.gpg",
    ".aws/credentials",
    ".config/gcloud/credentials.db",
    ".netrc",
    ".npmrc",
    ".cargo/credentials.toml",
    ".git-credentials",
    ".claude.json",
    ".codex/config.toml",
    ".config/Code/User/mcp.json",
    ".config/switchboard/settings.json",
    ".local/share/switchboard/control-token",
    ".local/share/switchboard/tokens/default.json",
    ".local/state/switchboard/gateways/1.json",
    ".cache/switchboard/catalogs/a.json",
    "project/.git/config",
    "project/.git/modules/sub/config",
    "project/.envrc",
    "project/.mcp.json",
    "project/.cursor/mcp.json",
    "project/.vscode/mcp.json",
];

/// Read, but not changed.
const FIXED: [&str; 8] = [
    ".bashrc",
    ".config/fish/config.fish",
    ".local/share/switchboard/results/1.txt",
    "project/.git/hooks/pre-commit",
    "project/.git/HEAD",
    "project/.vscode/tasks.json",
    "project/.claude/settings.json",
    "project/.husky/pre-push",
];

/// The server with all of a home as its root, and a client of it.
pub(super) struct Rig {
    pub(super) home: World,
    client: StdioClient,
    /// What all files were like before anybody tried anything.
    before: BTreeMap<PathBuf, Vec<u8>>,
}

fn launch(home: &World, args: &[&str]) -> Launch {
    home.launch(args).cwd(home.path("home/project"))
}

fn furnished() -> World {
    let home = World::repository();
    for path in SECRET {
        home.write(format!("home/{path}"), CANARY);
    }
    for path in FIXED {
        home.write(format!("home/{path}"), "seen");
    }
    home.write("home/project/main.rs", "fn main() {}");
    home.write("home/project/.env", "MINE=1");
    home
}

impl Rig {
    async fn new(args: &[&str]) -> Self {
        Self::in_home(furnished(), args).await
    }

    pub(super) async fn in_home(home: World, args: &[&str]) -> Self {
        let root = home.path("home").display().to_string();
        fs::create_dir_all(home.path("home/project")).unwrap();
        let own = ["builtin", "files", "--root", &root];
        let program = launch(&home, &[&own, args].concat()).spawn();
        let mut client = StdioClient::new(program);
        client.initialize(LEGACY).await;
        let before = home.everything();
        Self {
            home,
            client,
            before,
        }
    }

    pub(super) fn with(
        home: World,
        client: StdioClient,
        before: BTreeMap<PathBuf, Vec<u8>>,
    ) -> Self {
        Self {
            home,
            client,
            before,
        }
    }

    fn at(&self, path: &str) -> String {
        self.home.path("home").join(path).display().to_string()
    }

    async fn result(&mut self, tool: &str, arguments: &Value) -> Value {
        self.client.call(tool, arguments.clone()).await["result"].clone()
    }

    /// A call that is refused because of what is protected, and tells nothing of it.
    pub(super) async fn refuses(&mut self, tool: &str, arguments: Value) {
        let result = self.result(tool, &arguments).await;
        let said = result.to_string();
        assert_eq!(result["isError"], true, "{tool} {arguments}: {said}");
        assert!(said.contains("protected"), "{tool} {arguments}: {said}");
        assert!(!said.contains(CANARY), "{tool} {arguments}: {said}");
    }

    pub(super) async fn does(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, &arguments).await;
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Nothing reads a path.
    pub(super) async fn hides(&mut self, path: &str) {
        self.refuses("read", json!({"path": path})).await;
        self.refuses("read", json!({"path": path, "encoding": "base64"}))
            .await;
        self.refuses("grep", json!({"path": path, "pattern": "."}))
            .await;
        self.keeps(path).await;
    }

    /// Nothing changes a path.
    pub(super) async fn keeps(&mut self, path: &str) {
        for mode in ["overwrite", "append"] {
            let arguments = json!({"path": path, "content": "EVIL", "mode": mode});
            self.refuses("write", arguments).await;
        }
        let arguments = json!({"path": path, "oldText": "seen", "newText": "EVIL"});
        self.refuses("edit", arguments).await;
    }

    /// Nothing takes a path away, or puts something there.
    async fn stays(&mut self, path: &str) {
        self.refuses("delete", json!({"path": path, "recursive": true}))
            .await;
        let taken = json!({"from": path, "to": "project/taken"});
        self.refuses("move", taken).await;
        let put = json!({"from": "project/main.rs", "to": path, "overwrite": true});
        self.refuses("move", put).await;
    }

    pub(super) fn nothing_changed(&self) {
        let now = self.home.everything();
        let changed: Vec<_> = now
            .iter()
            .filter(|(path, bytes)| self.before.get(*path) != Some(bytes))
            .map(|(path, _)| path)
            .chain(self.before.keys().filter(|path| !now.contains_key(*path)))
            .collect();
        assert!(changed.is_empty(), "{changed:?}");
    }
}

/// Other ways to write the same path.
fn spellings(root: &Path, path: &str) -> Vec<String> {
    let whole = root.join(path).display().to_string();
    let (above, name) = whole.rsplit_once('/').unwrap();
    let escaped: String = whole
        .bytes()
        .map(|byte| match byte {
            b'/' => "/".to_owned(),
            byte => format!("%{byte:02x}"),
        })
        .collect();
    vec![
        path.to_owned(),
        whole.clone(),
        format!("./{path}"),
        format!("project/.././project/../{path}"),
        format!("{above}//{name}"),
        format!("{above}/./{name}/"),
        format!("/proc/self/root{whole}"),
        format!("/proc/self/cwd/../{path}"),
        format!("file://{whole}"),
        format!("file://{escaped}"),
    ]
}

#[tokio::test]
async fn secrets_are_neither_read_nor_changed_by_any_spelling() {
    let mut rig = Rig::new(&[]).await;
    let root = rig.home.path("home");
    for path in SECRET {
        for spelling in spellings(&root, path) {
            rig.hides(&spelling).await;
        }
        rig.stays(path).await;
        rig.refuses("info", json!({"path": path})).await;
    }
    rig.nothing_changed();
}

#[tokio::test]
async fn secrets_are_not_reached_by_links_of_any_kind() {
    let home = furnished();
    let at = |path: &str| home.path("home").join(path);
    for (number, path) in SECRET.iter().enumerate() {
        let folder = at(path).parent().unwrap().to_owned();
        symlink(at(path), at(&format!("project/soft-{number}"))).unwrap();
        fs::hard_link(at(path), at(&format!("project/hard-{number}"))).unwrap();
        symlink(folder, at(&format!("project/folder-{number}"))).unwrap();
    }
    let mut rig = Rig::in_home(home, &[]).await;
    for (number, path) in SECRET.iter().enumerate() {
        let name = path.rsplit('/').next().unwrap();
        rig.hides(&format!("project/soft-{number}")).await;
        // Of what lies deep in a repository, hard links are not looked for.
        if !path.contains("modules") {
            rig.hides(&format!("project/hard-{number}")).await;
            let hard = json!({"path": format!("project/hard-{number}")});
            rig.refuses("info", hard).await;
        }
        rig.hides(&format!("project/folder-{number}/{name}")).await;
    }
    let listed = rig.does("list", json!({"path": "project"})).await;
    let shown = listed.to_string().matches("/hard-").count();
    assert_eq!(shown, 1, "{listed}");
    rig.nothing_changed();
}

/// Where the user's own folder is a link, what it leads to is protected.
#[tokio::test]
async fn what_a_protected_name_leads_to_is_protected() {
    let home = World::repository();
    home.write("home/stash/keys/id", CANARY);
    home.write("home/stash/one/token", CANARY);
    home.write("home/stash/rc", "seen");
    home.write("home/stash/cursor/mcp.json", CANARY);
    home.write("home/.aws/config", CANARY);
    let at = |path: &str| home.path("home").join(path);
    symlink(at("stash/one/token"), at(".aws/credentials")).unwrap();
    symlink(at("stash/keys"), at(".gnupg")).unwrap();
    symlink(at("stash/rc"), at(".bashrc")).unwrap();
    // It leads nowhere yet.
    symlink(at("stash/later"), at(".zshrc")).unwrap();
    symlink("stash/cursor", at(".cursor")).unwrap();
    let mut rig = Rig::in_home(home, &[]).await;
    rig.hides("stash/keys/id").await;
    rig.hides("stash/one/token").await;
    rig.hides("stash/cursor/mcp.json").await;
    rig.keeps("stash/rc").await;
    let later = json!({"path": "stash/later", "content": "EVIL"});
    rig.refuses("write", later).await;
    rig.nothing_changed();
}

/// A directory that is mounted in two places is one directory.
#[tokio::test]
async fn a_second_mount_is_no_way_around() {
    let home = furnished();
    for folder in ["keys", "ours", "token"] {
        fs::create_dir_all(home.path("home/project").join(folder)).unwrap();
    }
    home.write("home/project/one", "");
    let root = home.path("home").display().to_string();
    let own = env!("CARGO_BIN_EXE_switchboard");
    let script = format!(
        "set -e; cd {root}; mount --bind .ssh project/keys; \
         mount --bind .local/share/switchboard/tokens project/token; \
         mount --bind .config project/ours; mount --bind .netrc project/one; \
         echo mounted >&2; cd project; exec {own} builtin files --root {root}/project"
    );
    let user = if rustix::process::geteuid().is_root() {
        "-m"
    } else {
        "-rm"
    };
    let launch = home.launch_any("unshare").args([user, "sh", "-c", &script]);
    let program = launch.spawn();
    // Where nobody may mount, nobody can look.
    program.wait_for_line("mounted").await;
    let mut client = StdioClient::new(program);
    client.initialize(LEGACY).await;
    let before = home.everything();
    let mut rig = Rig {
        home,
        client,
        before,
    };
    rig.hides("keys/id_ed25519").await;
    rig.hides("token/default.json").await;
    rig.hides("ours/switchboard/settings.json").await;
    rig.hides("one").await;
    let listed = rig.does("list", json!({})).await;
    assert_eq!(listed["protected"], 5, "{listed}");
    rig.nothing_changed();
}

#[tokio::test]
async fn what_runs_by_itself_is_read_but_not_changed() {
    let mut rig = Rig::new(&[]).await;
    for path in FIXED {
        let read = rig.does("read", json!({"path": path})).await;
        assert_eq!(read["text"], "seen", "{path}");
        rig.keeps(path).await;
        rig.stays(path).await;
    }
    // Nor is anything new put where it would run or be believed, and no
    // directory is made on the way there.
    for path in [
        "project/.git/hooks/post-merge",
        "new/.git/hooks/post-merge",
        "new/deep/.vscode/tasks.json",
        "new/.mcp.json",
        "new/.cursor/mcp.json",
        ".zshenv",
        ".local/bin/npx",
        ".ssh/authorized_keys",
        ".config/autostart/evil.desktop",
        ".config/switchboard/tools/evil.tool.json",
        ".local/share/switchboard/approvals.json",
    ] {
        for mode in ["overwrite", "create", "append"] {
            let arguments = json!({"path": path, "content": "EVIL", "mode": mode});
            rig.refuses("write", arguments).await;
        }
        let put = json!({"from": "project/main.rs", "to": path});
        rig.refuses("move", put).await;
    }
    rig.nothing_changed();
    // Everything else works as ever.
    rig.does("read", json!({"path": "project/.env"})).await;
    let written = json!({"path": "project/new/a.rs", "content": "x"});
    rig.does("write", written).await;
    let moved = json!({"from": "project/new", "to": "project/old"});
    rig.does("move", moved).await;
    rig.does("delete", json!({"path": "project/old", "recursive": true}))
        .await;
}

/// A directory that is moved takes what is in it along: no name is got or lost
/// in that way.
#[tokio::test]
async fn whole_directories_neither_come_nor_go() {
    let home = furnished();
    home.write("home/evil/config", "[core]\n\tfsmonitor = evil");
    home.write("home/evil/mcp.json", "{}");
    home.write("home/evil/switchboard/settings.json", "{}");
    let mut rig = Rig::in_home(home, &[]).await;
    for from in [
        ".config",
        ".local/share",
        ".local",
        ".cargo",
        ".cache",
        "project/.git",
        "project/.git/modules",
        "project/.cursor",
        "project/.vscode",
    ] {
        let moved = json!({"from": from, "to": "project/taken"});
        rig.refuses("move", moved).await;
        let delete = json!({"path": from, "recursive": true});
        rig.refuses("delete", delete).await;
    }
    for to in [
        "project/sub/.git",
        "project/sub/.cursor",
        "sub/.vscode",
        ".kube",
        ".docker",
    ] {
        let moved = json!({"from": "evil", "to": to});
        rig.refuses("move", moved).await;
    }
    let gitdir = json!({"path": "project/sub/.git", "content": "gitdir: /evil"});
    rig.refuses("write", gitdir).await;
    rig.refuses("delete", json!({"path": "project", "recursive": true}))
        .await;
    rig.nothing_changed();
    // Nor does a project go as a whole, wherever in it something is protected.
    let moved = json!({"from": "project", "to": "renamed"});
    rig.refuses("move", moved).await;
    rig.nothing_changed();
}

#[tokio::test]
async fn lists_leave_out_what_is_protected_and_count_it() {
    let mut rig = Rig::new(&[]).await;
    let count = |value: &Value| value["protected"].as_u64().unwrap_or(0);
    let listed = rig.does("list", json!({"path": "."})).await;
    let text = listed.to_string();
    for name in [".ssh", ".gnupg", ".aws", ".netrc", ".npmrc", ".claude.json"] {
        assert!(!text.contains(&format!("{name}\"")), "{name}: {text}");
    }
    assert!(
        text.contains(".bashrc") && text.contains("project"),
        "{text}"
    );
    assert_eq!(count(&listed), 7, "{text}");
    assert_eq!(listed["total"], listed["entries"].as_array().unwrap().len());

    let all = json!({"pattern": "**/*", "includeHidden": true, "limit": 2000});
    let found = rig.does("search", all).await;
    let tree = rig
        .does("tree", json!({"depth": 20, "includeHidden": true}))
        .await;
    let everything = json!({"pattern": CANARY, "includeHidden": true});
    let grep = rig.does("grep", everything).await;
    assert_eq!(grep["matches"], json!([]), "{grep}");
    for answer in [&found, &tree, &grep] {
        assert!(count(answer) >= 15, "{answer}");
        let text = answer.to_string();
        for name in ["id_ed25519", "control-token", "mcp.json"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
    }
    // Where nothing is left out, nothing is said.
    rig.does("write", json!({"path": "plain/a", "content": "x"}))
        .await;
    let plain = rig.does("list", json!({"path": "plain"})).await;
    assert_eq!(plain.get("protected"), None, "{plain}");
}

#[tokio::test]
async fn resources_prompts_and_completion_tell_nothing_either() {
    let mut rig = Rig::new(&[]).await;
    for path in SECRET {
        let uri = format!("file://{}", rig.at(path));
        for (method, params) in [
            ("resources/read", json!({"uri": uri})),
            ("resources/subscribe", json!({"uri": uri})),
            (
                "prompts/get",
                json!({"name": "explain-file", "arguments": {"path": path}}),
            ),
        ] {
            let answer = rig.client.request(method, params).await;
            let said = answer.to_string();
            let why = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(why.contains("protected"), "{method} {path}: {said}");
            assert!(!said.contains(CANARY), "{method} {path}: {said}");
        }
    }
    for (typed, hidden) in [
        (".s", ".ssh"),
        (".config/s", "switchboard"),
        (".n", ".netrc"),
    ] {
        let params = json!({"ref": {"type": "ref/prompt", "name": "explain-file"},
            "argument": {"name": "path", "value": typed}});
        let answer = rig.client.request("completion/complete", params).await;
        assert!(answer.get("result").is_some(), "{answer}");
        assert!(!answer.to_string().contains(hidden), "{answer}");
    }
    let listed = rig.client.request("resources/list", json!({})).await;
    assert!(!listed.to_string().contains("netrc"), "{listed}");
}

/// Our folders are ours wherever a variable moved them.
#[tokio::test]
async fn our_own_folders_are_protected_where_they_were_moved() {
    let home = World::repository();
    let moved = [
        ("XDG_CONFIG_HOME", "x/config/switchboard/settings.json"),
        ("XDG_CONFIG_HOME", "x/config/gh/hosts.yml"),
        ("XDG_DATA_HOME", "x/data/switchboard/control-token"),
        ("XDG_STATE_HOME", "x/state/switchboard/gateways/1.json"),
        ("XDG_CACHE_HOME", "x/cache/switchboard/connectors.json"),
        ("SWITCHBOARD_CONFIG_DIR", "elsewhere/settings.json"),
        ("KUBECONFIG", "kube/config.yaml"),
        ("KUBECONFIG", "kube/other.yaml"),
    ];
    for (_, path) in moved {
        home.write(format!("home/{path}"), CANARY);
    }
    home.write("home/x/data/switchboard/results/1.txt", "seen");
    let root = home.path("home").display().to_string();
    let at = |path: &str| home.path("home").join(path);
    let program = launch(&home, &["builtin", "files", "--root", &root])
        .env("XDG_CONFIG_HOME", at("x/config"))
        .env("XDG_DATA_HOME", at("x/data"))
        .env("XDG_STATE_HOME", at("x/state"))
        .env("XDG_CACHE_HOME", at("x/cache"))
        .env("SWITCHBOARD_CONFIG_DIR", at("elsewhere"))
        .env(
            "KUBECONFIG",
            std::env::join_paths([at("kube/config.yaml"), at("kube/other.yaml")]).unwrap(),
        );
    fs::create_dir_all(at("project")).unwrap();
    let mut client = StdioClient::new(program.spawn());
    client.initialize(LEGACY).await;
    let before = home.everything();
    let mut rig = Rig {
        home,
        client,
        before,
    };
    for (_, path) in moved {
        rig.hides(path).await;
    }
    let results = "x/data/switchboard/results/1.txt";
    let read = rig.does("read", json!({"path": results})).await;
    assert_eq!(read["text"], "seen");
    rig.keeps(results).await;
    rig.nothing_changed();
}

#[tokio::test]
async fn a_person_lifts_it_for_one_path() {
    let home = furnished();
    let lifted = home.path("home/.aws").display().to_string();
    let mut rig = Rig::in_home(home, &["--allow-protected", &lifted]).await;
    let read = rig.does("read", json!({"path": ".aws/credentials"})).await;
    assert_eq!(read["text"], CANARY);
    rig.does("list", json!({"path": ".aws"})).await;
    rig.hides(".netrc").await;
    rig.hides(".ssh/id_ed25519").await;
    let written = json!({"path": ".aws/new", "content": "x"});
    rig.does("write", written).await;

    let outside = [
        "builtin",
        "files",
        "--root",
        ".",
        "--allow-protected",
        "/etc",
    ];
    let refused = rig.home.show(&outside);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("is in no root"), "{refused:?}");
    let shell = rig
        .home
        .show(&["builtin", "system", "--allow-protected", "."]);
    assert_eq!(shell.code, Some(2), "{shell:?}");
}

/// An entry of the user's own lifts it too; one that a repository brings does not.
#[tokio::test]
async fn an_entry_lifts_it_only_in_files_of_the_users_own() {
    let home = World::repository();
    for file in [".netrc", ".npmrc"] {
        home.write(format!("home/{file}"), CANARY);
    }
    let files = |root: &str, allow: &[&str]| json!({"type": "builtin", "builtin": "files", "root": root, "allowProtected": allow});
    let settings = json!({
        "enableAllProjectMcpServers": true,
        "mcpServers": {"mine": files("~/", &["~/.netrc"])},
    });
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    let brought = json!({"mcpServers": {"theirs": files("..", &["~/.netrc"])}});
    home.write("home/repo/.mcp.json", brought.to_string());
    let call = |name: &str, path: &str| home.show(&["call", name, "-a", &format!("path={path}")]);
    let read = call("mine__read", ".netrc");
    assert!(read.out.contains(CANARY), "{read:?}");
    let other = call("mine__read", ".npmrc");
    assert!(!other.out.contains(CANARY), "{other:?}");
    let listed = home.show(&["list", "--json"]);
    let rows = listed.json();
    let mut rows = rows.as_array().unwrap().iter();
    let theirs = rows.find(|row| row["name"] == "theirs").unwrap();
    let said = theirs.to_string();
    assert!(said.contains("counts only in files of your own"), "{said}");
}

#[tokio::test]
async fn a_protected_root_is_refused() {
    let home = furnished();
    for root in [".ssh", ".config/switchboard", ".local/share/switchboard"] {
        let root = home.path("home").join(root).display().to_string();
        for args in [
            vec!["builtin", "files", "--root", &root],
            vec!["builtin", "shell", "--enable-shell", "--root", &root],
        ] {
            let ran = home.show(&args);
            assert_eq!(ran.code, Some(3), "{args:?}: {ran:?}");
            assert!(ran.err.contains("is protected"), "{args:?}: {ran:?}");
        }
    }
}

/// `shell` and `tools` begin in the first root, and nowhere that is protected.
#[tokio::test]
async fn commands_begin_in_the_first_root() {
    let home = furnished();
    let folder = "home/.config/switchboard/tools";
    let manifest = |name: &str, cwd: &str| {
        format!(
            r#"{{"name": "{name}", "description": "Says where it is.", {cwd} "command": ["pwd"]}}"#
        )
    };
    home.write(format!("{folder}/where.tool.json"), manifest("where", ""));
    home.write(
        format!("{folder}/house.tool.json"),
        manifest("house", r#""cwd": ".","#),
    );
    let project = home.path("home/project").display().to_string();
    let folder = home.path(folder).display().to_string();
    let args = ["builtin", "tools", "--folder", &folder, "--root", &project];
    let mut tools = StdioClient::new(launch(&home, &args).spawn());
    tools.initialize(LEGACY).await;
    let place = tools.call("where", json!({})).await;
    assert_eq!(
        place["result"]["content"][0]["text"],
        format!("{project}\n")
    );
    let house = tools.call("house", json!({})).await;
    assert_eq!(house["result"]["isError"], true, "{house}");
    tools.program.wait_for_line("`cwd` leads to").await;

    let args = [
        "builtin",
        "shell",
        "--enable-shell",
        "--root",
        &project,
        "--root",
    ];
    let root = home.path("home").display().to_string();
    let mut shell = StdioClient::new(launch(&home, &[&args[..], &[&root]].concat()).spawn());
    shell.initialize(LEGACY).await;
    let ran = shell
        .call("runShellCommand", json!({"command": "pwd"}))
        .await;
    assert!(ran.to_string().contains(&format!("{project}\\n")), "{ran}");
    let there = json!({"command": "pwd", "cwd": format!("{root}/.ssh")});
    let ran = shell.call("runShellCommand", there).await;
    assert_eq!(ran["result"]["isError"], true, "{ran}");
}

/// Nobody hands out their home by being there.
#[tokio::test]
async fn up_does_not_take_the_home_directory_for_a_project() {
    let home = World::repository();
    for folder in ["home", "."] {
        let mut command = home.command(&["up", "--port", "0"]);
        command.current_dir(home.path(folder));
        let mut up = Shown::log(command);
        up.until("it is ready", |rows| rows.has("Ready."));
        let rows = up.rows();
        assert!(!rows.has("  files  "), "{rows}");
        assert!(rows.has("so it is left out: --root DIR"), "{rows}");
        assert!(rows.says("system", "connected"), "{rows}");
        up.end();
        // With a root it is the user's word.
        let mut command = home.command(&["up", "--port", "0", "--root", "."]);
        command.current_dir(home.path(folder));
        let mut up = Shown::log(command);
        up.until("it is ready", |rows| rows.says("files", "connected"));
        up.end();
    }
    // Somebody who is there is asked for it.
    let mut command = home.on_terminal(50, 100, "up --port 0");
    command.current_dir(home.path("home"));
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("--root DIR"), "{said}");
}

#[tokio::test]
async fn up_says_what_a_shell_can_reach() {
    let home = World::repository();
    let mut up = Shown::log(home.command(&["up", "--port", "0", "--enable-shell"]));
    up.until("it says so", |rows| {
        rows.has("shell is on: its commands reach all")
    });
    up.end();
    let mut up = Shown::log(home.command(&["up", "--port", "0"]));
    up.until("it is ready", |rows| rows.has("Ready."));
    assert!(!up.rows().has("shell is on"));
    up.end();
}
