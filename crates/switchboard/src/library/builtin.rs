//! Servers that come with Switchboard.

use crate::{VERSION, dirs::own_folders, flows::Flows, limits, spec::LateHost};
use parking_lot::Mutex;
use std::{path::PathBuf, sync::Arc};
use switchboard_builtin::{Server, ServerKind, Setup};
use switchboard_config::Variables;
use switchboard_host::{ServerSpec, Target};
use switchboard_transport::in_process::End;
use tokio::time::timeout;

/// A server that comes with Switchboard, under its own name. The folders that
/// `variables` say are ours are protected from it, also where the setup does not say so.
pub fn builtin(kind: ServerKind, mut setup: Setup, variables: &Variables) -> ServerSpec {
    let directory = setup.roots.first().cloned().unwrap_or_default();
    let ours = || own_folders(&directory, |name| variables.get(name).map(PathBuf::from));
    setup.own_folders = setup.own_folders.or_else(ours);
    ServerSpec::new(kind.name(), made_when_needed(kind, setup, None))
}

/// A built-in server that is there already, under this name.
pub fn linked(name: &str, server: Server) -> ServerSpec {
    let target = Target::Linked(Arc::new(move |end| {
        link(&server, end);
        Ok(())
    }));
    ServerSpec::new(name, target)
}

/// A built-in server that is made when it is first needed, so that looking at
/// the configuration touches nothing. Its flows call servers of `host` as whoever
/// calls them.
pub(crate) fn made_when_needed(kind: ServerKind, setup: Setup, host: Option<LateHost>) -> Target {
    let made: Mutex<Option<Server>> = Mutex::new(None);
    Target::Calling(Arc::new(move |end, callers| {
        let mut made = made.lock();
        let server = match &*made {
            Some(server) => server.clone(),
            None => {
                let server = Server::new(kind, &setup)?;
                made.insert(server).clone()
            }
        };
        let server = match &host {
            Some(host) => server.calling(Arc::new(Flows::new(host.clone(), callers))),
            None => server,
        };
        link(&server, end);
        Ok(())
    }))
}

fn link(server: &Server, end: End) {
    let sender = end.sender;
    server.linked(end.receiver, move |bytes| {
        let _ = sender.send(bytes.into());
    });
}

/// The built-in server `system`: health, time and the like.
pub fn system() -> ServerSpec {
    let setup = Setup {
        version: VERSION.to_owned(),
        ..Setup::default()
    };
    builtin(ServerKind::System, setup, &Variables::default())
}

/// Waits for what built-in servers have started, for a moment.
pub(super) async fn ended() {
    let _ = timeout(
        limits::BUILTIN_CLOSING,
        switchboard_builtin::sessions_ended(),
    )
    .await;
}
