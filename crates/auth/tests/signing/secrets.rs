//! Canaries: no secret in any log, error or `Debug`, whatever the level (trap 10).

use super::{
    peer::ask,
    site::{Site, browser, make_expired, settings, stored},
};
use serde_json::json;
use std::{
    io,
    sync::{Arc, Mutex},
};
use switchboard_auth::{OauthSettings, Secret};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

#[derive(Clone, Default)]
struct Caught(Arc<Mutex<Vec<u8>>>);

impl io::Write for Caught {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Caught {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn trap_10_nothing_in_the_logs() {
    let caught = Caught::default();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_writer(caught.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let site = Site::with(json!({"clients": {"by-hand": {"secret": "canary-secret"}}})).await;
    let settings = OauthSettings {
        client_id: Some("by-hand".into()),
        client_secret: Some(Secret::new("canary-secret")),
        ..settings()
    };
    let authority = site.authority().settings(settings).build();
    authority.sign_in(&browser()).await.unwrap();
    let _ = ask(&authority, &site.url("/mcp")).await;
    make_expired(site.folder.path());
    authority.reload();
    let _ = ask(&authority, &site.url("/mcp")).await;
    let record = stored(site.folder.path());
    authority.sign_out().await.unwrap();
    tracing::info!("the log works");
    let log = String::from_utf8(caught.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log works"));
    for canary in ["canary-secret", "access-", "refresh-", "code-"] {
        assert!(!log.contains(canary), "{canary} in {log}");
    }
    assert!(
        record["tokens"]["access"]
            .as_str()
            .unwrap()
            .starts_with("access-")
    );
}

#[tokio::test]
async fn errors_do_not_repeat_what_was_confided() {
    // A server that echoes the secret in its error.
    let site = Site::with(json!({"clients": {"by-hand": {"secret": "other"}}})).await;
    let settings = OauthSettings {
        client_id: Some("by-hand".into()),
        client_secret: Some(Secret::new("canary-secret")),
        ..settings()
    };
    let fault = site
        .authority()
        .settings(settings.clone())
        .build()
        .sign_in(&browser())
        .await;
    let told = format!("{0} {0:?}", fault.unwrap_err());
    assert!(!told.contains("canary"), "{told}");
    assert!(
        !format!(
            "{settings:?} {:?}",
            site.authority().settings(settings.clone())
        )
        .contains("canary")
    );
}

#[tokio::test]
async fn nothing_but_the_form_and_the_header_carries_a_secret() {
    let site = Site::with(json!({"dcr_secret": true})).await;
    let authority = site.signed_in().await;
    let _ = ask(&authority, &site.url("/mcp")).await;
    let record = stored(site.folder.path());
    let secrets: Vec<String> = [
        &record["tokens"]["access"],
        &record["tokens"]["refresh"],
        &record["client"]["secret"],
    ]
    .iter()
    .map(|value| value.as_str().unwrap().to_owned())
    .collect();
    for entry in site.log().await {
        let (path, query) = (entry["path"].to_string(), entry["query"].to_string());
        assert!(
            secrets
                .iter()
                .all(|s| !path.contains(s) && !query.contains(s))
        );
    }
}
