//! Ids of tasks in the aggregate: they say whose they are, always, since servers
//! count theirs as they like. There is no table, so that restarts agree.

use switchboard_wire::name::Namer;

/// The id under which clients know this server's task.
pub fn outward(namer: &Namer, server: &str, id: &str) -> String {
    format!("{}+{id}", namer.prefix(server).unwrap_or(server))
}

/// The server of a task, and its own id for it.
pub fn route(namer: &Namer, id: &str) -> Option<(String, String)> {
    let (prefix, own) = id.split_once('+')?;
    Some((namer.server(prefix)?.to_owned(), own.to_owned()))
}
