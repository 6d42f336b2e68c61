//! Sign-ins: made once, for all replicas, and renewed by one of them at a time.

use super::{AGAIN, Fleet, Replica, wire::Listener};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    HttpClient,
    nats::Nats,
    oauth::Site,
    text_of,
    world::{World, protected, servers},
};
use tokio::time::{Instant, sleep};

impl Fleet {
    /// Replicas in front of a server that wants a sign-in, and somebody who can make it.
    async fn signed_in(site: &Site, replicas: usize) -> (Self, World) {
        let mut fleet = Self::on(Nats::one().await, 0).await;
        fleet.servers = servers([("docs", protected(site, "/mcp"))]);
        for number in 0..replicas {
            let name = format!("r{number}");
            fleet.certify(&fleet.folder.clone(), &name).await;
            let replica = fleet.replica(&name, &[]).await;
            fleet.replicas.push(replica);
        }
        let person = World::person();
        person.configure(&fleet.servers);
        (fleet, person)
    }

    async fn login(&self, person: &World) {
        let (url, key) = (self.nats.url(), self.key());
        let args = ["docs", "--cluster", &url, "--cluster-key-file", &key];
        let login = person.login(&args).await;
        let page = login.page.clone();
        let page = page.unwrap_or_else(|| panic!("{}", login.err));
        let back = switchboard_testkit::oauth::redirected(&page).await;
        let done = login.paste(&back).await.ok();
        assert!(done.out.contains("for all replicas"), "{done:?}");
    }

    async fn logout(&self, person: &World) {
        let (url, key) = (self.nats.url(), self.key());
        let args = ["logout", "docs", "--cluster", &url];
        let args = [&args[..], &["--cluster-key-file", &key]].concat();
        person.run(&args).await.ok();
    }
}

async fn called(client: &mut HttpClient) -> Value {
    client.call("docs__t", json!({})).await
}

/// Calls until the server lets us in, or no longer does.
async fn until_let_in(replica: &Replica, is_wanted: bool) {
    let begun = Instant::now();
    loop {
        let mut client = replica.legacy().await;
        let said = called(&mut client).await;
        let is = said.get("result").is_some() && text_of(&said) == "let in";
        if is == is_wanted {
            return;
        }
        assert!(begun.elapsed() < AGAIN, "{said}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// How often the issuer was shown a refresh token.
async fn refreshes(site: &Site) -> u64 {
    site.count("token.refresh_token").await
}

#[tokio::test]
async fn a_sign_in_is_made_once_and_renewed_by_one_and_ended_for_all() {
    let site = Site::with(json!({"token_life": 10})).await;
    let (mut fleet, person) = Fleet::signed_in(&site, 3).await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    until_let_in(&fleet.replicas[0], false).await;
    fleet.login(&person).await;
    assert!(person.vault().is_empty(), "nothing stays on that machine");
    for replica in &fleet.replicas {
        until_let_in(replica, true).await;
        assert!(replica.world.vault().is_empty());
    }
    assert_eq!(site.count("authorize").await, 1);
    // All of them use it while it is renewed again and again.
    let begun = Instant::now();
    let mut clients = Vec::new();
    for replica in &fleet.replicas {
        clients.push(replica.legacy().await);
    }
    let mut renewed = 0;
    while renewed < 3 {
        let all = clients.iter_mut().map(called);
        for said in futures_util::future::join_all(all).await {
            assert_eq!(text_of(&said), "let in", "{said}");
        }
        renewed = refreshes(&site).await;
        assert!(begun.elapsed() < AGAIN * 2, "renewed {renewed} times");
        sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(
        site.count("reuse").await,
        0,
        "no refresh token is used twice"
    );
    // One that comes later has it as well.
    fleet.replicas[0].kill().await;
    fleet.again(0).await;
    until_let_in(&fleet.replicas[0], true).await;
    // Nothing of it can be read where it is kept.
    let (mut kept, mut seen) = (0, 0);
    while kept < 3 && seen < 10_000 {
        let (subject, payload) = listener.next().await;
        let text = format!("{subject} {}", String::from_utf8_lossy(&payload));
        for word in ["docs", "access_token", "refresh", "127.0.0.1"] {
            assert!(!text.contains(word), "{word} is in {text}");
        }
        seen += 1;
        kept += usize::from(subject.starts_with("sb.kv.sign-ins."));
    }
    assert_eq!(kept, 3);
    fleet.logout(&person).await;
    for replica in &fleet.replicas {
        until_let_in(replica, false).await;
    }
    assert_eq!(site.count("reuse").await, 0);
}

/// One that dies in the middle of a renewal may have used the refresh token up: nobody
/// else uses it as long as there is something to lose.
#[tokio::test]
async fn a_renewal_that_nobody_ended_is_not_begun_again() {
    let site = Site::with(json!({"token_life": 20})).await;
    let (mut fleet, person) = Fleet::signed_in(&site, 2).await;
    fleet.login(&person).await;
    until_let_in(&fleet.replicas[0], true).await;
    until_let_in(&fleet.replicas[1], true).await;
    // From now on the issuer hears and does not answer.
    let before = refreshes(&site).await;
    site.turn(json!({"fault": "hang"})).await;
    let mut client = fleet.replicas[0].legacy().await;
    let begun = Instant::now();
    while refreshes(&site).await == before {
        assert!(begun.elapsed() < AGAIN, "it is never renewed");
        called(&mut client).await;
        sleep(Duration::from_millis(200)).await;
    }
    let shown = fleet.status().await;
    let leases: Vec<&Value> = shown
        .iter()
        .filter(|row| row["lease"] == "sign-in")
        .collect();
    assert_eq!(leases.len(), 1, "{shown:?}");
    assert!(shown.iter().any(|row| row["id"] == leases[0]["holder"]));
    fleet.replicas[0].kill().await;
    site.turn(json!({"fault": null})).await;
    let mut other = fleet.replicas[1].legacy().await;
    // Longer than the dead one's turn lasts, and than the access token.
    let begun = Instant::now();
    let mut told = false;
    while begun.elapsed() < Duration::from_secs(15) {
        let said = called(&mut other).await;
        told |= said.to_string().contains("another replica began to renew");
        sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(refreshes(&site).await, before + 1, "it was shown once");
    assert!(told, "{}", called(&mut other).await);
}

#[tokio::test]
async fn a_sign_in_that_was_altered_is_not_believed() {
    let site = Site::start().await;
    let (fleet, person) = Fleet::signed_in(&site, 1).await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    fleet.login(&person).await;
    until_let_in(&fleet.replicas[0], true).await;
    let subject = loop {
        let (subject, _) = listener.next().await;
        if subject.starts_with("sb.kv.sign-ins.") {
            break subject;
        }
    };
    listener.publish(&subject, b"altered").await;
    let line = "what is kept of a sign-in was not written by a replica of this cluster";
    fleet.replicas[0].program.wait_for_line(line).await;
    until_let_in(&fleet.replicas[0], false).await;
    // Whoever signs in anew puts it right.
    fleet.login(&person).await;
    until_let_in(&fleet.replicas[0], true).await;
}
