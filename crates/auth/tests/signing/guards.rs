//! Section D of the faults: what a server may not do to us.

use super::site::{Site, browser, counted_browser, paste, settings, stored};
use serde_json::json;
use std::sync::atomic::Ordering;
use switchboard_auth::{Authority, OauthSettings, Server, SignInError};
use url::Url;

/// Signs in at a site with these knobs, which must fail without anybody's being
/// sent to a browser.
async fn refused_unseen(knobs: serde_json::Value) -> SignInError {
    let site = Site::with(knobs.clone()).await;
    let (visit, opened) = counted_browser();
    let fault = site.authority().build().sign_in(&visit).await.unwrap_err();
    assert_eq!(opened.load(Ordering::SeqCst), 0, "{knobs}");
    assert_eq!(site.count("authorize").await, 0, "{knobs}");
    assert_eq!(site.count("elsewhere").await, 0, "{knobs}");
    fault
}

#[tokio::test]
async fn fault_56_no_page_that_is_not_a_web_page() {
    for page in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "--flag",
        "$(touch /tmp/x)",
        "http://auth.example.com/authorize",
        "https://user:pw@auth.example.com/authorize",
        "https://169.254.169.254/authorize",
        "vscode://x/y",
    ] {
        let fault = refused_unseen(json!({"metadata": {"authorization_endpoint": page}})).await;
        assert!(matches!(fault, SignInError::Refused(_)), "{page}: {fault}");
    }
}

#[tokio::test]
async fn fault_57_no_address_inside() {
    let inside = [
        "http://169.254.169.254/latest",
        "https://169.254.169.254/latest",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://0xa9.0xfe.0xa9.0xfe/",
        "http://10.0.0.1/",
        "https://[fd00::1]/",
        "http://0.0.0.0/",
    ];
    for address in inside {
        for knobs in [
            json!({"metadata": {"token_endpoint": address}}),
            json!({"metadata": {"registration_endpoint": address}}),
            json!({"metadata": {"revocation_endpoint": address}}),
            json!({"metadata": {"jwks_uri": address}}),
            json!({"prm_as": [address]}),
            json!({"pointer": false, "challenge": format!("resource_metadata=\"{address}\"")}),
        ] {
            let fault = refused_unseen(knobs.clone()).await;
            let told = fault.to_string();
            let guarded = matches!(fault, SignInError::Refused(_))
                || told.contains("may not send us to")
                || told.contains("none published usable");
            assert!(guarded, "{knobs}: {told}");
        }
    }
}

#[tokio::test]
async fn fault_57_a_public_server_cannot_lead_to_this_machine() {
    // By name, by number, and by a name that resolves to it (rebinding).
    let site = Site::start().await;
    for issuer in [
        site.base.clone(),
        site.base.replace("127.0.0.1", "localhost"),
    ] {
        let server = Server {
            name: "public".into(),
            url: Url::parse("https://mcp.example.com/mcp").unwrap(),
            config_hash: "h".into(),
        };
        let settings = OauthSettings {
            auth_server_metadata_url: Some(
                Url::parse(&format!(
                    "{issuer}/.well-known/oauth-authorization-server/as/main"
                ))
                .unwrap(),
            ),
            ..settings()
        };
        let authority = Authority::builder(server, site.vault())
            .settings(settings)
            .build();
        let fault = authority.sign_in(&browser()).await.unwrap_err();
        assert!(matches!(fault, SignInError::Refused(_)), "{fault}");
    }
    assert_eq!(site.count("as_metadata").await, 0);
}

#[tokio::test]
async fn fault_58_another_resources_document() {
    for resource in ["https://other.example/mcp", "http://127.0.0.1:1/mcp"] {
        let fault = refused_unseen(json!({"prm_resource": resource})).await;
        assert!(fault.to_string().contains("resource"), "{fault}");
        // Also where nobody pointed at it.
        let fault = refused_unseen(json!({"prm_resource": resource, "pointer": false})).await;
        assert!(fault.to_string().contains("another resource"), "{fault}");
    }
}

#[tokio::test]
async fn fault_59_another_issuer() {
    for issuer in [json!("https://evil.example"), json!(null)] {
        let fault = refused_unseen(json!({"metadata": {"issuer": issuer}})).await;
        assert!(matches!(fault, SignInError::Issuer { .. }), "{fault}");
    }
}

#[tokio::test]
async fn fault_59_iss_in_the_answer() {
    for deny in [false, true] {
        for iss in ["missing", "wrong", "slash"] {
            for visit in [browser(), paste()] {
                let site = Site::with(json!({"iss": iss, "deny": deny})).await;
                let fault = site.authority().build().sign_in(&visit).await.unwrap_err();
                assert!(
                    matches!(fault, SignInError::Issuer { .. }),
                    "{iss}, denied {deny}: {fault}"
                );
                assert_eq!(site.count("token.authorization_code").await, 0);
            }
        }
    }
    // Not promised, so it may be missing; but not wrong.
    let silent = json!({"authorization_response_iss_parameter_supported": null});
    let site = Site::with(json!({"iss": "missing", "metadata": silent})).await;
    site.authority().build().sign_in(&browser()).await.unwrap();
    let site = Site::with(json!({"iss": "wrong", "metadata": silent})).await;
    let fault = site
        .authority()
        .build()
        .sign_in(&browser())
        .await
        .unwrap_err();
    assert!(matches!(fault, SignInError::Issuer { .. }), "{fault}");
}

#[tokio::test]
async fn fault_60_no_pkce() {
    for methods in [json!(["plain"]), json!([]), json!(null)] {
        let knobs = json!({"metadata": {"code_challenge_methods_supported": methods}});
        let fault = refused_unseen(knobs).await;
        assert!(fault.to_string().contains("S256"), "{fault}");
    }
}

#[tokio::test]
async fn fault_69_another_authorization_server() {
    let site = Site::with(json!({"dcr_secret": true})).await;
    let authority = site.signed_in().await;
    let before = stored(site.folder.path());
    let old: Vec<String> = [
        &before["tokens"]["refresh"],
        &before["client"]["secret"],
        &before["client"]["id"],
    ]
    .iter()
    .map(|value| value.as_str().unwrap().to_owned())
    .collect();
    site.turn(json!({"as": ["second"]})).await;
    // Unattended: refused, and the refresh token goes nowhere.
    assert!(super::peer::needs_auth(
        &super::peer::ask(&authority, &site.url("/mcp")).await
    ));
    assert_eq!(site.count("token.refresh_token").await, 0);
    // Signing in registers anew.
    authority.sign_in(&browser()).await.unwrap();
    assert!(super::peer::served(
        &super::peer::ask(&authority, &site.url("/mcp")).await
    ));
    assert_eq!(site.count("register").await, 2);
    for entry in site.log().await {
        if entry["path"].as_str().unwrap().starts_with("/as/second") {
            let text = entry.to_string();
            assert!(old.iter().all(|secret| !text.contains(secret)), "{text}");
        }
    }
}

#[tokio::test]
async fn fault_69_a_configured_secret_stays_with_its_issuer() {
    let site = Site::with(json!({"clients": {"by-hand": {"secret": "canary-secret"}}})).await;
    let settings = OauthSettings {
        client_id: Some("by-hand".into()),
        client_secret: Some(switchboard_auth::Secret::new("canary-secret")),
        ..settings()
    };
    let authority = site.authority().settings(settings).build();
    authority.sign_in(&browser()).await.unwrap();
    site.turn(json!({"as": ["second"]})).await;
    let fault = authority.sign_in(&browser()).await.unwrap_err();
    assert!(matches!(fault, SignInError::Issuer { .. }), "{fault}");
    assert!(!site.log().await.iter().any(|entry| {
        entry["path"].as_str().unwrap().starts_with("/as/second") && entry["method"] == "POST"
    }));
    // Signing out gives the secret free.
    authority.sign_out().await.unwrap();
    authority.sign_in(&browser()).await.unwrap();
}

#[tokio::test]
async fn fault_70_redirects_and_floods_at_the_token_endpoint() {
    for fault in ["redirect", "big"] {
        let site = Site::with(json!({"fault": fault})).await;
        let refused = site
            .authority()
            .build()
            .sign_in(&browser())
            .await
            .unwrap_err();
        assert!(matches!(refused, SignInError::Token(_)), "{refused}");
        assert_eq!(site.count("elsewhere").await, 0);
    }
    let site = Site::with(json!({"register_fault": "redirect"})).await;
    let refused = site
        .authority()
        .build()
        .sign_in(&browser())
        .await
        .unwrap_err();
    assert!(matches!(refused, SignInError::Registration(_)), "{refused}");
    assert_eq!(site.count("elsewhere").await, 0);
}

#[tokio::test]
async fn fault_68_endless_step_up() {
    // One sign-in, one for the scope that is asked for; asking again would not help.
    // And where it is another scope each time: three more, and that is that.
    for (demand, visits) in [(json!(true), 2), (json!("fresh"), 4)] {
        let site = Site::with(json!({"scope": "more", "always_403": demand})).await;
        let (visit, opened) = counted_browser();
        let authority = site.authority().attended(visit).build();
        for _ in 0..4 {
            assert!(super::peer::needs_auth(
                &super::peer::ask(&authority, &site.url("/mcp")).await
            ));
        }
        assert_eq!(opened.load(Ordering::SeqCst), visits);
    }
}

#[tokio::test]
async fn fault_64_a_token_goes_to_its_own_server_only() {
    let site = Site::start().await;
    let one = site.authority_to("one", "/mcp/one").build();
    let two = site.authority_to("two", "/mcp/two").build();
    one.sign_in(&browser()).await.unwrap();
    two.sign_in(&browser()).await.unwrap();
    for (authority, path) in [(&one, "/mcp/one"), (&two, "/mcp/two")] {
        assert!(super::peer::served(
            &super::peer::ask(authority, &site.url(path)).await
        ));
    }
    let log = site.log().await;
    let sent = |path: &str| -> Vec<String> {
        log.iter()
            .filter(|entry| entry["path"] == path)
            .filter_map(|entry| entry["authorization"].as_str().map(str::to_owned))
            .collect()
    };
    assert!(!sent("/mcp/one").is_empty());
    assert!(
        sent("/mcp/one")
            .iter()
            .all(|token| !sent("/mcp/two").contains(token))
    );
    // Never in an address (fault 65).
    assert!(
        log.iter()
            .all(|entry| !entry["query"].to_string().contains("access-"))
    );
}
