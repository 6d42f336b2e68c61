//! A person signs in to a server: discovery, a client identity, the browser, and a
//! record of it all.

use crate::{
    challenge::Challenge,
    discovery::{Discovered, discover, strings},
    dpop::Dpop,
    engine::{Engine, quiet, tokens},
    engine_http::{Proving, ResourceParam},
    error::SignInError,
    net::NetLimits,
    page_visit::{Return, through_page},
    record::{Client, ClientKind, Record},
    settings::{OauthSettings, Server, Visit},
};
use rmcp::transport::auth::OAuthClientConfig;
use serde_json::Value;
use std::sync::Arc;
use url::Url;

/// All that a sign-in needs to know.
pub(crate) struct Flow<'a> {
    pub(crate) server: &'a Server,
    pub(crate) settings: &'a OauthSettings,
    pub(crate) limits: NetLimits,
    /// What the server said when it refused, if it did.
    pub(crate) challenge: Option<&'a Challenge>,
    /// What is known from before.
    pub(crate) known: Option<Record>,
}

impl Flow<'_> {
    /// Runs the whole of it.
    pub(crate) async fn run(self, visit: &Visit) -> Result<Record, SignInError> {
        let mut engine = Engine::new(&self.server.url, self.settings, self.limits).await?;
        let found = discover(&mut engine, self.server, self.settings, self.challenge).await?;
        found.check_for_person(&engine)?;
        let known = settle_issuer(self.known, &found, self.settings)?;
        let last_port = known
            .client
            .as_ref()
            .and_then(|client| Url::parse(&client.redirect_uri).ok()?.port());
        let back = Return::ready(visit, self.settings.callback_port, last_port).await?;
        let scopes = scopes(self.settings, &found, &known, self.challenge);
        let mut client = identify(
            &mut engine,
            &found,
            &known,
            self.settings,
            back.redirect_uri(),
            &scopes,
        )
        .await?;
        let dpop = key(&found, &known)?;
        engine.hook.set_dpop(dpop.clone());
        engine
            .hook
            .set_resource(ResourceParam::Is(found.resource.clone()));
        let page = page(&engine, &scopes, &found.resource).await?;
        engine.hook.sends_to(&page);
        let patience = self.settings.patience;
        let answer = through_page(&engine, &found.metadata, page, back, visit, patience).await?;
        let (received, granted) = tokens(&answer)?;
        client.proving = engine.hook.proving();
        Ok(Record {
            server: self.server.name.clone(),
            url: self.server.url.to_string(),
            metadata: found.metadata_value(),
            issuer: Some(found.issuer),
            resource: Some(found.resource),
            client: Some(client),
            tokens: Some(received),
            // A server that names none has granted what was asked for.
            scopes: granted.unwrap_or(scopes),
            wanted: Vec::new(),
            wants_dpop: dpop.is_some(),
            dpop_key: dpop.map(|dpop| dpop.pkcs8().clone()),
            id_token: None,
            signed_out: false,
            trouble: None,
            version: 0,
        })
    }
}

/// What is known from before, as far as it is still the same issuer's. A secret
/// that was written down for one issuer is not shown to another.
pub(crate) fn settle_issuer(
    known: Option<Record>,
    found: &Discovered,
    settings: &OauthSettings,
) -> Result<Record, SignInError> {
    let mut known = known.unwrap_or_default();
    let Some(before) = known.issuer.clone() else {
        return Ok(known);
    };
    if before == found.issuer {
        return Ok(known);
    }
    tracing::warn!(
        before,
        now = found.issuer,
        "the authorization server changed"
    );
    if settings.client_secret.is_some() && settings.issuer.is_none() {
        return Err(SignInError::Issuer {
            expected: format!(
                "{before}, which the configured client secret belongs to; to use it here, sign out first"
            ),
            received: crate::error::shown(&found.issuer),
        });
    }
    known.leave_issuer();
    Ok(known)
}

/// What to ask for: what was asked for before and is still granted, what the
/// server asks for now, or else what its document suggests.
pub(crate) fn scopes(
    settings: &OauthSettings,
    found: &Discovered,
    known: &Record,
    challenge: Option<&Challenge>,
) -> Vec<String> {
    let asked = challenge.map(Challenge::scopes).unwrap_or_default();
    let base = match &settings.scopes {
        Some(pinned) => pinned.clone(),
        None if asked.is_empty() => found.scopes.clone(),
        None => asked.clone(),
    };
    let more = challenge.is_some_and(|c| c.param("error") == Some("insufficient_scope"));
    let asked = if more { asked } else { Vec::new() };
    let mut union: Vec<String> = Vec::new();
    for scope in known
        .scopes
        .iter()
        .chain(&base)
        .chain(&known.wanted)
        .chain(&asked)
    {
        if !union.contains(scope) {
            union.push(scope.clone());
        }
    }
    let offline = "offline_access".to_owned();
    let offers = |scopes: &Vec<String>| scopes.contains(&offline);
    if !union.is_empty()
        && found.metadata.scopes_supported.as_ref().is_some_and(offers)
        && !union.contains(&offline)
    {
        union.push(offline);
    }
    union
}

/// Who we are at this authorization server: what the configuration says, a
/// document of ours, what we registered before, or a new registration.
async fn identify(
    engine: &mut Engine,
    found: &Discovered,
    known: &Record,
    settings: &OauthSettings,
    redirect_uri: &Url,
    scopes: &[String],
) -> Result<Client, SignInError> {
    let client = |id: &str, secret: Option<_>, kind| Client {
        id: id.to_owned(),
        secret,
        redirect_uri: redirect_uri.to_string(),
        kind,
        // One that is known from before is known to have worked so.
        proving: known
            .client
            .as_ref()
            .map_or_else(Proving::default, |client| client.proving),
    };
    let takes_documents = found
        .metadata
        .additional_fields
        .get("client_id_metadata_document_supported")
        .is_some_and(|takes| *takes == Value::Bool(true));
    let chosen = if let Some(id) = &settings.client_id {
        client(id, settings.client_secret.clone(), ClientKind::Configured)
    } else if let (Some(document), true) = (&settings.client_metadata_url, takes_documents) {
        client(document.as_str(), None, ClientKind::Document)
    } else if let Some(before) = reusable(known, redirect_uri) {
        before
    } else {
        return register(engine, found, settings, redirect_uri, scopes).await;
    };
    configure(engine, &chosen)?;
    Ok(chosen)
}

/// A registration of ours that fits: the same issuer (settled before) and exactly
/// the address to come back to.
fn reusable(known: &Record, redirect_uri: &Url) -> Option<Client> {
    known
        .client
        .clone()
        .filter(|client| client.kind == ClientKind::Registered)
        .filter(|client| client.redirect_uri == redirect_uri.as_str())
}

async fn register(
    engine: &mut Engine,
    found: &Discovered,
    settings: &OauthSettings,
    redirect_uri: &Url,
    scopes: &[String],
) -> Result<Client, SignInError> {
    if found.metadata.registration_endpoint.is_none() {
        return Err(SignInError::Registration(
            "the authorization server registers no clients by itself; register one there and configure its id (oauth.clientId)".into(),
        ));
    }
    engine.hook.set_registration(registration_method(found));
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let work =
        engine
            .manager
            .register_client(&settings.client_name, redirect_uri.as_str(), &scopes);
    let registered = match quiet(work).await {
        Ok(registered) => registered,
        Err(fault) => return Err(SignInError::Registration(engine.hook.explain(&fault))),
    };
    let secret = registered.client_secret.map(crate::secret::Secret::new);
    if let Some(secret) = &secret {
        engine.hook.confide(secret);
    }
    Ok(Client {
        id: registered.client_id,
        secret,
        redirect_uri: redirect_uri.to_string(),
        kind: ClientKind::Registered,
        proving: engine.hook.proving(),
    })
}

/// A public client where that is possible; else the first method that both know.
/// About the form servers agree, about the header they do not.
fn registration_method(found: &Discovered) -> Option<&'static str> {
    let known = strings(
        found
            .metadata
            .additional_fields
            .get("token_endpoint_auth_methods_supported")?,
    );
    if known.is_empty() || known.iter().any(|method| method == "none") {
        return None;
    }
    ["client_secret_post", "client_secret_basic"]
        .into_iter()
        .find(|ours| known.iter().any(|method| method == ours))
}

/// Tells the engine who we are.
pub(crate) fn configure(engine: &mut Engine, client: &Client) -> Result<(), SignInError> {
    let mut config = OAuthClientConfig::new(&client.id, &client.redirect_uri);
    engine.hook.set_proving(client.proving);
    if let Some(secret) = &client.secret {
        engine.hook.confide(secret);
        config = config.with_client_secret(secret.expose());
    }
    let configured = engine.manager.configure_client(config);
    configured.map_err(|fault| SignInError::Discovery(engine.hook.explain(&fault)))
}

/// The key to bind tokens to: the one from before, or a new one.
pub(crate) fn key(found: &Discovered, known: &Record) -> Result<Option<Arc<Dpop>>, SignInError> {
    if !found.dpop {
        return Ok(None);
    }
    let key = match &known.dpop_key {
        Some(before) => Dpop::restore(before),
        None => Dpop::generate(),
    };
    Ok(Some(Arc::new(key?)))
}

/// The page to send the person to.
async fn page(engine: &Engine, scopes: &[String], resource: &str) -> Result<Url, SignInError> {
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let page = quiet(engine.manager.get_authorization_url(&scopes))
        .await
        .map_err(|fault| SignInError::Discovery(engine.hook.scrub(&fault.to_string())))?;
    let mut url =
        Url::parse(&page).map_err(|_| SignInError::Refused("the page has no address".into()))?;
    set_param(&mut url, "resource", Some(resource));
    Ok(url)
}

/// Sets or removes a parameter of an address.
pub(crate) fn set_param(url: &mut Url, name: &str, value: Option<&str>) {
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(known, _)| known != name)
        .map(|(known, value)| (known.into_owned(), value.into_owned()))
        .collect();
    let mut query = url.query_pairs_mut();
    query.clear().extend_pairs(others);
    if let Some(value) = value {
        query.append_pair(name, value);
    }
}
