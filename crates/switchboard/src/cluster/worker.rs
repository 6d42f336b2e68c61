//! A worker: a machine that runs servers for the replicas of a cluster. See
//! `gateway/src/cluster/outposts/` for what it does.

use super::{
    ClusterError, Store, apply_keys,
    hiring::{Following, Terms},
    keys,
};
use crate::{Governed, VERSION, applied::Followed};
use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};
use switchboard_gateway::{Gateway, Hiring, Outpost, OutpostParts};
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
    /// What of the cluster's it runs besides; nothing where it is not said.
    pub hires: Option<Hires>,
}

/// What a worker runs besides its own servers, if somebody has signed it.
#[derive(Clone, Debug)]
pub struct Hires {
    /// The file with the keys of those whose signatures count.
    pub signers: PathBuf,
    /// The folder where it is kept what was followed.
    pub followed: Option<PathBuf>,
    /// The only variables of this machine that such a server may be given.
    pub variables: Vec<String>,
    /// How many of those servers it has in use at a time.
    pub room: usize,
}

/// A machine that has become a worker.
pub struct Hired {
    outpost: Arc<Outpost>,
    following: Option<Following>,
}

impl Hire {
    /// The files that hold secrets, or say whom this worker believes: the file tools leave
    /// them alone.
    pub fn secrets(&self) -> Vec<PathBuf> {
        let own = [self.key.clone(), self.certificate.clone()];
        let signers = self.hires.as_ref().map(|hires| hires.signers.clone());
        own.into_iter()
            .chain(self.store.credentials.clone())
            .chain(signers)
            .collect()
    }

    /// Joins, with these servers. Replicas hear of it when it works.
    pub async fn join(self, governed: &Governed) -> Result<Hired, ClusterError> {
        let keys = keys(&self.key)?;
        let tls = LinkTls::open(&self.certificate).map_err(ClusterError::Certificate)?;
        let name = self.name;
        if !is_made_out_to(tls.own(), &format!("{name}.{WORKER_NAMES}")) {
            let path = self.certificate;
            return Err(ClusterError::NotTheWorker { path, name });
        }
        let store = Store {
            worker: Some(name.clone()),
            ..self.store
        };
        let ledger = Nats::join(&store, Joining::Now).await;
        let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
        let signers = self.hires.as_ref().map(|hires| apply_keys(&hires.signers));
        let signers = signers.transpose()?;
        let kept = match &self.hires {
            Some(hires) => {
                let folder = hires.followed.as_deref().ok_or(ClusterError::NoHome)?;
                Followed::of_worker(folder, &keys)
            }
            None => Followed::default(),
        };
        let outpost = Outpost::new(OutpostParts {
            ledger,
            keys,
            tls,
            name: name.clone(),
            version: VERSION.to_owned(),
            labels: self.labels.clone(),
            room: self.room,
            offers: self.offers,
            signers,
            followed: kept.read(),
            hire_room: self.hires.as_ref().map_or(0, |hires| hires.room),
        });
        let random = |error: io::Error| ClusterError::Certificate(error);
        let outpost = outpost.map_err(random)?;
        let looked = outpost.applied().look().await;
        looked.map_err(ClusterError::Store)?;
        let following = self.hires.map(|hires| {
            let terms = Terms {
                name,
                labels: self.labels,
                variables: hires.variables.into(),
            };
            Following::begin(&outpost, terms, kept, governed)
        });
        Ok(Hired { outpost, following })
    }
}

impl Hired {
    /// Its id.
    pub fn id(&self) -> &str {
        self.outpost.id()
    }

    /// The servers of the cluster that it hires out, and those that it does not.
    pub fn hires(&self, governed: &Governed) -> Vec<Hiring> {
        self.outpost.hires().said(governed.host())
    }

    /// Works until it is told to stop.
    pub(crate) async fn serve(self, gateway: Arc<Gateway>, stop: CancellationToken) {
        let follow = async {
            if let Some(following) = self.following {
                following.follow(stop.clone()).await;
            }
        };
        tokio::join!(self.outpost.serve(gateway, stop.clone()), follow);
    }
}
