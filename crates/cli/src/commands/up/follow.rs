//! Following one server: how it is doing, from the first meeting on.

use crate::{
    limits,
    show::{sums::counted, term::Paint},
};
use std::sync::Arc;
use switchboard::tasks;
use switchboard::{
    Caller, Pools, Settings,
    api::types::servers::state_words,
    copies,
    host::{
        CallError, ClientSink, Host, Input, NoSink, Notice, Server, ServerState, Target,
        catalog::List,
    },
    needs_auth, several, sign_in_hint,
    wire::Method,
};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

/// How a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Connecting,
    Connected,
    Asleep,
    Failed,
    NeedsAuth,
    Waiting,
    Disabled,
    Rejected,
    Denied,
}

impl State {
    pub fn word(self) -> &'static str {
        state_words(match self {
            Self::Connecting => "pending",
            Self::Connected => "connected",
            Self::Asleep => "asleep",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Waiting => "pending-approval",
            Self::Disabled => "disabled",
            Self::Rejected => "rejected",
            Self::Denied => "denied",
        })
    }

    pub fn paint(self, paint: Paint, text: &str) -> String {
        match self {
            Self::Connecting | Self::Asleep | Self::Disabled | Self::Rejected => paint.dim(text),
            Self::Connected => paint.green(text),
            Self::Failed | Self::Denied => paint.red(text),
            Self::NeedsAuth | Self::Waiting => paint.yellow(text),
        }
    }
}

/// The same with what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct How {
    pub state: State,
    pub more: String,
}

impl How {
    /// What a server says on stderr may take several lines; here it has one.
    pub fn new(state: State, more: impl AsRef<str>) -> Self {
        let more = more.as_ref().lines().collect::<Vec<_>>().join(" ");
        Self { state, more }
    }

    pub fn connecting() -> Self {
        Self::new(State::Connecting, "")
    }
}

/// A server is not doing as it did.
pub struct News {
    pub server: Arc<Server>,
    pub how: How,
}

/// Follows servers and tells about them.
pub struct Follower {
    caller: Arc<Caller>,
    pools: Arc<Pools>,
    tell: mpsc::Sender<News>,
    /// Counts what may have changed the number of somebody's tools.
    changes: watch::Sender<u64>,
    /// Counts on where somebody else has changed what may be seen.
    _decisions: AbortOnDropHandle<()>,
}

impl Follower {
    pub fn new(host: &Arc<Host>, settings: &Settings, tell: mpsc::Sender<News>) -> Self {
        let changes = watch::Sender::new(0);
        let ear: Arc<dyn ClientSink> = Arc::new(Ear(changes.clone()));
        Self {
            caller: Arc::new(Caller::hearing(host.clone(), &ear)),
            pools: Arc::new(Pools::new(settings)),
            tell,
            _decisions: count_decisions(host, changes.clone()),
            changes,
        }
    }

    /// Meets a server, and tells how it is doing until the handle is dropped.
    pub fn follow(&self, server: &Arc<Server>) -> AbortOnDropHandle<()> {
        let (caller, pools) = (self.caller.clone(), self.pools.clone());
        let (tell, server) = (self.tell.clone(), server.clone());
        let mut changes = self.changes.subscribe();
        AbortOnDropHandle::new(tasks::spawn(tasks::Kind::Upkeep, async move {
            let (mut state, mut copies) = (server.state(), server.copies());
            let remote = server.spec.target.is_remote();
            let mut how = pools.run(remote, meet(&caller, &server)).await;
            loop {
                let server = server.clone();
                let told = tell.send(News {
                    server: server.clone(),
                    how: how.clone(),
                });
                if told.await.is_err() {
                    return;
                }
                tokio::select! {
                    Ok(()) = state.changed() => {}
                    Ok(()) = changes.changed() => {}
                    Ok(()) = copies.changed() => {}
                    else => return,
                }
                let now = state.borrow_and_update().clone();
                how = match now {
                    // Why it is connected anew is worth knowing meanwhile.
                    ServerState::Idle | ServerState::Pending => {
                        let lost = how.state == State::Failed || how.state == State::Connecting;
                        How::new(State::Connecting, if lost { how.more.as_str() } else { "" })
                    }
                    ServerState::Asleep => How::new(State::Asleep, "until it is needed"),
                    ServerState::Failed(why) => How::new(State::Failed, why),
                    ServerState::NeedsAuth | ServerState::Connected => meet(&caller, &server).await,
                };
            }
        }))
    }

    /// Something may be different about the tools of any server.
    pub fn count_again(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

/// Follows what decides about tools: an approval or another rule, wherever it is made, is
/// heard by nobody who listens to servers only.
fn count_decisions(host: &Arc<Host>, changes: watch::Sender<u64>) -> AbortOnDropHandle<()> {
    let guard = host.guard().clone();
    AbortOnDropHandle::new(tasks::spawn(tasks::Kind::Upkeep, async move {
        let mut version = guard.version();
        loop {
            guard.outdates(version).await;
            // Servers that are met for the first time change it, too, each by itself.
            tokio::time::sleep(limits::RULES_PAUSE).await;
            version = guard.version();
            changes.send_modify(|changes| *changes += 1);
        }
    }))
}

async fn meet(caller: &Caller, server: &Arc<Server>) -> How {
    let met = caller.meet(server).await;
    // A server that wants a sign-in may be met all the same, and offers one.
    if needs_auth(server) {
        return How::new(State::NeedsAuth, sign_in_hint(server));
    }
    match met {
        Ok(met) => {
            // What cannot say which tools it has is of no use.
            let tools = match met.items(List::Tools).await {
                Ok(tools) => counted(tools.len(), "tool"),
                Err(CallError::Unreadable { reason, .. }) => {
                    return How::new(State::Failed, reason);
                }
                Err(fault) => return How::new(State::Failed, fault.to_string()),
            };
            let mut all = vec![tools];
            let is_process = matches!(server.spec.target, Target::Stdio(_));
            all.extend(several(copies(server), is_process));
            all.extend(met.about_pins());
            How::new(State::Connected, all.join("; "))
        }
        Err(CallError::NotConnected { reason, .. }) => How::new(State::Failed, reason),
        Err(fault) => How::new(State::Failed, fault.to_string()),
    }
}

/// Hears when tools come and go.
struct Ear(watch::Sender<u64>);

impl ClientSink for Ear {
    fn notice(&self, _: &Arc<str>, notice: Notice) {
        if notice.method == Method::ToolsListChanged {
            self.0.send_modify(|changes| *changes += 1);
        }
    }

    fn ask(&self, input: Input) {
        NoSink.ask(input);
    }
}
