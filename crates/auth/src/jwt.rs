//! Reading signed tokens of others: identity tokens of a provider, access tokens
//! of our own clients. Only public-key signatures, only by keys that the issuer
//! publishes, only with every claim that makes the token meant for us.

use jsonwebtoken::{
    Algorithm, DecodingKey, Header, TokenData, Validation,
    errors::ErrorKind,
    jwk::{Jwk, JwkSet, PublicKeyUse},
};
use serde_json::{Map, Value};

/// What is accepted. No `none`, and nothing with a shared secret: a public key
/// could be taken for one.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];
pub(crate) use crate::limits::LEEWAY;

/// The claims of a token.
pub(crate) type Claims = Map<String, Value>;

/// Why a token is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Signed by a key that is not among these; newer ones may hold it.
    UnknownKey,
    /// Not signed by the key that it names; a newer one may have that name.
    Forged,
    /// Anything else.
    Bad(&'static str),
}

/// The header of a token that may be good, by its form and by how it says it is signed.
pub(crate) fn header(token: &str) -> Result<Header, Unfit> {
    let header =
        jsonwebtoken::decode_header(token).map_err(|_| Unfit::Bad("it is not a signed token"))?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(Unfit::Bad("its algorithm is not accepted"));
    }
    if header.crit.is_some() {
        return Err(Unfit::Bad("it demands an extension that is not known"));
    }
    Ok(header)
}

/// Verifies a token against keys, issuer and audience. `kinds` are the values of
/// `typ` that are accepted, beside none.
pub(crate) fn verify(
    token: &str,
    keys: &JwkSet,
    issuer: &str,
    audience: &str,
    kinds: &[&str],
) -> Result<Claims, Unfit> {
    let header = header(token)?;
    let kind = kind_in(&header);
    if !kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Err(Unfit::Bad("it is a token for another purpose"));
    }
    let key = choose(keys, header.kid.as_deref(), header.alg)?;
    let key = DecodingKey::from_jwk(key).map_err(|_| Unfit::Bad("its key cannot be used"))?;
    let mut wanted = Validation::new(header.alg);
    wanted.leeway = LEEWAY;
    wanted.validate_nbf = true;
    wanted.set_issuer(&[issuer]);
    wanted.set_audience(&[audience]);
    wanted.set_required_spec_claims(&["exp", "iss", "aud"]);
    let data: TokenData<Claims> =
        jsonwebtoken::decode(token, &key, &wanted).map_err(|fault| unfit(&fault))?;
    Ok(data.claims)
}

/// Whether a token's header says that it is of this kind (`typ`).
pub(crate) fn is_kind(token: &str, kind: &str) -> bool {
    let header = jsonwebtoken::decode_header(token);
    header.is_ok_and(|header| kind_in(&header).eq_ignore_ascii_case(kind))
}

fn kind_in(header: &Header) -> &str {
    let kind = header.typ.as_deref().unwrap_or("JWT");
    kind.strip_prefix("application/").unwrap_or(kind)
}

/// The key that a token names, or the only one that it can mean. The token's own
/// `jwk` and `jku` are never looked at.
fn choose<'a>(keys: &'a JwkSet, kid: Option<&str>, alg: Algorithm) -> Result<&'a Jwk, Unfit> {
    let fits = |key: &&Jwk| {
        let common = &key.common;
        let signs = common
            .public_key_use
            .as_ref()
            .is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let named = common
            .key_algorithm
            .is_none_or(|named| named.to_string() == format!("{alg:?}"));
        let family =
            DecodingKey::from_jwk(key).is_ok_and(|key| key.family().algorithms().contains(&alg));
        signs && named && family
    };
    let mut usable = keys.keys.iter().filter(fits);
    match kid {
        Some(kid) => usable
            .find(|key| key.common.key_id.as_deref() == Some(kid))
            .ok_or(Unfit::UnknownKey),
        None => match (usable.next(), usable.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Unfit::UnknownKey),
            (Some(_), Some(_)) => Err(Unfit::Bad("it does not name its key")),
        },
    }
}

fn unfit(fault: &jsonwebtoken::errors::Error) -> Unfit {
    match fault.kind() {
        ErrorKind::InvalidSignature => Unfit::Forged,
        _ => Unfit::Bad(told(fault)),
    }
}

fn told(fault: &jsonwebtoken::errors::Error) -> &'static str {
    match fault.kind() {
        ErrorKind::ExpiredSignature => "it has expired",
        ErrorKind::ImmatureSignature => "it is not valid yet",
        ErrorKind::InvalidAudience => "it is meant for somebody else",
        ErrorKind::InvalidIssuer => "it is another issuer's",
        ErrorKind::MissingRequiredClaim(_) => "it lacks an expiry, issuer or audience",
        _ => "it cannot be read",
    }
}

/// The claims of a token that was verified before, or whose issuer's word is
/// taken for no more than a hint.
pub(crate) fn unverified(token: &str) -> Option<Claims> {
    jsonwebtoken::dangerous::insecure_decode_claims(token).ok()
}
