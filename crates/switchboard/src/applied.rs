//! What was applied to all replicas of a cluster, at one of them: settings that are read
//! as the user's own are, and tokens. It is kept, so that a replica begins with what it
//! had, and nobody can show it an older one as new.

use crate::{
    listen::Joined,
    pipeline::{Follower, Governed, Holding},
    tokens,
};
use parking_lot::{Mutex, RwLock};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_config::{
    self as config, Document,
    approval::{Binding, contents::Content},
};
use switchboard_gateway::{
    Applied, Approval, ClientToken, Cluster, ClusterKeys, LiveTokens, Signed, Statement,
    TokenDigest, limits,
};
use switchboard_local::private;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Where it is kept what a replica followed: a file for each of the cluster's keys, of
/// which the first is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followed(Vec<PathBuf>);

impl Followed {
    /// In this folder, for whoever has these keys.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(dead_code, reason = "only replicas have anything to follow")
    )]
    pub(crate) fn in_folder(folder: &Path, keys: &ClusterKeys) -> Self {
        let names = keys.names().into_iter();
        Self(names.map(|name| folder.join(name)).collect())
    }

    /// The same for a worker, which has a part of those keys.
    #[cfg(feature = "cluster")]
    pub(crate) fn of_worker(folder: &Path, keys: &ClusterKeys) -> Self {
        let names = keys.workers_names().into_iter();
        Self(
            names
                .map(|name| folder.join(format!("hired-{name}")))
                .collect(),
        )
    }

    /// All that is kept.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(dead_code, reason = "only replicas have anything to follow")
    )]
    pub(crate) fn read(&self) -> Vec<Vec<u8>> {
        let read = |path: &PathBuf| {
            let mut bytes = Vec::new();
            let most = u64::try_from(limits::APPLIED).unwrap_or(u64::MAX);
            let file = File::open(path).ok()?;
            file.take(most).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        self.0.iter().filter_map(read).collect()
    }

    pub(crate) fn keep(&self, signed: &Signed) {
        let Some(path) = self.0.first() else { return };
        let folder = path.parent().map_or(Ok(()), private::folder);
        let kept = folder.and_then(|()| private::write(path, &signed.bytes));
        if let Err(fault) = kept {
            tracing::warn!(%fault, "what was applied to the cluster cannot be kept here: after a restart it is not known until NATS says it");
        }
    }
}

/// What a statement says, as it holds here.
fn holding(statement: &Statement) -> Holding {
    let pins = statement.pins.iter();
    let pins = pins.map(|(key, pins)| (key.clone(), Arc::new(pins.clone())));
    Holding {
        configured: config::Applied {
            documents: documents(statement),
            approvals: statement.approvals.iter().map(binding).collect(),
            ..config::Applied::default()
        },
        pins: Some(Arc::new(pins.collect())),
    }
}

/// What an approval that was applied is bound to.
fn binding(approval: &Approval) -> Binding {
    let contents = approval.contents.iter();
    let contents = contents.map(|(path, content)| (PathBuf::from(path), Content::parse(content)));
    Binding {
        name: approval.name.clone(),
        directory: PathBuf::from(&approval.directory),
        program: approval.program.as_ref().map(PathBuf::from),
        entry: approval.entry.clone(),
        contents: contents.collect(),
    }
}

/// A statement's settings, as they are read.
pub(crate) fn documents(statement: &Statement) -> Arc<[Document]> {
    let documents = statement.documents.iter();
    let documents = documents.map(|document| Document {
        // The same for each version, so that nothing changes but what did.
        place: format!("cluster: {}", document.name),
        text: document.text.clone(),
    });
    documents.collect()
}

/// A replica that runs what was applied.
pub(crate) struct Following {
    cluster: Arc<Cluster>,
    kept: Followed,
    holds: Arc<RwLock<Holding>>,
    follower: Follower,
    newest: watch::Receiver<Option<Arc<Signed>>>,
}

impl Following {
    /// Begins with what it had, and goes on to what there is now; nothing where it is to
    /// follow nobody.
    pub(crate) fn begin(joined: &Joined, governed: &Governed) -> Option<Self> {
        let applied = joined.cluster.applied();
        if !applied.is_followed() {
            return None;
        }
        let (before, kept) = joined.followed.clone();
        let mut this = Self {
            cluster: joined.cluster.clone(),
            kept,
            holds: governed.options().applied.clone(),
            follower: governed.follower().clone(),
            newest: applied.newest(),
        };
        let newest = this.newest.borrow_and_update().clone();
        if let Some(before) = &before {
            this.run(before);
        }
        if let Some(newest) = newest.filter(|newest| Some(newest) != before.as_ref()) {
            this.run(&newest);
        }
        Some(this)
    }

    /// Goes on until it is told to stop.
    pub(crate) async fn follow(mut self, stop: CancellationToken) {
        while let Some(Ok(())) = stop.run_until_cancelled(self.newest.changed()).await {
            let newest = self.newest.borrow_and_update().clone();
            if let Some(newest) = newest {
                self.run(&newest);
            }
        }
    }

    /// Runs this version, or goes on with the one before.
    fn run(&self, signed: &Signed) {
        let version = signed.statement.version;
        let now = holding(&signed.statement);
        let before = std::mem::replace(&mut *self.holds.write(), now);
        match self.follower.reload() {
            Ok(_) => {
                self.kept.keep(signed);
                self.cluster.applied().is_run(version, true);
                tracing::info!(version, "this replica runs what was applied to the cluster");
            }
            Err(why) => {
                *self.holds.write() = before;
                // What was wrong with it is forgotten.
                let _ = self.follower.reload();
                self.cluster.applied().is_run(version, false);
                tracing::warn!(version, %why, "what was applied to the cluster cannot be used; what runs goes on");
            }
        }
    }
}

/// Goes on until it is told to stop, where there is anything to follow.
pub(crate) async fn follow(following: Option<Following>, stop: CancellationToken) {
    if let Some(following) = following {
        following.follow(stop).await;
    }
}

/// Tokens of which the cluster knows digests.
#[derive(Debug)]
pub(crate) struct Digests {
    newest: watch::Receiver<Option<Arc<Signed>>>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    version: Option<u64>,
    tokens: Arc<[ClientToken]>,
}

impl Digests {
    pub(crate) fn of(applied: &Applied) -> Self {
        Self {
            newest: applied.newest(),
            known: Mutex::new(Known {
                version: None,
                tokens: Arc::new([]),
            }),
        }
    }
}

impl LiveTokens for Digests {
    fn current(&self) -> Arc<[ClientToken]> {
        let newest = self.newest.borrow();
        let version = newest.as_ref().map(|signed| signed.statement.version);
        let mut known = self.known.lock();
        if known.version != version {
            let tokens = newest.iter().flat_map(|signed| &signed.statement.tokens);
            let tokens = tokens.filter(|token| is_usable(token));
            let tokens: Vec<ClientToken> = tokens
                .map(|token| ClientToken {
                    name: token.name.as_str().into(),
                    secret: token.sha256.clone(),
                })
                .collect();
            // Those that stay are the same: what their clients have open goes on.
            let same = |(one, other): (&ClientToken, &ClientToken)| {
                one.name == other.name && one.secret == other.secret
            };
            let is_same =
                tokens.len() == known.tokens.len() && tokens.iter().zip(&*known.tokens).all(same);
            known.version = version;
            if !is_same {
                known.tokens = tokens.into();
            }
        }
        known.tokens.clone()
    }
}

/// Whether it is one: names that are ours are not given away.
fn is_usable(token: &TokenDigest) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    tokens::is_name(&token.name) && token.sha256.len() == 64 && token.sha256.bytes().all(is_digit)
}
