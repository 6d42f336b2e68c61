//! TLS between gateways that belong together: both sides show a certificate of their own
//! authority, and each gateway is known by the certificate that it has announced.

use super::tls::{certificates, unreadable};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    client::{Resumption, verify_server_name},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier},
};
use std::{fmt, io, path::Path, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// The name that certificates of gateways are made out to.
pub const LINK_NAME: &str = "replica.switchboard.internal";

/// What the names of workers end in, behind a name of their own: no gateway is taken for a
/// worker, and no worker for a gateway or for another worker.
pub const WORKER_NAMES: &str = "worker.switchboard.internal";

/// A connection that we have made, when hands were shaken.
pub type LinkStream = LinkOver<tokio::net::TcpStream>;

/// The same over something else.
pub type LinkOver<S> = client::TlsStream<S>;

/// Whether a certificate is made out to a name.
pub fn is_made_out_to(certificate: &[u8], name: &str) -> bool {
    let certificate = CertificateDer::from(certificate);
    let parsed = ParsedCertificate::try_from(&certificate);
    match (parsed, ServerName::try_from(name)) {
        (Ok(parsed), Ok(name)) => verify_server_name(&parsed, &name).is_ok(),
        _ => false,
    }
}

/// TLS on both ends of links between gateways.
#[derive(Clone)]
pub struct LinkTls {
    accepts: Arc<ServerConfig>,
    connects: Arc<ClientConfig>,
    own: CertificateDer<'static>,
}

impl LinkTls {
    /// Reads a file (PEM) with our certificate, the authority's behind it, and our
    /// private key.
    ///
    /// # Errors
    /// When it cannot be used; says why.
    pub fn open(file: &Path) -> io::Result<Self> {
        let all = certificates(file)?;
        let [own, authorities @ ..] = &all[..] else {
            return Err(unreadable(
                "the certificates",
                file,
                &"there are none in it",
            ));
        };
        if authorities.is_empty() {
            let text = "the certificate of the authority is missing behind our own";
            return Err(unreadable("the certificates", file, &text));
        }
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            let added = roots.add(authority.clone());
            added.map_err(|fault| unreadable("a certificate", file, &fault))?;
        }
        let key = PrivateKeyDer::from_pem_file(file)
            .map_err(|fault| unreadable("the private key", file, &fault))?;
        let bad = |fault: &dyn fmt::Display| unreadable("the certificate", file, fault);
        Ok(Self {
            accepts: Arc::new(accepts(own, key.clone_key(), &roots).map_err(|it| bad(&it))?),
            connects: Arc::new(connects(own, key, roots).map_err(|it| bad(&it))?),
            own: own.clone(),
        })
    }

    /// Our certificate, as others see it.
    pub fn own(&self) -> &[u8] {
        &self.own
    }

    /// Shakes hands with somebody who has come to us, whose certificate comes along.
    ///
    /// # Errors
    /// When it is none of ours.
    pub async fn accept<S>(&self, stream: S) -> io::Result<(server::TlsStream<S>, Vec<u8>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = TlsAcceptor::from(self.accepts.clone());
        let stream = acceptor.accept(stream).await?;
        let shown = stream.get_ref().1.peer_certificates();
        let shown = shown.and_then(<[_]>::first);
        let shown = shown.map_or_else(Vec::new, |shown| shown.to_vec());
        Ok((stream, shown))
    }

    /// Shakes hands with the gateway that has announced a certificate, which is looked at.
    ///
    /// # Errors
    /// When it is another, or none of ours.
    pub async fn connect<S>(
        &self,
        stream: S,
        is_announced: impl FnOnce(&[u8]) -> bool,
    ) -> io::Result<client::TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(LINK_NAME).map_err(io::Error::other)?;
        let connector = TlsConnector::from(self.connects.clone());
        let stream = connector.connect(name, stream).await?;
        let shown = stream.get_ref().1.peer_certificates();
        let shown = shown.and_then(<[_]>::first);
        match shown.is_some_and(|shown| is_announced(shown)) {
            true => Ok(stream),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it shows another certificate than it has announced",
            )),
        }
    }
}

fn accepts(
    own: &CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    roots: &RootCertStore,
) -> io::Result<ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let roots = Arc::new(roots.clone());
    let clients = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    let clients = clients.build().map_err(io::Error::other)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![own.clone()], key)
        .map_err(io::Error::other)?;
    // Whoever comes shows its certificate each time.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn connects(
    own: &CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    roots: RootCertStore,
) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![own.clone()], key)
        .map_err(io::Error::other)?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

impl fmt::Debug for LinkTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkTls")
    }
}
