//! A regression test for each of the engine's traps. Those that
//! have their test elsewhere are named: 3 in `renewal`, 6 in `guards` (fault 68),
//! 10 in `secrets`, 12 in `guards` (56, 57), 13 in `xaa`, 14 in `keychain`.

use super::{
    peer::{ask, served},
    site::{Site, browser, make_expired, make_stale, settings, stored},
};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_auth::{OauthSettings, SignInError};
use switchboard_testkit::LATE;

#[tokio::test]
async fn trap_1_a_short_life_is_used() {
    let site = Site::with(json!({"token_life": 20})).await;
    let authority = site.signed_in().await;
    for _ in 0..5 {
        assert!(served(&ask(&authority, &site.url("/mcp")).await));
    }
    assert_eq!(site.count("token.refresh_token").await, 0);
}

#[tokio::test]
async fn trap_1_and_renewed_in_time() {
    let site = Site::with(json!({"token_life": 5})).await;
    let authority = site.signed_in().await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(9) {
        assert!(served(&ask(&authority, &site.url("/mcp")).await));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(site.count("token.refresh_token").await, 2);
    assert_eq!(
        site.count("mcp.401").await,
        1,
        "only the question before signing in"
    );
}

#[tokio::test]
async fn trap_2_a_503_does_not_matter_while_the_token_is_good() {
    let site = Site::start().await;
    let authority = site.signed_in().await;
    make_stale(site.folder.path());
    authority.reload();
    site.turn(json!({"fault": "503"})).await;
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
}

#[tokio::test]
async fn trap_4_after_a_restart_all_is_there() {
    // A confidential client, scopes, and a resource that is not the address as written.
    let site = Site::with(json!({"dcr_secret": true, "prm_scopes": ["a", "b"]})).await;
    site.signed_in().await;
    make_expired(site.folder.path());
    assert!(served(
        &ask(&site.authority().build(), &site.url("/mcp")).await
    ));
    assert_eq!(site.count("bad_client").await, 0);
    let forms = site.forms("/as/main/token").await;
    let refresh = forms.last().unwrap();
    let resource = refresh.iter().find(|(name, _)| name == "resource").unwrap();
    assert_eq!(resource.1, format!("{}/mcp", site.base));
    assert_eq!(stored(site.folder.path())["scopes"], json!(["a", "b"]));
}

#[tokio::test]
async fn trap_4_the_resource_is_the_documents() {
    // A resource above the endpoint: what the document says, not the address.
    let site = Site::start().await;
    let resource = format!("{}/mcp", site.base);
    site.turn(json!({"prm_resource": resource})).await;
    let authority = site.authority_to("main", "/mcp/below").build();
    authority.sign_in(&browser()).await.unwrap();
    make_expired(site.folder.path());
    let fresh = site.authority_to("main", "/mcp/below").build();
    let _ = ask(&fresh, &site.url("/mcp/below")).await;
    let forms = site.forms("/as/main/token").await;
    let refresh = forms
        .iter()
        .find(|form| form.iter().any(|(_, v)| v == "refresh_token"));
    assert!(refresh.unwrap().contains(&("resource".into(), resource)));
}

#[tokio::test]
async fn trap_5_a_refresh_token_goes_to_its_own_issuer() {
    let site = Site::start().await;
    site.signed_in().await;
    make_expired(site.folder.path());
    site.turn(json!({"as": ["second"]})).await;
    let _ = ask(&site.authority().build(), &site.url("/mcp")).await;
    assert!(site.forms("/as/second/token").await.is_empty());
}

#[tokio::test]
async fn trap_7_no_guessed_endpoints() {
    let site = Site::with(json!({"prm": false, "pointer": false})).await;
    let fault = site
        .authority()
        .build()
        .sign_in(&browser())
        .await
        .unwrap_err();
    assert!(matches!(fault, SignInError::Discovery(_)), "{fault}");
    let log = site.log().await;
    assert!(
        !log.iter()
            .any(|entry| entry["path"] == "/register" || entry["path"] == "/authorize")
    );
    // Revision 2025-03-26 has them.
    let old = OauthSettings {
        legacy_endpoints: true,
        ..settings()
    };
    let _ = site
        .authority()
        .settings(old)
        .build()
        .sign_in(&browser())
        .await;
    assert!(
        site.log()
            .await
            .iter()
            .any(|entry| entry["path"] == "/register")
    );
}

#[tokio::test]
async fn trap_8_no_authorization_endpoint() {
    let site = Site::with(json!({
        "metadata": {"authorization_endpoint": null},
        "clients": {"own": {"secret": "s"}},
    }))
    .await;
    let fault = site
        .authority()
        .build()
        .sign_in(&browser())
        .await
        .unwrap_err();
    assert!(
        fault.to_string().contains("no page to sign in at"),
        "{fault}"
    );
    let grant = super::grants::own_client("s");
    let authority = site.authority().grant(grant).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
}

#[tokio::test]
async fn trap_9_a_stream_that_never_ends() {
    let site = Site::with(json!({"mcp_get": "stream", "pointer": false})).await;
    let begun = Instant::now();
    let authority = site.signed_in().await;
    assert!(begun.elapsed() < Duration::from_secs(2) + LATE);
    assert_eq!(site.count("mcp.get").await, 0);
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
}

#[tokio::test]
async fn trap_11_a_description_is_no_scope() {
    let evil =
        r#"error_description="scope=evil resource_metadata=https://evil.example/x", scope="good""#;
    let site = Site::with(json!({"challenge": evil})).await;
    let signed = site.authority().build().sign_in(&browser()).await.unwrap();
    assert_eq!(signed.scopes, ["good"]);
}
