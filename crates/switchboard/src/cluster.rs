//! A gateway that is one of several: what it shares with the others, and how they reach
//! each other. See `gateway/src/cluster/` for what they do.

pub mod apply;
pub mod authority;
mod hiring;
mod nats_config;
mod recorded;
mod worker;

pub use nats_config::nats_config;
pub use recorded::{Checked, Recorded};
pub use switchboard_gateway::{
    Announced, ApplyKey, ApplyKeys, ClusterKeys, Hiring, Lease, LeaseOf, Looked, Node, SignIns,
    Signed, Statement,
};
pub use switchboard_ledger::{LedgerError, Store};
pub use worker::{Hire, Hired, Hires};

use crate::{VERSION, applied::Followed, listen::Joined};
use std::{
    fs,
    io::{self, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use switchboard_gateway::{
    BadApplyKey, BadKeys, Cluster, ClusterParts, Keeping, faces::http, limits,
};
use switchboard_ledger::{Joining, Nats, limits::NATS_GATHERS};
use switchboard_transport::dial::LinkTls;

/// How a gateway becomes one of several.
#[derive(Clone, Debug)]
pub struct Join {
    /// What they share.
    pub store: Store,
    /// The file with the cluster's key.
    pub key: PathBuf,
    /// The file with our certificate, that of the authority, and our private key.
    pub certificate: PathBuf,
    /// Where the others come in.
    pub listen: SocketAddr,
    /// Where they find that, if it is elsewhere for them.
    pub advertise: Option<String>,
    /// What the ids of its sessions begin with.
    pub name: Option<String>,
    /// Whether to begin alone where the store cannot be reached, and join later.
    pub optional: bool,
    /// Whether no session begins that others would not know of.
    pub strict: bool,
    /// The file with the keys of those who may apply something to all replicas; without it
    /// nothing is followed.
    pub apply_keys: Option<PathBuf>,
    /// The folder where it is kept what was followed.
    pub followed: Option<PathBuf>,
}

/// Why a gateway is not one of several.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The store says no, or nothing.
    #[error("the cluster's store cannot be used: {0}")]
    Store(LedgerError),
    /// A file that cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file without keys.
    #[error("{}: {error}", path.display())]
    Keys {
        /// Which.
        path: PathBuf,
        /// Why.
        error: BadKeys,
    },
    /// A file without keys of those who may apply something.
    #[error("{}: {error}", path.display())]
    ApplyKeys {
        /// Which.
        path: PathBuf,
        /// Why.
        error: BadApplyKey,
    },
    /// Nothing can be followed.
    #[error("without a home it cannot be kept what was applied to the cluster")]
    NoHome,
    /// Others would not find us.
    #[error("{0} is every address of this machine, and none that other replicas could use")]
    Nowhere(SocketAddr),
    /// A worker's certificate is another's.
    #[error("{}: it is made out to no worker that is called {name:?}", path.display())]
    NotTheWorker {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The certificate cannot be used.
    #[error("{0}")]
    Certificate(io::Error),
    /// The system says no.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address that was tried.
        address: SocketAddr,
        /// What it said.
        error: io::Error,
    },
}

/// The text of a file with keys.
fn text_of(path: &Path) -> Result<String, ClusterError> {
    let mut text = String::new();
    let opened = fs::File::open(path);
    let read = opened.and_then(|file| file.take(limits::CLUSTER_KEYS).read_to_string(&mut text));
    let path = path.to_path_buf();
    read.map_err(|error| ClusterError::File { path, error })?;
    Ok(text)
}

/// Reads the keys of a cluster.
pub fn keys(path: &Path) -> Result<ClusterKeys, ClusterError> {
    let read = ClusterKeys::read(&text_of(path)?);
    read.map_err(|error| ClusterError::Keys {
        path: path.to_path_buf(),
        error,
    })
}

/// Reads the keys of those who may apply something.
pub fn apply_keys(path: &Path) -> Result<ApplyKeys, ClusterError> {
    let read = ApplyKeys::read(&text_of(path)?);
    read.map_err(|error| ClusterError::ApplyKeys {
        path: path.to_path_buf(),
        error,
    })
}

/// Reads the key to sign with.
pub fn apply_key(path: &Path) -> Result<ApplyKey, ClusterError> {
    let read = ApplyKey::read(&text_of(path)?);
    read.map_err(|error| ClusterError::ApplyKeys {
        path: path.to_path_buf(),
        error,
    })
}

/// The same for whoever needs all that replicas have.
fn whole_keys(path: &Path) -> Result<ClusterKeys, ClusterError> {
    let whole = keys(path)?.whole();
    whole.map_err(|error| ClusterError::Keys {
        path: path.to_path_buf(),
        error,
    })
}

impl Join {
    /// The files that hold secrets, or say whom this replica believes: the file tools leave
    /// them alone.
    pub fn secrets(&self) -> Vec<PathBuf> {
        let own = [self.key.clone(), self.certificate.clone()];
        own.into_iter()
            .chain(self.store.credentials.clone())
            .chain(self.apply_keys.clone())
            .collect()
    }

    /// Joins. Other replicas hear of it when it is served.
    pub async fn join(&self) -> Result<Joined, ClusterError> {
        let keys = whole_keys(&self.key)?;
        let tls = LinkTls::open(&self.certificate).map_err(ClusterError::Certificate)?;
        let address = self.listen;
        if address.ip().is_unspecified() && self.advertise.is_none() {
            return Err(ClusterError::Nowhere(address));
        }
        let bound = |error| ClusterError::Bind { address, error };
        let listener = http::listen(address).map_err(bound)?;
        let joining = match self.optional {
            true => Joining::Later,
            false => Joining::Now,
        };
        let ledger = Nats::join(&self.store, joining).await;
        let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
        if !ledger.is_connected() {
            tracing::warn!(
                "the cluster's store cannot be reached: this gateway is alone until it can"
            );
        }
        let signers = self.apply_keys.as_deref().map(apply_keys).transpose()?;
        let kept = match (&signers, &self.followed) {
            (Some(_), None) => return Err(ClusterError::NoHome),
            (Some(_), Some(folder)) => Followed::in_folder(folder, &keys),
            (None, _) => Followed::default(),
        };
        let parts = ClusterParts {
            signers,
            followed: kept.read(),
            strict: self.strict,
            ledger: ledger.clone(),
            post: Some(ledger.clone()),
            keys,
            tls,
            listener,
            advertised: self.advertise.clone(),
            name: self.name.clone(),
            version: VERSION.to_owned(),
        };
        let cluster = Cluster::new(parts).map_err(bound)?;
        let before = cluster.applied().newest().borrow().clone();
        if ledger.is_connected()
            && let Err(fault) = cluster.applied().look().await
        {
            tracing::warn!(%fault, "what was applied to the cluster cannot be read yet");
        }
        let keeping = Keeping::new(ledger, cluster.lives());
        Ok(Joined {
            cluster,
            keeping,
            followed: (before, kept),
        })
    }
}

/// The sign-ins of a cluster, for a command.
pub async fn sign_ins(store: &Store, key: &Path) -> Result<SignIns, ClusterError> {
    let keys = whole_keys(key)?;
    let ledger = Nats::join(store, Joining::Now).await;
    let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
    Ok(SignIns::of(ledger, keys, "a command"))
}

/// The replicas and workers that there are, by their ids.
pub async fn status(store: &Store, key: &Path) -> Result<Looked, ClusterError> {
    let keys = Arc::new(keys(key)?);
    let ledger = Nats::join(store, Joining::Now).await;
    let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
    let begun = Instant::now();
    loop {
        // Where several servers keep it, they may be choosing who leads.
        let fault = match Cluster::survey(ledger.clone(), &keys).await {
            Ok(looked) => return Ok(looked),
            Err(fault) => ledger.told(fault),
        };
        let is_choosing = matches!(fault, LedgerError::Unled(_));
        if !is_choosing || begun.elapsed() > NATS_GATHERS {
            return Err(ClusterError::Store(fault));
        }
        tokio::time::sleep(limits::NODES_LOOK).await;
    }
}
