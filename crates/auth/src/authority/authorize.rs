//! Credentials for requests, and what to do about refusals.

use super::{Authority, Current, Inner};
use crate::{
    challenge::{self, Challenge},
    dpop::DpopError,
    error::SignInError,
    limits,
    record::Record,
    settings::{Grant, Visit},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use switchboard_tasks as tasks;
use switchboard_transport::http::{Asking, Authorize, BoxFuture, Refusal, Withheld};
use url::Url;

impl Authorize for Authority {
    fn headers<'a>(
        &'a self,
        request: &'a Asking<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, Withheld>> {
        Box::pin(async move {
            if request.let_in {
                self.inner.let_in();
            }
            let usable = self.inner.usable().await;
            match usable.map_err(|fault| fault.to_string())? {
                Some(current) => Ok(current.headers(request)?),
                None if !request.let_in && self.inner.is_shut() => Err(Withheld::SignIn),
                // The server says what it wants.
                None => Ok(HeaderMap::new()),
            }
        })
    }

    fn challenged<'a>(&'a self, refusal: &'a Refusal<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            match self.inner.refused(refusal).await {
                Ok(again) => again,
                Err(fault) => {
                    tracing::info!(server = self.inner.server.name, %fault, "not let in");
                    false
                }
            }
        })
    }

    fn answered(&self, headers: &HeaderMap) {
        if !headers.contains_key("dpop-nonce") {
            return;
        }
        let current = self.inner.current.lock().clone();
        if let Some(dpop) = current.as_ref().and_then(|current| current.dpop.as_ref()) {
            dpop.note_nonce(&self.inner.server.url, headers);
        }
    }
}

impl Inner {
    async fn refused(self: &Arc<Self>, refusal: &Refusal<'_>) -> Result<bool, SignInError> {
        let challenge = challenge::oauth(refusal.headers);
        let challenge = challenge.as_ref();
        let sent = Sent::of(refusal.credentials);
        if challenge.is_some_and(|c| c.param("error") == Some("use_dpop_nonce"))
            && sent.token.is_some()
        {
            // A nonce that was sent and is refused is no reason to sign in anew.
            let current = self.current.lock().clone();
            let dpop = current.as_ref().and_then(|current| current.dpop.as_ref());
            return Ok(dpop.is_some_and(|dpop| dpop.nonce(&self.server.url) != sent.nonce));
        }
        if refusal.status == 403 {
            return match challenge.filter(|c| c.wants_more()) {
                Some(challenge) => self.step_up(sent.token.as_deref(), challenge).await,
                None => Ok(false),
            };
        }
        self.readmitted(sent.token.as_deref(), refusal.times, challenge)
            .await
    }

    /// 401: another token, a renewed one, or a new sign-in.
    async fn readmitted(
        self: &Arc<Self>,
        refused: Option<&str>,
        times: u32,
        challenge: Option<&Challenge>,
    ) -> Result<bool, SignInError> {
        let _turn = self.turn.lock().await;
        let current = self.newest();
        if let (Some(current), Some(token)) = (&current, refused)
            && !current.carries(token)
            && current.fresh()
        {
            return Ok(true);
        }
        // A renewed token that is refused as well will not get better by renewing.
        if refused.is_some() && times == 1 {
            // In a task of its own, as every renewal is.
            let (inner, refused) = (self.clone(), refused.map(str::to_owned));
            let challenge = challenge.cloned();
            let renewing = tasks::spawn(tasks::Kind::SignIn, async move {
                let renewed = Box::pin(inner.renew(refused.as_deref(), challenge.as_ref()));
                renewed.await.map(drop)
            });
            match renewing.await {
                Ok(Ok(())) => return Ok(true),
                Ok(Err(fault)) if fault.needs_sign_in() => {}
                Ok(Err(fault)) => return Err(fault),
                Err(gone) => return Err(SignInError::Token(gone.to_string())),
            }
        }
        if refused.is_none() && current.is_none() {
            // Somebody may have signed in elsewhere since.
            if let Some(record) = self.vault.look(&self.key).await?
                && record.tokens.is_some()
            {
                return Ok(self.keep(record)?.valid() && times == 1);
            }
        }
        if times > 2 {
            return Ok(false);
        }
        match self.anew(challenge).await? {
            Some(record) => self.admit(record).await.map(|()| true),
            None => {
                self.sign_in_needed(challenge);
                Ok(false)
            }
        }
    }

    /// 403 with a scope: asks for more, at most three times an hour, and not for
    /// what we have: a server that demands granted scopes is not served by asking.
    async fn step_up(
        self: &Arc<Self>,
        refused: Option<&str>,
        challenge: &Challenge,
    ) -> Result<bool, SignInError> {
        let _turn = self.turn.lock().await;
        let current = self.current.lock().clone();
        if let (Some(current), Some(token)) = (&current, refused) {
            let granted = &current.record.scopes;
            let wanted = challenge.scopes();
            if wanted.iter().all(|scope| granted.contains(scope)) {
                // Somebody else has stepped up in the meantime, or nothing will help.
                return Ok(!current.carries(token) && current.valid());
            }
        }
        if !matches!(self.grant, Grant::Person if self.visit.is_none()) && !self.count_step() {
            tracing::warn!(
                server = self.server.name,
                "the server keeps asking for more scopes; not followed any further"
            );
            return Ok(false);
        }
        if let Some(record) = self.anew(Some(challenge)).await? {
            self.admit(record).await?;
            return Ok(true);
        }
        // Nobody is there: remembered for the sign-in that somebody will start.
        let lock = self
            .vault
            .lock(&self.key, limits::RENEWAL_ELSEWHERE)
            .await?;
        if let Some(mut record) = self.vault.load(&self.key).await? {
            for scope in challenge.scopes() {
                if !record.scopes.contains(&scope) && !record.wanted.contains(&scope) {
                    record.wanted.push(scope);
                }
            }
            self.vault.save(&self.key, &record).await?;
        }
        drop(lock);
        // The server itself lets us in as before.
        *self.asked.lock() = Some(challenge.clone());
        Ok(false)
    }

    /// A new sign-in, if one is possible here and now.
    async fn anew(&self, challenge: Option<&Challenge>) -> Result<Option<Record>, SignInError> {
        let visit: Option<&Visit> = self.visit.as_ref();
        match (&self.grant, visit) {
            (Grant::Person, None) => Ok(None),
            (Grant::Person, Some(visit)) => {
                self.vault.ready().await?;
                self.flow(visit, challenge).await.map(Some)
            }
            _ => match self.obtain(visit, challenge).await {
                Err(fault) if fault.needs_sign_in() => Ok(None),
                got => got.map(Some),
            },
        }
    }

    /// Whether the server was found to refuse lately, and nobody is there to
    /// sign in. Where it was not, the server itself is asked from now on, which
    /// costs a request no file.
    fn is_shut(&self) -> bool {
        if self.asked_before.load(Ordering::Relaxed) {
            return false;
        }
        let known = self.visit.is_none()
            // A sign-in at the enterprise's provider may have let us in since.
            && matches!(self.grant, Grant::Person)
            && self
                .needs_auth
                .as_ref()
                .is_some_and(|cache| cache.is_known(&self.server.name, &self.server.config_hash));
        self.asked_before.store(!known, Ordering::Relaxed);
        known
    }

    async fn admit(&self, mut record: Record) -> Result<(), SignInError> {
        let lock = self
            .vault
            .lock(&self.key, limits::RENEWAL_ELSEWHERE)
            .await?;
        let kept = self.vault.save(&self.key, &record).await;
        drop(lock);
        record.version = kept.as_ref().map_or(0, |version| *version);
        self.keep(record)?;
        self.signed_in();
        kept?;
        Ok(())
    }

    fn count_step(&self) -> bool {
        let mut steps = self.steps.lock();
        let now = Instant::now();
        while steps
            .front()
            .is_some_and(|step| now.duration_since(*step) > limits::STEP_WINDOW)
        {
            steps.pop_front();
        }
        if steps.len() >= limits::STEPS {
            return false;
        }
        steps.push_back(now);
        true
    }
}

/// Why a token cannot be shown.
#[derive(Debug, thiserror::Error)]
enum HeaderError {
    #[error(transparent)]
    Address(#[from] url::ParseError),
    #[error(transparent)]
    Proof(#[from] DpopError),
    #[error("the token cannot be sent in a header")]
    Token,
}

impl From<HeaderError> for Withheld {
    fn from(why: HeaderError) -> Self {
        Self::Failed(why.to_string())
    }
}

impl Current {
    fn headers(&self, request: &Asking<'_>) -> Result<HeaderMap, HeaderError> {
        let mut headers = HeaderMap::new();
        let Some(tokens) = &self.record.tokens else {
            return Ok(headers);
        };
        let token = tokens.access.expose();
        let scheme = match &self.dpop {
            Some(dpop) if tokens.bound => {
                let url = Url::parse(&request.url.to_string())?;
                let proof = dpop.proof(request.method, &url, Some(token))?;
                headers.insert("dpop", sensitive(proof)?);
                "DPoP"
            }
            _ => "Bearer",
        };
        headers.insert(
            header::AUTHORIZATION,
            sensitive(format!("{scheme} {token}"))?,
        );
        Ok(headers)
    }
}

fn sensitive(text: String) -> Result<HeaderValue, HeaderError> {
    let mut value = HeaderValue::try_from(text).map_err(|_| HeaderError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

/// What a refused request carried.
struct Sent {
    token: Option<String>,
    nonce: Option<String>,
}

impl Sent {
    fn of(credentials: &HeaderMap) -> Self {
        let text = |name: &str| credentials.get(name).and_then(|value| value.to_str().ok());
        let token = text("authorization").and_then(|value| value.split_once(' '));
        let claims = text("dpop").and_then(|proof| proof.split('.').nth(1));
        let claims = claims.and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
        let claims = claims.and_then(|claims| serde_json::from_slice::<Value>(&claims).ok());
        Self {
            token: token.map(|(_, token)| token.to_owned()),
            nonce: claims.and_then(|claims| claims["nonce"].as_str().map(str::to_owned)),
        }
    }
}
