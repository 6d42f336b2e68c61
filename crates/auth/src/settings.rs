//! What the configuration says about getting in, as plain values.

use crate::{
    client_credentials::ClientCredentials, journal::Journal, limits, secret::Secret,
    workload::Workload, xaa::Enterprise,
};
use std::{fmt, sync::Arc, time::Duration};
use switchboard_transport::http::BoxFuture;
use url::Url;

/// A server to get in to.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its configured name.
    pub name: String,
    /// Its MCP endpoint.
    pub url: Url,
    /// Identifies the entry as written; tokens belong to name and hash together.
    pub config_hash: String,
}

/// The `oauth` part of an entry, and a few settings around it.
#[derive(Clone, Debug)]
pub struct OauthSettings {
    /// `clientId`: an identity that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// The only issuer that the identity is meant for, where the user says so.
    pub issuer: Option<String>,
    /// The address of a client metadata document (CIMD) to be known by.
    pub client_metadata_url: Option<Url>,
    /// `callbackPort`; a free one where not given.
    pub callback_port: Option<u16>,
    /// `scopes`: what to ask for, instead of what the server suggests.
    pub scopes: Option<Vec<String>>,
    /// `authServerMetadataUrl`: skip discovery, this is the authorization server.
    pub auth_server_metadata_url: Option<Url>,
    /// Whether a server may name hosts in private networks.
    pub allow_private_addresses: bool,
    /// Whether `/authorize`, `/token` and `/register` may be guessed where nothing
    /// is published. Only revision 2025-03-26 has this.
    pub legacy_endpoints: bool,
    /// Whether bound tokens (DPoP) are asked for where server and issuer know them.
    pub dpop: bool,
    /// The name that consent pages show.
    pub client_name: String,
    /// How long a person may take to sign in.
    pub patience: Duration,
    /// Where each step of a sign-in is written down.
    pub journal: Journal,
}

impl Default for OauthSettings {
    fn default() -> Self {
        Self {
            client_id: None,
            client_secret: None,
            issuer: None,
            client_metadata_url: None,
            callback_port: None,
            scopes: None,
            auth_server_metadata_url: None,
            allow_private_addresses: false,
            legacy_endpoints: false,
            dpop: true,
            client_name: "Switchboard".into(),
            patience: limits::PERSON,
            journal: Journal::default(),
        }
    }
}

/// In whose name we get in.
#[derive(Clone, Debug, Default)]
pub enum Grant {
    /// A person's, who signs in with a browser.
    #[default]
    Person,
    /// Our own, with a secret or a key.
    Client(ClientCredentials),
    /// A workload's, with a token of its platform.
    Workload(Workload),
    /// An employee's, through the enterprise's identity provider.
    Enterprise(Enterprise),
}

/// A fault of whoever uses us, to be told and no more.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Brings a person to an address. The address has been checked: it is http or
/// https and safe to hand to a browser, though not to a shell.
pub type Opener = Arc<dyn Fn(Url) -> BoxFuture<'static, Result<(), AnyError>> + Send + Sync>;

/// Shows an address, and gives the one that the browser ended up at.
pub type Prompt = Arc<dyn Fn(Url) -> BoxFuture<'static, Result<String, AnyError>> + Send + Sync>;

/// How a person gets to the sign-in page and back.
#[derive(Clone)]
pub enum Visit {
    /// A browser on this machine comes back to us by itself.
    Browser(Opener),
    /// A browser elsewhere; the person pastes where it ended up.
    Paste(Prompt),
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Browser(_) => "Browser",
            Self::Paste(_) => "Paste",
        })
    }
}
