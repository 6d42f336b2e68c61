//! The authority of a cluster: it signs the certificates by which replicas know each other,
//! and nothing else.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use switchboard_gateway::{ApplyKey, BadKeys, ClusterKeys};
use switchboard_local::private;
use switchboard_transport::dial::{LINK_NAME, WORKER_NAMES};

/// The cluster's key.
pub const KEY: &str = "cluster.key";
/// What workers get of it.
pub const WORKERS_KEY: &str = "worker.key";
/// The authority's certificate.
pub const AUTHORITY: &str = "ca.pem";
/// The authority's private key, which no replica needs.
pub const AUTHORITY_KEY: &str = "ca.key";

/// The key of whoever may apply something to all replicas, which none of them needs.
pub const APPLY_KEY: &str = "apply.key";
/// What replicas know it by.
pub const APPLY_KEYS: &str = "apply.pub";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A name that is none.
    #[error("{0:?} is no name for a file: letters, digits, - and _")]
    Name(String),
    /// A file without keys.
    #[error("{}: {error}", path.display())]
    Keys {
        /// Which.
        path: PathBuf,
        /// Why.
        error: BadKeys,
    },
    /// Something cannot be signed.
    #[error("the certificate cannot be made: {0}")]
    Signed(#[from] rcgen::Error),
}

/// Whom a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A replica.
    Replica,
    /// A worker: it may run servers for replicas, and nothing else.
    Worker,
}

/// Whether a replica or worker can be called so.
pub fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name != "ca" && name.chars().all(is_word)
}

/// Makes what is missing in a folder: the cluster's key, an authority, and a certificate
/// for a replica or worker of this name. What is there stays as it is. Which files are new.
pub fn make(folder: &Path, name: &str, role: Role) -> Result<Vec<PathBuf>, AuthorityError> {
    if !is_name(name) {
        return Err(AuthorityError::Name(name.to_owned()));
    }
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| AuthorityError::File { path, error }
    };
    private::folder(folder).map_err(failed(folder))?;
    let mut made = Vec::new();
    let mut write = |name: &str, text: &str| {
        let path = folder.join(name);
        private::write_new(&path, text.as_bytes()).map_err(failed(&path))?;
        made.push(path);
        Ok::<(), AuthorityError>(())
    };
    if !folder.join(KEY).exists() {
        let key = ClusterKeys::make().map_err(failed(folder))?;
        write(KEY, &key)?;
    }
    if role == Role::Worker && !folder.join(WORKERS_KEY).exists() {
        let path = folder.join(KEY);
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        let key = ClusterKeys::for_workers(&text);
        write(
            WORKERS_KEY,
            &key.map_err(|error| AuthorityError::Keys { path, error })?,
        )?;
    }
    // The other one may be where it belongs, with whoever applies.
    if !folder.join(APPLY_KEYS).exists() {
        let (secret, public) = ApplyKey::make().map_err(failed(folder))?;
        write(APPLY_KEY, &secret)?;
        write(APPLY_KEYS, &public)?;
    }
    if !folder.join(AUTHORITY_KEY).exists() {
        let (certificate, key) = authority()?;
        write(AUTHORITY_KEY, &key)?;
        write(AUTHORITY, &certificate)?;
    }
    let replica = format!("{name}.pem");
    if !folder.join(&replica).exists() {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(failed(&path))
        };
        let text = signed(&read(AUTHORITY)?, &read(AUTHORITY_KEY)?, name, role)?;
        write(&replica, &text)?;
    }
    Ok(made)
}

/// What the authority is, whenever it signs something.
fn itself() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    let name = "Switchboard cluster";
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

fn authority() -> Result<(String, String), rcgen::Error> {
    let authority = CertifiedIssuer::self_signed(itself()?, KeyPair::generate()?)?;
    Ok((authority.pem(), authority.key().serialize_pem()))
}

/// A certificate with that of the authority behind it, and its private key.
fn signed(authority: &str, key: &str, name: &str, role: Role) -> Result<String, rcgen::Error> {
    let issuer = Issuer::new(itself()?, KeyPair::from_pem(key)?);
    let own = KeyPair::generate()?;
    let made_out_to = match role {
        Role::Replica => LINK_NAME.to_owned(),
        Role::Worker => format!("{name}.{WORKER_NAMES}"),
    };
    let mut params = CertificateParams::new(vec![made_out_to])?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = match role {
        Role::Replica => vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ],
        // Nobody connects to one.
        Role::Worker => vec![ExtendedKeyUsagePurpose::ClientAuth],
    };
    let certificate = params.signed_by(&own, &issuer)?;
    let own = own.serialize_pem();
    Ok(format!("{}{authority}{own}", certificate.pem()))
}
