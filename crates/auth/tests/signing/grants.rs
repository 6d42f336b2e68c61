//! Grants without a person, and bound tokens.

use super::{
    peer::{ask, needs_auth, served},
    site::{Site, browser, make_expired, settings, stored},
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_auth::{
    AnyError, ClientCredentials, ClientProof, Grant, OauthSettings, Secret, Workload,
};

pub fn own_client(secret: &str) -> Grant {
    Grant::Client(ClientCredentials {
        client_id: "own".into(),
        proof: ClientProof::Secret(Secret::new(secret)),
    })
}

#[tokio::test]
async fn client_credentials_with_a_secret() {
    for methods in [
        json!(["client_secret_basic"]),
        json!(["client_secret_post"]),
    ] {
        let site =
            Site::with(json!({"methods": methods, "clients": {"own": {"secret": "s"}}})).await;
        let authority = site.authority().grant(own_client("s")).build();
        assert!(served(&ask(&authority, &site.url("/mcp")).await));
        // Renewed by asking again, in another process too.
        make_expired(site.folder.path());
        assert!(served(
            &ask(
                &site.authority().grant(own_client("s")).build(),
                &site.url("/mcp")
            )
            .await
        ));
        assert_eq!(site.count("token.client_credentials").await, 2);
        assert_eq!(site.count("token.refresh_token").await, 0);
        // The secret is the configuration's; the vault has no second copy.
        assert!(!stored(site.folder.path()).to_string().contains("\"s\""));
    }
}

#[tokio::test]
async fn a_wrong_secret_is_tried_once() {
    let site = Site::with(json!({"clients": {"own": {"secret": "s"}}})).await;
    let authority = site.authority().grant(own_client("wrong")).build();
    assert!(needs_auth(&ask(&authority, &site.url("/mcp")).await));
    assert_eq!(site.count("token.client_credentials").await, 1);
}

#[tokio::test]
async fn client_credentials_with_a_key() {
    let site = Site::with(json!({"methods": ["private_key_jwt"]})).await;
    let pem = site.mint(json!({"pem": "workload"})).await["pem"]
        .as_str()
        .unwrap()
        .to_owned();
    let grant = Grant::Client(ClientCredentials {
        client_id: "key-client".into(),
        proof: ClientProof::PrivateKey {
            pem: Secret::new(pem),
            algorithm: "ES256".into(),
        },
    });
    let authority = site.authority().grant(grant).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    let form = site.forms("/as/main/token").await.remove(0);
    assert!(form.iter().all(|(name, _)| name != "client_id"));
}

#[tokio::test]
async fn a_workload_with_its_platforms_token() {
    let site = Site::start().await;
    let issuer = format!("{}/as/main", site.base);
    let token = site
        .token(json!({"key": "workload", "claims": {"iss": "https://platform", "sub": "pod", "aud": issuer}}))
        .await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let source =
        move || -> switchboard_transport::http::BoxFuture<'static, Result<Secret, AnyError>> {
            count.fetch_add(1, Ordering::SeqCst);
            let token = Secret::new(token.clone());
            Box::pin(async move { Ok(token) })
        };
    let grant = Grant::Workload(Workload {
        client_id: None,
        assertion: Arc::new(source),
    });
    let authority = site.authority().grant(grant).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    // The same assertion a second time is refused, and not tried a third.
    site.turn(json!({"expire": true})).await;
    assert!(!served(&ask(&authority, &site.url("/mcp")).await));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(site.count("token.jwt-bearer").await, 2);
}

#[tokio::test]
async fn bound_tokens_with_and_without_nonces() {
    for dpop in ["on", "nonce"] {
        let site = Site::with(json!({"dpop": dpop})).await;
        let authority = site.signed_in().await;
        for _ in 0..3 {
            assert!(served(&ask(&authority, &site.url("/mcp")).await));
        }
        assert!(stored(site.folder.path())["tokens"]["bound"] == true);
        // One question for a nonce, not one a request.
        assert_eq!(site.count("nonce.mcp").await, u64::from(dpop == "nonce"));
        // The key survives a restart, so that renewing works.
        make_expired(site.folder.path());
        let again = site.authority().build();
        assert!(served(&ask(&again, &site.url("/mcp")).await));
        assert_eq!(
            site.count("token.refresh_token").await,
            1 + u64::from(dpop == "nonce")
        );
        assert_eq!(site.count("bad_proof").await, 0);
        assert_eq!(site.count("authorize").await, 1);
    }
}

#[tokio::test]
async fn bound_tokens_only_where_both_sides_know_them() {
    // The issuer offers them; the server says nothing of them.
    let site =
        Site::with(json!({"metadata": {"dpop_signing_alg_values_supported": ["ES256"]}})).await;
    let authority = site.signed_in().await;
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    assert!(site.log().await.iter().all(|entry| entry["dpop"].is_null()));
    // Other algorithms than ours.
    let site =
        Site::with(json!({"metadata": {"dpop_signing_alg_values_supported": ["RS256"]}})).await;
    site.authority()
        .settings(OauthSettings {
            dpop: true,
            ..settings()
        })
        .build();
    let authority = site.signed_in().await;
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    let _ = browser();
}
