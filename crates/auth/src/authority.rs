//! One server's way in, as the rest of Switchboard sees it: adds credentials to
//! requests, keeps them fresh, answers refusals, signs in and out.
//!
//! All changes to the stored sign-in happen in one order: our own turn, the
//! vault's lock, a fresh look at what is stored, and only then anything else. So
//! a hundred processes at one expiry renew once.

mod authorize;
mod obtain;

use crate::{
    challenge::Challenge,
    clock, counts,
    dpop::Dpop,
    engine::Engine,
    engine_http::Proving,
    error::SignInError,
    flow::Flow,
    journal::{Ended, Journal},
    limits,
    needs_auth::NeedsAuth,
    net::NetLimits,
    record::{Client, ClientKind, Record},
    renew,
    secret::Secret,
    settings::{Grant, OauthSettings, Server, Visit},
    vault::{TokenStore, Vault, VaultKey},
};
use aws_lc_rs::digest;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_local::hex;

/// The way in to one server.
#[derive(Clone)]
pub struct Authority {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    grant: Grant,
    settings: OauthSettings,
    vault: Vault,
    key: VaultKey,
    needs_auth: Option<NeedsAuth>,
    limits: NetLimits,
    /// Who can be asked to sign in in the middle of things, if anybody.
    visit: Option<Visit>,
    /// What the vault last said, so that a request costs no file.
    current: Mutex<Option<Arc<Current>>>,
    /// Whether we have looked for a sign-in and found none, so that the server
    /// itself is asked. A refusal makes us look again.
    asked_before: AtomicBool,
    /// Whether we have noted for the next start that the server wants a sign-in.
    has_noted: AtomicBool,
    turn: tokio::sync::Mutex<()>,
    /// When scopes were added lately; at most three times an hour.
    steps: Mutex<VecDeque<std::time::Instant>>,
    /// What the server last asked for, for the next sign-in.
    asked: Mutex<Option<Challenge>>,
}

/// A stored sign-in, ready to be used.
struct Current {
    record: Record,
    dpop: Option<Arc<Dpop>>,
}

/// Makes an [`Authority`].
#[derive(Debug)]
pub struct AuthorityBuilder {
    server: Server,
    vault: Vault,
    grant: Grant,
    settings: OauthSettings,
    needs_auth: Option<NeedsAuth>,
    limits: NetLimits,
    visit: Option<Visit>,
}

impl AuthorityBuilder {
    /// In whose name; a person's where not said.
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// What the configuration says.
    pub fn settings(mut self, settings: OauthSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Where to note that the server needs a sign-in.
    pub fn needs_auth(mut self, cache: NeedsAuth) -> Self {
        self.needs_auth = Some(cache);
        self
    }

    /// Limits for the requests of signing in.
    pub fn limits(mut self, limits: NetLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Somebody is there who can sign in whenever the server asks for it. Without,
    /// a refusal that only a person can help with is passed on.
    pub fn attended(mut self, visit: Visit) -> Self {
        self.visit = Some(visit);
        self
    }

    /// Done.
    pub fn build(self) -> Authority {
        let key = VaultKey::server(&self.server.name, &self.server.config_hash);
        Authority {
            inner: Arc::new(Inner {
                key,
                server: self.server,
                grant: self.grant,
                settings: self.settings,
                vault: self.vault,
                needs_auth: self.needs_auth,
                limits: self.limits,
                visit: self.visit,
                current: Mutex::new(None),
                asked_before: AtomicBool::new(false),
                has_noted: AtomicBool::new(false),
                turn: tokio::sync::Mutex::new(()),
                steps: Mutex::default(),
                asked: Mutex::new(None),
            }),
        }
    }
}

/// A sign-in, as people are told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// Who issued it.
    pub issuer: Option<String>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// When the access token ends, in milliseconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether it is renewed without a person.
    pub renewable: bool,
    /// Where it is kept.
    pub store: TokenStore,
}

/// What signing out did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedOut {
    /// Whether there was a sign-in.
    pub existed: bool,
    /// Whether the issuer ended it too.
    pub revoked: bool,
    /// Why not, where it should have.
    pub fault: Option<String>,
}

impl Authority {
    /// Begins the way in to `server`, with its sign-in kept in `vault`.
    pub fn builder(server: Server, vault: Vault) -> AuthorityBuilder {
        AuthorityBuilder {
            server,
            vault,
            grant: Grant::default(),
            settings: OauthSettings::default(),
            needs_auth: None,
            limits: NetLimits::default(),
            visit: None,
        }
    }

    /// Signs in now, whatever is stored. `visit` brings the person there and back;
    /// grants that need nobody ignore it.
    ///
    /// # Errors
    /// When it does not work out; what was stored before is then still there.
    pub async fn sign_in(&self, visit: &Visit) -> Result<SignedIn, SignInError> {
        let inner = &self.inner;
        let journal = &inner.settings.journal;
        journal.begin();
        let signed_in = Box::pin(self.sign_in_by(visit)).await;
        journal.end(match &signed_in {
            Ok(_) => Ended::SignedIn,
            Err(fault) => Ended::Failed {
                why: fault.to_string(),
                at: matches!(fault, SignInError::Registration(_)).then_some("registration"),
            },
        });
        signed_in
    }

    /// Each step of the sign-in that was tried last, without secrets.
    pub fn journal(&self) -> &Journal {
        &self.inner.settings.journal
    }

    async fn sign_in_by(&self, visit: &Visit) -> Result<SignedIn, SignInError> {
        let inner = &self.inner;
        // Before anybody is sent anywhere: can the result be kept?
        inner.vault.ready().await?;
        let asked = inner.asked.lock().clone();
        let challenge = match asked {
            Some(asked) => Some(asked),
            None => inner.probe().await,
        };
        let record = match &inner.grant {
            Grant::Person => inner.flow(visit, challenge.as_ref()).await,
            _ => inner.obtain(Some(visit), challenge.as_ref()).await,
        };
        let mut record = counts::SIGN_INS.count(record)?;
        // Only now: a person takes minutes, and what was granted before is used
        // and renewed meanwhile.
        let _turn = inner.turn.lock().await;
        let lock = inner
            .vault
            .lock(&inner.key, limits::RENEWAL_ELSEWHERE)
            .await?;
        record.version = inner.vault.replace(&inner.key, &record).await?;
        drop(lock);
        inner.keep(record)?;
        inner.signed_in();
        self.status().await?.ok_or_else(|| {
            SignInError::NeedsSignIn("the sign-in was removed while it was stored".into())
        })
    }

    /// Ends the sign-in: at the issuer if it can (RFC 7009), and here in any case.
    ///
    /// # Errors
    /// When it cannot be removed here.
    pub async fn sign_out(&self) -> Result<SignedOut, SignInError> {
        let inner = &self.inner;
        let _turn = inner.turn.lock().await;
        let lock = inner
            .vault
            .lock(&inner.key, limits::RENEWAL_ELSEWHERE)
            .await?;
        // A record that cannot be read is removed all the same.
        let known = inner.vault.load(&inner.key).await;
        let (existed, ended) = match known {
            Ok(None) => (false, Ok(false)),
            Ok(Some(record)) if record.signed_out => (false, Ok(false)),
            Ok(Some(record)) => (true, inner.revoke(&record).await),
            Err(fault) => (true, Err(fault.into())),
        };
        if matches!(inner.grant, Grant::Person) {
            inner.vault.forget(&inner.key).await?;
        } else {
            // The next request would otherwise sign in again by itself.
            let record = Record {
                server: inner.server.name.clone(),
                url: inner.server.url.to_string(),
                signed_out: true,
                ..Record::default()
            };
            inner.vault.replace(&inner.key, &record).await?;
        }
        drop(lock);
        self.reload();
        *inner.asked.lock() = None;
        if let Some(cache) = &inner.needs_auth {
            cache.clear(&inner.server.name);
        }
        Ok(SignedOut {
            existed,
            revoked: matches!(ended, Ok(true)),
            fault: ended.err().map(|fault| fault.to_string()),
        })
    }

    /// The stored sign-in, if there is one that has not ended for good.
    ///
    /// # Errors
    /// When what is stored cannot be read.
    pub async fn status(&self) -> Result<Option<SignedIn>, SignInError> {
        let inner = &self.inner;
        let Some(record) = inner.vault.look(&inner.key).await? else {
            return Ok(None);
        };
        let Some(tokens) = &record.tokens else {
            return Ok(None);
        };
        let renewable = tokens.refresh.is_some() || !matches!(inner.grant, Grant::Person);
        if !renewable && !tokens.valid(clock::millis()) {
            return Ok(None);
        }
        Ok(Some(SignedIn {
            issuer: record.issuer.clone(),
            scopes: record.scopes.clone(),
            expires_at: tokens.expires_at,
            renewable,
            store: inner.vault.store(),
        }))
    }

    /// Whether a sign-in is in use here. What is stored and was not needed yet does not
    /// count.
    pub fn is_signed_in(&self) -> bool {
        let current = self.inner.current.lock();
        current
            .as_ref()
            .is_some_and(|current| current.record.tokens.is_some())
    }

    /// Looks at what is stored again: somebody signed in or out elsewhere.
    pub fn reload(&self) {
        *self.inner.current.lock() = None;
        self.inner.asked_before.store(false, Ordering::Relaxed);
    }

    /// Whether a person signs in; other grants need nobody.
    pub fn needs_person(&self) -> bool {
        matches!(self.inner.grant, Grant::Person | Grant::Enterprise(_))
    }

    /// Tells one stored sign-in from another without showing it; `None` where
    /// there is none, or none that can be read. For an enterprise's server the
    /// identity at its provider counts as well.
    pub async fn fingerprint(&self) -> Option<String> {
        let inner = &self.inner;
        let load = async |key: &VaultKey| inner.vault.glance(key).await.ok().flatten();
        let own = load(&inner.key).await.and_then(|record| record.tokens);
        let identity = match &inner.grant {
            Grant::Enterprise(enterprise) => load(&enterprise.idp.key()).await,
            _ => None,
        };
        let identity = identity.and_then(|record| record.id_token);
        if own.is_none() && identity.is_none() {
            return None;
        }
        let mut whole = digest::Context::new(&digest::SHA256);
        for secret in [own.map(|tokens| tokens.access), identity] {
            whole.update(secret.unwrap_or_default().expose().as_bytes());
            whole.update(&[0]);
        }
        Some(hex(&whole.finish().as_ref()[..8]))
    }

    /// Keeps the secret of the configured client in the vault, out of files that
    /// are shown, shared and backed up.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub async fn keep_client_secret(&self, secret: Secret) -> Result<(), SignInError> {
        let inner = &self.inner;
        let record = Record {
            server: inner.server.name.clone(),
            url: inner.server.url.to_string(),
            client: Some(Client {
                id: inner.settings.client_id.clone().unwrap_or_default(),
                secret: Some(secret),
                redirect_uri: String::new(),
                kind: ClientKind::Configured,
                proving: Proving::default(),
            }),
            ..Record::default()
        };
        let key = inner.client_key();
        let lock = inner.vault.lock(&key, limits::RENEWAL_ELSEWHERE).await?;
        inner.vault.replace(&key, &record).await?;
        drop(lock);
        Ok(())
    }

    /// Forgets everything, the client's secret included; nobody is told. For a
    /// server that is removed.
    ///
    /// # Errors
    /// When it cannot be removed here.
    pub async fn forget(&self) -> Result<(), SignInError> {
        let inner = &self.inner;
        inner.vault.forget(&inner.client_key()).await?;
        let lock = match inner.vault.is_shared(&inner.key) {
            true => Some(inner.vault.lock(&inner.key, limits::RENEWAL_ELSEWHERE)),
            false => None,
        };
        let lock = match lock {
            Some(lock) => Some(lock.await?),
            None => None,
        };
        inner.vault.forget(&inner.key).await?;
        drop(lock);
        self.reload();
        Ok(())
    }
}

impl Inner {
    /// A person signs in.
    async fn flow(
        &self,
        visit: &Visit,
        challenge: Option<&Challenge>,
    ) -> Result<Record, SignInError> {
        let settings = self.settings().await?;
        let flow = Flow {
            server: &self.server,
            settings: &settings,
            limits: self.limits,
            challenge,
            known: self.vault.load(&self.key).await?,
        };
        flow.run(visit).await
    }

    fn client_key(&self) -> VaultKey {
        VaultKey::client(&self.server.name, &self.server.config_hash)
    }

    /// The secret of the configured client, where the vault has it.
    async fn kept_secret(&self) -> Result<Option<Secret>, SignInError> {
        let kept = self.vault.load(&self.client_key()).await?;
        Ok(kept.and_then(|record| record.client?.secret))
    }

    /// The settings, with what the vault adds to them.
    async fn settings(&self) -> Result<OauthSettings, SignInError> {
        let mut settings = self.settings.clone();
        if settings.client_id.is_some() && settings.client_secret.is_none() {
            settings.client_secret = self.kept_secret().await?;
        }
        Ok(settings)
    }

    async fn revoke(&self, record: &Record) -> Result<bool, SignInError> {
        let engine = Engine::new(&self.server.url, &self.settings, self.limits).await?;
        renew::revoke(&engine, record).await
    }

    /// Puts a record into use.
    fn keep(&self, record: Record) -> Result<Arc<Current>, SignInError> {
        let dpop = match &record.dpop_key {
            Some(key) => Some(Arc::new(Dpop::restore(key)?)),
            None => None,
        };
        let mut slot = self.current.lock();
        // The same key keeps its nonces.
        let dpop = match (&*slot, dpop) {
            (Some(before), Some(key)) => match &before.dpop {
                Some(same) if same.pkcs8() == key.pkcs8() => Some(same.clone()),
                _ => Some(key),
            },
            (_, key) => key,
        };
        let current = Arc::new(Current { record, dpop });
        *slot = Some(current.clone());
        Ok(current)
    }

    fn signed_in(&self) {
        *self.asked.lock() = None;
        if let Some(cache) = &self.needs_auth {
            cache.clear(&self.server.name);
        }
    }

    /// The server has let us in after it had refused something: the next start need not
    /// wait for a sign-in.
    fn let_in(&self) {
        if self.has_noted.swap(false, Ordering::Relaxed)
            && let Some(cache) = &self.needs_auth
        {
            cache.clear(&self.server.name);
        }
    }

    fn sign_in_needed(&self, challenge: Option<&Challenge>) {
        if let Some(challenge) = challenge {
            *self.asked.lock() = Some(challenge.clone());
        }
        if let Some(cache) = &self.needs_auth {
            cache.note(&self.server.name, &self.server.config_hash);
            self.has_noted.store(true, Ordering::Relaxed);
            // That is for the next start. Whoever comes new here is asked for: what
            // one connection was refused says nothing about another.
            self.asked_before.store(true, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("server", &self.inner.server.name)
            .finish_non_exhaustive()
    }
}
