//! Getting tokens: from the vault, by renewing, or by a grant that needs nobody.

use super::{Current, Inner};
use crate::{
    challenge::{self, Challenge},
    client_credentials::ClientProof,
    clock, counts,
    discovery::discover,
    engine::Engine,
    engine_http::{Proving, ResourceParam},
    error::SignInError,
    flow, limits,
    net::Outbound,
    record::{Client, ClientKind, Record},
    renew,
    secret::Secret,
    settings::{Grant, Visit},
    vault::{FleetError, VaultError, VaultLock},
    xaa::Around,
};
use http::{HeaderValue, Method, header};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use switchboard_tasks as tasks;

impl Inner {
    /// The sign-in to use now, renewed if it is time. `None` where there is none,
    /// or none that works without a person.
    pub(super) async fn usable(self: &Arc<Self>) -> Result<Option<Arc<Current>>, SignInError> {
        let known = self.newest();
        let current = match known {
            Some(current) => current,
            // Known to be empty; a refusal makes us look again.
            None if self.asked_before.load(Ordering::Relaxed) => return Ok(None),
            None => match self.vault.glance(&self.key).await? {
                Some(record) => self.keep(record)?,
                None => return Ok(None),
            },
        };
        let Some(tokens) = &current.record.tokens else {
            return Ok(None);
        };
        let now = clock::millis();
        if tokens.fresh(now) {
            return Ok(Some(current));
        }
        let waiting = current
            .record
            .trouble
            .as_ref()
            .is_some_and(|trouble| now < trouble.until);
        if waiting && tokens.valid(now) {
            return Ok(Some(current));
        }
        // In a task of its own: a renewal under way must not be torn down half-way
        // because one request was given up.
        let inner = self.clone();
        let renewing = tasks::spawn(
            tasks::Kind::SignIn,
            async move { inner.renew_stale().await },
        );
        let outcome = if tokens.valid(now) {
            match tokio::time::timeout(limits::RENEWAL_WHILE_VALID, renewing).await {
                Ok(outcome) => outcome,
                Err(_) => return Ok(Some(current)),
            }
        } else {
            renewing.await
        };
        match outcome {
            Ok(Ok(renewed)) => Ok(Some(renewed)),
            Ok(Err(_)) if tokens.valid(clock::millis()) => Ok(Some(current)),
            Ok(Err(fault)) if fault.needs_sign_in() => Ok(None),
            Ok(Err(fault)) => Err(fault),
            Err(gone) => Err(SignInError::Token(gone.to_string())),
        }
    }

    /// What is in use, unless another replica is known to have changed it since.
    pub(super) fn newest(&self) -> Option<Arc<Current>> {
        let mut current = self.current.lock();
        let known = current.clone()?;
        if self.vault.is_newest(&self.key, known.record.version) {
            return Some(known);
        }
        *current = None;
        self.asked_before.store(false, Ordering::Relaxed);
        None
    }

    /// Renews if nobody else has in the meantime.
    async fn renew_stale(self: Arc<Self>) -> Result<Arc<Current>, SignInError> {
        let _turn = self.turn.lock().await;
        if let Some(current) = self.newest()
            && current.fresh()
        {
            return Ok(current);
        }
        Box::pin(self.renew(None, None)).await
    }

    /// Renews the stored sign-in unless it is another one than `refused` by now.
    /// The turn is ours already.
    pub(super) async fn renew(
        self: &Arc<Self>,
        refused: Option<&str>,
        challenge: Option<&Challenge>,
    ) -> Result<Arc<Current>, SignInError> {
        let lock = self
            .vault
            .lock(&self.key, limits::RENEWAL_ELSEWHERE)
            .await?;
        let stored = self.vault.load(&self.key).await?;
        let Some(stored) = stored else {
            *self.current.lock() = None;
            return Err(SignInError::NeedsSignIn("nobody is signed in".into()));
        };
        let current = self.keep(stored)?;
        let useful = match refused {
            Some(token) => !current.carries(token) && current.valid(),
            None => current.fresh(),
        };
        if useful {
            return Ok(current);
        }
        let record = &current.record;
        if let Some(trouble) = record
            .trouble
            .as_ref()
            .filter(|t| clock::millis() < t.until)
        {
            return Err(SignInError::Token(trouble.why.clone()));
        }
        let used = record.tokens.as_ref().and_then(|it| it.refresh.clone());
        let was_refused = refused.is_some();
        let renewed = match &self.grant {
            Grant::Person => self.refresh(&current, &lock, was_refused, challenge).await,
            _ => match self.obtain(None, challenge).await {
                Ok(record) => Ok(record),
                Err(fault) => Err((fault, None)),
            },
        };
        let outcome = match counts::RENEWALS.count(renewed) {
            Ok(mut record) => {
                let kept = self.vault.save(&self.key, &record).await;
                // In use even if it cannot be stored: the old one is worth nothing now.
                record.version = kept.as_ref().map_or(record.version, |version| *version);
                let current = self.keep(record)?;
                if let Err(fault) = kept {
                    tracing::error!(server = self.server.name, %fault, "a renewed sign-in was not stored");
                    if matches!(fault, VaultError::Fleet(FleetError::Store(_))) {
                        self.store_later(&current, used);
                    }
                }
                Ok(current)
            }
            Err((fault, Some(mut record))) => {
                record.version = self.vault.save(&self.key, &record).await?;
                self.keep(record)?;
                Err(fault)
            }
            // Nothing was sent: it is as it was.
            Err((fault, None)) => Err(fault),
        };
        drop(lock);
        outcome
    }

    /// Renews by refresh token. With a failure comes the record to store, if it
    /// has to change.
    async fn refresh(
        &self,
        current: &Current,
        lock: &VaultLock,
        was_refused: bool,
        challenge: Option<&Challenge>,
    ) -> Result<Record, (SignInError, Option<Record>)> {
        let record = &current.record;
        if record
            .tokens
            .as_ref()
            .is_none_or(|tokens| tokens.refresh.is_none())
        {
            return Err((
                SignInError::NeedsSignIn("the sign-in has ended".into()),
                None,
            ));
        }
        if was_refused {
            self.same_issuer(record, challenge).await?;
        }
        let engine = Engine::new(&self.server.url, &self.settings, self.limits).await;
        let mut engine = engine.map_err(|fault| (fault, None))?;
        // As late as possible: what is shown after this is shown within our turn.
        let begun = self.vault.begin_renewal(&self.key, lock, record).await;
        let version = begun.map_err(|fault| (fault.into(), None))?;
        let dpop = current.dpop.clone();
        match renew::refresh(&mut engine, record, dpop).await {
            Ok(renewed) => Ok(Record { version, ..renewed }),
            Err(failed) => {
                let changed = failed.noted(record);
                Err((failed.fault, Some(changed)))
            }
        }
    }

    /// Stores what was renewed as soon as that is possible: until then others find a
    /// refresh token that is worth nothing, and would show it when their time comes.
    fn store_later(self: &Arc<Self>, renewed: &Arc<Current>, used: Option<Secret>) {
        let (inner, renewed) = (self.clone(), renewed.clone());
        let begun = Instant::now();
        tasks::spawn(tasks::Kind::SignIn, async move {
            while begun.elapsed() < limits::RENEWED_STORED {
                tokio::time::sleep(limits::RENEWED_PAUSE).await;
                match inner.try_store(&renewed, used.as_ref()).await {
                    Ok(()) => return,
                    Err(fault) => tracing::debug!(%fault, "a renewed sign-in is not stored yet"),
                }
            }
        });
    }

    async fn try_store(&self, renewed: &Current, used: Option<&Secret>) -> Result<(), VaultError> {
        let _turn = self.turn.lock().await;
        let limit = limits::RENEWAL_ELSEWHERE;
        let lock = self.vault.lock(&self.key, limit).await?;
        let stored = self.vault.load(&self.key).await?;
        let tokens = stored.and_then(|stored| stored.tokens);
        // Somebody has signed in or out since: that counts.
        if tokens.and_then(|tokens| tokens.refresh).as_ref() != used {
            return Ok(());
        }
        let mut record = renewed.record.clone();
        record.version = self.vault.save(&self.key, &record).await?;
        drop(lock);
        let server = &self.server.name;
        tracing::info!(server, "a renewed sign-in is stored");
        if let Err(fault) = self.keep(record) {
            tracing::warn!(server, %fault, "a sign-in that was stored cannot be used");
        }
        Ok(())
    }

    /// A token was refused: perhaps because the server has moved to another
    /// authorization server, which must not see the old one's refresh token.
    async fn same_issuer(
        &self,
        record: &Record,
        challenge: Option<&Challenge>,
    ) -> Result<(), (SignInError, Option<Record>)> {
        let engine = Engine::new(&self.server.url, &self.settings, self.limits).await;
        let mut engine = engine.map_err(|fault| (fault, None))?;
        let found = discover(&mut engine, &self.server, &self.settings, challenge).await;
        let Ok(found) = found else {
            // Not to be had just now; the issuer that is stored is a safe place.
            return Ok(());
        };
        if record.issuer.as_ref() == Some(&found.issuer) {
            return Ok(());
        }
        // Only the tokens go now. Who the old issuer was is kept until somebody
        // signs in, so that a secret meant for it is not shown to the new one.
        let mut changed = record.clone();
        changed.tokens = None;
        changed.scopes.clear();
        let why = "the server has changed its authorization server";
        Err((SignInError::NeedsSignIn(why.into()), Some(changed)))
    }

    /// Gets tokens by a grant that needs no browser at the server's issuer.
    pub(super) async fn obtain(
        &self,
        visit: Option<&Visit>,
        challenge: Option<&Challenge>,
    ) -> Result<Record, SignInError> {
        let known = self.vault.look(&self.key).await?;
        if visit.is_none() && known.as_ref().is_some_and(|known| known.signed_out) {
            return Err(SignInError::NeedsSignIn("somebody signed out here".into()));
        }
        let settings = self.settings().await?;
        let mut engine = Engine::new(&self.server.url, &settings, self.limits).await?;
        let found = discover(&mut engine, &self.server, &settings, challenge).await?;
        let known = flow::settle_issuer(known, &found, &settings)?;
        let mut scopes = flow::scopes(&settings, &found, &known, challenge);
        scopes.retain(|scope| scope != "offline_access");
        let dpop = match &self.grant {
            Grant::Enterprise(_) => None,
            _ => flow::key(&found, &known)?,
        };
        engine.hook.set_dpop(dpop.clone());
        let (client_id, (tokens, granted)) = match &self.grant {
            Grant::Person => return Err(SignInError::NeedsSignIn("nobody is signed in".into())),
            Grant::Client(client) => {
                engine
                    .hook
                    .set_resource(ResourceParam::Is(found.resource.clone()));
                let mut client = client.clone();
                if matches!(client.proof, ClientProof::Kept) {
                    let secret = self.kept_secret().await?;
                    client.proof = ClientProof::Secret(secret.ok_or_else(|| {
                        SignInError::Settings("the client's secret is not known".into())
                    })?);
                }
                let got = client.obtain(engine, &found, scopes).await?;
                (Some(client.client_id), got)
            }
            Grant::Workload(workload) => {
                let got = workload.obtain(&engine, &found, scopes).await?;
                (workload.client_id.clone(), got)
            }
            Grant::Enterprise(enterprise) => {
                let around = Around {
                    vault: &self.vault,
                    visit,
                    settings: &settings,
                    limits: self.limits,
                };
                let mut enterprise = enterprise.clone();
                if enterprise.client_secret.is_none() {
                    enterprise.client_secret = self.kept_secret().await?;
                }
                let got = enterprise.obtain(&engine, &found, &scopes, &around).await?;
                (Some(enterprise.client_id), got)
            }
        };
        Ok(Record {
            server: self.server.name.clone(),
            url: self.server.url.to_string(),
            metadata: found.metadata_value(),
            client: client_id.map(|id| Client {
                id,
                // The configuration has it; here it would only be a second copy.
                secret: None,
                redirect_uri: String::new(),
                kind: ClientKind::Configured,
                proving: Proving::default(),
            }),
            issuer: Some(found.issuer),
            resource: Some(found.resource),
            tokens: Some(tokens),
            scopes: granted,
            wants_dpop: dpop.is_some(),
            dpop_key: dpop.map(|dpop| dpop.pkcs8().clone()),
            ..Record::default()
        })
    }

    /// Asks the server for its challenge with a request that changes nothing.
    pub(super) async fn probe(&self) -> Option<Challenge> {
        let engine = Engine::new(&self.server.url, &self.settings, self.limits)
            .await
            .ok()?;
        let mut out = Outbound::get(self.server.url.clone());
        out.method = Method::POST;
        out.body = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#.into();
        for (name, value) in [
            (header::CONTENT_TYPE, "application/json"),
            (header::ACCEPT, "application/json, text/event-stream"),
        ] {
            out.headers.insert(name, HeaderValue::from_static(value));
        }
        let head = engine.hook.head(out).await.ok()?;
        challenge::oauth(&head)
    }
}

impl Current {
    pub(super) fn fresh(&self) -> bool {
        let tokens = self.record.tokens.as_ref();
        tokens.is_some_and(|tokens| tokens.fresh(clock::millis()))
    }

    pub(super) fn valid(&self) -> bool {
        let tokens = self.record.tokens.as_ref();
        tokens.is_some_and(|tokens| tokens.valid(clock::millis()))
    }

    /// Whether `token` is the access token of this sign-in.
    pub(super) fn carries(&self, token: &str) -> bool {
        let tokens = self.record.tokens.as_ref();
        tokens.is_some_and(|tokens| tokens.access.expose() == token)
    }
}
