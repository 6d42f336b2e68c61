//! Clients that ask all replicas in turn while something is done to the cluster: what happens
//! is noted, and decided at the end.

use super::Fleet;
use std::{path::PathBuf, time::Duration};
use switchboard_testkit::history::{Caller, History, Lanes, Note, What, Work, check};

/// How long answers may take, whatever is done meanwhile.
const LONG: Duration = Duration::from_secs(180);

/// Clients that call, and what happens to them.
pub(super) struct Load {
    lanes: Lanes,
    history: History,
    effects: PathBuf,
}

impl Fleet {
    /// So many clients call a tool `progress`, which is called this here, each of them first
    /// at another replica.
    pub(super) async fn work(&self, clients: usize, tool: &str) -> Load {
        let history = History::default();
        let effects = self.world.path("effects");
        let work = Work {
            tool: tool.to_owned(),
            effects: effects.clone(),
            steps: 8,
            interval: 15,
        };
        let places: Vec<String> = self.replicas.iter().map(|it| it.url.clone()).collect();
        let mut callers = Vec::with_capacity(clients);
        for at in places.iter().cycle().take(clients) {
            let caller = Caller::new(&format!("{at}/mcp"), &history, &work).await;
            callers.push(caller.spraying(&places));
        }
        Load {
            lanes: Lanes::begin(callers),
            history,
            effects,
        }
    }
}

impl Load {
    /// Waits until so many more calls were answered.
    pub(super) async fn answered(&self, more: u64) {
        self.lanes.answered(more, LONG).await;
    }

    /// Something is done to the cluster.
    pub(super) async fn hurts(&self, hurting: impl Future<Output = ()>) {
        self.history.note(What::Hurt);
        hurting.await;
        self.history.note(What::Well);
    }

    /// They end, and no promise was broken.
    pub(super) async fn end(self) {
        self.lanes.end().await;
        let notes = self.history.with_effects(&self.effects);
        assert_eq!(check(&notes), []);
        let answered = |note: &&Note| matches!(note.what, What::Answered { .. });
        let answered = notes.iter().filter(answered).count();
        println!("{answered} calls answered");
    }
}
