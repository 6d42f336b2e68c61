//! All that is known about one sign-in. The engine forgets most of this over a
//! restart (client secret, granted scopes, resource), so the record is ours.

use crate::{clock, engine_http::Proving, limits, secret::Secret};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// One server's (or identity provider's) sign-in, as the vault keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The configured name, for people who look at the file.
    pub server: String,
    /// The configured address.
    pub url: String,
    /// Who issued all this. Nothing here is ever sent to anybody else.
    pub issuer: Option<String>,
    /// The authorization server's metadata as it was used.
    pub metadata: Option<Value>,
    /// The resource that tokens are for, as the server's own document names it.
    pub resource: Option<String>,
    /// Our identity at the issuer.
    pub client: Option<Client>,
    /// What we were given.
    pub tokens: Option<Tokens>,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// Scopes that the server has asked for since: the next sign-in includes them.
    pub wanted: Vec<String>,
    /// The private key that tokens are bound to (PKCS#8, base64).
    pub dpop_key: Option<Secret>,
    /// Whether the server asks for bound tokens.
    pub wants_dpop: bool,
    /// The identity token, where this is a sign-in at an identity provider.
    pub id_token: Option<Secret>,
    /// Somebody signed out: a grant that needs nobody waits for a new sign-in.
    pub signed_out: bool,
    /// The last renewal that failed, so that a hundred processes do not all find out.
    pub trouble: Option<Trouble>,
    /// Which version this is, where several machines have it.
    #[serde(skip)]
    pub version: u64,
}

/// Who we are at an authorization server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    /// The client's id.
    pub id: String,
    /// Its secret, where it has one.
    #[serde(default)]
    pub secret: Option<Secret>,
    /// Where the browser is sent back to.
    pub redirect_uri: String,
    /// How we came by it.
    pub kind: ClientKind,
    /// How it proves itself, if it has a secret.
    #[serde(default)]
    pub proving: Proving,
}

/// How a client identity came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// Written in the configuration.
    Configured,
    /// An address of a metadata document (CIMD); good at every issuer.
    Document,
    /// Registered by us.
    Registered,
}

/// What an authorization server gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tokens {
    /// The access token.
    pub access: Secret,
    /// What renews it.
    #[serde(default)]
    pub refresh: Option<Secret>,
    /// Whether the access token is bound to a key.
    #[serde(default)]
    pub bound: bool,
    /// When it was received, in milliseconds since 1970.
    pub received_at: u64,
    /// When it ends; `None` where the server did not say.
    #[serde(default)]
    pub expires_at: Option<u64>,
}

/// A renewal that did not work out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trouble {
    /// Nobody tries again before this, in milliseconds since 1970.
    pub until: u64,
    /// How often in a row.
    pub times: u32,
    /// What happened.
    pub why: String,
}

impl Tokens {
    /// Tokens received now that live for `life`.
    pub fn received(access: Secret, refresh: Option<Secret>, life: Option<Duration>) -> Self {
        let now = clock::millis();
        let life = life.map(|life| u64::try_from(life.as_millis()).unwrap_or(u64::MAX / 2));
        Self {
            access,
            refresh,
            bound: false,
            received_at: now,
            expires_at: life.map(|life| now.saturating_add(life)),
        }
    }

    /// Whether the token is good at `now`.
    pub fn valid(&self, now: u64) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether it is good and not yet due to be renewed. The margin is a fifth of
    /// the token's life where that is short: otherwise a token of 20 s would be
    /// renewed before every request.
    pub fn fresh(&self, now: u64) -> bool {
        self.expires_at.is_none_or(|end| {
            let life = end.saturating_sub(self.received_at);
            now < end.saturating_sub(limits::MARGIN_MS.min(life / 5))
        })
    }
}

impl Record {
    /// Drops what the old issuer gave, when the server has a new one. Only an
    /// identity that is good everywhere survives.
    pub(crate) fn leave_issuer(&mut self) {
        self.tokens = None;
        self.scopes.clear();
        self.wanted.clear();
        self.metadata = None;
        self.issuer = None;
        self.dpop_key = None;
        self.trouble = None;
        self.forget_registration();
    }

    /// Notes a failed renewal and until when nobody should try again.
    /// Forgets who we are there, if we registered ourselves.
    pub(crate) fn forget_registration(&mut self) {
        self.client = self
            .client
            .take()
            .filter(|client| client.kind != ClientKind::Registered);
    }

    pub(crate) fn note_trouble(&mut self, why: String, wait: Duration) {
        let times = self.trouble.as_ref().map_or(0, |trouble| trouble.times) + 1;
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.trouble = Some(Trouble {
            until: clock::millis().saturating_add(wait),
            times,
            why,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(life: u64) -> Tokens {
        Tokens {
            access: Secret::new("canary-access"),
            refresh: Some(Secret::new("canary-refresh")),
            bound: false,
            received_at: 1_000_000,
            expires_at: Some(1_000_000 + life),
        }
    }

    #[test]
    fn a_short_life_has_a_short_margin() {
        // Trap 1: a token of 20 s is used for 16 s, not renewed at once.
        let short = token(20_000);
        assert!(short.fresh(1_000_000));
        assert!(short.fresh(1_015_999));
        assert!(!short.fresh(1_016_000));
        assert!(short.valid(1_019_999));
        assert!(!short.valid(1_020_000));
        let hour = token(3_600_000);
        assert!(hour.fresh(1_000_000 + 3_569_999));
        assert!(!hour.fresh(1_000_000 + 3_570_000));
    }

    #[test]
    fn nothing_prints_a_secret() {
        let record = Record {
            tokens: Some(token(1)),
            dpop_key: Some(Secret::new("canary-key")),
            id_token: Some(Secret::new("canary-id")),
            client: Some(Client {
                id: "me".into(),
                secret: Some(Secret::new("canary-client")),
                redirect_uri: String::new(),
                kind: ClientKind::Registered,
                proving: Proving::default(),
            }),
            ..Record::default()
        };
        assert!(!format!("{record:?} {record:#?}").contains("canary"));
    }

    #[test]
    fn an_identity_that_is_good_everywhere_survives_a_new_issuer() {
        for (kind, survives) in [
            (ClientKind::Registered, false),
            (ClientKind::Document, true),
            (ClientKind::Configured, true),
        ] {
            let mut record = Record {
                tokens: Some(token(1)),
                client: Some(Client {
                    id: "me".into(),
                    secret: None,
                    redirect_uri: String::new(),
                    kind,
                    proving: Proving::default(),
                }),
                ..Record::default()
            };
            record.leave_issuer();
            assert!(record.tokens.is_none());
            assert_eq!(record.client.is_some(), survives);
        }
    }
}
