//! Cross-application access (enterprise-managed authorization): the enterprise's
//! identity, exchanged at its provider for an assertion to one server's issuer
//! (RFC 8693), and that for an access token (RFC 7523). Nobody signs in twice.

use crate::{
    discovery::{Discovered, strings},
    engine::{Engine, quiet},
    error::SignInError,
    idp::{Identity, IdentityProvider},
    net::NetLimits,
    record::Tokens,
    secret::Secret,
    settings::{OauthSettings, Visit},
    vault::Vault,
};
use oauth2::ClientSecret;
use rmcp::transport::auth::{
    AuthorizationMetadata,
    enterprise::{
        EmaAuthorizationServer, EmaClientAuthentication, EmaError, EmaExchangeRequest,
        EmaExchangeStage,
    },
};

/// A server that trusts the enterprise's identity provider.
#[derive(Clone, Debug)]
pub struct Enterprise {
    /// The provider, the same for all servers.
    pub idp: IdentityProvider,
    /// Our client at the server's issuer.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Option<Secret>,
}

/// Whether the environment asks for it, as Claude Code does.
pub fn enabled_by_environment() -> bool {
    // tidy: this function is the question, and whoever assembles asks it.
    std::env::var("CLAUDE_CODE_ENABLE_XAA").is_ok_and(|value| value == "1" || value == "true")
}

impl Enterprise {
    /// Gets a token, with a new sign-in where the provider wants one and a person
    /// is there.
    pub(crate) async fn obtain(
        &self,
        engine: &Engine,
        found: &Discovered,
        scopes: &[String],
        around: &Around<'_>,
    ) -> Result<(Tokens, Vec<String>), SignInError> {
        for again in [false, true] {
            let identity = self
                .idp
                .identity(around.vault, around.visit, around.settings, around.limits)
                .await?;
            match self.exchange(engine, found, scopes, &identity).await {
                Ok(got) => return Ok(got),
                Err(
                    EmaError::InvalidGrant(EmaExchangeStage::IdentityProvider)
                    | EmaError::InsufficientUserAuthentication(EmaExchangeStage::IdentityProvider),
                ) if !again && self.idp.id_token.is_none() => {
                    self.idp.discard(around.vault, &identity.id_token).await?;
                }
                Err(fault) => return Err(told(engine, &identity, &fault)),
            }
        }
        Err(SignInError::NeedsSignIn(
            "the identity provider refuses its own token".into(),
        ))
    }

    async fn exchange(
        &self,
        engine: &Engine,
        found: &Discovered,
        scopes: &[String],
        identity: &Identity,
    ) -> Result<(Tokens, Vec<String>), EmaError> {
        let methods = &found.metadata;
        let resource_as = EmaAuthorizationServer::new(
            &found.issuer,
            &found.metadata.token_endpoint,
            &self.client_id,
        )
        .with_client_authentication(proof(self.client_secret.as_ref(), Some(methods)));
        let idp = EmaAuthorizationServer::new(
            &identity.issuer,
            &identity.token_endpoint,
            &self.idp.client_id,
        )
        .with_client_authentication(proof(self.idp.client_secret.as_ref(), None));
        for secret in [self.client_secret.as_ref(), Some(&identity.id_token)] {
            secret.inspect(|secret| engine.hook.confide(secret));
        }
        let token = identity.id_token.expose();
        let request =
            EmaExchangeRequest::new_with_id_token(idp, resource_as, &found.resource, token)
                .with_scopes(scopes.iter().cloned());
        let got = quiet(request.exchange(&*identity.hook, &*engine.hook)).await?;
        let tokens = Tokens::received(
            Secret::new(got.access_token.secret().as_str()),
            None,
            got.expires_in,
        );
        let mut granted: Vec<String> = got.scopes.into_iter().collect();
        granted.sort();
        Ok((tokens, granted))
    }
}

/// What an exchange happens within.
pub(crate) struct Around<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) visit: Option<&'a Visit>,
    pub(crate) settings: &'a OauthSettings,
    pub(crate) limits: NetLimits,
}

fn proof(
    secret: Option<&Secret>,
    metadata: Option<&AuthorizationMetadata>,
) -> EmaClientAuthentication {
    let Some(secret) = secret else {
        return EmaClientAuthentication::None;
    };
    let secret = ClientSecret::new(secret.expose().to_owned());
    let methods = metadata
        .and_then(|m| {
            m.additional_fields
                .get("token_endpoint_auth_methods_supported")
        })
        .map(strings)
        .unwrap_or_default();
    let has = |wanted: &str| methods.iter().any(|method| method == wanted);
    if has("client_secret_post") && !has("client_secret_basic") {
        EmaClientAuthentication::ClientSecretPost(secret)
    } else {
        EmaClientAuthentication::ClientSecretBasic(secret)
    }
}

fn told(engine: &Engine, identity: &Identity, fault: &EmaError) -> SignInError {
    match fault {
        EmaError::RequestFailed(EmaExchangeStage::IdentityProvider) => {
            SignInError::Token(identity.hook.explain(fault))
        }
        EmaError::RequestFailed(_) => SignInError::Token(engine.hook.explain(fault)),
        EmaError::InvalidGrant(_) | EmaError::InsufficientUserAuthentication(_) => {
            SignInError::NeedsSignIn(fault.to_string())
        }
        other => SignInError::Token(other.to_string()),
    }
}
