//! Reaching a server over a network: the connection that HTTP, HTTP+SSE and
//! WebSocket have in common. TCP or a Unix socket, through a proxy where the
//! environment names one, and TLS where the address asks for it.
//!
//! What says where and how is here; what does it is the `dialer`, in builds that
//! have `http`.

mod address;
#[cfg(feature = "http")]
mod dialer;

pub use address::{Address, AddressError};
#[cfg(feature = "http")]
pub use dialer::{
    Cause, Class, DialError, DoorFiles, DoorStream, DoorTls, Io, LINK_NAME, LinkOver, LinkStream,
    LinkTls, NoConnection, ProxyError, TunnelError, WORKER_NAMES, has_proxy, is_made_out_to,
    through_proxy, tls_config,
};
#[cfg(feature = "http")]
pub(crate) use dialer::{Dialer, Stream};

use http::Uri;
use std::{net::IpAddr, path::PathBuf, sync::Arc};

/// How a server is reached, besides its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// Whom to trust, and who we are.
    pub tls: TlsFiles,
    /// A Unix socket instead of the address's host and port.
    pub socket: Option<PathBuf>,
    /// Only at a public address, whatever its name leads to: somebody else
    /// wrote the address, who must not lead us into our own network.
    pub public_only: bool,
    /// Not at these addresses, whatever name leads there.
    pub refuses: Option<Refuses>,
}

/// Judges every address before it is connected to.
#[derive(Clone)]
pub struct Refuses {
    judge: Arc<dyn Fn(IpAddr) -> Option<String> + Send + Sync>,
    /// What it judges by: two with the same judge alike.
    by: String,
}

impl Refuses {
    /// `judge` says why an address is refused; `by` is what makes it say so.
    pub fn new(
        by: String,
        judge: impl Fn(IpAddr) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let judge = Arc::new(judge);
        Self { judge, by }
    }

    /// Why an address is refused, if it is.
    pub fn refuse(&self, address: IpAddr) -> Option<String> {
        (self.judge)(address)
    }
}

impl PartialEq for Refuses {
    fn eq(&self, other: &Self) -> bool {
        self.by == other.by
    }
}

impl Eq for Refuses {}

impl std::fmt::Debug for Refuses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What it judges by may hold an address with a secret.
        f.write_str("Refuses")
    }
}

/// Files of an entry's `tls`, all PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities to trust besides the system's.
    pub ca: Option<PathBuf>,
    /// The certificate by which the server knows us, with its chain.
    pub cert: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
}

/// Scheme, host and port of an address, to show and to compare. Leaves out
/// whatever else the address holds, since that may be secret.
pub(crate) fn origin(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("http").to_ascii_lowercase();
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    let default = match scheme.as_str() {
        "https" | "wss" => 443,
        _ => 80,
    };
    match url.port_u16() {
        Some(port) if port != default => format!("{scheme}://{host}:{port}"),
        _ => format!("{scheme}://{host}"),
    }
}
