//! Servers that want a sign-in: whether one does, and what to do about it.

use switchboard_host::{CallError, Server, ServerState, Target};
use switchboard_transport::Undelivered;

/// Whether a server has asked us to sign in.
pub fn needs_auth(server: &Server) -> bool {
    *server.state().borrow() == ServerState::NeedsAuth
}

/// Whether a call ended because the server would not let us in.
pub fn was_refused(fault: &CallError) -> bool {
    matches!(
        fault,
        CallError::Undelivered {
            why: Undelivered::NeedsAuth { .. },
            ..
        }
    )
}

/// What to do about a server that wants a sign-in.
pub fn sign_in_hint(server: &Server) -> String {
    if can_sign_in(server) {
        format!("switchboard login {}", server.name())
    } else {
        "it refuses the token in the entry's \"headers\"".to_owned()
    }
}

/// Whether somebody could sign in to it; else its entry says who we are.
pub fn can_sign_in(server: &Server) -> bool {
    match &server.spec.target {
        Target::Http(remote) | Target::Sse(remote) | Target::Ws(remote) => {
            remote.authorize.is_some()
        }
        _ => false,
    }
}
