//! Approvals and pins that are applied to all replicas.

use super::*;
use switchboard_testkit::world::{echo, shell_server};

impl Replica {
    /// Waits until a tool is there, or is not.
    async fn until_has(&self, tool: &str, wanted: bool) {
        let begun = Instant::now();
        while self.has(tool).await != wanted {
            let (tools, log) = (self.tools().await, self.program.stderr());
            assert!(begun.elapsed() < AGAIN, "{tool} {wanted}: {tools:?}\n{log}");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Fleet {
    async fn until_all_have(&self, tool: &str, wanted: bool) {
        for replica in &self.replicas {
            replica.until_has(tool, wanted).await;
        }
    }
}

#[tokio::test]
async fn what_a_project_brings_runs_where_it_is_approved_for_all_and_as_it_was() {
    let mut fleet = Fleet::following(0, &[]).await;
    let project = fleet.world.path("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let brings = |entry: &Value| {
        let text = json!({"mcpServers": {"proj": entry}}).to_string();
        std::fs::write(project.join(".mcp.json"), text).unwrap();
    };
    brings(&echo(&[]));
    let place = project.to_str().unwrap();
    let keys = fleet.applies("pub");
    for name in ["r0", "r1"] {
        fleet.certify(&fleet.folder.clone(), name).await;
        let world = World::new().working_in(place);
        let folders = json!({"folders": {place: true}}).to_string();
        world.write("home/.local/share/switchboard/folders.json", folders);
        let pem = fleet.folder.join(format!("{name}.pem"));
        let program = fleet.launch(&world, &pem, &["--cluster-apply-keys", &keys]);
        let url = program.url().await;
        fleet.replicas.push(Replica {
            world,
            program,
            url,
        });
    }
    fleet.until_all_have("proj__echo", false).await;
    // Nobody outside of the project can say what it would run.
    let key = fleet.applies("key");
    let elsewhere = fleet
        .apply_with(&key, &["--approve", "proj", "--yes"])
        .await;
    assert_eq!(elsewhere.code, Some(2), "{elsewhere:?}");
    fleet.world = fleet.world.clone().working_in(place);
    let first = fleet.apply(&["--approve", "proj"]).await;
    let difference = first["difference"].to_string();
    assert!(difference.contains("approval of proj in"), "{first}");
    assert!(difference.contains("echo-server"), "{first}");
    assert_eq!(first["approvals"], json!(["proj"]));
    fleet.until_run(1).await;
    fleet.until_all_have("proj__echo", true).await;
    // One word more is another server, which nobody has approved.
    let mut other = echo(&[]);
    other["env"] = json!({"ONE": "more"});
    brings(&other);
    fleet.until_all_have("proj__echo", false).await;
    brings(&echo(&[]));
    fleet.until_all_have("proj__echo", true).await;
    fleet.apply(&["--disapprove", "proj"]).await;
    fleet.until_run(2).await;
    fleet.until_all_have("proj__echo", false).await;
    // Whoever has the cluster's key, and may not sign, approves nothing.
    let others = World::new();
    let folder = others.path("keys").display().to_string();
    others.run(&["cluster", "ca", &folder]).await.ok();
    let theirs = format!("{folder}/apply.key");
    let forged = fleet
        .apply_with(&theirs, &["--approve", "proj", "--yes"])
        .await;
    forged.ok();
    for replica in &fleet.replicas {
        let refused = "is none of those that may";
        replica.program.wait_for_line(refused).await;
        assert!(!replica.has("proj__echo").await);
    }
    let back = fleet.apply(&["--version", "1"]).await;
    fleet.until_run(back["version"].as_u64().unwrap()).await;
    fleet.until_all_have("proj__echo", true).await;
    let history = fleet.asked(&["history", "--json"]).await.json();
    assert_eq!(history[0]["approvals"], json!(["proj"]));
    let shown = fleet.asked(&["show"]).await.ok().out;
    assert!(shown.contains("approval of proj in"), "{shown}");
}

#[tokio::test]
async fn definitions_are_held_to_what_was_signed_at_all_replicas() {
    let mut fleet = Fleet::following(2, &[]).await;
    let folder = fleet.world.path("served");
    std::fs::create_dir_all(&folder).unwrap();
    let says = |text: &str| std::fs::write(folder.join("says"), text).unwrap();
    says("signed");
    let entry = |number: u32| {
        let mut entry = shell_server("", "", &folder);
        entry["env"] = json!({"START": number.to_string()});
        entry
    };
    let settings = |fleet: &Fleet, number: u32| {
        let file = fleet.settings(&entry(number), &["srv"]);
        file.to_str().unwrap().to_owned()
    };
    let file = settings(&fleet, 1);
    let key = fleet.applies("key");
    let unknown = fleet
        .apply_with(&key, &[&file, "--pin", "srv", "--yes"])
        .await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    // Whoever signs has met it.
    fleet.world.configure(&json!({"srv": entry(1)}));
    fleet.world.run(&["tools"]).await.ok();
    let first = fleet.apply(&[&file, "--pin", "srv"]).await;
    assert_eq!(first["pins"], json!(["srv"]));
    assert!(
        first["difference"].to_string().contains("tool ok"),
        "{first}"
    );
    fleet.until_run(1).await;
    fleet.until_all_have("srv__ok", true).await;
    // The same server, started anew, says something else: nobody uses it, although settings
    // of a user's own would only be told of.
    says("other");
    fleet.apply(&[&settings(&fleet, 2)]).await;
    fleet.until_run(2).await;
    fleet.until_all_have("srv__ok", false).await;
    // Somebody looks at it, and signs that.
    fleet.world.configure(&json!({"srv": entry(2)}));
    fleet.world.run(&["tools"]).await.ok();
    let waits = fleet.apply_with(&key, &["--pin", "srv", "--yes"]).await;
    assert_eq!(waits.code, Some(5), "{waits:?}");
    fleet.world.approve("srv");
    let third = fleet.apply(&["--pin", "srv"]).await;
    assert!(third["difference"].to_string().contains("other"), "{third}");
    fleet.until_run(3).await;
    fleet.until_all_have("srv__ok", true).await;
    // One that starts again, and met it never before, is held to the same.
    fleet.apply(&["--version", "2"]).await;
    fleet.until_run(4).await;
    fleet.until_all_have("srv__ok", false).await;
    fleet.again_following(0).await;
    fleet.until_all_have("srv__ok", false).await;
    fleet.apply(&["--unpin", "srv"]).await;
    let history = fleet.asked(&["history", "--json"]).await.json();
    assert_eq!(history[0]["pins"], json!([]), "{history}");
    assert_eq!(history[1]["pins"], json!(["srv"]), "{history}");
}

impl Fleet {
    /// Another replica in the place of one, with a home that nobody has used.
    async fn again_following(&mut self, number: usize) {
        self.replicas[number].kill().await;
        let keys = self.applies("pub");
        let name = format!("r{number}");
        let replica = self.replica(&name, &["--cluster-apply-keys", &keys]).await;
        self.replicas[number] = replica;
        self.until_run(4).await;
    }
}
