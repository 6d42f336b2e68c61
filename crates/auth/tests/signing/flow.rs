//! The whole way, in all its variants.

use super::{
    peer::{ask, needs_auth, served},
    site::{Site, browser, counted_browser, http, paste, settings, stored},
};
use serde_json::json;
use std::sync::{Arc, atomic::Ordering};
use switchboard_auth::{
    ClientKind, NeedsAuth, OauthSettings, Secret, SignInError, TokenStore, Visit,
};
use url::Url;

#[tokio::test]
async fn by_browser_and_by_paste() {
    for visit in [browser(), paste()] {
        let site = Site::start().await;
        let authority = site.authority().build();
        assert!(needs_auth(&ask(&authority, &site.url("/mcp")).await));
        let signed = authority.sign_in(&visit).await.unwrap();
        assert_eq!(
            signed.issuer.as_deref(),
            Some(format!("{}/as/main", site.base).as_str())
        );
        assert!(signed.renewable);
        assert_eq!(signed.store, TokenStore::File);
        assert!(served(&ask(&authority, &site.url("/mcp")).await));
        // Another process finds it.
        assert!(served(
            &ask(&site.authority().build(), &site.url("/mcp")).await
        ));
        // Another configuration of the same name does not.
        let mut other = site.server("main", "/mcp");
        other.config_hash = "changed".into();
        let other = switchboard_auth::Authority::builder(other, site.vault()).build();
        assert!(other.status().await.unwrap().is_none());
        assert_eq!(site.count("register").await, 1);
        assert_eq!(site.count("elsewhere").await, 0);
    }
}

#[tokio::test]
async fn in_the_middle_of_things_when_somebody_is_there() {
    let site = Site::start().await;
    let (visit, opened) = counted_browser();
    let authority = site.authority().attended(visit).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_configured_client_on_its_own_port() {
    // A port that is free now, as the registration by hand names it.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let redirect = format!("http://localhost:{port}/callback");
    for (secret, methods) in [
        (None, json!(["none"])),
        (Some("s3cret &+="), json!(["client_secret_basic"])),
        (Some("s3cret &+="), json!(["client_secret_post"])),
    ] {
        let site = Site::with(json!({
            "dcr": false,
            "methods": methods,
            "clients": {"by-hand": {"secret": secret, "redirect": redirect}},
        }))
        .await;
        let authority = site
            .authority()
            .settings(OauthSettings {
                client_id: Some("by-hand".into()),
                client_secret: secret.map(Secret::new),
                callback_port: Some(port),
                ..settings()
            })
            .build();
        authority.sign_in(&browser()).await.unwrap();
        assert!(served(&ask(&authority, &site.url("/mcp")).await));
        assert_eq!(site.count("register").await, 0);
        assert_eq!(site.count("bad_client").await, 0);
    }
}

#[tokio::test]
async fn a_metadata_document_instead_of_a_registration() {
    let site = Site::with(json!({"cimd": true})).await;
    let document = Url::parse("https://switchboard.example/client.json").unwrap();
    let settings = OauthSettings {
        client_metadata_url: Some(document.clone()),
        ..settings()
    };
    let authority = site.authority().settings(settings).build();
    authority.sign_in(&browser()).await.unwrap();
    assert_eq!(site.count("register").await, 0);
    assert_eq!(
        stored(site.folder.path())["client"]["id"],
        document.as_str()
    );
    assert_eq!(
        stored(site.folder.path())["client"]["kind"],
        json!(ClientKind::Document)
    );
}

#[tokio::test]
async fn a_server_that_registers_no_public_clients() {
    let site = Site::with(json!({"methods": ["client_secret_basic"]})).await;
    let authority = site.signed_in().await;
    assert!(stored(site.folder.path())["client"]["secret"].is_string());
    super::site::make_expired(site.folder.path());
    authority.reload();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    assert_eq!(site.count("bad_client").await, 0);
}

#[tokio::test]
async fn no_way_to_register_is_said() {
    let site = Site::with(json!({"dcr": false})).await;
    let fault = site
        .authority()
        .build()
        .sign_in(&browser())
        .await
        .unwrap_err();
    assert!(matches!(fault, SignInError::Registration(_)), "{fault}");
    assert!(fault.to_string().contains("clientId"));
}

#[tokio::test]
async fn configured_metadata_instead_of_discovery() {
    let site = Site::with(json!({"as": ["other"], "prm_scopes": ["a"]})).await;
    let settings = OauthSettings {
        auth_server_metadata_url: Some(site.url("/.well-known/oauth-authorization-server/as/main")),
        ..settings()
    };
    let authority = site.authority().settings(settings).build();
    let signed = authority.sign_in(&browser()).await.unwrap();
    assert!(signed.issuer.unwrap().ends_with("/as/main"));
    assert_eq!(signed.scopes, ["a"]);
}

#[tokio::test]
async fn metadata_at_the_root_where_there_is_no_resource_document() {
    let site = Site::with(
        json!({"prm": false, "pointer": false, "root_metadata": true, "iss": "missing",
        "metadata": {"authorization_response_iss_parameter_supported": null}}),
    )
    .await;
    let authority = site.authority().build();
    let signed = authority.sign_in(&browser()).await.unwrap();
    assert_eq!(signed.issuer.as_deref(), Some(site.base.as_str()));
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
}

#[tokio::test]
async fn scopes_come_from_the_right_place() {
    // The challenge first.
    let site = Site::with(json!({"challenge": "scope=\"x y\"", "prm_scopes": ["a", "b"]})).await;
    let signed = site.authority().build().sign_in(&browser()).await.unwrap();
    assert_eq!(signed.scopes, ["x", "y"]);
    // Then the document, with what renews where it is offered.
    let site = Site::with(json!({"prm_scopes": ["a", "b"],
        "metadata": {"scopes_supported": ["offline_access", "z"]}}))
    .await;
    let signed = site.authority().build().sign_in(&browser()).await.unwrap();
    assert_eq!(signed.scopes, ["a", "b", "offline_access"]);
    // The configuration above all.
    let pinned = OauthSettings {
        scopes: Some(vec!["mine".into()]),
        ..settings()
    };
    let site = Site::with(json!({"prm_scopes": ["a"]})).await;
    let authority = site.authority().settings(pinned).build();
    assert_eq!(
        authority.sign_in(&browser()).await.unwrap().scopes,
        ["mine"]
    );
    // Nothing at all.
    let site = Site::start().await;
    assert!(
        site.authority()
            .build()
            .sign_in(&browser())
            .await
            .unwrap()
            .scopes
            .is_empty()
    );
    let asked = site.log().await;
    let page = asked
        .iter()
        .find(|entry| entry["path"] == "/as/main/authorize")
        .unwrap();
    assert!(!page["query"].to_string().contains("scope"));
}

#[tokio::test]
async fn more_scopes_are_added_to_the_old_ones() {
    let site = Site::with(json!({"prm_scopes": ["read"]})).await;
    let (visit, opened) = counted_browser();
    let authority = site.authority().attended(visit).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    site.turn(json!({"scope": "write"})).await;
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    assert_eq!(
        authority.status().await.unwrap().unwrap().scopes,
        ["read", "write"]
    );
    // The same after a restart: the record knows what was granted.
    site.turn(json!({"scope": "admin"})).await;
    let (visit, _) = counted_browser();
    let authority = site.authority().attended(visit).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    let scopes = authority.status().await.unwrap().unwrap().scopes;
    assert_eq!(scopes, ["read", "write", "admin"]);
}

#[tokio::test]
async fn scopes_that_nobody_could_grant_are_remembered() {
    let site = Site::with(json!({"prm_scopes": ["read"]})).await;
    let authority = site.signed_in().await;
    site.turn(json!({"scope": "write"})).await;
    assert!(needs_auth(&ask(&authority, &site.url("/mcp")).await));
    // Another process, another day: `login`.
    site.turn(json!({"challenge": ""})).await;
    let signed = site.authority().build().sign_in(&browser()).await.unwrap();
    assert_eq!(signed.scopes, ["read", "write"]);
}

#[tokio::test]
async fn signing_out_ends_it_everywhere() {
    let site = Site::with(json!({"dcr_secret": true})).await;
    let authority = site.signed_in().await;
    let token = stored(site.folder.path())["tokens"]["access"]
        .as_str()
        .unwrap()
        .to_owned();
    let out = authority.sign_out().await.unwrap();
    assert!(out.existed && out.revoked && out.fault.is_none(), "{out:?}");
    assert_eq!(site.count("revoke").await, 2);
    assert!(authority.status().await.unwrap().is_none());
    assert!(needs_auth(&ask(&authority, &site.url("/mcp")).await));
    let sent = site.forms("/as/main/revoke").await;
    assert!(
        sent[0]
            .iter()
            .any(|(n, v)| n == "token_type_hint" && v == "refresh_token")
    );
    assert!(sent[1].contains(&("token".into(), token)));
    let again = authority.sign_out().await.unwrap();
    assert!(!again.existed);
}

#[tokio::test]
async fn signing_out_works_without_the_issuer() {
    let site = Site::with(json!({"revocation": false})).await;
    let authority = site.signed_in().await;
    let out = authority.sign_out().await.unwrap();
    assert!(out.existed && !out.revoked && out.fault.is_none());
    assert!(authority.status().await.unwrap().is_none());
}

#[tokio::test]
async fn the_person_says_no() {
    let site = Site::with(json!({"deny": true})).await;
    let fault = site
        .authority()
        .build()
        .sign_in(&browser())
        .await
        .unwrap_err();
    assert!(
        matches!(&fault, SignInError::Denied { error, .. } if error == "access_denied"),
        "{fault}"
    );
}

#[tokio::test]
async fn a_server_that_needs_a_sign_in_is_remembered_for_a_while() {
    let site = Site::start().await;
    let cache = NeedsAuth::open(site.folder.path());
    let authority = site.authority().needs_auth(cache.clone()).build();
    assert!(!cache.is_known("main", "hash"));
    assert!(needs_auth(&ask(&authority, &site.url("/mcp")).await));
    assert!(cache.is_known("main", "hash"));
    let text =
        std::fs::read_to_string(site.folder.path().join("mcp-needs-auth-cache.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value["main"]["timestamp"].as_u64().unwrap() > 1_700_000_000_000);
    authority.sign_in(&browser()).await.unwrap();
    assert!(!cache.is_known("main", "hash"));
}

#[tokio::test]
async fn the_listener_takes_our_answer_and_no_other() {
    let site = Site::start().await;
    let base = site.base.clone();
    let visit = Visit::Browser(Arc::new(move |page| {
        let base = base.clone();
        Box::pin(async move {
            tokio::spawn(async move {
                let (_, location, _) = http("GET", &page, "").await;
                let good = Url::parse(&location.unwrap()).unwrap();
                let with = |state: Option<&str>| {
                    let mut url = good.clone();
                    let pairs: Vec<_> = good.query_pairs().into_owned().collect();
                    url.query_pairs_mut()
                        .clear()
                        .extend_pairs(pairs.iter().filter(|(n, _)| n != "state"));
                    if let Some(state) = state {
                        url.query_pairs_mut().append_pair("state", state);
                    }
                    url
                };
                // No state, another's state, another path, another method: waited past.
                assert_eq!(http("GET", &with(None), "").await.0, 400);
                assert_eq!(http("GET", &with(Some("other")), "").await.0, 400);
                let mut elsewhere = good.clone();
                elsewhere.set_path("/other");
                assert_eq!(http("GET", &elsewhere, "").await.0, 404);
                assert_eq!(http("POST", &good, "").await.0, 405);
                let mut twice = good.clone();
                let state = good
                    .query_pairs()
                    .find(|(n, _)| n == "state")
                    .unwrap()
                    .1
                    .into_owned();
                twice.query_pairs_mut().append_pair("state", &state);
                assert_eq!(http("GET", &twice, "").await.0, 400);
                let (status, _, page) = http("GET", &good, "").await;
                assert_eq!(status, 200);
                assert!(page.contains("close this window") && !page.contains(&base));
            });
            Ok(())
        })
    }));
    site.authority().build().sign_in(&visit).await.unwrap();
}

#[tokio::test]
async fn pasted_addresses_are_checked() {
    let site = Site::start().await;
    type Twist = fn(Url) -> String;
    let twists: [(Twist, &str); 5] = [
        (|_| "not an address".into(), "not an address"),
        (
            |mut url| {
                url.set_port(Some(1)).unwrap();
                url.into()
            },
            "not for",
        ),
        (
            |mut url| {
                url.set_path("/callback/x");
                url.into()
            },
            "not for",
        ),
        (
            |mut url| {
                url.query_pairs_mut().append_pair("code", "b");
                url.into()
            },
            "twice",
        ),
        (
            |mut url| {
                url.set_query(Some("code=x&state=y"));
                url.into()
            },
            "state",
        ),
    ];
    for (twist, said) in twists {
        let visit = Visit::Paste(Arc::new(move |page| {
            Box::pin(async move {
                let (_, location, _) = http("GET", &page, "").await;
                Ok(twist(Url::parse(&location.unwrap()).unwrap()))
            })
        }));
        let fault = site.authority().build().sign_in(&visit).await.unwrap_err();
        assert!(matches!(fault, SignInError::Callback(_)), "{fault}");
        assert!(fault.to_string().contains(said), "{fault}");
    }
}

#[tokio::test]
async fn parallel_sign_ins_do_not_mix() {
    let site = Site::start().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let authority = site
            .authority_to(&format!("s{n}"), &format!("/mcp/s{n}"))
            .build();
        let url = site.url(&format!("/mcp/s{n}"));
        tasks.spawn(async move {
            authority.sign_in(&browser()).await.unwrap();
            assert!(served(&ask(&authority, &url).await));
        });
    }
    tasks.join_all().await;
}
