//! NATS with the accounts that we print: replicas and workers have all that they need, and a
//! worker nothing that is another's.

use super::{Fleet, until_ok, wire::Listener, workers};
use serde_json::json;
use switchboard_testkit::{
    nats::Nats,
    text_of,
    world::{World, echo, servers},
};

const WORKERS: [&str; 2] = ["home", "other"];

/// What NATS is set up with, with passwords.
async fn accounts() -> String {
    let args = [
        "cluster",
        "nats-config",
        "--worker",
        "home",
        "--worker",
        "other",
    ];
    let printed = World::new().run(&args).await.ok().out;
    let accounts = &printed[printed.find("accounts {").unwrap()..];
    let settings = accounts.replace("REPLICA-PASSWORD", "for-replicas");
    let put_in = |text: String, name: &str| {
        let place = format!("PASSWORD-OF-{name}");
        text.replace(&place, &format!("for-{name}"))
    };
    WORKERS.into_iter().fold(settings, put_in)
}

async fn fleet() -> Fleet {
    let mut fleet = Fleet::on(Nats::with(&accounts().await).await, 0).await;
    fleet.creds = Some(fleet.world.write("creds", "replica:for-replicas\n"));
    for name in WORKERS {
        let text = format!("worker-{name}:for-{name}\n");
        fleet.world.write(format!("{name}.creds"), text);
    }
    fleet
}

fn creds(fleet: &Fleet, name: &str) -> String {
    let file = fleet.world.path(format!("{name}.creds"));
    file.display().to_string()
}

/// A worker that runs what was signed reads it with what it may anyway.
#[tokio::test]
async fn a_worker_hires_itself_out_with_the_printed_accounts() {
    let mut fleet = fleet().await;
    fleet.servers = json!({});
    fleet.certify(&fleet.folder.clone(), "r0").await;
    let keys = fleet.applies("pub");
    let replica = fleet.replica("r0", &["--cluster-apply-keys", &keys]).await;
    fleet.replicas.push(replica);
    let by = creds(&fleet, "home");
    let more = ["--cluster-creds", &by];
    let home = fleet.hired_in(World::new(), "home", &more).await;
    fleet.hire(&[("notes", workers::signed(&[]))]).await;
    workers::pid(&mut fleet.replicas[0].legacy().await).await;
    let log = home.program.stderr();
    assert!(!log.contains(COMPLAINT), "{log}");
}

const COMPLAINT: &str = "NATS says that something is wrong";

/// Also where replicas reach each other through NATS alone.
#[tokio::test]
async fn replicas_reach_each_other_through_nats_with_the_printed_accounts() {
    let mut fleet = fleet().await;
    for name in ["r0", "r1"] {
        fleet.certify(&fleet.folder.clone(), name).await;
        let nowhere = ["--cluster-advertise", "127.0.0.1:1"];
        let replica = fleet.replica(name, &nowhere).await;
        fleet.replicas.push(replica);
    }
    fleet.until_all_are_known().await;
    let client = fleet.replicas[0].legacy().await;
    let mut there = fleet.replicas[1].as_well(&client);
    let text = "x".repeat(300_000);
    let said = there.call("far__echo", json!({"nonce": text})).await;
    assert_eq!(text_of(&said), text);
    let line = "goes through NATS";
    fleet.replicas[1].program.wait_for_line(line).await;
    fleet.replicas[0].kill().await;
    until_ok(&mut there).await;
    for replica in &fleet.replicas {
        let log = replica.program.stderr();
        assert!(!log.contains(COMPLAINT), "{log}");
    }
}

/// NATS sends an answer wherever its asker says: not to what the asker could not write itself.
#[tokio::test]
async fn a_worker_has_nothing_written_for_it_where_it_may_not_write() {
    let fleet = fleet().await;
    fleet.certify(&fleet.folder.clone(), "r0").await;
    let _replica = fleet.replica("r0", &[]).await;
    let url = fleet.nats.url();
    let mut worker = Listener::let_in(&url, "worker-home", "for-home").await;
    let mut replica = Listener::let_in(&url, "replica", "for-replicas").await;
    let others = ["sb.kv.nodes.ghost", "sb.kv.outposts.ghost", "sb.ev.ghost"];
    let known = r#"{"last_by_subj":"sb.kv.outposts.home"}"#;
    for there in others {
        for asked in [
            "sb.js.STREAM.MSG.GET.SWITCHBOARD_ENTRIES",
            "sb.js.STREAM.INFO.SWITCHBOARD_ENTRIES",
            "sb.js.STREAM.INFO.SWITCHBOARD_EVENTS",
            "sb.kv.outposts.home",
            "sb.kv.places.x",
        ] {
            let length = known.len();
            let command = format!("PUB {asked} {there} {length}\r\n{known}");
            assert_eq!(worker.refused(&command).await, None, "{command}");
        }
    }
    // What was asked before has been answered when this has.
    let asked = "sb.js.STREAM.MSG.GET.SWITCHBOARD_ENTRIES";
    let own = worker.ask(asked, "_INBOX.worker.home.x", known).await;
    assert!(own.contains("\"subject\":\"sb.kv.outposts.home\""), "{own}");
    for there in others {
        let stream = match there.starts_with("sb.ev") {
            true => "$JS.API.STREAM.MSG.GET.SWITCHBOARD_EVENTS",
            false => "$JS.API.STREAM.MSG.GET.SWITCHBOARD_ENTRIES",
        };
        let which = format!("{{\"last_by_subj\":\"{there}\"}}");
        let found = replica.ask(stream, "_INBOX.replica.x", &which).await;
        assert!(found.contains("no message found"), "{there}: {found}");
    }
}

#[tokio::test]
async fn a_worker_has_what_it_needs_and_nothing_of_another_s() {
    let mut fleet = fleet().await;
    fleet.servers = servers([("notes", json!({"type": "worker", "copies": 1}))]);
    fleet.certify(&fleet.folder.clone(), "r0").await;
    let replica = fleet.replica("r0", &[]).await;
    let by = creds(&fleet, "home");
    let home = fleet.worker("home", &["--cluster-creds", &by]).await;
    workers::pid(&mut replica.legacy().await).await;
    let shown = fleet.workers().await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0]["worker"], "home", "{shown:?}");
    let log = home.program.stderr();
    assert!(!log.contains(COMPLAINT), "{log}");
    // Whoever has its password and asks for what is another's is refused by NATS.
    let mut raw = Listener::let_in(&fleet.nats.url(), "worker-home", "for-home").await;
    for mine in [
        "SUB _INBOX.worker.home.x.* 1",
        "PUB sb.kv.outposts.home 0\r\n",
    ] {
        assert_eq!(raw.refused(mine).await, None, "{mine}");
    }
    for theirs in [
        "SUB sb.> 2",
        "SUB sb.post.> 3",
        "SUB _INBOX.> 4",
        "SUB _INBOX.replica.> 5",
        "SUB _INBOX.worker.other.> 6",
        "SUB _INBOX.worker.> 7",
        "SUB > 8",
        "PUB sb.kv.outposts.other 0\r\n",
        "PUB sb.kv.nodes.r0 0\r\n",
        "PUB sb.kv.applied.now 0\r\n",
        "PUB sb.kv.hired.now 0\r\n",
        "PUB sb.post.r0.me.1 0\r\n",
        "PUB sb.ev.x 0\r\n",
        "PUB $JS.API.STREAM.DELETE.SWITCHBOARD_ENTRIES 0\r\n",
        "PUB $JS.API.STREAM.PURGE.SWITCHBOARD_ENTRIES 0\r\n",
        "PUB $JS.API.STREAM.UPDATE.SWITCHBOARD_ENTRIES 0\r\n",
        "PUB $JS.API.STREAM.MSG.DELETE.SWITCHBOARD_ENTRIES 0\r\n",
        "PUB $JS.API.CONSUMER.CREATE.SWITCHBOARD_ENTRIES 0\r\n",
        "PUB $JS.API.CONSUMER.CREATE.SWITCHBOARD_ENTRIES.x.sb.kv.> 0\r\n",
        "PUB $JS.API.CONSUMER.CREATE.SWITCHBOARD_EVENTS.x.sb.ev.> 0\r\n",
        "PUB $JS.API.CONSUMER.CREATE.SWITCHBOARD_ENTRIES.x.sb.kv.nodes.* 0\r\n",
        "PUB sb.js.CONSUMER.CREATE.SWITCHBOARD_ENTRIES.x.sb.kv.nodes.* 0\r\n",
        "PUB sb.js.STREAM.PURGE.SWITCHBOARD_ENTRIES 0\r\n",
        "PUB $JS.API.CONSUMER.DURABLE.CREATE.SWITCHBOARD_ENTRIES.x 0\r\n",
    ] {
        let why = raw.refused(theirs).await.unwrap_or_default();
        assert!(why.contains("Permissions Violation"), "{theirs}: {why}");
    }
    // A worker that comes with another's password gets no answer from NATS at all, and a
    // replica's part is not for it.
    let world = World::with(&servers([("notes", echo(&[]))]));
    fleet.certify_worker("other").await;
    let false_one = fleet.launch_worker(&world, "other", &["--cluster-creds", &by]);
    let (status, _, said) = false_one.output(super::AGAIN).await;
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains("Permissions Violation"), "{said}");
    fleet.creds = Some(by.into());
    let file = fleet.folder.join("r0.pem");
    let world = World::with(&fleet.servers);
    let (status, _, said) = fleet.launch(&world, &file, &[]).output(super::AGAIN).await;
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains("Permissions Violation"), "{said}");
}
