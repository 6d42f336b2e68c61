//! One walk of a person through an authorization page and back. Used for servers
//! and for identity providers alike.

use crate::{
    callback::{self, Expected, Listener},
    engine::{Engine, quiet},
    error::SignInError,
    settings::Visit,
};
use rmcp::transport::auth::{AuthorizationCallback, AuthorizationMetadata, OAuthTokenResponse};
use std::time::Duration;
use url::Url;

/// Where the browser will come back to: a listener, or a paste.
pub(crate) enum Return {
    Listener(Listener),
    /// No listener; the address is only a mark to be recognised by.
    Pasted(Url),
}

impl Return {
    /// Readies the way back. `preferred` is the port of the last time, with which
    /// a client may be registered.
    pub(crate) async fn ready(
        visit: &Visit,
        port: Option<u16>,
        preferred: Option<u16>,
    ) -> Result<Self, SignInError> {
        match visit {
            Visit::Browser(_) => Listener::bind(port, preferred).await.map(Self::Listener),
            Visit::Paste(_) => {
                let chosen = port.or(preferred).unwrap_or(8976);
                callback::redirect_uri(port.is_some(), chosen).map(Self::Pasted)
            }
        }
    }

    pub(crate) fn redirect_uri(&self) -> &Url {
        match self {
            Self::Listener(listener) => listener.redirect_uri(),
            Self::Pasted(url) => url,
        }
    }
}

/// Sends the person to `page` and exchanges what comes back for tokens.
pub(crate) async fn through_page(
    engine: &Engine,
    metadata: &AuthorizationMetadata,
    page: Url,
    back: Return,
    visit: &Visit,
    patience: Duration,
) -> Result<OAuthTokenResponse, SignInError> {
    engine.hook.check(&page)?;
    let state = page
        .query_pairs()
        .find(|(name, _)| name == "state")
        .map(|(_, state)| state.into_owned())
        .ok_or_else(|| SignInError::Callback("the question holds no state".into()))?;
    let expected = Expected {
        redirect_uri: back.redirect_uri().clone(),
        state,
        issuer: metadata.issuer.clone(),
        says_issuer: metadata
            .additional_fields
            .get("authorization_response_iss_parameter_supported")
            .is_some_and(|says| says == true),
    };
    let answer = tokio::time::timeout(patience, visited(page, back, visit, expected.clone()))
        .await
        .map_err(|_| SignInError::TimedOut(patience))??;
    expected.check(&answer)?;
    let callback = AuthorizationCallback::from_redirect_url(answer.as_str())
        .map_err(|_| SignInError::Callback("it cannot be read".into()))?;
    engine.hook.confide(&callback.code.clone().into());
    let work = engine.manager.exchange_code_for_token_with_issuer(
        &callback.code,
        &callback.csrf_token,
        callback.issuer.as_deref(),
    );
    quiet(work)
        .await
        .map_err(|fault| engine.token_fault(&fault))
}

async fn visited(
    page: Url,
    back: Return,
    visit: &Visit,
    expected: Expected,
) -> Result<Url, SignInError> {
    match (visit, back) {
        (Visit::Browser(open), Return::Listener(listener)) => {
            let came = listener.wait(expected);
            // A browser that does not open is no reason to give up: the address was
            // shown, and can be opened by hand.
            let opened = async {
                if let Err(why) = open(page).await {
                    tracing::warn!(%why, "the browser was not opened");
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                came = came => came,
                () = opened => Err(SignInError::Callback("the browser is gone".into())),
            }
        }
        (Visit::Paste(prompt), _) => {
            let pasted = prompt(page).await;
            let pasted = pasted.map_err(|why| SignInError::Callback(why.to_string()))?;
            Url::parse(pasted.trim())
                .map_err(|_| SignInError::Callback("what was pasted is not an address".into()))
        }
        (Visit::Browser(_), Return::Pasted(_)) => {
            Err(SignInError::Callback("there is no way back".into()))
        }
    }
}
