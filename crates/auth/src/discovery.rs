//! Finding a server's authorization server (RFC 9728, RFC 8414), and refusing what
//! does not fit: another resource's document, another issuer's metadata, endpoints
//! that we may not go to, a server without PKCE.

use crate::{
    challenge::Challenge,
    engine::{Engine, quiet},
    engine_http::{Last, NO_AUTHORIZATION_ENDPOINT},
    error::{SignInError, shown},
    net::NetError,
    settings::{OauthSettings, Server},
};
use rmcp::transport::auth::{AuthError, AuthorizationMetadata, AuthorizationMetadataSource};
use serde_json::{Value, json};
use url::Url;

/// What is known about a server's authorization.
#[derive(Clone, Debug)]
pub(crate) struct Discovered {
    pub(crate) metadata: AuthorizationMetadata,
    /// Who issues: the metadata's `issuer`, or the token endpoint where it names none.
    pub(crate) issuer: String,
    /// What tokens are for.
    pub(crate) resource: String,
    /// Scopes that the resource suggests.
    pub(crate) scopes: Vec<String>,
    /// Whether tokens should be bound to a key.
    pub(crate) dpop: bool,
    /// Whether anything was published at all.
    published: bool,
}

impl Discovered {
    /// Metadata as the record keeps it.
    pub(crate) fn metadata_value(&self) -> Option<Value> {
        serde_json::to_value(&self.metadata).ok()
    }

    /// Refuses an authorization server that a person cannot be sent to.
    pub(crate) fn check_for_person(&self, engine: &Engine) -> Result<(), SignInError> {
        if self.metadata.authorization_endpoint == NO_AUTHORIZATION_ENDPOINT {
            return Err(SignInError::Discovery(
                "the authorization server has no page to sign in at".into(),
            ));
        }
        endpoint(
            engine,
            "authorization",
            &self.metadata.authorization_endpoint,
        )?;
        let methods = &self.metadata.code_challenge_methods_supported;
        let s256 = methods
            .as_ref()
            .is_some_and(|methods| methods.iter().any(|method| method == "S256"));
        if !s256 && self.published {
            return Err(SignInError::Discovery(
                "the authorization server does not offer PKCE with S256, without which a stolen code can be used by others".into(),
            ));
        }
        Ok(())
    }
}

/// Discovers, and readies the engine with what was found.
pub(crate) async fn discover(
    engine: &mut Engine,
    server: &Server,
    settings: &OauthSettings,
    challenge: Option<&Challenge>,
) -> Result<Discovered, SignInError> {
    let pointer = challenge
        .and_then(|challenge| challenge.param("resource_metadata"))
        .and_then(|value| server.url.join(value).ok());
    let (metadata, published) = match &settings.auth_server_metadata_url {
        Some(url) => {
            let metadata = fetch_metadata(engine, url).await?;
            resource_document(engine, server, pointer.as_ref()).await;
            (metadata, true)
        }
        None => {
            let found = by_engine(engine, settings, pointer.as_ref()).await;
            // Another resource's document is the reason to give, if there was one: the
            // engine passes over it and finds nothing else.
            if let Err(SignInError::Discovery(_)) = &found {
                resource(server, engine.hook.document().as_ref())?;
            }
            found?
        }
    };
    let document = engine.hook.document();
    let resource = resource(server, document.as_ref())?;
    for (what, address) in [
        ("token", Some(metadata.token_endpoint.as_str())),
        ("registration", metadata.registration_endpoint.as_deref()),
        ("key", metadata.jwks_uri.as_deref()),
        ("revocation", text(&metadata, "revocation_endpoint")),
    ] {
        if let Some(address) = address {
            endpoint(engine, what, address)?;
        }
    }
    let issuer = metadata
        .issuer
        .clone()
        .unwrap_or_else(|| metadata.token_endpoint.clone());
    if let Some(expected) = &settings.issuer
        && !same_issuer(&issuer, expected)
    {
        return Err(SignInError::Issuer {
            expected: expected.clone(),
            received: shown(&issuer),
        });
    }
    engine.manager.set_metadata(metadata.clone());
    let document = document.unwrap_or_default();
    let found = Discovered {
        dpop: settings.dpop && wants_dpop(&metadata, &document, challenge),
        scopes: strings(&document["scopes_supported"]),
        metadata,
        issuer,
        resource,
        published,
    };
    Ok(found)
}

/// Discovery by rmcp. It gets the address of the document and nothing else of the
/// challenge: it reads headers by substrings.
async fn by_engine(
    engine: &Engine,
    settings: &OauthSettings,
    pointer: Option<&Url>,
) -> Result<(AuthorizationMetadata, bool), SignInError> {
    if let Some(pointer) = pointer {
        engine.hook.check(pointer)?;
    }
    let header = pointer.map(|url| format!("Bearer resource_metadata=\"{url}\""));
    let work = engine
        .manager
        .resolve_metadata_from_challenge(header.as_deref());
    let resolution = match quiet(work).await {
        Ok(resolution) => resolution,
        Err(AuthError::AuthorizationServerMismatch {
            expected_issuer,
            received_issuer,
        }) => {
            return Err(SignInError::Issuer {
                expected: shown(&expected_issuer),
                received: shown(&received_issuer),
            });
        }
        Err(AuthError::AuthorizationServerMissingIssuer { expected_issuer }) => {
            return Err(SignInError::Issuer {
                expected: shown(&expected_issuer),
                received: "nobody".into(),
            });
        }
        Err(fault) => {
            return Err(match engine.hook.last() {
                Some(Last::Failed(NetError::Refused(why))) => why.into(),
                _ => SignInError::Discovery(engine.hook.explain(&fault)),
            });
        }
    };
    let published = resolution.source != AuthorizationMetadataSource::LegacyEndpointFallback;
    if !published && !settings.legacy_endpoints {
        return Err(SignInError::Discovery(
            "it publishes neither protected-resource nor authorization-server metadata".into(),
        ));
    }
    Ok((resolution.metadata, published))
}

/// The configured metadata document.
async fn fetch_metadata(engine: &Engine, url: &Url) -> Result<AuthorizationMetadata, SignInError> {
    let fetched = engine.hook.document_at(url.clone()).await;
    let Some(mut document) = fetched.map_err(network)? else {
        return Err(SignInError::Discovery(format!(
            "there is no metadata at {}",
            crate::address::origin(url)
        )));
    };
    if document["authorization_endpoint"].is_null() {
        document["authorization_endpoint"] = json!(NO_AUTHORIZATION_ENDPOINT);
    }
    let metadata: AuthorizationMetadata = serde_json::from_value(document)
        .map_err(|_| SignInError::Discovery("the configured metadata cannot be read".into()))?;
    let expected = issuer_of(url);
    match (&metadata.issuer, expected) {
        (Some(issuer), Some(expected)) if !same_issuer(issuer, &expected) => {
            Err(SignInError::Issuer {
                expected,
                received: shown(issuer),
            })
        }
        (None, expected) => Err(SignInError::Issuer {
            expected: expected.unwrap_or_else(|| "an issuer".into()),
            received: "nobody".into(),
        }),
        _ => Ok(metadata),
    }
}

/// Looks for the protected-resource document beside a configured metadata address;
/// the hook keeps what it sees. Nothing depends on its being there.
async fn resource_document(engine: &Engine, server: &Server, pointer: Option<&Url>) {
    let mut places: Vec<Url> = pointer.cloned().into_iter().collect();
    for path in [
        format!(
            "/.well-known/oauth-protected-resource{}",
            server.url.path().trim_end_matches('/')
        ),
        "/.well-known/oauth-protected-resource".to_owned(),
    ] {
        let mut url = server.url.clone();
        url.set_path(&path);
        url.set_query(None);
        places.push(url);
    }
    for url in places {
        if let Ok(Some(document)) = engine.hook.document_at(url).await
            && document["resource"].is_string()
        {
            engine.hook.keep_document(document);
            return;
        }
    }
}

/// What tokens are for: the resource that the server's document names, if it is
/// this server.
fn resource(server: &Server, document: Option<&Value>) -> Result<String, SignInError> {
    let mut own = server.url.clone();
    own.set_fragment(None);
    let Some(named) = document.and_then(|document| document["resource"].as_str()) else {
        return Ok(own.into());
    };
    let fits = Url::parse(named).is_ok_and(|url| covers(&url, &own));
    if !fits {
        return Err(SignInError::Discovery(format!(
            "its protected-resource metadata is for another resource, {}",
            shown(named)
        )));
    }
    Ok(named.to_owned())
}

/// Whether `resource` is the server, or a path above it at the same origin.
fn covers(resource: &Url, server: &Url) -> bool {
    let (above, path) = (resource.path(), server.path());
    resource.origin() == server.origin()
        && resource.fragment().is_none()
        && (above == path
            || path
                .strip_prefix(above)
                .is_some_and(|rest| above.ends_with('/') || rest.starts_with('/')))
}

/// Bound tokens are asked for where both sides know them: an issuer may offer them
/// for other resources, and a server that knows nothing of them would refuse ours.
fn wants_dpop(
    metadata: &AuthorizationMetadata,
    document: &Value,
    challenge: Option<&Challenge>,
) -> bool {
    let es256 = |value: &Value| strings(value).iter().any(|alg| alg == "ES256");
    let issuer = metadata
        .additional_fields
        .get("dpop_signing_alg_values_supported")
        .is_some_and(es256);
    let server = challenge.is_some_and(|challenge| challenge.scheme == "dpop")
        || document["dpop_bound_access_tokens_required"] == true
        || es256(&document["dpop_signing_alg_values_supported"]);
    issuer && server
}

fn endpoint(engine: &Engine, what: &str, address: &str) -> Result<Url, SignInError> {
    let url = Url::parse(address)
        .map_err(|_| SignInError::Refused(format!("the {what} endpoint is not an address")))?;
    engine
        .hook
        .check(&url)
        .map_err(|why| SignInError::Refused(format!("the {what} endpoint: {why}")))?;
    if url.fragment().is_some() {
        return Err(SignInError::Refused(format!(
            "the {what} endpoint has a fragment"
        )));
    }
    Ok(url)
}

pub(crate) fn text<'a>(metadata: &'a AuthorizationMetadata, name: &str) -> Option<&'a str> {
    metadata.additional_fields.get(name)?.as_str()
}

pub(crate) fn strings(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

fn network(fault: NetError) -> SignInError {
    match fault {
        NetError::Refused(why) => why.into(),
        other => SignInError::Discovery(other.to_string()),
    }
}

/// Issuers are compared as text; only the slash of an address without a path may
/// be there or not.
pub(crate) fn same_issuer(one: &str, other: &str) -> bool {
    let bare = |issuer: &str| match issuer.strip_suffix('/') {
        Some(rest) if Url::parse(rest).is_ok_and(|url| url.path() == "/") => rest.to_owned(),
        _ => issuer.to_owned(),
    };
    bare(one) == bare(other)
}

/// The issuer that a well-known address belongs to.
pub(crate) fn issuer_of(url: &Url) -> Option<String> {
    let path = url.path();
    let mut issuer = url.clone();
    issuer.set_query(None);
    issuer.set_fragment(None);
    let of = [
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ]
    .into_iter()
    .find_map(|known| {
        path.strip_prefix(known)
            .or_else(|| path.strip_suffix(known))
    })?;
    issuer.set_path(of);
    Some(issuer.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_resource_covers_what_is_below_it() {
        let server = url("https://x/a/mcp?k=v");
        for fits in [
            "https://x/a/mcp",
            "https://x/a",
            "https://x/a/",
            "https://x",
            "https://x:443/",
        ] {
            assert!(covers(&url(fits), &server), "{fits}");
        }
        for other in [
            "https://y/a/mcp",
            "http://x/a/mcp",
            "https://x:8/a/mcp",
            "https://x/a/m",
            "https://x/b",
            "https://x/a/mcp#f",
        ] {
            assert!(!covers(&url(other), &server), "{other}");
        }
    }

    #[test]
    fn issuers_are_text() {
        assert!(same_issuer("https://a", "https://a/"));
        assert!(!same_issuer("https://a/t", "https://a/t/"));
        assert!(!same_issuer("https://A", "https://a"));
        assert_eq!(
            issuer_of(&url("https://a/.well-known/oauth-authorization-server/t")).as_deref(),
            Some("https://a/t")
        );
        assert_eq!(
            issuer_of(&url("https://a/t/.well-known/openid-configuration")).as_deref(),
            Some("https://a/t")
        );
        assert_eq!(issuer_of(&url("https://a/meta.json")), None);
    }
}
