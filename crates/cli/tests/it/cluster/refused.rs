//! What is refused, and said: ids that nobody made, replicas without a certificate, values
//! that were altered; and what cannot begin.

use super::{AGAIN, Fleet, is_unknown, ping, until_ok, wire::Listener};
use http::StatusCode;
use serde_json::json;
use switchboard_testkit::{nats::Nats, text_of, world::World};

#[tokio::test]
async fn an_id_that_no_replica_made_is_refused() {
    let fleet = Fleet::start(2).await;
    let client = fleet.replicas[0].legacy().await;
    let session = client.headers["mcp-session-id"].clone();
    let mut forged = session.clone().into_bytes();
    // Another session of the same owner.
    forged[20] = if forged[20] == b'0' { b'1' } else { b'0' };
    let forged = String::from_utf8(forged).unwrap();
    let alone = "0".repeat(32);
    for id in [&*forged, &alone, &session[1..], "..", "a.b.c"] {
        for replica in &fleet.replicas {
            let mut client = replica.as_well(&client.clone_for(&[("mcp-session-id", id)]));
            let reply = client.post(ping()).await;
            assert!(is_unknown(&reply), "{id}: {reply:?}");
        }
    }
    for replica in &fleet.replicas {
        let line = "a session id was not made by this cluster";
        replica.program.wait_for_line(line).await;
    }
}

/// Nobody is looked for because a client has made up where its call waits.
#[tokio::test]
async fn a_ticket_that_no_replica_made_is_refused() {
    let fleet = Fleet::start(1).await;
    let replica = &fleet.replicas[0];
    let nobody = "0123456789abcdef";
    for forged in [
        format!("switchboard:{nobody}.c2VhbGVk"),
        format!("switchboard:{nobody}.{nobody}.c2VhbGVk"),
        "switchboard:..".to_owned(),
    ] {
        let params = json!({"name": "far__echo", "arguments": {"nonce": "n"},
            "requestState": forged});
        let mut client = switchboard_testkit::HttpClient::new(&format!("{}/mcp", replica.url));
        let reply = client.modern("tools/call", params).await;
        let said = reply.message().to_string();
        assert!(said.contains("ask again without it"), "{forged}: {said}");
    }
    let line = "a ticket was not made by this cluster";
    replica.program.wait_for_line(line).await;
}

/// Who has the cluster's key and no certificate of its authority gets nothing of others.
#[tokio::test]
async fn a_replica_without_a_certificate_is_refused() {
    let fleet = Fleet::start(1).await;
    let elsewhere = fleet.world.path("elsewhere");
    fleet.certify(&elsewhere, "stranger").await;
    let world = World::with(&fleet.servers);
    let stranger = fleet.launch(&world, &elsewhere.join("stranger.pem"), &[]);
    let url = stranger.url().await;
    let client = fleet.replicas[0].legacy().await;
    let mut there = switchboard_testkit::HttpClient::new(&format!("{url}/mcp"));
    there.headers = client.headers.clone();
    let reply = there.post(ping()).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{reply:?}");
    stranger
        .wait_for_line("what answers there is no replica of this cluster")
        .await;
    fleet.replicas[0]
        .program
        .wait_for_line("has no certificate of this cluster: it is refused")
        .await;
    // It has it still, and answers.
    let reply = fleet.replicas[0].as_well(&client).post(ping()).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
}

#[tokio::test]
async fn what_is_kept_can_be_neither_read_nor_altered() {
    let mut fleet = Fleet::start(2).await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    let mut client = fleet.replicas[0].legacy().await;
    let session = client.headers["mcp-session-id"].clone();
    client
        .request("resources/subscribe", json!({"uri": "echo://canary"}))
        .await;
    let slow = json!({"nonce": "canary-result", "delayMs": 200});
    let params = json!({"name": "far__echo", "arguments": slow});
    let stream = client.stream("tools/call", params).await;
    switchboard_testkit::world::to_the_end(stream).await;
    let secret = session.split('.').nth(1).unwrap();
    let (mut entry, mut node, mut events) = (None, None, 0);
    while entry.is_none() || node.is_none() || events == 0 {
        let (subject, payload) = listener.next().await;
        let text = format!("{subject} {}", String::from_utf8_lossy(&payload));
        for word in [secret, "canary", "clientInfo", "127.0.0.1"] {
            assert!(!text.contains(word), "{word} is in {text}");
        }
        match subject.split('.').nth(2).unwrap() {
            "nodes" => node = Some(subject),
            space if space.starts_with("sessions/") => entry = Some(subject),
            _ => events += 1,
        }
    }
    // What nobody of ours wrote is not believed.
    let (node, line) = (node.unwrap(), "is not sealed with this cluster's key");
    while !fleet.replicas[1].program.stderr().contains(line) {
        // Its owner puts it right again, so that it may not be seen at once.
        listener.publish(&node, b"{}").await;
        listener.next().await;
    }
    listener.publish(&entry.unwrap(), b"altered").await;
    fleet.replicas[0].kill().await;
    let mut there = fleet.replicas[1].as_well(&client);
    let begun = std::time::Instant::now();
    loop {
        let reply = there.post(ping()).await;
        assert_ne!(reply.status, StatusCode::OK, "{reply:?}");
        if is_unknown(&reply) {
            break;
        }
        assert!(begun.elapsed() < AGAIN, "{reply:?}");
    }
    let line = "what is kept of a session is not what was written";
    fleet.replicas[1].program.wait_for_line(line).await;
}

#[tokio::test]
async fn without_nats_at_the_start_it_is_said_what_to_do_or_joined_later() {
    let mut nats = Nats::one().await;
    nats.kill(0).await;
    let mut fleet = Fleet::on(nats, 0).await;
    fleet.certify(&fleet.folder.clone(), "r0").await;
    let file = fleet.folder.join("r0.pem");
    let world = World::with(&fleet.servers);
    let (status, _, said) = fleet.launch(&world, &file, &[]).output(AGAIN).await;
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains("--cluster-optional"), "{said}");
    let replica = fleet.replica("r0", &["--cluster-optional"]).await;
    replica.program.wait_for_line("alone until it can").await;
    let mut client = replica.legacy().await;
    let said = client.call("far__echo", json!({"nonce": "alone"})).await;
    assert_eq!(text_of(&said), "alone");
    fleet.nats.restart(0).await;
    fleet.replicas.push(replica);
    fleet.certify(&fleet.folder.clone(), "r1").await;
    let second = fleet.replica("r1", &[]).await;
    fleet.replicas.push(second);
    fleet.until_all_are_known().await;
    until_ok(&mut fleet.replicas[1].as_well(&client)).await;
}

/// Servers of NATS that are too few to choose a leader answer, and know nothing.
#[tokio::test]
async fn while_nats_has_no_leader_it_is_said_and_what_to_do() {
    let mut fleet = Fleet::on(Nats::three().await, 1).await;
    for gone in [0, 1] {
        fleet.nats.kill(gone).await;
    }
    let (url, key) = (fleet.nats.url(), fleet.key());
    let args = ["cluster", "status", "--cluster", &url];
    let args = [&args[..], &["--cluster-key-file", &key]].concat();
    let ran = fleet.world.run(&args).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    for said in ["NATS answers", "choosing who leads", "more than half"] {
        assert!(ran.err.contains(said), "{ran:?}");
    }
    fleet.nats.restart_dead().await;
    fleet.until_all_are_known().await;
}

#[tokio::test]
async fn what_cannot_be_used_is_said() {
    let world = World::new();
    let folder = world.path("cluster").display().to_string();
    let made = world.run(&["cluster", "ca", &folder]).await.ok().out;
    assert_eq!(made.matches("Made ").count(), 6, "{made}");
    let again = world.run(&["cluster", "ca", &folder]).await.ok().out;
    assert!(again.contains("there already"), "{again}");
    let wrong = world
        .run(&["cluster", "ca", &folder, "--name", "../x"])
        .await;
    assert_eq!(wrong.code, Some(3), "{wrong:?}");
    let config = world.run(&["cluster", "nats-config"]).await.ok().out;
    assert!(config.contains("sync_interval: always"), "{config}");
    let key = format!("{folder}/cluster.key");
    let pem = format!("{folder}/replica.pem");
    for (args, code, text) in [
        // Others see command lines.
        (
            ["nats://me:secret@127.0.0.1:1", &key, &pem],
            2,
            "--cluster-creds",
        ),
        (
            ["http://127.0.0.1:1", &key, &pem],
            2,
            "nats://127.0.0.1:4222",
        ),
        (
            ["nats://127.0.0.1:1", &pem, &pem],
            3,
            "64 hexadecimal digits",
        ),
        (
            ["nats://127.0.0.1:1", &key, &key],
            3,
            "cluster ca DIR --name",
        ),
        (["nats://127.0.0.1:1", "none", &pem], 3, "cluster ca DIR"),
    ] {
        let [url, key, pem] = args;
        let said = ["serve", "--http", "127.0.0.1:0", "--cluster", url];
        let said = [
            &said[..],
            &["--cluster-key-file", key, "--cluster-cert", pem],
        ]
        .concat();
        let ran = world.run(&said).await;
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(text), "{ran:?}");
    }
    let alone = ["serve", "--cluster", "nats://127.0.0.1:1"];
    let alone = [
        &alone[..],
        &["--cluster-key-file", &key, "--cluster-cert", &pem],
    ]
    .concat();
    let ran = world.run(&alone).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("--http"), "{ran:?}");
}

/// With the accounts and rights that we print a replica can do all that it needs, and
/// nobody comes in without the password.
#[tokio::test]
async fn what_is_printed_for_nats_is_enough_and_not_more() {
    let printed = World::new().run(&["cluster", "nats-config"]).await.ok().out;
    let accounts = &printed[printed.find("accounts {").unwrap()..];
    let settings = accounts.replace("REPLICA-PASSWORD", "canary-password");
    let mut fleet = Fleet::on(Nats::with(&settings).await, 0).await;
    let creds = fleet.world.write("creds", "replica:canary-password\n");
    let creds = ["--cluster-creds", creds.to_str().unwrap()];
    for name in ["r0", "r1"] {
        fleet.certify(&fleet.folder.clone(), name).await;
        let replica = fleet.replica(name, &creds).await;
        fleet.replicas.push(replica);
    }
    let world = World::with(&fleet.servers);
    let file = fleet.folder.join("r0.pem");
    let (status, _, said) = fleet.launch(&world, &file, &[]).output(AGAIN).await;
    assert_eq!(status.code(), Some(4), "{said}");
    let mut client = fleet.replicas[0].legacy().await;
    let arguments = json!({"steps": 3, "intervalMs": 60, "marker": "m"});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut stream = client.stream("tools/call", params).await;
    let first = stream.next().await.expect("an event").id.expect("a number");
    switchboard_testkit::world::to_the_end(stream).await;
    fleet.replicas[0].kill().await;
    let mut there = fleet.replicas[1].as_well(&client);
    until_ok(&mut there).await;
    let headers = [("accept", "text/event-stream"), ("last-event-id", &*first)];
    let again = there.open(http::Method::GET, &headers, "").await;
    let (seen, answer) = switchboard_testkit::world::to_the_end(again).await;
    assert_eq!((seen.len(), text_of(&answer)), (3, "m"));
    let complaint = "NATS says that something is wrong";
    let log = fleet.replicas[1].program.stderr();
    assert!(!log.contains(complaint), "{log}");
}
