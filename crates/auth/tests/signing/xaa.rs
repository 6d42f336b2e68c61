//! One sign-in at the enterprise's identity provider, many servers.

use super::{
    peer::{ask, needs_auth, served},
    site::{Site, counted_browser, settings},
};
use serde_json::json;
use std::{collections::HashSet, sync::atomic::Ordering};
use switchboard_auth::{Authority, Enterprise, Grant, IdentityProvider, Secret, Visit};

pub fn enterprise(site: &Site) -> Grant {
    Grant::Enterprise(Enterprise {
        idp: IdentityProvider {
            issuer: site.url("/idp"),
            client_id: "idp-client".into(),
            client_secret: Some(Secret::new("canary-idp-secret")),
            callback_port: None,
            scopes: Vec::new(),
            id_token: None,
        },
        client_id: "xaa-client".into(),
        client_secret: Some(Secret::new("canary-xaa-secret")),
    })
}

pub async fn site() -> Site {
    Site::with(json!({"clients": {
        "idp-client": {"secret": "canary-idp-secret"},
        "xaa-client": {"secret": "canary-xaa-secret"},
    }}))
    .await
}

fn to(site: &Site, n: usize, visit: Option<Visit>) -> Authority {
    let builder = site
        .authority_to(&format!("s{n}"), &format!("/mcp/s{n}"))
        .settings(settings())
        .grant(enterprise(site));
    match visit {
        Some(visit) => builder.attended(visit).build(),
        None => builder.build(),
    }
}

#[tokio::test]
async fn five_servers_one_sign_in() {
    let site = site().await;
    let (visit, opened) = counted_browser();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..5 {
        let authority = to(&site, n, Some(visit.clone()));
        let url = site.url(&format!("/mcp/s{n}"));
        tasks.spawn(async move { served(&ask(&authority, &url).await) });
    }
    assert!(tasks.join_all().await.into_iter().all(|good| good));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    assert_eq!(site.count("idp.authorize").await, 1);
    assert_eq!(site.count("idp.token-exchange").await, 5);
    assert_eq!(site.count("token.jwt-bearer").await, 5);
    assert_eq!(site.count("authorize").await, 0);
    // Five tokens, each accepted at its own server and sent to no other.
    let log = site.log().await;
    let mut tokens = HashSet::new();
    for n in 0..5 {
        let path = format!("/mcp/s{n}");
        let sent: HashSet<_> = log
            .iter()
            .filter(|entry| entry["path"] == path.as_str())
            .filter_map(|entry| entry["authorization"].as_str())
            .collect();
        assert_eq!(sent.len(), 1);
        assert!(tokens.insert(sent.into_iter().next().unwrap().to_owned()));
        assert_eq!(site.count(&format!("200 {path}")).await, 1);
    }
    // The identity stays with its provider.
    for entry in &log {
        let text = entry.to_string();
        if !entry["path"].as_str().unwrap().starts_with("/idp") {
            assert!(
                !text.contains("canary-idp-secret") && !text.contains("id_token"),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn nobody_there_and_nobody_signed_in() {
    let site = site().await;
    assert!(needs_auth(
        &ask(&to(&site, 0, None), &site.url("/mcp/s0")).await
    ));
    let (visit, _) = counted_browser();
    to(&site, 0, None).sign_in(&visit).await.unwrap();
    // From now on nobody has to be there, for any server.
    assert!(served(
        &ask(&to(&site, 0, None), &site.url("/mcp/s0")).await
    ));
    assert!(served(
        &ask(&to(&site, 1, None), &site.url("/mcp/s1")).await
    ));
}

#[tokio::test]
async fn an_identity_that_ends_is_renewed_without_anybody() {
    let site = site().await;
    // Good for one exchange, but not for long.
    site.turn(json!({"id_life": 30})).await;
    let (visit, opened) = counted_browser();
    assert!(served(
        &ask(&to(&site, 0, Some(visit)), &site.url("/mcp/s0")).await
    ));
    site.turn(json!({"id_life": 3600})).await;
    assert!(served(
        &ask(&to(&site, 1, None), &site.url("/mcp/s1")).await
    ));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    assert_eq!(site.count("idp.refresh_token").await, 1);
}

#[tokio::test]
async fn an_identity_token_for_another_question_is_refused() {
    let site = site().await;
    site.turn(json!({"nonce": "wrong"})).await;
    let (visit, _) = counted_browser();
    let fault = to(&site, 0, None).sign_in(&visit).await.unwrap_err();
    assert!(fault.to_string().contains("nonce"), "{fault}");
    assert_eq!(site.count("idp.token-exchange").await, 0);
}

#[tokio::test]
async fn trap_13_what_servers_add_is_put_right() {
    let site = site().await;
    site.turn(json!({"exchange_extra": {"refresh_token": "not wanted", "scope": ""}}))
        .await;
    let (visit, _) = counted_browser();
    let authority = to(&site, 0, Some(visit));
    assert!(served(&ask(&authority, &site.url("/mcp/s0")).await));
    let text = std::fs::read_dir(site.folder.path())
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect::<String>();
    assert!(!text.contains("not wanted"));
}
