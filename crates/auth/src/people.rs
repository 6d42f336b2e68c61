//! People who sign in at the door's issuer, for a page of ours: the authorization code flow
//! with PKCE. The browser carries a code and nothing else; what proves that a sign-in was
//! begun here is made anew from its state, so that strangers who begin many fill nothing.
//! State and code travel in one address: whoever sees that still lacks the secret that only
//! the page has which began, and of which proof and verifier are made.

mod places;

use crate::{
    Admitted, Door, Rejected, Secret,
    client_tokens::KeysError,
    clock,
    discovery::{same_issuer, strings},
    error::shown,
    limits,
    net::{self, Outbound},
};
use aws_lc_rs::{digest, hmac};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderValue, header};
use places::{Once, Places};
use serde_json::Value;
use std::{fmt, sync::Arc, time::Instant};
use subtle::ConstantTimeEq;
use switchboard_local::{
    hex,
    random::{self, NoRandomness},
};
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};

/// Our client at the issuer, by which people sign in.
#[derive(Clone, Debug, Default)]
pub struct PeopleSettings {
    /// What it is called there.
    pub client_id: String,
    /// Its secret, where it has one.
    pub client_secret: Option<Secret>,
    /// What the page is asked with besides, such as `audience`; `scope` is `openid` unless
    /// it is among these.
    pub params: Vec<(String, String)>,
}

/// Why nobody came in.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// The issuer does not say where its page is.
    #[error("the identity provider cannot be asked: {0}")]
    Unreachable(String),
    /// A page of ours that is none.
    #[error("the address to come back to is none of a page")]
    Back,
    /// Nothing of ours began it, or it took too long.
    #[error("this sign-in was not begun here, or too long ago")]
    NotBegun,
    /// Another issuer answered.
    #[error("another identity provider answered than the one that was asked")]
    OtherIssuer,
    /// The issuer says no.
    #[error("the identity provider refused: {0}")]
    Refused(String),
    /// A newer token is somebody else's.
    #[error("the identity provider's newer token is another person's")]
    OtherPerson,
    /// Too many ask the issuer already.
    #[error("too many sign in at the same moment")]
    Busy,
    /// Its token lets nobody in here.
    #[error("the identity provider's token is not taken here: {0}")]
    Unfit(#[from] Rejected),
    /// The system has no random numbers.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

impl PeopleError {
    /// Whether it may go well a moment later.
    pub fn passes(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Busy | Self::Unfit(Rejected::Unavailable(_))
        )
    }
}

/// Why there is no newer token, and what is left of the sign-in.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Unrenewed {
    /// Why.
    pub why: PeopleError,
    /// What a newer one may be had for later; where there is nothing, the sign-in is over.
    pub refresh: Option<Secret>,
}

/// A sign-in that was begun.
#[derive(Debug)]
pub struct Begun {
    /// The page of the issuer's at which it goes on.
    pub page: Url,
    /// What the issuer sends back; the browser that began keeps it, and compares.
    pub state: String,
    /// What the browser keeps besides, and shows nobody but us when it is back: it is in no
    /// address.
    pub secret: Secret,
}

/// What the issuer sends the browser back with.
#[derive(Clone, Debug)]
pub struct Back<'a> {
    /// Where it was sent back to.
    pub to: &'a str,
    /// What the sign-in was begun with.
    pub state: &'a str,
    /// What the browser was given besides.
    pub secret: &'a str,
    /// The code.
    pub code: &'a str,
    /// Who says so (RFC 9207).
    pub issuer: Option<&'a str>,
}

/// Somebody who has signed in.
#[derive(Debug)]
pub struct SignedPerson {
    /// What lets them in, as it does any client.
    pub token: Secret,
    /// What a newer one is had for.
    pub refresh: Option<Secret>,
    /// Whom it lets in.
    pub admitted: Admitted,
}

/// What an issuer publishes, and when it was asked.
type Published = (Instant, Result<Arc<Value>, Arc<KeysError>>);

/// The way in for people.
pub struct People {
    door: Arc<Door>,
    settings: PeopleSettings,
    key: hmac::Key,
    published: Mutex<Option<Published>>,
    finishing: Places,
    renewing: Places,
    /// Sign-ins that were ended already.
    ended: Once,
}

impl People {
    /// A way in by this client, at this door's issuer.
    ///
    /// # Errors
    /// Where there is no randomness.
    pub fn new(door: Arc<Door>, settings: PeopleSettings) -> Result<Self, PeopleError> {
        let key: [u8; 32] = random::bytes()?;
        Ok(Self {
            door,
            settings,
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            published: Mutex::default(),
            finishing: Places::default(),
            renewing: Places::default(),
            ended: Once::default(),
        })
    }

    /// The issuer's host, as people know it.
    pub fn host(&self) -> String {
        let issuer = &self.door.settings.issuer;
        let host = issuer.host_str().unwrap_or_default();
        match issuer.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Begins a sign-in that comes back to a page of ours.
    ///
    /// # Errors
    /// Where the issuer does not say where people sign in.
    pub async fn begin(&self, back: &str) -> Result<Begun, PeopleError> {
        page(back)?;
        let document = self.published().await?;
        let mut page = endpoint(&document, "authorization_endpoint")?;
        let begun = format!("{}.{}", random::id()?, clock::seconds());
        let secret = Secret::new(random::id()?);
        let state = format!("{begun}.{}", self.proof(&begun, back, secret.expose()));
        let verifier = self.verifier(&begun, secret.expose());
        let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
        {
            let mut query = page.query_pairs_mut();
            query.append_pair("response_type", "code");
            query.append_pair("client_id", &self.settings.client_id);
            query.append_pair("redirect_uri", back);
            query.append_pair("state", &state);
            query.append_pair("code_challenge_method", "S256");
            query.append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge));
            if !self.settings.params.iter().any(|(name, _)| name == "scope") {
                query.append_pair("scope", "openid");
            }
            for (name, value) in &self.settings.params {
                query.append_pair(name, value);
            }
        }
        Ok(Begun {
            page,
            state,
            secret,
        })
    }

    /// Ends one: what the issuer gives for the code, if it lets somebody in here. It is ended
    /// once: whoever has seen its state has the issuer asked nothing more.
    ///
    /// # Errors
    /// Where it was not begun here, or the issuer refuses, or its token is no good here.
    pub async fn finish(&self, back: &Back<'_>) -> Result<SignedPerson, PeopleError> {
        let (begun, proof) = back.state.rsplit_once('.').ok_or(PeopleError::NotBegun)?;
        let is_ours: bool = proof
            .as_bytes()
            .ct_eq(self.proof(begun, back.to, back.secret).as_bytes())
            .into();
        let since = begun.split_once('.').and_then(|(_, at)| at.parse().ok());
        let now = clock::seconds();
        let is_good = |at: u64| now.saturating_sub(at) < limits::PERSON_AT_PAGE.as_secs();
        if !is_ours || !since.is_some_and(is_good) {
            return Err(PeopleError::NotBegun);
        }
        let document = self.published().await?;
        let ours = document["issuer"].as_str().unwrap_or_default();
        let says = document["authorization_response_iss_parameter_supported"] == true;
        match back.issuer {
            Some(issuer) if !same_issuer(issuer, ours) => return Err(PeopleError::OtherIssuer),
            None if says => return Err(PeopleError::OtherIssuer),
            _ => {}
        }
        let _place = self.finishing.take().await?;
        if !self.ended.is_first(proof) {
            return Err(PeopleError::NotBegun);
        }
        let verifier = self.verifier(begun, back.secret);
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", back.code),
            ("redirect_uri", back.to),
            ("code_verifier", &verifier),
        ];
        let (token, refresh) = self.given(&grant).await?;
        let admitted = self.admitted(&token).await?;
        Ok(SignedPerson {
            token,
            refresh,
            admitted,
        })
    }

    /// A newer token of this principal's, for what came with the last one.
    ///
    /// # Errors
    /// Where the issuer refuses, or cannot be asked, or its token is no good here.
    pub async fn renew(
        &self,
        refresh: &Secret,
        principal: &str,
    ) -> Result<SignedPerson, Unrenewed> {
        let left = |why: PeopleError, refresh: &Secret| Unrenewed {
            refresh: why.passes().then(|| refresh.clone()),
            why,
        };
        let place = self.renewing.take().await;
        let _place = place.map_err(|why| left(why, refresh))?;
        let grant = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
        ];
        let given = self.given(&grant).await;
        let (token, newer) = given.map_err(|why| left(why, refresh))?;
        // An issuer that gives no other means that this one stays good.
        let newer = newer.unwrap_or_else(|| refresh.clone());
        let admitted = self.admitted(&token).await;
        let admitted = admitted.map_err(|why| left(why, &newer))?;
        if admitted.principal() != principal {
            return Err(left(PeopleError::OtherPerson, &newer));
        }
        Ok(SignedPerson {
            token,
            refresh: Some(newer),
            admitted,
        })
    }

    /// Whom a token lets in.
    async fn admitted(&self, token: &Secret) -> Result<Admitted, PeopleError> {
        let shows = Secret::new(format!("Bearer {}", token.expose()));
        Ok(self.door.admit(Some(shows.expose())).await?)
    }

    /// What the token endpoint gives for this: a token, and what a newer one is had for.
    async fn given(&self, grant: &[(&str, &str)]) -> Result<(Secret, Option<Secret>), PeopleError> {
        let document = self.published().await?;
        let url = endpoint(&document, "token_endpoint")?;
        let settings = &self.settings;
        let mut form = grant.to_vec();
        let mut basic = None;
        match &settings.client_secret {
            None => form.push(("client_id", &settings.client_id)),
            Some(secret) => {
                let ways = strings(&document["token_endpoint_auth_methods_supported"]);
                let has = |way: &str| ways.iter().any(|one| one == way);
                if has("client_secret_post") && !has("client_secret_basic") {
                    form.push(("client_id", &settings.client_id));
                    form.push(("client_secret", secret.expose()));
                } else {
                    basic = Some(basic_of(&settings.client_id, secret));
                }
            }
        }
        let mut out = Outbound::form(url, &form);
        if let Some(basic) = basic {
            let value = HeaderValue::try_from(basic);
            let mut value = value.map_err(|_| PeopleError::Refused("client".to_owned()))?;
            value.set_sensitive(true);
            out.headers.insert(header::AUTHORIZATION, value);
        }
        let answer = net::send(&self.door.guard, &self.door.limits, out).await;
        let answer = answer.map_err(|fault| PeopleError::Unreachable(shown(&fault.to_string())))?;
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let text = |name: &str| said[name].as_str().filter(|text| !text.is_empty());
        // It may do better a moment later, and what was shown to it is as good as it was.
        if answer.status.is_server_error() || [408, 425, 429].contains(&answer.status.as_u16()) {
            let status = answer.status.as_u16();
            return Err(PeopleError::Unreachable(format!("HTTP {status}")));
        }
        if answer.status != 200 {
            let why = text("error").unwrap_or("no reason");
            let more = text("error_description").map(|more| format!(" ({more})"));
            let why = format!("{why}{}", more.unwrap_or_default());
            return Err(PeopleError::Refused(shown(&why)));
        }
        let token = text("access_token");
        let token = token.ok_or_else(|| PeopleError::Refused("it gave no token".to_owned()))?;
        let refresh = text("refresh_token").map(Secret::new);
        Ok((Secret::new(token), refresh))
    }

    /// What the issuer publishes of itself. Asked for now and then, however many begin.
    async fn published(&self) -> Result<Arc<Value>, PeopleError> {
        let mut known = self.published.lock().await;
        let good = |(at, read): &Published| {
            let good = match read {
                Ok(_) => limits::KEYS_LIVE,
                Err(_) => limits::KEYS_LOOK_AGAIN,
            };
            at.elapsed() < good
        };
        let read = match known.take().filter(good) {
            Some(known) => known,
            None => {
                let read = self.door.published().await;
                (Instant::now(), read.map(Arc::new).map_err(Arc::new))
            }
        };
        let answer = read.1.clone();
        let answer = answer.map_err(|why| PeopleError::Unreachable(shown(&why.to_string())));
        *known = Some(read);
        answer
    }

    /// What shows that a sign-in was begun here, by whoever has this secret, to come back
    /// there.
    fn proof(&self, begun: &str, back: &str, secret: &str) -> String {
        let said = format!("state {} {begun} {back}", hashed(secret));
        hex(hmac::sign(&self.key, said.as_bytes()))
    }

    /// What the issuer is shown in the end, of which it had a hash before (RFC 7636).
    fn verifier(&self, begun: &str, secret: &str) -> String {
        let said = format!("verifier {} {begun}", hashed(secret));
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, said.as_bytes()))
    }
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A text of any length as one of a fixed length, so that nothing around it can be part of it.
fn hashed(text: &str) -> String {
    hex(digest::digest(&digest::SHA256, text.as_bytes()))
}

/// A page of ours: nothing but scheme, host and port, since nothing else is one.
fn page(back: &str) -> Result<(), PeopleError> {
    let url = Url::parse(back).map_err(|_| PeopleError::Back)?;
    let origin = url.origin().ascii_serialization();
    match ["http", "https"].contains(&url.scheme()) && format!("{origin}/") == back {
        true => Ok(()),
        false => Err(PeopleError::Back),
    }
}

fn endpoint(document: &Value, name: &str) -> Result<Url, PeopleError> {
    let url = document[name].as_str().and_then(|url| Url::parse(url).ok());
    let url = url.filter(|url| ["http", "https"].contains(&url.scheme()));
    url.ok_or_else(|| PeopleError::Unreachable(format!("it publishes no {name}")))
}

/// Who a client is, in a header (RFC 6749, 2.3.1).
fn basic_of(id: &str, secret: &Secret) -> String {
    let part =
        |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let both = format!("{}:{}", part(id), part(secret.expose()));
    format!("Basic {}", STANDARD.encode(both))
}

#[cfg(test)]
mod tests;
