//! Opening the link that a server's target asks for.

use super::{
    connection::Connection,
    spec::{ServerSpec, Target},
};
use std::sync::Arc;
use switchboard_transport::{
    Budget, Link, Receive,
    http::{HttpLink, HttpOptions, HttpTarget},
    process::ServerProcess,
    stdio::StdioLink,
};
use switchboard_wire::limits::MESSAGE_BYTES;

/// How much an in-process server may have unread.
const IN_PROCESS_BUFFER: usize = 256 * 1024;

/// Starts the process or prepares the HTTP client behind `connection`.
pub(super) fn open(spec: &ServerSpec, budget: &Budget, connection: &Arc<Connection>) -> Result<(), String> {
    let receive: Arc<dyn Receive> = connection.clone();
    let link = match &spec.target {
        Target::Stdio(command) => {
            let process = ServerProcess::spawn(command).map_err(|fault| fault.to_string())?;
            Link::Stdio(StdioLink::process(process, MESSAGE_BYTES, budget.clone(), receive))
        }
        Target::Http { url, headers } => {
            let target = HttpTarget { url: url.clone(), headers: headers.clone(), authorize: None };
            Link::Http(HttpLink::new(target, HttpOptions::default(), budget.clone(), receive))
        }
        Target::InProcess(serve) => {
            let (ours, theirs) = tokio::io::duplex(IN_PROCESS_BUFFER);
            serve(theirs);
            let (read, write) = tokio::io::split(ours);
            Link::Stdio(StdioLink::streams(read, write, MESSAGE_BYTES, budget.clone(), receive))
        }
    };
    connection.set_link(link);
    Ok(())
}
