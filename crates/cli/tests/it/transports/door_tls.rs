//! TLS at our own door: certificates of ours and of clients, read again when
//! they change; and what is not said in clear without somebody's word.

use crate::support::{screen::Shown, tap::Authority};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{Ran, World, config, echo, run, switchboard};
use switchboard_testkit::{HttpClient, LEGACY, Program, raw_exchange, text_of};

const LIMIT: Duration = Duration::from_secs(60);

/// A gateway with this certificate, and its port.
pub(super) async fn serve(folder: &Path, more: &[&str]) -> (Program, u16) {
    let file = |name: &str| folder.join(name).display().to_string();
    let program = switchboard()
        .args(["--mcp-config", &config(&json!({"e": echo(&[])}))])
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .args([
            "--tls-cert",
            &file("cert.pem"),
            "--tls-key",
            &file("key.pem"),
        ])
        .args(more)
        .spawn();
    let line = program.wait_for_line("listening on https://").await;
    let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
    (program, port)
}

/// What our own client says when it calls there.
async fn call(scheme: &str, port: u16, tls: Value) -> Ran {
    let kind = if scheme == "wss" { "ws" } else { "http" };
    let path = if scheme == "wss" { "ws" } else { "mcp" };
    let url = format!("{scheme}://localhost:{port}/{path}");
    let entry = json!({"type": kind, "url": url, "tls": tls});
    let launch = switchboard()
        .args(["--mcp-config", &config(&json!({"far": entry}))])
        .args(["call", "far__e__echo", "-a", "nonce=hello"]);
    run(launch).await
}

#[tokio::test]
async fn clients_speak_tls_with_us() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.certify("localhost", folder.path(), "cert.pem", "key.pem");
    let ca = authority.write(folder.path(), "ca.pem");
    let (_gateway, port) = serve(folder.path(), &[]).await;
    for scheme in ["https", "wss"] {
        let called = call(scheme, port, json!({"ca": ca})).await;
        assert_eq!(called.out, "hello\n", "{scheme}: {called:?}");
        let distrusted = call(scheme, port, json!({})).await;
        assert_eq!(distrusted.code, Some(4), "{scheme}: {distrusted:?}");
    }
    // Either era, on one connection each.
    let near = authority.tunnel("localhost", port).await;
    let mut client = HttpClient::new(&format!("http://{near}/mcp"));
    client.initialize(LEGACY).await;
    let called = client.call("e__echo", json!({"nonce": "legacy"})).await;
    assert_eq!(text_of(&called), "legacy");
    let params = json!({"name": "e__echo", "arguments": {"nonce": "modern"}});
    let called = client.modern("tools/call", params).await.message();
    assert_eq!(text_of(&called), "modern");
    // Without TLS there is no answer that could be read.
    let plain = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let said = raw_exchange(&format!("127.0.0.1:{port}"), plain, LIMIT).await;
    assert!(!said.starts_with(b"HTTP/"), "{said:?}");
}

#[tokio::test]
async fn only_clients_with_a_certificate_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Authority::new(), Authority::new());
    ours.certify("localhost", folder.path(), "cert.pem", "key.pem");
    let ca = ours.write(folder.path(), "ca.pem");
    let clients = theirs.write(folder.path(), "clients.pem");
    theirs.certify("client", folder.path(), "client.pem", "client-key.pem");
    ours.certify("client", folder.path(), "other.pem", "other-key.pem");
    let file = |name: &str| folder.path().join(name);
    let more = ["--client-ca", clients.to_str().unwrap()];
    let (_gateway, port) = serve(folder.path(), &more).await;
    let known = json!({"ca": ca, "cert": file("client.pem"), "key": file("client-key.pem")});
    let called = call("https", port, known).await;
    assert_eq!(called.out, "hello\n", "{called:?}");
    let other = json!({"ca": ca, "cert": file("other.pem"), "key": file("other-key.pem")});
    for tls in [json!({"ca": ca}), other] {
        let refused = call("https", port, tls).await;
        assert_eq!(refused.code, Some(4), "{refused:?}");
    }
}

#[tokio::test]
async fn a_new_certificate_is_taken_up_and_a_bad_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    old.certify("localhost", folder.path(), "cert.pem", "key.pem");
    let (gateway, port) = serve(folder.path(), &[]).await;
    let lives = async |authority: &Authority| {
        let near = authority.tunnel("localhost", port).await;
        let mut client = HttpClient::new(&format!("http://{near}/healthz"));
        let answer = client
            .try_send(http::Method::GET, &[], Default::default())
            .await;
        answer.is_ok_and(|answer| answer.status == 200)
    };
    assert!(lives(&old).await);
    // Half of a pair: the one before goes on.
    new.certify("localhost", folder.path(), "cert.pem", "unused.pem");
    gateway.wait_for_line("stays in use").await;
    assert!(lives(&old).await && !lives(&new).await);
    new.certify("localhost", folder.path(), "cert.pem", "key.pem");
    let until = Instant::now() + LIMIT;
    while !lives(&new).await {
        assert!(Instant::now() < until, "{}", gateway.stderr());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!lives(&old).await);
}

#[tokio::test]
async fn nothing_is_said_in_clear_to_other_machines_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.certify("localhost", folder.path(), "cert.pem", "key.pem");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let servers = config(&json!({"e": echo(&[])}));
    let launch = |more: &[&str]| {
        switchboard()
            .args(["--mcp-config", &servers, "serve", "--http", "0.0.0.0:0"])
            .args(["--allow-remote"])
            .args(more)
    };
    let refused = run(launch(&[])).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for word in ["without TLS", "--tls-cert", "--behind-proxy"] {
        assert!(refused.err.contains(word), "{word}: {refused:?}");
    }
    let behind = launch(&["--behind-proxy"]).spawn();
    behind.url().await;
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let secure = launch(&["--tls-cert", &cert, "--tls-key", &key]).spawn();
    secure.wait_for_line("listening on https://").await;
    // What cannot be used is named.
    let wrong = run(launch(&["--tls-cert", &cert, "--tls-key", &cert])).await;
    assert_eq!(wrong.code, Some(3), "{wrong:?}");
    assert!(wrong.err.contains("cert.pem"), "{wrong:?}");
    for half in [&["--tls-cert", &cert][..], &["--client-ca", &cert]] {
        let refused = run(launch(half)).await;
        assert_eq!(refused.code, Some(2), "{half:?}: {refused:?}");
    }
}

/// Somebody at a terminal may say so.
#[test]
fn a_person_is_asked() {
    let home = World::repository();
    let words = "serve --http 0.0.0.0:0 --allow-remote";
    for (answer, expected) in [("y\n", "listening on http://"), ("n\n", "--behind-proxy")] {
        let mut shown = Shown::screen(home.on_terminal(30, 200, words));
        shown.until("it asks", |rows| rows.has("Listen all the same?"));
        shown.types(answer);
        shown.sees(expected);
    }
}
