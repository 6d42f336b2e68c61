//! Getting in as a workload: the platform's own token, exchanged for an access
//! token (RFC 7523, SEP-1933).

use crate::{
    discovery::Discovered, engine::Engine, error::SignInError, net::Outbound, record::Tokens,
    secret::Secret, settings::AnyError,
};
use serde_json::Value;
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};
use switchboard_transport::http::BoxFuture;
use url::Url;

/// Gives the platform's token, fresh each time: platforms replace it under way.
pub type AssertionSource =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Secret, AnyError>> + Send + Sync>;

/// A file that holds no token.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
struct Unreadable {
    path: PathBuf,
    source: std::io::Error,
}

/// A workload's identity.
#[derive(Clone)]
pub struct Workload {
    /// The client's id, where the authorization server wants one.
    pub client_id: Option<String>,
    /// Where the platform's token comes from.
    pub assertion: AssertionSource,
}

impl Workload {
    /// A platform that keeps its token in a file, as Kubernetes does.
    pub fn file(client_id: Option<String>, path: PathBuf) -> Self {
        let read = move || -> BoxFuture<'static, Result<Secret, AnyError>> {
            let path = path.clone();
            Box::pin(async move {
                let text = tokio::fs::read_to_string(&path).await;
                text.map(|text| Secret::new(text.trim()))
                    .map_err(|source| Unreadable { path, source }.into())
            })
        };
        Self {
            client_id,
            assertion: Arc::new(read),
        }
    }

    /// Gets a token. Asked once: an assertion that was refused is not tried again.
    pub(crate) async fn obtain(
        &self,
        engine: &Engine,
        found: &Discovered,
        scopes: Vec<String>,
    ) -> Result<(Tokens, Vec<String>), SignInError> {
        let assertion = (self.assertion)().await;
        let assertion = assertion.map_err(|fault| SignInError::Settings(fault.to_string()))?;
        engine.hook.confide(&assertion);
        let scope = scopes.join(" ");
        let mut pairs = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", assertion.expose()),
            ("resource", found.resource.as_str()),
        ];
        if let Some(id) = &self.client_id {
            pairs.push(("client_id", id));
        }
        if !scope.is_empty() {
            pairs.push(("scope", &scope));
        }
        let url = Url::parse(&found.metadata.token_endpoint)
            .map_err(|_| SignInError::Refused("the token endpoint is not an address".into()))?;
        let sent = engine.hook.token_request(Outbound::form(url, &pairs)).await;
        let answer =
            sent.map_err(|fault| SignInError::Token(engine.hook.scrub(&fault.to_string())))?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let Some(access) = body["access_token"]
            .as_str()
            .filter(|_| answer.status.is_success())
        else {
            let error = body["error"].as_str().unwrap_or("no token in the answer");
            let more = body["error_description"].as_str().unwrap_or_default();
            return Err(SignInError::Token(engine.hook.scrub(&format!(
                "HTTP {}: {error} {more}",
                answer.status.as_u16()
            ))));
        };
        let life = body["expires_in"].as_u64().map(Duration::from_secs);
        let mut tokens = Tokens::received(Secret::new(access), None, life);
        tokens.bound = body["token_type"]
            .as_str()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("dpop"));
        let granted = body["scope"].as_str().filter(|scope| !scope.is_empty());
        let granted = granted.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Ok((tokens, granted.unwrap_or(scopes)))
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workload")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
