//! An enterprise's identity provider: one sign-in, kept in the vault, that serves
//! every server behind it.

use crate::{
    clock,
    discovery::same_issuer,
    engine::{Engine, quiet, tokens},
    engine_http::{Hook, Proving, ResourceParam},
    error::{SignInError, shown},
    flow::{configure, set_param},
    jwt::{self, Claims},
    limits,
    net::NetLimits,
    page_visit::{Return, through_page},
    record::{Client, ClientKind, Record},
    renew,
    secret::Secret,
    settings::{OauthSettings, Visit},
    vault::{Vault, VaultKey, VaultLock},
};
use rmcp::transport::auth::AuthorizationMetadata;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use switchboard_local::random;
use url::Url;

/// The identity provider as the configuration names it.
#[derive(Clone, Debug)]
pub struct IdentityProvider {
    /// Its issuer.
    pub issuer: Url,
    /// Our client there.
    pub client_id: String,
    /// The client's secret, where it has one.
    pub client_secret: Option<Secret>,
    /// The port to come back to; a free one where not given.
    pub callback_port: Option<u16>,
    /// Scopes beside `openid`.
    pub scopes: Vec<String>,
    /// An identity token that somebody else obtained, instead of a sign-in.
    pub id_token: Option<Secret>,
}

/// What the exchange needs of the provider.
pub(crate) struct Identity {
    pub(crate) id_token: Secret,
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) hook: Arc<Hook>,
}

impl IdentityProvider {
    pub(crate) fn key(&self) -> VaultKey {
        VaultKey::identity(self.issuer.as_str(), &self.client_id)
    }

    /// The identity, from the vault, by renewing it, or by a person's signing in.
    pub(crate) async fn identity(
        &self,
        vault: &Vault,
        visit: Option<&Visit>,
        settings: &OauthSettings,
        limits: NetLimits,
    ) -> Result<Identity, SignInError> {
        let mut engine = self.engine(settings, limits).await?;
        let metadata = self.discover(&engine).await?;
        engine.manager.set_metadata(metadata.clone());
        let identity = |id_token: Secret| Identity {
            id_token,
            issuer: metadata.issuer.clone().unwrap_or_default(),
            token_endpoint: metadata.token_endpoint.clone(),
            hook: engine.hook.clone(),
        };
        if let Some(given) = &self.id_token {
            return Ok(identity(given.clone()));
        }
        let key = self.key();
        // Held while somebody signs in: the others wait for that sign-in and use it.
        let lock = vault
            .lock(&key, settings.patience + limits::SIGN_IN_GRACE)
            .await?;
        let known = vault
            .load(&key)
            .await?
            .filter(|known| known.issuer == metadata.issuer);
        if let Some(token) = known.as_ref().and_then(live_token) {
            return Ok(identity(token));
        }
        if let Some(known) = known.filter(|known| {
            known
                .tokens
                .as_ref()
                .is_some_and(|tokens| tokens.refresh.is_some())
        }) {
            let mut renewing = self.engine(settings, limits).await?;
            renewing.hook.set_resource(ResourceParam::Absent);
            let kept = (vault, &lock);
            match self.renewed(&mut renewing, &metadata, known, kept).await {
                Ok(token) => return Ok(identity(token)),
                Err(fault) if !fault.needs_sign_in() && visit.is_none() => return Err(fault),
                Err(fault) => tracing::debug!(%fault, "the identity was not renewed"),
            }
        }
        let Some(visit) = visit else {
            return Err(SignInError::NeedsSignIn(format!(
                "nobody is signed in at {}",
                crate::address::origin(&self.issuer)
            )));
        };
        vault.ready().await?;
        let hook = engine.hook.clone();
        let (record, token) = self
            .sign_in(&mut engine, &metadata, visit, settings)
            .await?;
        // The exchange that follows does name a resource.
        hook.set_resource(ResourceParam::Engine);
        vault.replace(&key, &record).await?;
        Ok(Identity {
            hook,
            id_token: token,
            issuer: metadata.issuer.unwrap_or_default(),
            token_endpoint: metadata.token_endpoint,
        })
    }

    /// The provider will not take the token any more: the next one is a new one.
    pub(crate) async fn discard(&self, vault: &Vault, refused: &Secret) -> Result<(), SignInError> {
        let key = self.key();
        let _lock = vault.lock(&key, limits::DISCARD_LOCK).await?;
        if let Some(mut known) = vault.load(&key).await?
            && known.id_token.as_ref() == Some(refused)
        {
            known.id_token = None;
            vault.save(&key, &known).await?;
        }
        Ok(())
    }

    async fn engine(
        &self,
        settings: &OauthSettings,
        limits: NetLimits,
    ) -> Result<Engine, SignInError> {
        Engine::new(&self.issuer, settings, limits).await
    }

    /// OpenID Connect discovery, at the address that the specification gives it.
    async fn discover(&self, engine: &Engine) -> Result<AuthorizationMetadata, SignInError> {
        let mut url = self.issuer.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{path}/.well-known/openid-configuration"));
        let document = engine.hook.document_at(url).await;
        let mut document = document
            .map_err(|fault| SignInError::Discovery(fault.to_string()))?
            .ok_or_else(|| {
                SignInError::Discovery("the identity provider publishes nothing".into())
            })?;
        if document["authorization_endpoint"].is_null() {
            document["authorization_endpoint"] =
                crate::engine_http::NO_AUTHORIZATION_ENDPOINT.into();
        }
        let metadata: AuthorizationMetadata = serde_json::from_value(document).map_err(|_| {
            SignInError::Discovery("the identity provider's metadata cannot be read".into())
        })?;
        match &metadata.issuer {
            Some(issuer) if same_issuer(issuer, self.issuer.as_str()) => {}
            other => {
                return Err(SignInError::Issuer {
                    expected: self.issuer.to_string(),
                    received: other.as_deref().map_or_else(|| "nobody".into(), shown),
                });
            }
        }
        for address in [Some(&metadata.token_endpoint), metadata.jwks_uri.as_ref()]
            .into_iter()
            .flatten()
        {
            let url = Url::parse(address)
                .map_err(|_| SignInError::Refused("an endpoint of the identity provider".into()))?;
            engine.hook.check(&url)?;
        }
        Ok(metadata)
    }

    async fn sign_in(
        &self,
        engine: &mut Engine,
        metadata: &AuthorizationMetadata,
        visit: &Visit,
        settings: &OauthSettings,
    ) -> Result<(Record, Secret), SignInError> {
        let back = Return::ready(visit, self.callback_port, None).await?;
        let client = Client {
            id: self.client_id.clone(),
            secret: self.client_secret.clone(),
            redirect_uri: back.redirect_uri().to_string(),
            kind: ClientKind::Configured,
            proving: Proving::default(),
        };
        configure(engine, &client)?;
        engine.hook.set_resource(ResourceParam::Absent);
        let mut scopes = vec!["openid"];
        scopes.extend(self.scopes.iter().map(String::as_str));
        let page = quiet(engine.manager.get_authorization_url(&scopes))
            .await
            .map_err(|fault| SignInError::Discovery(engine.hook.scrub(&fault.to_string())))?;
        let mut page = Url::parse(&page)
            .map_err(|_| SignInError::Refused("the page has no address".into()))?;
        let nonce = nonce()?;
        set_param(&mut page, "resource", None);
        set_param(&mut page, "nonce", Some(&nonce));
        let answer = through_page(engine, metadata, page, back, visit, settings.patience).await?;
        let token = answer
            .extra_fields()
            .0
            .get("id_token")
            .and_then(|token| token.as_str());
        let token = Secret::new(token.ok_or_else(|| {
            SignInError::Token("the identity provider gave no identity token".into())
        })?);
        self.check(engine, metadata, &token, Some(&nonce)).await?;
        let (received, _) = tokens(&answer)?;
        let record = Record {
            server: "identity provider".into(),
            url: self.issuer.to_string(),
            issuer: metadata.issuer.clone(),
            metadata: serde_json::to_value(metadata).ok(),
            client: Some(client),
            tokens: Some(received),
            id_token: Some(token.clone()),
            ..Record::default()
        };
        Ok((record, token))
    }

    async fn renewed(
        &self,
        engine: &mut Engine,
        metadata: &AuthorizationMetadata,
        known: Record,
        (vault, lock): (&Vault, &VaultLock),
    ) -> Result<Secret, SignInError> {
        let trouble = known.trouble.as_ref();
        if let Some(trouble) = trouble.filter(|it| clock::millis() < it.until) {
            return Err(SignInError::Token(trouble.why.clone()));
        }
        let key = self.key();
        vault.begin_renewal(&key, lock, &known).await?;
        let mut record = match renew::refresh(engine, &known, None).await {
            Ok(record) => record,
            Err(failed) => {
                vault.save(&key, &failed.noted(&known)).await?;
                return Err(failed.fault);
            }
        };
        // What was given counts in any case: the refresh token before may be used up.
        let given = record.id_token.take();
        let checked = match given.filter(|token| Some(token) != known.id_token.as_ref()) {
            Some(token) => {
                let checked = self.check(engine, metadata, &token, None).await;
                checked.map(|_| token)
            }
            None => Err(SignInError::NeedsSignIn(
                "the identity provider renews no identity".into(),
            )),
        };
        record.id_token = checked.as_ref().ok().cloned();
        vault.save(&key, &record).await?;
        checked
    }

    /// OpenID Connect Core §3.1.3.7.
    async fn check(
        &self,
        engine: &Engine,
        metadata: &AuthorizationMetadata,
        token: &Secret,
        nonce: Option<&str>,
    ) -> Result<Claims, SignInError> {
        let bad = |why: &str| SignInError::Token(format!("the identity token is no good: {why}"));
        let keys = metadata
            .jwks_uri
            .as_deref()
            .ok_or_else(|| bad("no keys are published"))?;
        let keys = Url::parse(keys).map_err(|_| bad("no keys are published"))?;
        let keys = engine
            .hook
            .document_at(keys)
            .await
            .map_err(|fault| bad(&fault.to_string()))?;
        let keys = keys
            .and_then(|keys| serde_json::from_value(keys).ok())
            .ok_or_else(|| bad("its keys cannot be read"))?;
        let issuer = metadata.issuer.as_deref().unwrap_or_default();
        let claims = jwt::verify(token.expose(), &keys, issuer, &self.client_id, &["JWT"])
            .map_err(|unfit| {
                bad(match unfit {
                    jwt::Unfit::UnknownKey => "its key is not among those published",
                    jwt::Unfit::Forged => "its signature is wrong",
                    jwt::Unfit::Bad(why) => why,
                })
            })?;
        let of = |name: &str| claims.get(name).and_then(|value| value.as_str());
        if of("azp").is_some_and(|party| party != self.client_id) {
            return Err(bad("it was issued to another client"));
        }
        if let Some(sent) = nonce {
            let same = of("nonce").is_some_and(|got| got.as_bytes().ct_eq(sent.as_bytes()).into());
            if !same {
                return Err(bad("it does not answer our question (nonce)"));
            }
        }
        Ok(claims)
    }
}

fn live_token(record: &Record) -> Option<Secret> {
    let token = record.id_token.clone()?;
    let end = jwt::unverified(token.expose())?.get("exp")?.as_u64()?;
    (end > clock::seconds() + limits::IDENTITY_MARGIN).then_some(token)
}

fn nonce() -> Result<String, SignInError> {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let bytes: [u8; 24] =
        random::bytes().map_err(|_| SignInError::Settings("there is no randomness".into()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
