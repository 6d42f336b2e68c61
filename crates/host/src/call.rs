//! The life of a call, in order. Each phase takes one type and returns the
//! next; only a [`Permitted`] request can be written to a server.
//!
//! ```text
//! Admitted ─ route ─▶ Routed ─ permit ─▶ Permitted ─ connect, start ─▶ Exchange
//! ```
//!
//! Where somebody has to say yes first, `permit` gives an `Asked` request, and
//! the exchange begins with that question. Around all of it is what watches calls
//! (`observe`).
//!
//! The request itself stays where it is, in a box, from the first phase to the
//! last: a future holds what it is given twice, and is itself held by others.

mod again;
mod question;
mod route;
mod stopped;

pub(crate) use again::{Retry, Standing};
pub use route::{route_uri, route_uris};
pub(crate) use stopped::{Onward, Stopped, can_be_held, held_for};

use crate::{
    catalog::{List, Listing},
    client::Client,
    error::CallError,
    exchange::{Asked, Asker, Exchange},
    host::Host,
    limits, mirror,
    observe::{Destination, Origin, Passed, Trace, Watched},
    permission::{Decision, What, held, not_permitted},
    pins::Kind,
    upstream::{Connection, Server},
};
use question::{Question, question, say_one_thing, shown};
use std::{pin::pin, sync::Arc, time::Duration};
use switchboard_transport::{Full, InFlight, limits::COUNTED_BYTES};
use switchboard_wire::{Edits, Message, Method, Named, Params, code};
use tokio::time::timeout;
use tracing::{Instrument, Span};

/// Whom a client addresses.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All servers as one: `/mcp`.
    All,
    /// One server under its own names: `/mcp/{server}`.
    One(Arc<Server>),
}

/// A request that a face let in.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Who asks.
    pub client: Arc<Client>,
    /// Whom it addresses.
    pub scope: Scope,
    /// The request.
    pub message: Message,
    /// Its parameters.
    pub params: Params,
    /// The `Mcp-Param-*` headers it came with (names without the prefix), where the face has headers.
    pub headers: Option<Vec<(String, String)>>,
    /// What it has to do with traces.
    pub trace: Trace,
    /// Whether its face can pass a large answer on before its end, and reads nothing in it.
    pub passes_on: bool,
}

/// A request whose server is known.
#[derive(Debug)]
struct Routed {
    admitted: Box<Admitted>,
    server: Arc<Server>,
    /// What is asked for, under the server's own name.
    named: Named,
    /// The server's own id of the task that it says it belongs to.
    belongs_to: Option<String>,
    /// What must change in the request for that server.
    edits: Edits,
}

/// A request that may be sent to its server. Nothing else can be.
#[derive(Clone, Debug)]
pub struct Permitted {
    pub(crate) admitted: Box<Admitted>,
    pub(crate) server: Arc<Server>,
    pub(crate) edits: Edits,
    /// What is asked for, under the server's own name.
    pub(crate) named: Named,
    /// The server's own id of the task that it says it belongs to.
    belongs_to: Option<String>,
    /// `Mcp-Param-*` towards the server.
    pub(crate) mirrored: Vec<(String, String)>,
    /// The list of tools that those were made from.
    pub(crate) listing: Option<Arc<Listing>>,
    pub(crate) timeout: Duration,
    /// What it was decided by.
    standing: Standing,
}

/// Takes a request all the way to its server, and tells those who watch.
pub(crate) async fn call(
    host: &Host,
    mut admitted: Box<Admitted>,
    origin: Origin,
) -> Result<Exchange, CallError> {
    let mut watched = Watched::begin(host.observers(), &admitted, origin);
    if let Some(watched) = &watched {
        admitted.trace.leaving = watched.leaving();
        if let Some(shown) = watched.shown() {
            admitted.trace.shown = Some(shown.clone());
        }
    }
    let refused = watched.as_deref().and_then(Watched::refused);
    let ended = match refused {
        Some(fault) => Err(fault),
        None => {
            let span = watched.as_deref().map_or_else(Span::none, Watched::span);
            let counted = pin!(counted(host, admitted, watched.as_deref_mut()));
            counted.instrument(span).await
        }
    };
    match (watched, ended) {
        (None, ended) => ended,
        (Some(watched), Ok(mut exchange)) => {
            watched.begun(&mut exchange);
            Ok(exchange)
        }
        // Boxed: it is rare.
        (Some(watched), Err(fault)) => Err(Box::pin(watched.failed(fault)).await),
    }
}

/// The same where it is part of a call that is watched as a whole.
pub(crate) async fn counted(
    host: &Host,
    admitted: Box<Admitted>,
    watched: Option<&mut Watched>,
) -> Result<Exchange, CallError> {
    let counted = count(&admitted).await?;
    let asker = Asker::of(&admitted);
    let may_be_held = asker.as_ref().is_some_and(Asker::may_be_held);
    let noting = match watched {
        Some(watched) => Noting::Watched(watched, may_be_held),
        None => Noting::Nowhere,
    };
    let exchange = send(host, admitted, noting).await?;
    Ok(exchange.counted(counted).asked_for(asker))
}

/// Counts the call in its principal's share, as soon as there is room. A large
/// request has waited for its room when it was read.
async fn count(admitted: &Admitted) -> Result<Option<InFlight>, CallError> {
    let Some(share) = admitted.client.share() else {
        return Ok(None);
    };
    let full = |full: Full| CallError::refused(code::INTERNAL, full.to_string());
    let counted = share.begin_call().map_err(full)?;
    if !share.has_room() && admitted.message.raw().len() < COUNTED_BYTES {
        Box::pin(share.room()).await.map_err(full)?;
    }
    Ok(Some(counted))
}

/// Where it is noted how far a request came.
enum Noting<'a> {
    /// Nowhere.
    Nowhere,
    /// By those who watch its call, which may be held at a breakpoint.
    Watched(&'a mut Watched, bool),
    /// By those who watch its call, which was held.
    Again(&'a mut Passed),
}

async fn send(
    host: &Host,
    admitted: Box<Admitted>,
    mut noting: Noting<'_>,
) -> Result<Exchange, CallError> {
    let routed = route::route(host, admitted).await?;
    if let Noting::Watched(watched, _) = &mut noting {
        let client = &routed.admitted.client;
        watched.routed(&Destination::new(&routed.server, client, &routed.named));
    }
    let (mut passed, held_as) = noting.phases();
    let is_governed = is_governed(host, &routed);
    if is_governed
        && host
            .guard()
            .reaches(&routed.admitted.client, &routed.server)
    {
        // What is missing never permits, so the definitions are fetched first.
        Box::pin(define(&routed)).await?;
    }
    let version = host.guard().version();
    let decided = permit(host, routed, is_governed, version);
    if let Some(passed) = &mut passed {
        passed.permit();
        if passed.wants_decision() {
            note_decision(host, passed, &decided);
        }
    }
    let (mut permitted, question) = decided?;
    let connection = connection_of(&permitted).await?;
    if let Some(passed) = &mut passed {
        passed.connect();
    }
    if host.task_book().is_some() && permitted.is_about_tasks() && host.has_several_principals() {
        // Boxed: few requests are about tasks.
        Box::pin(connection.recall_tasks(&permitted)).await;
    }
    connection.takes(permitted.message().method())?;
    if let Some(watched) = held_as
        && let Some(held) = permitted.stops(watched, &connection)
    {
        // What is decided when it goes on is what counts.
        return Ok(Exchange::held_back(connection, permitted.stopped(held)));
    }
    mirror::can_be_said(&connection, &permitted)?;
    if mirror::concerns(&connection, &permitted) {
        // Boxed: most requests do without it.
        Box::pin(mirror::headers(&connection, &mut permitted)).await?;
    }
    let again = Retry::may_be(&permitted, &connection);
    if let Some(question) = question {
        permitted.standing.asked = true;
        let again = again.map(|when| Retry::of(permitted.clone(), when));
        let asked = Asked {
            permitted: Box::new(permitted),
            consent: question.consent,
            guard: host.guard().clone(),
            definition: question.definition,
        };
        return Ok(Exchange::asking(connection, asked).or_retry(again));
    }
    // Its server may have taken long to be there.
    if host.guard().version() != version {
        permitted.still_allowed()?;
    }
    let started = match connection.start(&permitted) {
        // Boxed: it is rare.
        Err(CallError::NotConnected { .. }) => Box::pin(start_late(&permitted, connection)).await,
        started => started,
    };
    let again = again.map(|when| Retry::of(permitted, when));
    Ok(started?.or_retry(again))
}

/// Notes what was decided about a call, and by what.
fn note_decision(
    host: &Host,
    passed: &mut Passed,
    decided: &Result<(Permitted, Option<Question>), CallError>,
) {
    match decided {
        Ok((_, Some(question))) => passed.ask(&question.consent.reason),
        Ok((permitted, None)) => {
            let (client, server) = (permitted.client(), &permitted.server);
            let what = What::from(&permitted.named);
            let arguments = permitted.arguments();
            passed.allow(host.guard().allowed_by(client, server, what, arguments));
        }
        Err(fault) => passed.deny(fault),
    }
}

/// Sends a request whose connection ended between our looking and our writing:
/// nothing of it has left, so that it can wait for the server's next copy.
async fn start_late(
    permitted: &Permitted,
    mut connection: Arc<Connection>,
) -> Result<Exchange, CallError> {
    for _ in 1..limits::STARTS {
        connection = next_connection(permitted, &connection).await?;
        permitted.still_allowed()?;
        match connection.start(permitted) {
            Err(CallError::NotConnected { .. }) => {}
            started => return started,
        }
    }
    Err(connection.not_connected("it ends as soon as it has started"))
}

/// The connection after one that takes nothing any more.
pub(crate) async fn next_connection(
    permitted: &Permitted,
    ended: &Connection,
) -> Result<Arc<Connection>, CallError> {
    // What is behind it has gone; why is known in a moment. One that only takes
    // nothing any more is of no use either.
    if timeout(limits::ENDING, ended.ended()).await.is_err() {
        ended.give_up("it takes nothing any more").await;
    }
    connection_of(permitted).await
}

/// The connection that a request leaves by. Where what is new or changed of a
/// server waits for approval, one that was made since is asked first what it has.
pub(crate) async fn connection_of(permitted: &Permitted) -> Result<Arc<Connection>, CallError> {
    let (server, client) = (&permitted.server, permitted.client());
    let _started_for = server.started_for(&permitted.admitted.trace);
    let connection = server.connection(client).await?;
    if !server.held().is_strict() {
        return Ok(connection);
    }
    let (kind, list) = match &permitted.named {
        Named::Tool(_) => (Kind::Tools, List::Tools),
        Named::Prompt(_) => (Kind::Prompts, List::Prompts),
        _ => return Ok(connection),
    };
    if connection.is_judged(kind) || connection.is_stand_in() {
        return Ok(connection);
    }
    // Boxed: it is done once for each connection, and when its lists change.
    Box::pin(connection.catalog().get(list, &connection)).await?;
    connection.note_judged(kind);
    let what = What::from(&permitted.named);
    match server
        .guard()
        .map(|guard| guard.decide(client, server, what, None))
    {
        Some(Decision::Held(reason)) => Err(held(&server.spec, what, reason)),
        _ => Ok(connection),
    }
}

impl Permitted {
    /// Who asks.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.admitted.client
    }

    /// What it was decided by.
    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    /// Decides once more about a request that has waited.
    pub(crate) fn still_allowed(&self) -> Result<(), CallError> {
        let (client, server) = (self.client(), &self.server);
        let what = What::from(&self.named);
        self.standing
            .decide_again(client, server, what, self.arguments())
    }

    /// Whether it may leave by this connection: the last thing that is looked at
    /// before any request is written, whatever face it came by and however long it
    /// has waited.
    pub(crate) fn may_leave_by(&self, connection: &Connection) -> Result<(), CallError> {
        let client = self.client();
        if client.has_left() {
            return Err(CallError::Cancelled);
        }
        if let Some(why) = client.shut_out() {
            return Err(CallError::refused(code::INVALID_REQUEST, why));
        }
        // That it stands in may have been found out since it was decided.
        if connection.is_stand_in()
            && let what @ What::Tool(tool) = What::from(&self.named)
            && self.server.is_sign_in(client, tool)
            && let Some(why) = self.server.no_sign_in()
        {
            return Err(held(&self.server.spec, what, why));
        }
        Ok(())
    }

    /// The request, as it came.
    pub(crate) fn message(&self) -> &Message {
        &self.admitted.message
    }

    /// What `Mcp-Name` says towards the server.
    pub(crate) fn header_name(&self) -> Option<&str> {
        let field = self.message().method().name_header_field();
        field.and(self.named.text())
    }

    /// The server's own ids of the tasks that it names: what it is about, and what
    /// it says it belongs to.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &str> {
        let about = match &self.named {
            Named::Task(id) => Some(id),
            _ => None,
        };
        about
            .into_iter()
            .chain(&self.belongs_to)
            .map(String::as_str)
    }

    /// Whether it names a task, or asks which there are.
    fn is_about_tasks(&self) -> bool {
        self.message().method() == Method::TasksList || self.tasks().next().is_some()
    }

    /// The text of the call's arguments, where it has any.
    pub(crate) fn arguments(&self) -> Option<&[u8]> {
        self.admitted.arguments()
    }
}

impl Admitted {
    /// The text of the call's arguments, where it has any. That they stand there
    /// once was seen when the parameters were read.
    fn arguments(&self) -> Option<&[u8]> {
        let span = self.params.arguments?;
        Some(span.of(self.message.raw()))
    }
}

/// Whether a rule could depend on the tool's definition or arguments.
fn is_governed(host: &Host, routed: &Routed) -> bool {
    let is_tool = matches!(routed.named, Named::Tool(_));
    let (client, server) = (&routed.admitted.client, &routed.server);
    is_tool && host.guard().needs_definitions(client, server)
}

/// Sees to it that the definitions of the server's tools are known.
async fn define(routed: &Routed) -> Result<(), CallError> {
    let server = &routed.server;
    let _started_for = server.started_for(&routed.admitted.trace);
    let connection = server.connection(&routed.admitted.client).await?;
    if let Err(fault) = connection.catalog().get(List::Tools, &connection).await {
        tracing::debug!(server = %server.name(), %fault, "decided without its list of tools");
    }
    Ok(())
}

/// Lets through what the principal may reach; the rest ends as if it were not
/// there, or waits for somebody to say yes.
fn permit(
    host: &Host,
    routed: Routed,
    is_governed: bool,
    version: u64,
) -> Result<(Permitted, Option<Question>), CallError> {
    let what = What::from(&routed.named);
    let Routed {
        admitted, server, ..
    } = &routed;
    let (guard, client) = (host.guard(), &admitted.client);
    // Nobody looks at them where no rule could depend on them.
    let arguments = admitted.arguments().filter(|_| is_governed);
    let mut asked_there = false;
    let question = match guard.decide(client, server, what, arguments) {
        Decision::Allow => None,
        Decision::Ask(_) if server.spec.asks_itself => {
            asked_there = true;
            None
        }
        Decision::Deny(reason) => return Err(not_permitted(&server.spec, what, reason)),
        Decision::Held(reason) => return Err(held(&server.spec, what, reason)),
        Decision::Ask(reason) => {
            let shown = shown(&admitted.message);
            say_one_thing(shown)?;
            Some(question(host, client, server, what, shown, reason)?)
        }
    };
    let timeouts = &server.spec.timeouts;
    let timeout = if admitted.message.method() == Method::ToolsCall {
        timeouts.tool_call
    } else {
        timeouts.request
    };
    let Routed {
        admitted,
        server,
        named,
        belongs_to,
        edits,
    } = routed;
    let permitted = Permitted {
        admitted,
        server,
        edits,
        named,
        belongs_to,
        mirrored: Vec::new(),
        listing: None,
        timeout,
        standing: Standing {
            version,
            asked: asked_there,
        },
    };
    Ok((permitted, question))
}
