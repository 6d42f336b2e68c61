//! A worker: a machine that runs servers for the replicas of a cluster. See
//! `gateway/src/cluster/outposts/` for what it does.

use super::{ClusterError, Store, keys};
use crate::VERSION;
use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};
use switchboard_gateway::{Gateway, Outpost, OutpostParts};
use switchboard_ledger::{Joining, Nats};
use switchboard_transport::dial::{LinkTls, WORKER_NAMES, is_made_out_to};
use tokio_util::sync::CancellationToken;

/// How a machine becomes a worker.
#[derive(Clone, Debug)]
pub struct Hire {
    /// What replicas share.
    pub store: Store,
    /// The file with the cluster's key.
    pub key: PathBuf,
    /// The file with its certificate, that of the authority, and its private key.
    pub certificate: PathBuf,
    /// Its name, which the certificate is made out to.
    pub name: String,
    /// What it is like, for entries that ask for it.
    pub labels: BTreeMap<String, String>,
    /// How many links it takes.
    pub room: usize,
    /// Which of its servers it offers; all of them where none is named.
    pub offers: Vec<String>,
}

/// A machine that has become a worker.
pub struct Hired(Arc<Outpost>);

impl Hire {
    /// The files that hold secrets: the file tools leave them alone.
    pub fn secrets(&self) -> Vec<PathBuf> {
        let own = [self.key.clone(), self.certificate.clone()];
        own.into_iter()
            .chain(self.store.credentials.clone())
            .collect()
    }

    /// Joins. Replicas hear of it when it works.
    pub async fn join(self) -> Result<Hired, ClusterError> {
        let keys = keys(&self.key)?;
        let tls = LinkTls::open(&self.certificate).map_err(ClusterError::Certificate)?;
        let name = self.name;
        if !is_made_out_to(tls.own(), &format!("{name}.{WORKER_NAMES}")) {
            let path = self.certificate;
            return Err(ClusterError::NotTheWorker { path, name });
        }
        let store = Store {
            hears: Some(format!("worker.{name}")),
            ..self.store
        };
        let ledger = Nats::join(&store, Joining::Now).await;
        let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
        let outpost = Outpost::new(OutpostParts {
            ledger,
            keys,
            tls,
            name,
            version: VERSION.to_owned(),
            labels: self.labels,
            room: self.room,
            offers: self.offers,
        });
        let random = |error: io::Error| ClusterError::Certificate(error);
        Ok(Hired(outpost.map_err(random)?))
    }
}

impl Hired {
    /// Its id.
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// Works until it is told to stop.
    pub(crate) async fn serve(&self, gateway: Arc<Gateway>, stop: CancellationToken) {
        self.0.serve(gateway, stop).await;
    }
}
