//! Opening the link that a server's target asks for.

use super::{
    callers::Callers,
    connection::Connection,
    far::{self, FarAsk},
    ide::{IdeCarrier, IdeError},
    spec::{BoxError, MayStart, Remote, ServerSpec, StandIn, Target},
    starting::Starting,
};
use crate::limits;
use std::sync::Arc;
use switchboard_process::{ServerProcess, SpawnError};
use switchboard_transport::{
    self as transport, Budget, Link, NotBuilt, Receive,
    http::HttpTarget,
    in_process::{self, InProcessLink},
    stdio::StdioLink,
};
use switchboard_wire::limits::MESSAGE_BYTES;

/// What carries messages to an HTTP address, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Carrier {
    /// Streamable HTTP.
    #[default]
    Streamable,
    /// HTTP+SSE.
    Sse,
}

/// Why there is no link to a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    /// It must not be started as things are now.
    #[error(transparent)]
    NotStarted(BoxError),
    /// Its process cannot be started.
    #[error(transparent)]
    Process(#[from] SpawnError),
    /// It is somewhere else, and this build cannot go there.
    #[error(transparent)]
    NotBuilt(#[from] NotBuilt),
    /// It is an IDE, and there is none.
    #[error(transparent)]
    Ide(#[from] IdeError),
    /// It is on another machine, and nobody knows the way.
    #[error("this gateway is not one of several (--cluster), which alone reach servers of workers")]
    NoWay,
    /// It is inside this process, and cannot serve.
    #[error(transparent)]
    InProcess(BoxError),
}

/// Starts the process or prepares the client behind `connection`.
pub(super) fn open(
    spec: &ServerSpec,
    carrier: Carrier,
    budget: &Budget,
    starting: &Starting,
    ask: FarAsk,
    connection: &Arc<Connection>,
) -> Result<(), OpenError> {
    if let Some(MayStart(ask)) = &spec.may_start {
        ask().map_err(OpenError::NotStarted)?;
    }
    let receive: Arc<dyn Receive> = connection.clone();
    let remote = |remote: &Remote, carrier| {
        Link::remote(carrier, target(remote), budget.clone(), receive.clone())
    };
    let link = match &spec.target {
        Target::Stdio(command) => {
            let process = ServerProcess::spawn(&starting.told(&spec.name, command))?;
            Link::Stdio(StdioLink::process(
                process,
                MESSAGE_BYTES,
                budget.clone(),
                receive,
            ))
        }
        Target::Http(there) if carrier == Carrier::Streamable => {
            remote(there, transport::Carrier::Http)?
        }
        Target::Http(there) | Target::Sse(there) => remote(there, transport::Carrier::Sse)?,
        Target::Ws(there) => remote(there, transport::Carrier::Ws)?,
        Target::Ide(ide) => match ide.carrier {
            IdeCarrier::Sse => remote(&ide.find()?, transport::Carrier::Sse)?,
            IdeCarrier::Ws => remote(&ide.find()?, transport::Carrier::Ws)?,
        },
        Target::Far(there) => {
            let reach = there.way.get().ok_or(OpenError::NoWay)?;
            let (ours, theirs) = tokio::io::duplex(limits::IN_PROCESS_BUFFER);
            reach.lead(there, ask.owner, theirs, ask.end.clone());
            let (read, write) = far::halves(ours, ask.end);
            let budget = budget.clone();
            Link::Stdio(StdioLink::streams(
                read,
                write,
                MESSAGE_BYTES,
                budget,
                receive,
            ))
        }
        Target::Linked(serve) => {
            let (ours, theirs) = in_process::pair();
            serve(theirs).map_err(OpenError::InProcess)?;
            Link::InProcess(InProcessLink::new(ours, receive))
        }
        Target::Calling(serve) => {
            let (ours, theirs) = in_process::pair();
            serve(theirs, Callers::new(connection)).map_err(OpenError::InProcess)?;
            Link::InProcess(InProcessLink::new(ours, receive))
        }
        Target::InProcess(serve) => {
            let (ours, theirs) = tokio::io::duplex(limits::IN_PROCESS_BUFFER);
            serve(theirs);
            let (read, write) = tokio::io::split(ours);
            Link::Stdio(StdioLink::streams(
                read,
                write,
                MESSAGE_BYTES,
                budget.clone(),
                receive,
            ))
        }
    };
    connection.set_link(link);
    Ok(())
}

/// Puts a stand-in behind `connection`; `signs_in` says whether its clients may
/// sign in.
pub(super) fn open_stand_in(stand_in: &StandIn, signs_in: bool, connection: &Arc<Connection>) {
    let (ours, theirs) = in_process::pair();
    (stand_in.serve)(theirs, signs_in);
    let receive: Arc<dyn Receive> = connection.clone();
    connection.set_link(Link::InProcess(InProcessLink::new(ours, receive)));
}

fn target(remote: &Remote) -> HttpTarget {
    let Remote {
        url,
        headers,
        via,
        authorize,
    } = remote.clone();
    HttpTarget {
        url,
        headers,
        authorize,
        via,
    }
}

impl Connection {
    /// What carries its messages, in the words of OpenTelemetry's conventions.
    pub(super) fn carrier(&self) -> &'static str {
        match &self.spec().target {
            Target::Stdio(_) => "pipe",
            Target::Http(there) | Target::Sse(there) | Target::Ws(there) => {
                match there.via.socket.is_some() {
                    true => "unix",
                    false => "tcp",
                }
            }
            Target::Ide(_) | Target::Far(_) => "tcp",
            Target::Linked(_) | Target::Calling(_) | Target::InProcess(_) => "inproc",
        }
    }

    /// The number of its process, where it is one.
    pub(super) fn pid(&self) -> Option<u32> {
        match self.link() {
            Some(Link::Stdio(link)) => link.server_process().map(|process| process.pid()),
            _ => None,
        }
    }

    /// What its process last said on stderr; empty where there is none.
    pub(super) fn last_words(&self) -> String {
        match self.link() {
            Some(Link::Stdio(link)) => link.server_process().map_or(String::new(), |process| {
                process.stderr().tail_lines(limits::STDERR_LINES)
            }),
            _ => String::new(),
        }
    }

    /// The same; a process that has just ended may have words still on their way.
    pub(super) async fn last_words_soon(&self) -> String {
        let has_process =
            matches!(self.link(), Some(Link::Stdio(link)) if link.server_process().is_some());
        for _ in 0..limits::LAST_WORDS.1 {
            let words = self.last_words();
            if !has_process || !words.is_empty() {
                return words;
            }
            tokio::time::sleep(limits::LAST_WORDS.0).await;
        }
        self.last_words()
    }
}
