//! The gateway's own door: who a client is, by the token that its identity
//! provider gave it. A library; routes and answers are the gateway's.

mod roles;

pub use roles::RoleClaim;

use crate::{
    address::Guard,
    discovery::same_issuer,
    error::SignInError,
    jwt::{self, Claims, Unfit},
    limits,
    net::{self, NetError, NetLimits, Outbound},
};
use jsonwebtoken::jwk::JwkSet;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::time::timeout;
use url::Url;

/// Longer than anything here lasts.
// tidy: it bounds nothing: it is what never comes
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// `typ` in the header of an access token (RFC 9068).
const ACCESS_TOKEN: &str = "at+jwt";

/// Claims of identity tokens (OpenID Connect Core, 2 and 3.3.2.11), and of tokens
/// that tell of events (RFC 8417).
const ONLY_ELSEWHERE: [&str; 5] = ["nonce", "at_hash", "c_hash", "s_hash", "events"];

/// Claims by which issuers tell their own tokens apart, and what they say in access
/// tokens.
const SAID_BY_ISSUERS: &[(&str, &[&str])] = &[
    ("typ", &["Bearer", "at+jwt", "application/at+jwt"]),
    ("token_use", &["access"]),
];

/// Claims that access tokens have, and identity tokens do not: what was allowed, and
/// to which client.
const ONLY_ACCESS: [&str; 6] = ["scope", "scp", "client_id", "cid", "appid", "azpacr"];

/// Whom to let in.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// Who vouches for clients.
    pub issuer: Url,
    /// What tokens must be meant for.
    pub audience: String,
    /// Our own endpoint, as clients write it.
    pub resource: Url,
    /// Scopes that every token must have.
    pub scopes: Vec<String>,
    /// Whether the issuer may be in a private network.
    pub allow_private_addresses: bool,
    /// What says what somebody may do besides being a client, if anything does.
    pub roles: Option<RoleClaim>,
}

/// A client that was let in.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The token's subject.
    pub subject: String,
    /// Who vouched.
    pub issuer: String,
    /// The client that the token was given to.
    pub client_id: Option<String>,
    /// What the token allows.
    pub scopes: Vec<String>,
    /// When it ends, in seconds since 1970.
    pub expires_at: u64,
    /// What its claims say it may do besides being a client.
    pub roles: Vec<String>,
}

impl Admitted {
    /// What they are called here.
    pub fn principal(&self) -> String {
        format!("oidc:{}", self.subject)
    }

    /// Until when it is let in: to the end of its token, or as far beyond as clocks
    /// may differ where it came after that.
    pub fn good_until(&self) -> SystemTime {
        let end = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let at = end(self.expires_at);
        let late = at.is_some_and(|at| at <= SystemTime::now());
        let at = match late {
            true => end(self.expires_at.saturating_add(jwt::LEEWAY)),
            false => at,
        };
        // Beyond what the clock can say: as good as for ever.
        at.unwrap_or_else(|| SystemTime::now() + FOR_EVER)
    }
}

/// Why somebody was not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// No token: 401.
    #[error("no token")]
    NoToken,
    /// A token that is no good: 401.
    #[error("the token is not accepted: {0}")]
    Invalid(&'static str),
    /// A good token that allows too little: 403.
    #[error("the token lacks a scope")]
    TooLittle,
    /// We cannot tell: 503.
    #[error("the issuer's keys cannot be had: {0}")]
    Unavailable(String),
}

impl Rejected {
    /// What is wrong with a token that is no good.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(why) => Some(why),
            Self::NoToken | Self::TooLittle | Self::Unavailable(_) => None,
        }
    }

    /// The HTTP status that says so.
    pub fn status(&self) -> u16 {
        match self {
            Self::NoToken | Self::Invalid(_) => 401,
            Self::TooLittle => 403,
            Self::Unavailable(_) => 503,
        }
    }
}

/// The door.
pub struct Door {
    pub(crate) settings: DoorSettings,
    pub(crate) guard: Guard,
    pub(crate) limits: NetLimits,
    keys: Mutex<Option<Arc<Keys>>>,
    fetching: tokio::sync::Mutex<Option<Instant>>,
}

/// Why an issuer's keys cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("HTTP {0}")]
    Status(u16),
    #[error("it publishes no metadata")]
    NoMetadata,
    #[error("its metadata names another issuer")]
    OtherIssuer,
    #[error("it publishes no keys")]
    NoKeys,
}

struct Keys {
    set: JwkSet,
    /// The issuer exactly as it writes itself.
    issuer: String,
    fetched: Instant,
}

impl Door {
    /// A door with these settings. Nothing is fetched yet.
    ///
    /// # Errors
    /// When the issuer's address is not one to go to.
    pub fn new(settings: DoorSettings) -> Result<Self, SignInError> {
        // The operator wrote the issuer: it is trusted to be where it says.
        let guard = Guard::new(&settings.issuer, settings.allow_private_addresses);
        let fits = guard.check(&settings.issuer);
        fits.map_err(|why| SignInError::Settings(why.to_string()))?;
        if settings.audience.is_empty() {
            return Err(SignInError::Settings("an audience is needed".into()));
        }
        Ok(Self {
            settings,
            guard,
            limits: NetLimits::default(),
            keys: Mutex::new(None),
            fetching: tokio::sync::Mutex::new(None),
        })
    }

    /// Whether to let in who sent this `Authorization` header. Tokens anywhere
    /// else, as in a query, are not looked at.
    ///
    /// # Errors
    /// Why not.
    pub async fn admit(&self, authorization: Option<&str>) -> Result<Admitted, Rejected> {
        let token = authorization
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .filter(|token| !token.is_empty())
            .ok_or(Rejected::NoToken)?;
        if token.len() > limits::TOKEN_BYTES {
            return Err(Rejected::Invalid("it is too long"));
        }
        // For what can be none of the issuer's tokens it is not asked for its keys: whoever
        // sends it would wait for as long as the issuer does.
        if let Err(Unfit::Bad(why)) = jwt::header(token) {
            return Err(Rejected::Invalid(why));
        }
        let keys = self.keys(None).await?;
        let verified = match self.verify(token, &keys) {
            // A new key may have the old one's name.
            Err(Unfit::UnknownKey | Unfit::Forged) => {
                let newer = self.keys(Some(&keys)).await?;
                self.verify(token, &newer)
            }
            other => other,
        };
        let claims = verified.map_err(|unfit| match unfit {
            Unfit::UnknownKey => Rejected::Invalid("its key is not among the issuer's"),
            Unfit::Forged => Rejected::Invalid("its signature is wrong"),
            Unfit::Bad(why) => Rejected::Invalid(why),
        })?;
        self.admitted(&claims, &keys.issuer)
    }

    fn verify(&self, token: &str, keys: &Keys) -> Result<Claims, Unfit> {
        let kinds = [ACCESS_TOKEN, "JWT"];
        let claims = jwt::verify(
            token,
            &keys.set,
            &keys.issuer,
            &self.settings.audience,
            &kinds,
        )?;
        if !jwt::is_kind(token, ACCESS_TOKEN) {
            is_access_token(&claims).map_err(Unfit::Bad)?;
        }
        Ok(claims)
    }

    fn admitted(&self, claims: &Claims, issuer: &str) -> Result<Admitted, Rejected> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let subject = text("sub")
            .filter(|subject| !subject.is_empty())
            .ok_or(Rejected::Invalid("it names nobody"))?;
        // Whoever shows it would have to prove that it has the key.
        if claims.contains_key("cnf") {
            return Err(Rejected::Invalid(
                "it is bound to a key, which is not looked at here",
            ));
        }
        let scopes: Vec<String> = match claims.get("scope").or_else(|| claims.get("scp")) {
            Some(Value::String(all)) => all.split_whitespace().map(str::to_owned).collect(),
            Some(list) => crate::discovery::strings(list),
            None => Vec::new(),
        };
        if !self
            .settings
            .scopes
            .iter()
            .all(|scope| scopes.contains(scope))
        {
            return Err(Rejected::TooLittle);
        }
        Ok(Admitted {
            subject: subject.to_owned(),
            issuer: issuer.to_owned(),
            client_id: text("client_id").or_else(|| text("azp")).map(str::to_owned),
            scopes,
            expires_at: claims.get("exp").map_or(0, seconds),
            roles: match &self.settings.roles {
                Some(roles) => roles.of(claims),
                None => Vec::new(),
            },
        })
    }

    /// The issuer's keys; newer ones than `old` if that is possible. While somebody
    /// fetches newer ones the others use what there is.
    async fn keys(&self, old: Option<&Arc<Keys>>) -> Result<Arc<Keys>, Rejected> {
        let cached = || {
            let keys = self.keys.lock().clone();
            keys.filter(|keys| keys.fetched.elapsed() < limits::KEYS_TRUSTED)
        };
        let good = |keys: &Arc<Keys>| match old {
            Some(old) => !Arc::ptr_eq(keys, old),
            None => keys.fetched.elapsed() < limits::KEYS_LIVE,
        };
        if let Some(keys) = cached().filter(good) {
            return Ok(keys);
        }
        let mut looked = match (
            self.fetching.try_lock(),
            old.is_none().then(cached).flatten(),
        ) {
            (Ok(looked), _) => looked,
            (Err(_), Some(keys)) => return Ok(keys),
            (Err(_), None) => self.fetching.lock().await,
        };
        if let Some(keys) = cached().filter(good) {
            return Ok(keys);
        }
        if looked.is_some_and(|at| at.elapsed() < limits::KEYS_LOOK_AGAIN) {
            return cached().ok_or_else(|| Rejected::Unavailable("asked a moment ago".into()));
        }
        let fetched = match cached() {
            Some(_) => timeout(limits::KEYS_RENEWAL, self.fetch()).await,
            None => Ok(self.fetch().await),
        };
        *looked = Some(Instant::now());
        match fetched {
            Ok(Ok(keys)) => {
                let keys = Arc::new(keys);
                *self.keys.lock() = Some(keys.clone());
                Ok(keys)
            }
            Ok(Err(why)) => cached().ok_or_else(|| Rejected::Unavailable(why.to_string())),
            Err(_) => cached().ok_or_else(|| Rejected::Unavailable("it does not answer".into())),
        }
    }

    /// What the issuer publishes of itself.
    pub(crate) async fn published(&self) -> Result<Value, KeysError> {
        let base = &self.settings.issuer;
        let path = base.path().trim_end_matches('/');
        let mut document = None;
        for place in [
            format!("{path}/.well-known/openid-configuration"),
            format!("/.well-known/oauth-authorization-server{path}"),
        ] {
            let mut url = base.clone();
            url.set_path(&place);
            document = self.document(url).await?;
            if document.is_some() {
                break;
            }
        }
        let document = document.ok_or(KeysError::NoMetadata)?;
        let issuer = document["issuer"].as_str().unwrap_or_default();
        match same_issuer(issuer, base.as_str()) {
            true => Ok(document),
            false => Err(KeysError::OtherIssuer),
        }
    }

    async fn fetch(&self) -> Result<Keys, KeysError> {
        let document = self.published().await?;
        let issuer = document["issuer"].as_str().unwrap_or_default();
        let keys = document["jwks_uri"].as_str().ok_or(KeysError::NoKeys)?;
        let keys = Url::parse(keys).map_err(|_| KeysError::NoKeys)?;
        let set = self.document(keys).await?.ok_or(KeysError::NoKeys)?;
        Ok(Keys {
            set: read_keys(&set),
            issuer: issuer.to_owned(),
            fetched: Instant::now(),
        })
    }

    async fn document(&self, url: Url) -> Result<Option<Value>, KeysError> {
        let answer = net::send(&self.guard, &self.limits, Outbound::get(url)).await?;
        match answer.status.as_u16() {
            200 => Ok(serde_json::from_slice(&answer.body).ok()),
            status @ 500..=599 => Err(KeysError::Status(status)),
            _ => Ok(None),
        }
    }

    /// The protected-resource document (RFC 9728) to publish at
    /// [`metadata_path`](Self::metadata_path).
    pub fn metadata(&self) -> Value {
        self.metadata_of(&self.settings.resource)
    }

    /// The same for another endpoint of ours.
    pub fn metadata_of(&self, resource: &Url) -> Value {
        let mut document = json!({
            "resource": resource.as_str(),
            "authorization_servers": [self.settings.issuer.as_str().trim_end_matches('/')],
            "bearer_methods_supported": ["header"],
        });
        if !self.settings.scopes.is_empty() {
            document["scopes_supported"] = json!(self.settings.scopes);
        }
        document
    }

    /// Where the document belongs.
    pub fn metadata_path(&self) -> String {
        metadata_path(&self.settings.resource)
    }

    /// The `WWW-Authenticate` of an answer to somebody who was not let in.
    pub fn challenge(&self, why: &Rejected) -> String {
        self.challenge_at(&self.settings.resource, why)
    }

    /// The same for another endpoint of ours.
    pub fn challenge_at(&self, resource: &Url, why: &Rejected) -> String {
        let mut url = resource.clone();
        url.set_path(&metadata_path(resource));
        url.set_query(None);
        let mut value = format!("Bearer resource_metadata=\"{url}\"");
        if !self.settings.scopes.is_empty() {
            value.push_str(&format!(", scope=\"{}\"", self.settings.scopes.join(" ")));
        }
        match why {
            Rejected::NoToken | Rejected::Unavailable(_) => {}
            Rejected::Invalid(_) => value.push_str(", error=\"invalid_token\""),
            Rejected::TooLittle => value.push_str(", error=\"insufficient_scope\""),
        }
        value
    }
}

fn metadata_path(resource: &Url) -> String {
    let path = resource.path().trim_end_matches('/');
    format!("/.well-known/oauth-protected-resource{path}")
}

/// Whether a token whose header does not say so (RFC 9068) is an access token, by its
/// claims. An identity token of the same issuer may have the same audience, and says
/// who somebody is to a client of the issuer's: it lets nobody in here. So one that
/// could be either is refused.
fn is_access_token(claims: &Claims) -> Result<(), &'static str> {
    let claim = |name: &str| claims.get(name).filter(|value| !value.is_null());
    let has = |name: &&str| claim(name).is_some();
    if ONLY_ELSEWHERE.iter().any(has) {
        return Err("it is an identity token, or another that lets nobody in");
    }
    let mut is_said = ONLY_ACCESS.iter().any(has);
    for (name, good) in SAID_BY_ISSUERS {
        let Some(said) = claim(name) else { continue };
        let said = said.as_str().unwrap_or_default();
        if !good.iter().any(|good| good.eq_ignore_ascii_case(said)) {
            return Err("it says that it is no access token");
        }
        is_said = true;
    }
    match is_said {
        true => Ok(()),
        false => Err("nothing in it says that it is an access token"),
    }
}

/// Keys that can be read; one of an unknown kind does not spoil the others.
fn read_keys(document: &Value) -> JwkSet {
    let keys = document["keys"].as_array().into_iter().flatten();
    let keys = keys.filter_map(|key| serde_json::from_value(key.clone()).ok());
    JwkSet {
        keys: keys.collect(),
    }
}

/// A time in seconds, which may have a fraction.
fn seconds(value: &Value) -> u64 {
    let whole = value.as_u64();
    whole.unwrap_or_else(|| value.as_f64().unwrap_or(0.0) as u64)
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
