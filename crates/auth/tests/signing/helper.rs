//! The headers helper.

use super::{
    peer::{ask_with, needs_auth, served},
    site::Site,
};
use http::{HeaderMap, Method, Uri};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_auth::{HeadersHelper, SignInError};
use switchboard_testkit::LATE;
use switchboard_transport::http::{Asking, Authorize};

fn helper(command: &str) -> HeadersHelper {
    HeadersHelper::new(command, "my server", "https://x/mcp")
}

async fn headers(helper: &HeadersHelper) -> Result<HeaderMap, String> {
    let url: Uri = "https://x/mcp".parse().unwrap();
    let asking = Asking {
        method: &Method::POST,
        url: &url,
        let_in: false,
    };
    let headers = helper.headers(&asking).await;
    headers.map_err(|why| why.to_string())
}

#[tokio::test]
async fn what_it_prints_is_sent() {
    let helper = helper(
        r#"printf '{"X-Name":"%s","X-Url":"%s"}' "$CLAUDE_CODE_MCP_SERVER_NAME" "$CLAUDE_CODE_MCP_SERVER_URL""#,
    );
    let got = headers(&helper).await.unwrap();
    assert_eq!(got["x-name"], "my server");
    assert_eq!(got["x-url"], "https://x/mcp");
    assert!(got["x-name"].is_sensitive());
}

#[tokio::test]
async fn what_is_no_object_of_strings_is_a_failure() {
    for (command, said) in [
        ("echo '[]'", "JSON object"),
        ("echo canary-token", "JSON object"),
        ("echo '{\"a\": 1}'", "not text"),
        ("echo '{\"a b\": \"c\"}'", "name"),
        ("printf '{\"a\": \"x\\\\ny\"}'", "no header can have"),
        ("true", "JSON object"),
        ("echo why >&2; exit 3", "why"),
        ("no-such-program-here", "not found"),
    ] {
        let fault = helper(command).run().await.unwrap_err();
        assert!(matches!(fault, SignInError::Helper(_)));
        assert!(fault.to_string().contains(said), "{command}: {fault}");
        assert!(!fault.to_string().contains("canary"));
        assert!(headers(&helper(command)).await.is_err());
        // Unless the configured headers suffice, and that is said.
        assert!(
            headers(&helper(command).optional())
                .await
                .unwrap()
                .is_empty()
        );
    }
}

#[tokio::test]
async fn it_is_killed_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let command = format!("sleep 60 & echo $! > {}; sleep 60", pid.display());
    let begun = Instant::now();
    let fault = helper(&command)
        .within(Duration::from_millis(500))
        .run()
        .await
        .unwrap_err();
    assert!(fault.to_string().contains("did not end"), "{fault}");
    assert!(begun.elapsed() < Duration::from_secs(3) + LATE);
    let pid = std::fs::read_to_string(pid).unwrap().trim().to_owned();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let gone = state.map_or(true, |stat| stat.contains(") Z "));
    assert!(gone, "the grandchild {pid} lives");
}

#[tokio::test]
async fn it_runs_again_on_401_and_once_a_connection_otherwise() {
    let site = Site::start().await;
    site.signed_in().await;
    let token = super::site::stored(site.folder.path())["tokens"]["access"]
        .as_str()
        .unwrap()
        .to_owned();
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    // The first token is no good, the second is.
    let command = format!(
        "echo x >> {0}; if [ $(wc -l < {0}) -ge 2 ]; then echo '{{\"Authorization\":\"Bearer {token}\"}}'; else echo '{{\"Authorization\":\"Bearer old\"}}'; fi",
        count.display()
    );
    let helper: Arc<dyn Authorize> =
        Arc::new(HeadersHelper::new(&command, "s", site.url("/mcp").as_str()));
    for _ in 0..3 {
        assert!(served(&ask_with(helper.clone(), &site.url("/mcp")).await));
    }
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 2);
    // Never good: asked twice, and then it is the server's refusal.
    site.turn(json!({"expire": true})).await;
    assert!(needs_auth(&ask_with(helper, &site.url("/mcp")).await));
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 3);
}
