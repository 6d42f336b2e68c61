//! Our own door (fault 63): whom it lets in, and whom not.

use super::site::Site;
use serde_json::{Value, json};
use switchboard_auth::{Door, DoorSettings, Rejected};

fn door(site: &Site, scopes: &[&str]) -> Door {
    Door::new(DoorSettings {
        issuer: site.url("/idp"),
        audience: "switchboard".into(),
        resource: "http://127.0.0.1:3700/mcp".parse().unwrap(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        allow_private_addresses: false,
        roles: None,
    })
    .unwrap()
}

fn claims(site: &Site) -> Value {
    json!({"iss": format!("{}/idp", site.base), "aud": "switchboard", "sub": "alice", "scope": "a b"})
}

async fn token(site: &Site, wish: Value) -> String {
    let mut all = json!({"kid": "idp-1", "typ": "at+jwt", "claims": claims(site)});
    for (name, value) in wish.as_object().unwrap() {
        if name == "claims" {
            for (claim, value) in value.as_object().unwrap() {
                all["claims"][claim] = value.clone();
            }
        } else {
            all[name] = value.clone();
        }
    }
    format!("Bearer {}", site.token(all).await)
}

#[tokio::test]
async fn a_good_token_is_let_in() {
    let site = Site::start().await;
    let door = door(&site, &["a"]);
    for wish in [
        json!({}),
        json!({"typ": "JWT"}),
        json!({"typ": "application/at+jwt"}),
        json!({"typ": "JWT", "claims": {"typ": "Bearer"}}),
        json!({"typ": "JWT", "claims": {"token_use": "access"}}),
        json!({"kid": null}),
        // The header says what it is, whatever else is in it.
        json!({"claims": {"nonce": "n", "auth_time": 1}}),
        json!({"claims": {"aud": ["x", "switchboard"]}}),
    ] {
        let token = token(&site, wish).await;
        let admitted = door.admit(Some(&token)).await.unwrap();
        assert_eq!(admitted.subject, "alice");
        assert_eq!(admitted.scopes, ["a", "b"]);
    }
    // Keys are fetched once.
    assert_eq!(site.count("jwks").await, 1);
}

#[tokio::test]
async fn others_are_not() {
    let site = Site::start().await;
    let door = door(&site, &[]);
    let past = super::site::now_ms() / 1000 - 120;
    let mut bad = Vec::new();
    for wish in [
        json!({"claims": {"aud": "somebody else"}}),
        json!({"claims": {"aud": null}}),
        json!({"claims": {"exp": past}}),
        json!({"claims": {"exp": null}}),
        json!({"claims": {"nbf": past + 1000}}),
        json!({"claims": {"iss": "https://evil.example"}}),
        json!({"claims": {"iss": format!("{}/idp/", site.base)}}),
        json!({"claims": {"iss": null}}),
        json!({"claims": {"sub": null}}),
        json!({"claims": {"sub": ""}}),
        json!({"key": "other"}),
        json!({"key": "other", "kid": "other"}),
        json!({"alg": "none"}),
        json!({"alg": "HS256"}),
        json!({"typ": "oauth-id-jag+jwt"}),
        json!({"typ": "dpop+jwt"}),
        // Identity tokens, whose audience may well be ours.
        json!({"typ": "JWT", "claims": {"nonce": "n"}}),
        json!({"typ": "JWT", "claims": {"at_hash": "h"}}),
        json!({"typ": null, "claims": {"c_hash": "h"}}),
        json!({"typ": null, "claims": {"s_hash": "h"}}),
        json!({"typ": "JWT", "claims": {"typ": "ID"}}),
        json!({"typ": "JWT", "claims": {"typ": "Refresh"}}),
        json!({"typ": "JWT", "claims": {"typ": ["Bearer"]}}),
        json!({"typ": "JWT", "claims": {"token_use": "id"}}),
        json!({"typ": "JWT", "claims": {"token_use": "id", "typ": "Bearer"}}),
        json!({"typ": "ID"}),
        json!({"typ": "id_token+jwt"}),
        json!({"typ": "logout+jwt"}),
        // Told by nothing at all, as it may be without a nonce.
        json!({"typ": "JWT", "claims": {"scope": null, "azp": "somebody"}}),
        json!({"typ": null, "claims": {"scope": null}}),
        json!({"typ": "JWT", "claims": {"events": {}}}),
    ] {
        bad.push((wish.clone(), token(&site, wish).await));
    }
    for text in [
        "Bearer x",
        "Bearer a.b.c",
        &format!("Bearer {}", "a".repeat(20_000)),
    ] {
        bad.push((json!(text), text.to_owned()));
    }
    for (wish, token) in bad {
        let rejected = door.admit(Some(&token)).await.unwrap_err();
        assert!(
            matches!(rejected, Rejected::Invalid(_)),
            "{wish}: {rejected}"
        );
        assert_eq!(rejected.status(), 401);
        let challenge = door.challenge(&rejected);
        assert!(challenge.contains("invalid_token"), "{challenge}");
        assert!(challenge.contains(
            "resource_metadata=\"http://127.0.0.1:3700/.well-known/oauth-protected-resource/mcp\""
        ));
    }
    for none in [
        None,
        Some(""),
        Some("Bearer "),
        Some("Basic x"),
        Some("Bearer"),
    ] {
        assert_eq!(door.admit(none).await.unwrap_err(), Rejected::NoToken);
    }
    assert!(!door.challenge(&Rejected::NoToken).contains("error"));
    // A flood of unknown keys asks the issuer twice, not each time.
    assert!(site.count("jwks").await <= 2);
}

#[tokio::test]
async fn too_few_scopes_are_another_matter() {
    let site = Site::start().await;
    let door = door(&site, &["admin"]);
    let rejected = door
        .admit(Some(&token(&site, json!({})).await))
        .await
        .unwrap_err();
    assert_eq!(rejected.status(), 403);
    assert!(
        door.challenge(&rejected)
            .contains("scope=\"admin\", error=\"insufficient_scope\"")
    );
}

#[tokio::test]
async fn an_issuer_that_is_away() {
    let site = Site::start().await;
    let token = token(&site, json!({})).await;
    let away = Door::new(DoorSettings {
        issuer: "http://127.0.0.1:1/idp".parse().unwrap(),
        audience: "switchboard".into(),
        resource: "http://127.0.0.1:3700/mcp".parse().unwrap(),
        scopes: Vec::new(),
        allow_private_addresses: false,
        roles: None,
    })
    .unwrap();
    assert_eq!(away.admit(Some(&token)).await.unwrap_err().status(), 503);
}

#[tokio::test]
async fn what_is_published() {
    let site = Site::start().await;
    let door = door(&site, &["a"]);
    let document = door.metadata();
    assert_eq!(document["resource"], "http://127.0.0.1:3700/mcp");
    assert_eq!(
        document["authorization_servers"],
        json!([format!("{}/idp", site.base)])
    );
    assert_eq!(
        door.metadata_path(),
        "/.well-known/oauth-protected-resource/mcp"
    );
    assert!(
        Door::new(DoorSettings {
            issuer: "http://idp.example".parse().unwrap(),
            audience: "a".into(),
            resource: "https://x/mcp".parse().unwrap(),
            scopes: Vec::new(),
            allow_private_addresses: false,
            roles: None,
        })
        .is_err()
    );
}
