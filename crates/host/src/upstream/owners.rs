//! Whose a thing is that a server names by an id of its own: a task, an
//! elicitation. To everybody but its owner it does not exist. This is kept for the
//! server and not for a connection: what a server has outlives our connections to
//! it, and over a network all of them lead to the same things.

use super::mcp_tasks::TaskOwners;
use crate::{client::Client, limits};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

/// Whose the things are that one server has, or one copy of it.
#[derive(Debug, Default)]
pub(super) struct Owned {
    pub(super) tasks: TaskOwners,
    /// Pages that the server sent a client to, by their elicitation's id.
    pub(super) pages: Owners,
}

/// Somebody who can own things.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    principal: Arc<str>,
    number: u64,
    /// Where it is one connection and no more: what is left of it.
    client: Option<Weak<Client>>,
}

impl Identity {
    /// This client, over all of its requests.
    pub(super) fn of(client: &Client) -> Self {
        Self {
            principal: client.principal.clone(),
            number: client.identity,
            client: None,
        }
    }

    /// The same, of whom we can tell when it has gone.
    pub(super) fn following(client: &Arc<Client>) -> Self {
        Self {
            client: (!client.is_known_by_name()).then(|| Arc::downgrade(client.itself())),
            ..Self::of(client)
        }
    }

    /// Whoever of this principal had it in an earlier life, or at another replica.
    pub(super) fn gone(principal: &Arc<str>) -> Self {
        Self {
            principal: principal.clone(),
            number: 0,
            client: Some(Weak::new()),
        }
    }

    /// Whether it is this client.
    pub(super) fn is(&self, client: &Client) -> bool {
        self.number == client.identity && self.principal == client.principal
    }

    /// Whether this client may have what is theirs: it is they, or it comes for
    /// the same principal when they have gone, as after a reconnect.
    pub(super) fn lets(&self, client: &Client) -> bool {
        self.is(client) || (self.principal == client.principal && self.has_gone())
    }

    fn has_gone(&self) -> bool {
        let gone = |client: &Weak<Client>| client.upgrade().is_none_or(|at| at.has_left());
        self.client.as_ref().is_some_and(gone)
    }
}

/// The owners of one server's things.
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<Arc<str>, Identity>,
    /// The ids of each principal, oldest first.
    theirs: HashMap<Arc<str>, VecDeque<Arc<str>>>,
}

impl Owners {
    pub(super) fn note(&self, id: &str, owner: Identity) {
        let id: Arc<str> = id.into();
        let principal = owner.principal.clone();
        let mut known = self.0.lock();
        let before = known.by_id.insert(id.clone(), owner);
        if before.is_none_or(|before| before.principal != principal) {
            let theirs = known.theirs.entry(principal.clone()).or_default();
            theirs.push_back(id);
            if theirs.len() > limits::OWNED_EACH {
                known.forget_oldest(&principal);
            }
        }
        if known.by_id.len() > limits::OWNED {
            // Whoever has most gives way.
            let most = known.theirs.iter().max_by_key(|(_, ids)| ids.len());
            if let Some(most) = most.map(|(principal, _)| principal.clone()) {
                known.forget_oldest(&most);
            }
        }
    }

    pub(super) fn owner(&self, id: &str) -> Option<Identity> {
        self.0.lock().by_id.get(id).cloned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().by_id.is_empty()
    }
}

impl Known {
    fn forget_oldest(&mut self, principal: &Arc<str>) {
        let Some(ids) = self.theirs.get_mut(principal) else {
            return;
        };
        let oldest = ids.pop_front();
        if ids.is_empty() {
            self.theirs.remove(principal);
        }
        // It may have become somebody else's since.
        if let Some(oldest) = oldest
            && self
                .by_id
                .get(&oldest)
                .is_some_and(|now| now.principal == *principal)
        {
            self.by_id.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::NoSink;
    use bytes::Bytes;
    use switchboard_wire::Revision;

    fn client(principal: &str) -> Client {
        let none = Bytes::from_static(b"{}");
        Client::new(principal.into(), Revision::NEWEST, none, Arc::new(NoSink))
    }

    #[test]
    fn a_principal_that_has_much_costs_nobody_else_anything() {
        let owners = Owners::default();
        let (alice, bob) = (client("alice"), client("bob"));
        owners.note("hers", Identity::of(&alice));
        for number in 0..2 * limits::OWNED_EACH {
            owners.note(&format!("his-{number}"), Identity::of(&bob));
        }
        assert!(owners.owner("hers").is_some_and(|owner| owner.is(&alice)));
        assert!(owners.owner("his-0").is_none());
        let last = format!("his-{}", 2 * limits::OWNED_EACH - 1);
        assert!(owners.owner(&last).is_some_and(|owner| owner.is(&bob)));
        assert_eq!(owners.0.lock().by_id.len(), limits::OWNED_EACH + 1);
    }

    #[test]
    fn the_same_number_is_not_the_same_client() {
        let (alice, mut eve) = (client("alice"), client("eve"));
        eve.identity = alice.identity;
        assert!(Identity::of(&alice).is(&alice));
        assert!(!Identity::of(&alice).is(&eve));
        assert!(!Identity::of(&alice).lets(&eve));
    }

    #[test]
    fn who_has_gone_leaves_it_to_their_principal() {
        let (first, second, eve) = (Arc::new(client("a")), client("a"), client("e"));
        let owner = Identity::following(&first);
        assert!(owner.lets(&first) && !owner.lets(&second) && !owner.lets(&eve));
        drop(first);
        assert!(owner.lets(&second) && !owner.lets(&eve));
        // One that comes back under its name has never gone.
        let named = Arc::new(client("a").known_by(Some("k")));
        let owner = Identity::following(&named);
        drop(named);
        assert!(!owner.lets(&second) && owner.lets(&client("a").known_by(Some("k"))));
        assert!(!owner.lets(&client("e").known_by(Some("k"))));
    }
}
