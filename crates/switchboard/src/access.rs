//! How configured servers are got in to: from an entry to an authority, a headers
//! helper, or both.

use crate::{
    apart::{Apart, SAFE_PATH},
    dirs::Dirs,
    limits,
    spec::surroundings,
    stand_in::stand_in,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};
pub(crate) use switchboard_auth::{Authority, TokenStore};
use switchboard_auth::{
    ClientCredentials, ClientProof, Enterprise, FleetWay, Grant, HeadersHelper, IdentityProvider,
    NeedsAuth, OauthSettings, Secret, Server, Vault, Workload,
};
use switchboard_config::{
    Entry, Fault, OauthGrant, Scope, SignIn,
    expand::{self, Expanded},
};
use switchboard_host::StandIn;
use switchboard_local::hex;
use switchboard_transport::http::Authorize;
use url::Url;

/// Where sign-ins are kept, and who vouches for us.
#[derive(Clone, Debug)]
pub struct Access {
    vault: Vault,
    needs_auth: NeedsAuth,
    /// The enterprise's identity provider, or what is wrong with its settings.
    idp: Option<Result<IdentityProvider, ProviderError>>,
    /// Whether it is used wherever it can be (`CLAUDE_CODE_ENABLE_XAA=1`).
    xaa_everywhere: bool,
    /// Whether clients of ours can start a sign-in.
    for_clients: bool,
    /// Where relative paths of entries begin, and helpers run.
    directory: PathBuf,
}

/// The ways in to one server.
#[derive(Clone, Default)]
pub struct WayIn {
    /// OAuth, where nothing else is configured instead.
    pub authority: Option<Authority>,
    /// What the requests to it are given to.
    pub authorize: Option<Arc<dyn Authorize>>,
}

impl Access {
    /// Everything in its usual place. `store` is what the user says for this
    /// once; else the environment, else the settings.
    pub fn new(
        directory: &Path,
        dirs: &Dirs,
        settings: &SignIn,
        store: Option<TokenStore>,
        lookup: expand::Lookup<'_>,
    ) -> Self {
        let said = lookup("SWITCHBOARD_TOKEN_STORE").or_else(|| settings.token_store.clone());
        let said = match said.as_deref() {
            Some("file") => TokenStore::File,
            None | Some("" | "keychain") => TokenStore::Keychain,
            Some(other) => {
                tracing::warn!(
                    "SWITCHBOARD_TOKEN_STORE={other:?} is ignored: it must be keychain or file"
                );
                TokenStore::Keychain
            }
        };
        let enabled = |value: String| value == "1" || value == "true";
        Self {
            vault: Vault::open(dirs.data.join("vault"), store.unwrap_or(said)),
            needs_auth: NeedsAuth::open(&dirs.cache),
            idp: settings.idp.as_ref().map(|idp| provider(idp, lookup)),
            xaa_everywhere: lookup("CLAUDE_CODE_ENABLE_XAA").is_some_and(enabled),
            for_clients: false,
            directory: directory.to_owned(),
        }
    }

    /// Sign-ins are shared with other machines, as soon as there is a way.
    pub(crate) fn shared(mut self, sign_ins: FleetWay) -> Self {
        self.vault = self.vault.shared(sign_ins);
        self
    }

    /// For a gateway: a server that wants a sign-in is shown to clients as one
    /// with a tool that starts it.
    pub fn for_clients(mut self) -> Self {
        self.for_clients = true;
        self
    }

    /// What stands in for a server while it wants a sign-in.
    pub(crate) fn stand_in(
        &self,
        entry: &Expanded,
        authority: Option<&Authority>,
    ) -> Option<StandIn> {
        let authority =
            authority.filter(|authority| self.for_clients && authority.needs_person())?;
        // That one signs in for others is said in the user's own files, or the
        // administrator's.
        let by_any_client = entry.oauth.clients_sign_in
            && !matches!(
                entry.scope,
                Scope::Fleet | Scope::Connector | Scope::Plugin | Scope::Project
            );
        Some(stand_in(&entry.name, authority.clone(), by_any_client))
    }

    /// Whether the server was found to need a sign-in lately.
    pub fn is_known_to_need(&self, entry: &Expanded) -> bool {
        self.needs_auth.is_known(&entry.name, &hash(entry))
    }

    /// The ways in to a remote server; `apart` says how to start its helper where
    /// the working directory is not trusted.
    pub fn way_in(&self, entry: &Expanded, apart: Option<&Apart>) -> Result<WayIn, Vec<Fault>> {
        let address = entry.url.as_deref().unwrap_or_default();
        let authority = if wants_oauth(entry) {
            Some(self.authority(entry)?)
        } else {
            None
        };
        let beneath = authority
            .clone()
            .map(|authority| Arc::new(authority) as Arc<dyn Authorize>);
        let authorize = match &entry.headers_helper {
            None => beneath,
            Some(command) => {
                let mut helper = HeadersHelper::new(command, &entry.name, address)
                    .in_folder(&self.directory)
                    .knowing(entry.given.iter().cloned())
                    .inheriting(surroundings(entry));
                if let Some(apart) = apart {
                    helper = helped(apart, helper);
                }
                if let Some(beneath) = beneath {
                    helper = helper.over(beneath);
                }
                if entry.headers_helper_optional {
                    helper = helper.optional();
                }
                Some(Arc::new(helper) as Arc<dyn Authorize>)
            }
        };
        Ok(WayIn {
            authority,
            authorize,
        })
    }

    /// The authority over one server.
    pub fn authority(&self, entry: &Expanded) -> Result<Authority, Vec<Fault>> {
        let url = web_address(entry.url.as_deref().unwrap_or_default())
            .ok_or_else(|| vec![entry.fault("url", "is no address that one can sign in to")])?;
        let mut faults = Vec::new();
        let settings = settings(entry, &mut faults);
        let grant = self.grant(entry, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        let server = Server {
            name: entry.name.clone(),
            url,
            config_hash: hash(entry),
        };
        Ok(Authority::builder(server, self.vault.clone())
            .settings(settings)
            .grant(grant)
            .needs_auth(self.needs_auth.clone())
            .build())
    }

    fn grant(&self, entry: &Entry, faults: &mut Vec<Fault>) -> Grant {
        let oauth = &entry.oauth;
        let id = oauth.client_id.clone();
        let secret = oauth.client_secret.clone().map(Secret::new);
        match oauth.grant {
            OauthGrant::Client => {
                let proof = match (&oauth.private_key, secret) {
                    (Some(file), _) => match read_key(&self.directory.join(file)) {
                        Ok(pem) => ClientProof::PrivateKey {
                            pem,
                            algorithm: oauth
                                .signing_algorithm
                                .clone()
                                .unwrap_or_else(|| "ES256".into()),
                        },
                        Err(problem) => {
                            faults.push(entry.fault("oauth.privateKey", problem.to_string()));
                            ClientProof::Kept
                        }
                    },
                    (None, Some(secret)) => ClientProof::Secret(secret),
                    (None, None) => ClientProof::Kept,
                };
                Grant::Client(ClientCredentials {
                    client_id: id.unwrap_or_default(),
                    proof,
                })
            }
            OauthGrant::Workload => {
                let file = oauth.assertion_file.as_deref().unwrap_or_default();
                Grant::Workload(Workload::file(id, self.directory.join(file)))
            }
            OauthGrant::Person => self.person(entry, id, secret, faults),
        }
    }

    /// A person signs in: at the server's own issuer, or at the enterprise's.
    fn person(
        &self,
        entry: &Entry,
        id: Option<String>,
        secret: Option<Secret>,
        faults: &mut Vec<Fault>,
    ) -> Grant {
        let asked = entry.oauth.xaa == Some(true);
        let possible = id.is_some() && self.idp.is_some();
        let by_default = self.xaa_everywhere && entry.oauth.xaa.is_none() && possible;
        if !asked && !by_default {
            return Grant::Person;
        }
        let Some(client_id) = id else {
            let mut fault = entry.fault("oauth.clientId", "is missing");
            fault.hint = Some("the server's issuer must know us: add its client id".to_owned());
            faults.push(fault);
            return Grant::Person;
        };
        match &self.idp {
            Some(Ok(idp)) => Grant::Enterprise(Enterprise {
                idp: idp.clone(),
                client_id,
                client_secret: secret,
            }),
            Some(Err(problem)) => {
                faults.push(entry.fault("oauth.xaa", problem.to_string()));
                Grant::Person
            }
            None => {
                let mut fault =
                    entry.fault("oauth.xaa", "no identity provider is configured for it");
                let hint =
                    "add \"xaaIdp\": {\"issuer\": \"…\", \"clientId\": \"…\"} to your settings";
                fault.hint = Some(hint.to_owned());
                faults.push(fault);
                Grant::Person
            }
        }
    }
}

/// Has a helper start where the folder that we are in cannot reach it.
fn helped(apart: &Apart, helper: HeadersHelper) -> HeadersHelper {
    let path = apart.search_path();
    helper.elsewhere(apart.rooms.clone()).knowing([
        ("PATH".to_owned(), path.to_string_lossy().into_owned()),
        (SAFE_PATH.to_owned(), "1".to_owned()),
    ])
}

/// Whether we would sign in to it: it is remote, and its headers do not say
/// already who we are.
pub fn wants_oauth(entry: &Entry) -> bool {
    let named = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    let url = web_address(entry.url.as_deref().unwrap_or_default());
    let in_address = url
        .as_ref()
        .is_some_and(|url| !url.username().is_empty() || url.password().is_some());
    let explicit = entry.written.get("oauth").is_some_and(Value::is_object);
    url.is_some() && (explicit || !(in_address || entry.headers.iter().any(named)))
}

/// The address under which a server's authorization is looked for; WebSocket
/// servers publish it over HTTP like all others.
fn web_address(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    let scheme = match url.scheme() {
        "http" | "https" => return url.has_host().then_some(url),
        "ws" => "http",
        "wss" => "https",
        _ => return None,
    };
    let text = url.as_str().replacen(url.scheme(), scheme, 1);
    url = Url::parse(&text).ok()?;
    url.has_host().then_some(url)
}

/// Identifies a server for the vault: where it is, and how it is talked to. A
/// token for one address is never used at another.
fn hash(entry: &Entry) -> String {
    // Who may sign in says nothing about how.
    let mut oauth = entry.written.get("oauth").cloned();
    if let Some(Value::Object(fields)) = &mut oauth
        && fields.remove("clientsSignIn").is_some()
        && fields.is_empty()
    {
        oauth = None;
    }
    let whole = json!([
        entry.transport.as_str(),
        entry.url,
        entry.written.get("headers"),
        oauth,
        entry.written.get("tls"),
    ]);
    hex(&Sha256::digest(whole.to_string().as_bytes())[..16])
}

fn settings(entry: &Entry, faults: &mut Vec<Fault>) -> OauthSettings {
    let oauth = &entry.oauth;
    let mut address = |field: &str, text: &Option<String>| {
        let text = text.as_deref()?;
        let url = web_address(text);
        if url.is_none() {
            faults.push(entry.fault(field, "is no web address"));
        }
        url
    };
    OauthSettings {
        client_metadata_url: address("oauth.clientMetadataUrl", &oauth.client_metadata_url),
        auth_server_metadata_url: address(
            "oauth.authServerMetadataUrl",
            &oauth.auth_server_metadata_url,
        ),
        client_id: oauth.client_id.clone(),
        client_secret: oauth.client_secret.clone().map(Secret::new),
        issuer: oauth.issuer.clone(),
        callback_port: oauth.callback_port,
        scopes: oauth.scopes.clone(),
        allow_private_addresses: oauth.allow_private_addresses,
        ..OauthSettings::default()
    }
}

/// Why the enterprise's identity provider cannot be used; where its settings are.
#[derive(Clone, Debug, thiserror::Error)]
enum ProviderError {
    #[error("{0}: the variable {1} is not set")]
    Variable(String, String),
    #[error("{0}: the issuer of xaaIdp is no web address")]
    Issuer(String),
}

fn provider(
    idp: &switchboard_config::Idp,
    lookup: expand::Lookup<'_>,
) -> Result<IdentityProvider, ProviderError> {
    let place = &idp.place;
    let fill = |text: &str| {
        expand::substitute(text, lookup)
            .map_err(|missing| ProviderError::Variable(place.clone(), missing.join(", ")))
    };
    let issuer = fill(&idp.issuer)?;
    let secret = match &idp.client_secret {
        Some(secret) => Some(fill(secret)?),
        None => lookup("MCP_XAA_IDP_CLIENT_SECRET"),
    };
    Ok(IdentityProvider {
        issuer: web_address(&issuer).ok_or_else(|| ProviderError::Issuer(place.clone()))?,
        client_id: fill(&idp.client_id)?,
        client_secret: secret.map(Secret::new),
        callback_port: idp.callback_port,
        scopes: idp.scopes.clone(),
        id_token: None,
    })
}

/// Why there is no private key.
#[derive(Debug, thiserror::Error)]
enum KeyError {
    #[error("holds no private key in PEM")]
    NoKey,
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

fn read_key(file: &Path) -> Result<Secret, KeyError> {
    let mut text = String::new();
    File::open(file)?
        .take(limits::KEY_BYTES)
        .read_to_string(&mut text)?;
    if text.contains("PRIVATE KEY") {
        Ok(Secret::new(text))
    } else {
        Err(KeyError::NoKey)
    }
}

#[cfg(test)]
mod tests;
