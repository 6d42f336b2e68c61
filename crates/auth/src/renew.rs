//! Renewing a sign-in with its refresh token, and ending it (RFC 7009). What may
//! be lost on the way is decided here: nothing, unless the server says so itself.

use crate::{
    discovery::{strings, text},
    dpop::Dpop,
    engine::{Engine, quiet, tokens},
    engine_http::{Last, ResourceParam},
    error::SignInError,
    flow::configure,
    limits,
    net::{NetError, Outbound},
    record::{Client, Record, Tokens},
    secret::Secret,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, header};
use rmcp::transport::auth::{
    AuthorizationMetadata, CredentialStore, InMemoryCredentialStore, OAuthTokenResponse,
    StoredCredentials,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use url::Url;

/// A renewal that failed.
pub(crate) struct NotRenewed {
    pub(crate) fault: SignInError,
    /// Whether the server may have used up the refresh token all the same. Trying
    /// again may then look like theft to it, so that is left until the access
    /// token has ended and there is nothing to lose.
    pub(crate) doubtful: bool,
    /// When the server wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
}

impl NotRenewed {
    /// How long nobody should try again.
    pub(crate) fn wait(&self, tokens: Option<&Tokens>, times: u32) -> Duration {
        let backoff = limits::FIRST_RENEWAL_WAIT
            .saturating_mul(2u32.saturating_pow(times.min(8)))
            .min(limits::LONGEST_RENEWAL_WAIT);
        let backoff = self
            .retry_after
            .unwrap_or(backoff)
            .min(limits::LONGEST_RENEWAL_WAIT * 5);
        let life = tokens
            .and_then(|tokens| tokens.expires_at)
            .map(|end| Duration::from_millis(end.saturating_sub(crate::clock::millis())));
        match life {
            Some(left) if self.doubtful => backoff.max(left),
            _ => backoff,
        }
    }

    /// The sign-in as it is after this.
    pub(crate) fn noted(&self, record: &Record) -> Record {
        let mut changed = record.clone();
        if self.fault.needs_sign_in() {
            // The server's own word. The access token may live on; the rest is over.
            if let Some(tokens) = &mut changed.tokens {
                tokens.refresh = None;
            }
            // A registration that is gone is no good for the next sign-in either.
            if matches!(self.fault, SignInError::Client(_)) {
                changed.forget_registration();
            }
        } else {
            let times = changed.trouble.as_ref().map_or(0, |trouble| trouble.times);
            let wait = self.wait(changed.tokens.as_ref(), times);
            changed.note_trouble(self.fault.to_string(), wait);
        }
        changed
    }
}

// Whoever shows a refresh token has ended that when another may show it again.
const _: () = assert!(limits::RENEWAL_SHOWN.as_secs() < limits::RENEWAL_UNKNOWN.as_secs());

/// Asks for new tokens. The stored metadata is used, so that the refresh token
/// goes to the issuer that gave it and to no other.
pub(crate) async fn refresh(
    engine: &mut Engine,
    record: &Record,
    dpop: Option<Arc<Dpop>>,
) -> Result<Record, NotRenewed> {
    let sure = |fault| NotRenewed {
        fault,
        doubtful: false,
        retry_after: None,
    };
    let (mut client, refresh) = prepare(engine, record, dpop).await.map_err(sure)?;
    let asked = quiet(engine.manager.refresh_token());
    let answer = match tokio::time::timeout(limits::RENEWAL_SHOWN, asked).await {
        Ok(Ok(answer)) => answer,
        Err(_) => {
            let why = "the authorization server took too long to renew it";
            return Err(NotRenewed {
                fault: SignInError::Token(why.into()),
                doubtful: true,
                retry_after: None,
            });
        }
        Ok(Err(fault)) => {
            return Err(NotRenewed {
                doubtful: doubtful(engine.hook.last()),
                retry_after: match engine.hook.last() {
                    Some(Last::Answered { retry_after, .. }) => retry_after,
                    _ => None,
                },
                fault: engine.token_fault(&fault),
            });
        }
    };
    let (mut received, granted) = tokens(&answer).map_err(sure)?;
    client.proving = engine.hook.proving();
    // A server that does not rotate gives none back: the old one stays good.
    received.refresh = received.refresh.or(Some(refresh));
    let id_token = answer.extra_fields().0.get("id_token");
    let id_token = id_token.and_then(|token| token.as_str()).map(Secret::new);
    Ok(Record {
        id_token: id_token.or_else(|| record.id_token.clone()),
        tokens: Some(received),
        scopes: granted.unwrap_or_else(|| record.scopes.clone()),
        client: Some(client),
        trouble: None,
        ..record.clone()
    })
}

async fn prepare(
    engine: &mut Engine,
    record: &Record,
    dpop: Option<Arc<Dpop>>,
) -> Result<(Client, Secret), SignInError> {
    let gone = |what: &str| SignInError::NeedsSignIn(format!("the stored sign-in has no {what}"));
    let client = record.client.clone().ok_or_else(|| gone("client"))?;
    let tokens = record.tokens.as_ref().ok_or_else(|| gone("token"))?;
    let refresh = tokens
        .refresh
        .clone()
        .ok_or_else(|| gone("refresh token"))?;
    let metadata = metadata(record).ok_or_else(|| gone("authorization server"))?;
    engine.manager.set_metadata(metadata);
    configure(engine, &client)?;
    engine.hook.confide(&refresh);
    engine.hook.set_dpop(dpop);
    if let Some(resource) = &record.resource {
        engine
            .hook
            .set_resource(ResourceParam::Is(resource.clone()));
    }
    let stored: OAuthTokenResponse = serde_json::from_value(json!({
        "access_token": tokens.access.expose(),
        "token_type": "Bearer",
        "refresh_token": refresh.expose(),
    }))
    .map_err(|_| gone("usable token"))?;
    // No scopes: a refresh without any asks for what was granted (RFC 6749 §6).
    let stored = StoredCredentials::new(client.id.clone(), Some(stored), Vec::new(), None);
    let store = InMemoryCredentialStore::new();
    store.save(stored).await.map_err(|_| gone("place"))?;
    engine.manager.set_credential_store(store);
    Ok((client, refresh))
}

pub(crate) fn metadata(record: &Record) -> Option<AuthorizationMetadata> {
    serde_json::from_value(record.metadata.clone()?).ok()
}

/// Whether the server may have acted although we got nothing.
fn doubtful(last: Option<Last>) -> bool {
    match last {
        Some(Last::Answered { status, .. }) => status.is_success(),
        Some(Last::Failed(NetError::Broken { .. })) => true,
        _ => false,
    }
}

/// Ends the sign-in at the issuer. `Ok(false)` where it has no way to.
pub(crate) async fn revoke(engine: &Engine, record: &Record) -> Result<bool, SignInError> {
    let (Some(metadata), Some(client), Some(tokens)) =
        (metadata(record), &record.client, &record.tokens)
    else {
        return Ok(false);
    };
    let Some(endpoint) = text(&metadata, "revocation_endpoint") else {
        return Ok(false);
    };
    let url =
        Url::parse(endpoint).map_err(|_| SignInError::Refused("the revocation endpoint".into()))?;
    // The refresh token first: that ends the access token too, where servers are good.
    let both = [
        tokens
            .refresh
            .as_ref()
            .map(|token| (token, "refresh_token")),
        Some((&tokens.access, "access_token")),
    ];
    engine.hook.set_proving(client.proving);
    for (token, hint) in both.into_iter().flatten() {
        let out = revocation(&url, client, &metadata, token, hint)?;
        let answer = engine
            .hook
            .token_request(out)
            .await
            .map_err(|fault| SignInError::Token(engine.hook.scrub(&fault.to_string())))?;
        if !answer.status.is_success() {
            let status = answer.status.as_u16();
            return Err(SignInError::Token(format!(
                "revocation was answered with HTTP {status}"
            )));
        }
    }
    Ok(true)
}

fn revocation(
    url: &Url,
    client: &Client,
    metadata: &AuthorizationMetadata,
    token: &Secret,
    hint: &str,
) -> Result<Outbound, SignInError> {
    let mut pairs = vec![("token", token.expose()), ("token_type_hint", hint)];
    let Some(secret) = &client.secret else {
        pairs.push(("client_id", &client.id));
        return Ok(Outbound::form(url.clone(), &pairs));
    };
    let methods = ["revocation", "token"].into_iter().find_map(|of| {
        let name = format!("{of}_endpoint_auth_methods_supported");
        metadata.additional_fields.get(&name).map(strings)
    });
    let only_post = methods.is_some_and(|methods| {
        let has = |wanted: &str| methods.iter().any(|method| method == wanted);
        has("client_secret_post") && !has("client_secret_basic")
    });
    if only_post {
        pairs.push(("client_id", &client.id));
        pairs.push(("client_secret", secret.expose()));
        return Ok(Outbound::form(url.clone(), &pairs));
    }
    let mut out = Outbound::form(url.clone(), &pairs);
    out.headers
        .insert(header::AUTHORIZATION, basic(&client.id, secret)?);
    Ok(out)
}

/// `client_secret_basic`: both parts form-encoded first (RFC 6749 §2.3.1).
pub(crate) fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, SignInError> {
    let part =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = zeroize::Zeroizing::new(format!("{}:{}", part(id), part(secret.expose())));
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(both.as_bytes())))
        .map_err(|_| SignInError::Settings("the client's secret cannot be sent".into()))?;
    value.set_sensitive(true);
    Ok(value)
}
