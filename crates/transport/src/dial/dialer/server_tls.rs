//! TLS where clients come to us: the certificate by which they know us, and
//! where that is asked for the one by which we know them. Both sides of a pair
//! of files are read again when they change, as long as what they hold is good.

use super::tls::{certificates, unreadable};
use parking_lot::Mutex;
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
};
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// A client's connection.
pub type DoorStream<S> = tokio_rustls::server::TlsStream<S>;

/// Files of ours, all PEM.
#[derive(Clone, Debug)]
pub struct DoorFiles {
    /// Our certificate, with its chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of clients, who then need a certificate of theirs.
    pub client_ca: Option<PathBuf>,
}

/// TLS at a door of ours.
pub struct DoorTls {
    files: DoorFiles,
    held: Mutex<Held>,
}

struct Held {
    config: Arc<ServerConfig>,
    /// How the files looked when they were read last.
    looks: Vec<Look>,
}

/// What tells a file from the one that was there before.
type Look = Option<(SystemTime, u64, u64)>;

impl DoorTls {
    /// Reads the files.
    ///
    /// # Errors
    /// When one of them cannot be used; says which, and why.
    pub fn open(files: DoorFiles) -> io::Result<Self> {
        let looks = files.looks();
        let config = files.read()?;
        Ok(Self {
            files,
            held: Mutex::new(Held { config, looks }),
        })
    }

    /// Reads them again if they have changed; whether that was so.
    ///
    /// # Errors
    /// When they have, and cannot be used as they are: what was read before
    /// stays in use. Said once for each change.
    pub fn renew(&self) -> io::Result<bool> {
        let looks = self.files.looks();
        if self.held.lock().looks == looks {
            return Ok(false);
        }
        let read = self.files.read();
        let mut held = self.held.lock();
        held.looks = looks;
        held.config = read?;
        Ok(true)
    }

    /// Shakes hands with a client.
    ///
    /// # Errors
    /// When that does not come about.
    pub async fn accept<S>(&self, stream: S) -> io::Result<DoorStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.held.lock().config.clone();
        TlsAcceptor::from(config).accept(stream).await
    }
}

impl fmt::Debug for DoorTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoorTls")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl DoorFiles {
    fn looks(&self) -> Vec<Look> {
        let files = [Some(&self.cert), Some(&self.key), self.client_ca.as_ref()];
        files.into_iter().flatten().map(|file| look(file)).collect()
    }

    fn read(&self) -> io::Result<Arc<ServerConfig>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(file)? {
                    roots
                        .add(certificate)
                        .map_err(|fault| unreadable("a certificate", file, &fault))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|fault| unreadable("the certificates", file, &fault))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(&self.cert)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|fault| unreadable("the private key", &self.key, &fault))?;
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|fault| unreadable("the certificate", &self.cert, &fault))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if self.client_ca.is_some() {
            // A session that is taken up again would let a certificate in that has
            // expired, or was withdrawn, since it was shown.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Arc::new(config))
    }
}

fn look(file: &Path) -> Look {
    let about = fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len(), number(&about)))
}

fn number(about: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}
