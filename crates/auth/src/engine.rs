//! rmcp's OAuth engine, set up for one server: our hook under it, its logs (which
//! hold codes and tokens) silenced, its answers turned into ours.

use crate::{
    address::Guard,
    engine_http::{self, Hook, Last},
    error::SignInError,
    net::NetLimits,
    record::Tokens,
    secret::Secret,
    settings::OauthSettings,
};
use oauth2::TokenResponse;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthTokenResponse};
use std::sync::Arc;
use tracing::{instrument::WithSubscriber, subscriber::NoSubscriber};
use url::Url;

/// The engine and what it stands on. Lives for one operation: it keeps tokens in
/// memory that nobody wipes.
pub(crate) struct Engine {
    pub(crate) hook: Arc<Hook>,
    pub(crate) manager: AuthorizationManager,
}

impl Engine {
    pub(crate) async fn new(
        base: &Url,
        settings: &OauthSettings,
        limits: NetLimits,
    ) -> Result<Self, SignInError> {
        let guard = Guard::new(base, settings.allow_private_addresses);
        let hook = Hook::new(base.clone(), guard, limits, settings.journal.clone());
        let client = engine_http::client(&hook);
        let manager = AuthorizationManager::new_with_oauth_http_client(base.as_str(), client)
            .await
            .map_err(|fault| SignInError::Settings(hook.scrub(&fault.to_string())))?;
        Ok(Self { hook, manager })
    }

    /// What a failed token request means.
    pub(crate) fn token_fault(&self, fault: &AuthError) -> SignInError {
        let why = self.hook.explain(fault);
        // No waiting will mend it: the registration is gone, or never was good.
        if let Some(Last::Answered { status, error, .. }) = self.hook.last()
            && status.is_client_error()
            && status.as_u16() != 429
            && let Some("invalid_client" | "unauthorized_client") = error.as_deref()
        {
            return SignInError::Client(why);
        }
        match fault {
            AuthError::TokenRefreshRejected(_) => SignInError::Withdrawn(why),
            _ => SignInError::Token(why),
        }
    }
}

/// Runs a piece of the engine without its logs: at debug level they hold the
/// authorization code and the tokens, whatever filter is set.
pub(crate) async fn quiet<F: Future>(work: F) -> F::Output {
    work.with_subscriber(NoSubscriber::default()).await
}

/// What the engine got, as we keep it, and the scopes that the answer names.
pub(crate) fn tokens(
    answer: &OAuthTokenResponse,
) -> Result<(Tokens, Option<Vec<String>>), SignInError> {
    let kind = answer.token_type().as_ref().to_ascii_lowercase();
    if kind != "bearer" && kind != "dpop" {
        return Err(SignInError::Token(format!(
            "it gave a token of the unknown type {}",
            crate::error::shown(&kind)
        )));
    }
    let mut tokens = Tokens::received(
        Secret::new(answer.access_token().secret().as_str()),
        answer
            .refresh_token()
            .map(|token| Secret::new(token.secret().as_str())),
        answer.expires_in(),
    );
    tokens.bound = kind == "dpop";
    let scopes = answer
        .scopes()
        .map(|scopes| scopes.iter().map(|scope| scope.to_string()).collect());
    Ok((tokens, scopes))
}
