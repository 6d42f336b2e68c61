//! Whom we trust over TLS, and who we are.
//!
//! The roots are the system's; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace them,
//! as they do for OpenSSL and everything built on it; `NODE_EXTRA_CA_CERTS` and
//! an entry's own `tls.ca` add to them. There is no way to switch checking off.

use crate::dial::TlsFiles;
use rustls::{
    CertificateError, ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};
use switchboard_tasks as tasks;

/// The TLS settings where an entry has none of its own; also for signing in.
/// Reading the system's roots takes milliseconds and memory, so nobody pays
/// before the first https connection, and nobody pays twice.
///
/// # Errors
/// When a file that the environment names cannot be read.
pub async fn tls_config() -> io::Result<Arc<ClientConfig>> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let built = blocking(|| build(&TlsFiles::default())).await?;
    Ok(CONFIG.get_or_init(|| built).clone())
}

/// The settings for one server.
pub(super) async fn config(files: &TlsFiles) -> io::Result<Arc<ClientConfig>> {
    if *files == TlsFiles::default() {
        return tls_config().await;
    }
    let files = files.clone();
    blocking(move || build(&files)).await
}

async fn blocking(
    work: impl FnOnce() -> io::Result<Arc<ClientConfig>> + Send + 'static,
) -> io::Result<Arc<ClientConfig>> {
    tasks::blocking(work).await.map_err(io::Error::other)?
}

fn build(files: &TlsFiles) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots(files.ca.as_deref())?);
    let mut config = match (&files.cert, &files.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let secret = PrivateKeyDer::from_pem_file(key)
                .map_err(|fault| unreadable("the private key", key, &fault))?;
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(|fault| unreadable("the client certificate", cert, &fault))?
        }
        (None, None) => builder.with_no_client_auth(),
        _ => {
            let text = "`tls` needs both `cert` and `key`, or neither";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(ca: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    // tidy: whom this machine trusts; the system's own list is found by variables, too.
    let extra = std::env::var_os("NODE_EXTRA_CA_CERTS").filter(|file| !file.is_empty());
    for file in ca.into_iter().chain(extra.as_deref().map(Path::new)) {
        for certificate in certificates(file)? {
            roots
                .add(certificate)
                .map_err(|fault| unreadable("a certificate", file, &fault))?;
        }
    }
    if roots.is_empty() {
        let why = native.errors.first().map(|fault| format!(": {fault}"));
        let text = format!(
            "no trusted certificates were found on this system{}",
            why.unwrap_or_default()
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    Ok(roots)
}

pub(super) fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|fault| unreadable("the certificates", file, &fault))?;
    if found.is_empty() {
        return Err(unreadable(
            "the certificates",
            file,
            &"there are none in it",
        ));
    }
    Ok(found)
}

pub(super) fn unreadable(what: &str, file: &Path, why: &dyn std::fmt::Display) -> io::Error {
    let text = format!("{what} in {} cannot be used: {why}", file.display());
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// What went wrong, and where it is in a user's power, what to do about it.
pub(super) fn explain(fault: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(why) = fault else {
        return format!("TLS failed: {fault}");
    };
    let text = format!("the server's certificate is not accepted: {why}");
    match why {
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::Other(_) => format!(
            "{text}. If you trust this server, save the certificate of the authority that signed \
             it (or its own, if it is self-signed) as a PEM file and name that file in the entry, \
             \"tls\": {{\"ca\": \"FILE\"}}, or in the environment, NODE_EXTRA_CA_CERTS=FILE"
        ),
        _ => text,
    }
}
