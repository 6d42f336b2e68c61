//! Getting in in our own name: client credentials with a secret or a signed
//! assertion (SEP-1046).

use crate::{
    discovery::Discovered,
    engine::{Engine, quiet, tokens},
    error::SignInError,
    record::Tokens,
    secret::Secret,
};
use rmcp::transport::auth::{ClientCredentialsConfig, JwtSigningAlgorithm};
use switchboard_tasks as tasks;

/// A client that has access of its own.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The client's id.
    pub client_id: String,
    /// How it proves itself.
    pub proof: ClientProof,
}

/// How a client proves itself at the token endpoint.
#[derive(Clone, Debug)]
pub enum ClientProof {
    /// With a secret.
    Secret(Secret),
    /// With the secret that the vault keeps for it.
    Kept,
    /// With an assertion signed by this key (`private_key_jwt`).
    PrivateKey {
        /// The key, in PEM.
        pem: Secret,
        /// `RS256`, `RS384`, `RS512`, `ES256` or `ES384`.
        algorithm: String,
    },
}

impl ClientCredentials {
    /// Gets a token.
    pub(crate) async fn obtain(
        &self,
        mut engine: Engine,
        found: &Discovered,
        scopes: Vec<String>,
    ) -> Result<(Tokens, Vec<String>), SignInError> {
        let config = self.config(&engine, found, scopes.clone())?;
        let manager = &mut engine.manager;
        let readied = manager
            .validate_client_credentials_metadata(&config)
            .and_then(|()| manager.configure_client_credentials(&config));
        readied.map_err(|fault| SignInError::Discovery(engine.hook.explain(&fault)))?;
        // The engine's future is tied to one thread (rmcp 3.8.0 keeps a form's encoder
        // over an await), so it gets one.
        let here = tokio::runtime::Handle::current();
        let asked = tasks::blocking(move || {
            let answer = here.block_on(quiet(engine.manager.exchange_client_credentials(&config)));
            answer.map_err(|fault| engine.token_fault(&fault))
        });
        let answer = asked
            .await
            .map_err(|gone| SignInError::Token(gone.to_string()))??;
        let (mut received, granted) = tokens(&answer)?;
        // The credentials themselves renew (RFC 6749 §4.4.3).
        received.refresh = None;
        Ok((received, granted.unwrap_or(scopes)))
    }

    fn config(
        &self,
        engine: &Engine,
        found: &Discovered,
        scopes: Vec<String>,
    ) -> Result<ClientCredentialsConfig, SignInError> {
        let resource = Some(found.resource.clone());
        let client_id = self.client_id.clone();
        Ok(match &self.proof {
            ClientProof::Secret(secret) => {
                engine.hook.confide(secret);
                ClientCredentialsConfig::ClientSecret {
                    client_id,
                    client_secret: secret.expose().to_owned(),
                    scopes,
                    resource,
                }
            }
            ClientProof::Kept => {
                return Err(SignInError::Settings(
                    "the client's secret is not known".into(),
                ));
            }
            ClientProof::PrivateKey { pem, algorithm } => ClientCredentialsConfig::PrivateKeyJwt {
                client_id,
                signing_key: pem.expose().as_bytes().to_vec(),
                signing_algorithm: signing(algorithm)?,
                token_endpoint_audience: None,
                scopes,
                resource,
            },
        })
    }
}

fn signing(name: &str) -> Result<JwtSigningAlgorithm, SignInError> {
    Ok(match name {
        "RS256" => JwtSigningAlgorithm::RS256,
        "RS384" => JwtSigningAlgorithm::RS384,
        "RS512" => JwtSigningAlgorithm::RS512,
        "ES256" => JwtSigningAlgorithm::ES256,
        "ES384" => JwtSigningAlgorithm::ES384,
        other => {
            return Err(SignInError::Settings(format!(
                "{other} is not a signing algorithm that is known: RS256, RS384, RS512, ES256, ES384"
            )));
        }
    })
}
