//! Which replicas there are. Each says so every few seconds, in the ledger, where what it
//! says ends by itself; nobody but a replica can say it.

use super::keys::ClusterKeys;
use crate::{forms::NODE as FORM, limits};
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use switchboard_ledger::{Key, Ledger, LedgerError, Others, Revision};
use tokio::time::Instant;

/// The space of replicas.
const NODES: &str = "nodes";

/// What a replica says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The form of this.
    pub form: u8,
    /// The version of its program.
    pub version: String,
    /// Where other replicas reach it.
    pub address: String,
    /// Its certificate, as a hash.
    pub fingerprint: String,
    /// Whether it ends, and gives its sessions away.
    pub draining: bool,
    /// How many sessions it has in memory.
    pub sessions: usize,
    /// When it was started, in seconds since 1970.
    pub since: u64,
    /// How long it took the ledger to take what it said before this, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ms: Option<u64>,
    /// The version that it runs of what was applied to all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<u64>,
    /// A newer one, which it cannot use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<u64>,
    /// Wrong tokens that it was shown lately, in a second.
    #[serde(default)]
    pub guesses: u32,
    /// The replicas that it reaches through NATS alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_nats: Vec<String>,
}

/// Replicas, as this one knows them.
pub(crate) struct Nodes {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    seen: RwLock<HashMap<String, Seen>>,
    contact: Mutex<Contact>,
    /// Altered entries that were told of.
    told: Mutex<HashSet<(String, Revision)>>,
}

struct Seen {
    node: Arc<Node>,
    revision: Revision,
    /// When it was last heard of.
    heard: Instant,
    /// When nobody listened where it should be.
    refused: Option<Instant>,
    /// When it last answered somebody who asked because it was not heard of.
    answered: Option<Instant>,
    /// What it said has ended.
    has_ended: bool,
}

impl Seen {
    fn new(node: Node, revision: Revision) -> Self {
        Self {
            node: Arc::new(node),
            revision,
            heard: Instant::now(),
            refused: None,
            answered: None,
            has_ended: false,
        }
    }

    /// Whether it was not heard of for longer than it should be silent.
    fn is_silent(&self) -> bool {
        self.heard.elapsed() > limits::NODE_MISSED
    }

    /// Whether nobody listened there after anybody heard of it.
    fn is_refused(&self) -> bool {
        let known = self.answered.map_or(self.heard, |at| at.max(self.heard));
        self.refused.is_some_and(|at| at > known)
    }

    /// Whether it has answered lately, and so is slow, or cut off from the ledger, and not
    /// dead. One that ends said so.
    fn answers(&self) -> bool {
        let lately = |at: Instant| at.elapsed() < limits::NODE_ANSWERED;
        !self.node.draining && !self.is_refused() && self.answered.is_some_and(lately)
    }

    fn is_alive(&self) -> bool {
        match self.has_ended {
            true => self.answers(),
            false => !(self.is_silent() && self.is_refused()),
        }
    }
}

/// How the ledger was reached lately.
#[derive(Default)]
struct Contact {
    /// Whether anybody has looked yet.
    has_looked: bool,
    /// Whether the last look was in vain.
    is_lost: bool,
    /// Since when it is reached again, after it was lost.
    since: Option<Instant>,
}

impl Nodes {
    pub(super) fn new(ledger: Arc<dyn Ledger>, keys: Arc<ClusterKeys>) -> Self {
        Self {
            ledger,
            keys,
            seen: RwLock::default(),
            contact: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Says what is so of a replica; the revision of that. Nothing where others may have
    /// taken it for dead: what it said before had ended.
    pub(super) async fn say(
        &self,
        id: &str,
        node: &Node,
        before: Option<Revision>,
    ) -> Result<(Option<Revision>, bool), LedgerError> {
        let key = Key::new(NODES, id);
        let text = serde_json::to_vec(&Node {
            form: FORM,
            ..node.clone()
        });
        let sealed = self.keys.close(&text.unwrap_or_default(), id);
        let (sealed, life) = (bytes::Bytes::from(sealed), Some(limits::NODE_LIFE));
        if let Some(before) = before {
            let set = self
                .ledger
                .compare_and_set(&key, before, sealed.clone(), life);
            if let Some(revision) = set.await? {
                return Ok((Some(revision), false));
            }
        }
        let made = self.ledger.create(&key, sealed, life).await?;
        if made.is_some() {
            return Ok((made, before.is_some()));
        }
        // Written, and the answer was lost: an id is never anybody else's.
        let found = self.ledger.read(&key).await?;
        Ok((found.map(|entry| entry.revision), false))
    }

    /// It has gone.
    pub(super) async fn forget(&self, id: &str) {
        let _ = self.ledger.remove(&Key::new(NODES, id), None).await;
    }

    /// Looks who is there.
    pub(super) async fn look(&self) -> Result<(), LedgerError> {
        let listed = self.ledger.entries(NODES, limits::NODES).await;
        let listed = match listed {
            Ok(listed) => listed,
            Err(fault) => {
                let mut contact = self.contact.lock();
                if !std::mem::replace(&mut contact.is_lost, true) {
                    tracing::warn!(%fault, "it cannot be looked which replicas there are");
                }
                return Err(fault);
            }
        };
        {
            let mut contact = self.contact.lock();
            if std::mem::take(&mut contact.is_lost) {
                contact.since = Some(Instant::now());
            }
        }
        let mut now = HashMap::new();
        let mut seen = self.seen.write();
        for (id, entry) in listed {
            let before = seen.remove(&id);
            if let Some(before) = before
                && before.revision == entry.revision
            {
                now.insert(id, before);
                continue;
            }
            let Some(node) = self.opened(&id, &entry.value, entry.revision) else {
                continue;
            };
            now.insert(id, Seen::new(node, entry.revision));
        }
        // What they said has ended, and they have answered all the same.
        for (id, mut before) in seen.drain().filter(|(_, before)| before.answers()) {
            if !std::mem::replace(&mut before.has_ended, true) {
                tracing::warn!(
                    id,
                    "a replica has not said for long that it is there, and answers: it is not taken for dead"
                );
            }
            now.insert(id, before);
        }
        *seen = now;
        self.contact.lock().has_looked = true;
        Ok(())
    }

    /// What a replica says of itself. Of one that says it in a form that is not known here,
    /// that it is there.
    fn opened(&self, id: &str, sealed: &[u8], revision: Revision) -> Option<Node> {
        let opened = self.keys.open(sealed, id);
        let Some(form) = opened.as_deref().and_then(form_of) else {
            if self.is_to_be_told(id, revision) {
                let id = switchboard_local::visible::line(id);
                tracing::warn!(%id, "what a replica says of itself is not sealed with this cluster's key: it is not believed");
            }
            return None;
        };
        if form > FORM {
            // Once for each replica, and not for each of its words.
            if self.is_to_be_told(id, 0) {
                let id = switchboard_local::visible::line(id);
                tracing::warn!(%id, form, "a replica is of a newer version, which this one does not understand: its sessions are left to it");
            }
            return Some(Node {
                form,
                ..Node::default()
            });
        }
        serde_json::from_slice(&opened?).ok()
    }

    fn is_to_be_told(&self, id: &str, revision: Revision) -> bool {
        let mut told = self.told.lock();
        if told.len() >= limits::NODES {
            told.clear();
        }
        told.insert((id.to_owned(), revision))
    }

    /// A replica that is there, and can be asked.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Node>> {
        let seen = self.seen.read();
        let node = seen.get(id).map(|seen| seen.node.clone());
        node.filter(|node| node.form <= FORM)
    }

    /// All that are there.
    pub(super) fn all(&self) -> Vec<(String, Node)> {
        let seen = self.seen.read();
        let all = seen
            .iter()
            .map(|(id, seen)| (id.clone(), Node::clone(&seen.node)));
        all.collect()
    }

    /// Those that should have said that they are there, and can be asked.
    pub(super) fn silent(&self) -> Vec<(String, Arc<Node>)> {
        let seen = self.seen.read();
        let silent = seen
            .iter()
            .filter(|(_, seen)| seen.is_silent() && !seen.node.draining && seen.node.form <= FORM);
        let silent = silent.map(|(id, seen)| (id.clone(), seen.node.clone()));
        silent.collect()
    }

    /// It has answered.
    pub(super) fn answered(&self, id: &str) {
        if let Some(seen) = self.seen.write().get_mut(id) {
            seen.answered = Some(Instant::now());
        }
    }

    /// Nobody listened where it should be.
    pub(super) fn refused(&self, id: &str) {
        if let Some(seen) = self.seen.write().get_mut(id) {
            seen.refused = Some(Instant::now());
        }
    }

    /// Whether the ledger was reached when it was last looked.
    pub(super) fn is_reached(&self) -> bool {
        !self.contact.lock().is_lost
    }

    /// Whether somebody who is not there is not there at all: after the ledger could not
    /// be reached, others need a moment to say that they are.
    fn is_settled(&self) -> bool {
        let contact = self.contact.lock();
        let long = |since: Instant| since.elapsed() > limits::NODE_LIFE;
        contact.has_looked && !contact.is_lost && contact.since.is_none_or(long)
    }
}

impl Others for Nodes {
    fn is_alive(&self, id: &str) -> bool {
        match self.seen.read().get(id) {
            Some(seen) => seen.is_alive(),
            None => !self.is_settled(),
        }
    }

    fn lives_now<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move {
            let found = self.ledger.read(&Key::new(NODES, id)).await?;
            let mut seen = self.seen.write();
            match found {
                Some(entry) => {
                    let known = seen.get(id).is_some_and(|it| it.revision >= entry.revision);
                    if !known && let Some(node) = self.opened(id, &entry.value, entry.revision) {
                        seen.insert(id.to_owned(), Seen::new(node, entry.revision));
                    }
                }
                None => match seen.get_mut(id).filter(|seen| seen.answers()) {
                    Some(slow) => slow.has_ended = true,
                    None => drop(seen.remove(id)),
                },
            }
            drop(seen);
            Ok(self.is_alive(id))
        })
    }
}

/// The form of what a replica says, whatever else it says.
fn form_of(text: &[u8]) -> Option<u8> {
    #[derive(Deserialize)]
    struct Form {
        form: u8,
    }
    let form = serde_json::from_slice::<Form>(text);
    form.ok().map(|form| form.form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use switchboard_ledger::{Clock, Memory};

    fn nodes(ledger: &Arc<Memory>, key: &str) -> Nodes {
        let keys = Arc::new(ClusterKeys::read(key).unwrap());
        Nodes::new(ledger.clone(), keys)
    }

    #[tokio::test]
    async fn a_replica_is_there_for_as_long_as_it_says_so() {
        let clock = Clock::by_hand();
        let ledger = Arc::new(Memory::new(clock.clone()));
        let key = ClusterKeys::make().unwrap();
        let (one, other) = (nodes(&ledger, &key), nodes(&ledger, &key));
        let node = Node {
            address: "127.0.0.1:1".into(),
            ..Node::default()
        };
        assert!(other.is_alive("b"), "nobody has looked");
        let (first, lost) = one.say("a", &node, None).await.unwrap();
        assert!(first.is_some() && !lost);
        other.look().await.unwrap();
        assert_eq!(other.get("a").unwrap().address, node.address);
        assert!(other.is_alive("a") && !other.is_alive("b"));
        clock.pass(limits::NODE_LIFE / 2);
        let (second, lost) = one.say("a", &node, first).await.unwrap();
        assert!(second > first && !lost);
        clock.pass(limits::NODE_LIFE * 2);
        other.look().await.unwrap();
        assert!(other.get("a").is_none() && !other.is_alive("a"));
        // It was taken for dead, and hears of it.
        let (third, lost) = one.say("a", &node, second).await.unwrap();
        assert!(third.is_some() && lost);
        // It lives, although nobody listens there for a moment.
        other.look().await.unwrap();
        other.refused("a");
        assert!(other.is_alive("a"));
        // One that came since nobody has heard of yet: it is looked for before it is
        // taken for dead.
        one.say("c", &node, None).await.unwrap();
        assert!(!other.is_alive("c"));
        assert!(other.lives_now("c").await.unwrap() && other.is_alive("c"));
        assert_eq!(other.get("c").unwrap().address, node.address);
        assert!(!other.lives_now("b").await.unwrap());
        clock.pass(limits::NODE_LIFE * 2);
        assert!(!other.lives_now("c").await.unwrap() && !other.is_alive("c"));
    }

    /// Somebody who is only slow, or cut off from the ledger, answers whoever asks.
    #[tokio::test(start_paused = true)]
    async fn who_answers_is_not_dead_although_what_it_said_has_ended() {
        let clock = Clock::by_hand();
        let ledger = Arc::new(Memory::new(clock.clone()));
        let key = ClusterKeys::make().unwrap();
        let (one, other) = (nodes(&ledger, &key), nodes(&ledger, &key));
        let node = Node::default();
        let said = async |node: &Node| one.say("a", node, None).await.unwrap();
        let passes = async |time| {
            clock.pass(time);
            tokio::time::advance(time).await;
        };
        said(&node).await;
        other.look().await.unwrap();
        assert!(other.silent().is_empty());
        passes(limits::NODE_MISSED * 2).await;
        assert_eq!(other.silent().len(), 1);
        other.answered("a");
        passes(limits::NODE_LIFE - limits::NODE_MISSED * 2).await;
        other.look().await.unwrap();
        assert!(other.is_alive("a") && other.lives_now("a").await.unwrap());
        assert!(other.get("a").is_some(), "it can be asked");
        assert_eq!(other.silent().len(), 1, "it is asked again");
        // Nobody but whoever has asked knows it.
        let third = nodes(&ledger, &key);
        third.look().await.unwrap();
        assert!(!third.is_alive("a"));
        // It has not answered again.
        passes(limits::NODE_ANSWERED).await;
        assert!(!other.is_alive("a") && !other.lives_now("a").await.unwrap());
        assert!(other.get("a").is_none());
        // It is heard of again, is silent, answers, and then nobody listens there.
        said(&node).await;
        other.look().await.unwrap();
        passes(limits::NODE_LIFE).await;
        other.answered("a");
        other.look().await.unwrap();
        assert!(other.is_alive("a"));
        passes(std::time::Duration::from_millis(1)).await;
        other.refused("a");
        assert!(!other.is_alive("a"));
        // One that has said that it ends is not waited for.
        let draining = Node {
            draining: true,
            ..Node::default()
        };
        said(&draining).await;
        other.look().await.unwrap();
        passes(limits::NODE_LIFE).await;
        assert!(other.silent().is_empty());
        other.answered("a");
        other.look().await.unwrap();
        assert!(!other.is_alive("a"));
    }

    #[tokio::test]
    async fn a_replica_of_a_newer_version_lives_and_is_not_asked() {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let key = ClusterKeys::make().unwrap();
        let ours = nodes(&ledger, &key);
        // Another form, in which an address is something else.
        let text = format!(
            r#"{{"form":{},"address":["far",1],"draining":7}}"#,
            FORM + 1
        );
        let sealed = Bytes::from(ours.keys.close(text.as_bytes(), "new"));
        let place = Key::new(NODES, "new");
        ledger.create(&place, sealed, None).await.unwrap();
        ours.look().await.unwrap();
        assert!(ours.is_alive("new") && ours.get("new").is_none());
        assert_eq!(ours.all().len(), 1, "it is shown");
        assert!(ours.told.lock().contains(&("new".to_owned(), 0)));
    }

    #[tokio::test]
    async fn what_no_replica_has_written_is_not_believed() {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let key = ClusterKeys::make().unwrap();
        let ours = nodes(&ledger, &key);
        let stranger = nodes(&ledger, &ClusterKeys::make().unwrap());
        stranger.say("a", &Node::default(), None).await.unwrap();
        let text = serde_json::to_vec(&Node::default()).unwrap();
        let key = Key::new(NODES, "b");
        ledger.create(&key, Bytes::from(text), None).await.unwrap();
        ours.say("c", &Node::default(), None).await.unwrap();
        // What one replica said is not what another said.
        let said = ledger.read(&Key::new(NODES, "c")).await.unwrap().unwrap();
        ledger
            .create(&Key::new(NODES, "d"), said.value, None)
            .await
            .unwrap();
        ours.look().await.unwrap();
        let all: Vec<String> = ours.all().into_iter().map(|(id, _)| id).collect();
        assert_eq!(all, ["c"]);
    }
}
