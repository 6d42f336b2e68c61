//! Pages that a server wants visited before it does what it was asked (-32042), of a client
//! that cannot visit them or is not to be asked: they lie in the inbox, and the call leaves
//! once more when somebody has been there. Where nobody has, its client gets the server's
//! own words.

use super::{Answer, Asker, Event, Exchange, Inbox, Input, Outcome, Reply, Stage, failed};
use crate::{
    call::{self, Permitted, Retry},
    error::CallError,
    limits,
    upstream::Connection,
};
use futures_util::future::try_join_all;
use serde_json::Value;
use std::{fmt, future::Future, pin::Pin, sync::Arc};
use switchboard_wire::{Id, Message, Method, code, json, reading::ambiguous_key};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What leaves again, where all pages were visited.
pub(super) type Visited = Result<Option<(Arc<Connection>, Permitted)>, CallError>;

/// The pages that a call waits for.
pub(super) struct Visit {
    /// Where the questions are.
    inbox: Arc<Inbox>,
    ending: Pin<Box<dyn Future<Output = Visited> + Send>>,
    /// What the server answered: the end if nobody visits them.
    reply: Reply,
    /// Takes the questions back when the call is given up.
    _withdrawn: DropGuard,
}

impl Exchange {
    /// Whether a call that was answered so waits until somebody has visited pages.
    pub(super) fn waits_for_pages(&mut self, reply: &Reply) -> bool {
        if reply.message.error_code() != Some(code::URL_ELICITATION_REQUIRED) {
            return false;
        }
        let is_for_inbox = self.asker.as_ref().is_some_and(Asker::visits_for_it);
        // What was answered in earlier rounds would have to be asked again.
        if !is_for_inbox || self.is_under_way() || self.visits >= limits::VISITS {
            return false;
        }
        let Some(pages) = pages(&reply.message) else {
            return false;
        };
        let Some(again) = self.again.take() else {
            return false;
        };
        self.visits += 1;
        // It may be sent to further pages, and may still be lost on its way.
        self.again = Some(again.clone());
        self.allowed = limits::CONSENT + limits::DESK_SLACK;
        self.deadline = Instant::now() + self.allowed;
        self.stage = Stage::Visiting(Box::new(Visit::of(pages, *again, reply.clone())));
        true
    }

    /// Sends the call again when the pages were visited; else it ends as it was answered.
    pub(super) fn visited(&mut self, visited: Visited) -> Option<Event> {
        let Stage::Visiting(visit) = self.leave_stage() else {
            return None;
        };
        let sent = match visited {
            Ok(Some((connection, permitted))) => connection.start(&permitted),
            Ok(None) => {
                // Nobody is asked twice.
                self.visits = limits::VISITS;
                return Some(Event::Outcome(Outcome::Reply(visit.reply)));
            }
            Err(fault) => Err(fault),
        };
        match sent {
            Ok(sent) => self.goes_on_as(sent),
            Err(fault) => return Some(failed(fault)),
        }
        None
    }
}

impl Visit {
    fn of(pages: Vec<Message>, again: Retry, reply: Reply) -> Self {
        let permitted = again.permitted;
        let server = permitted.server.name().clone();
        let withdrawn = CancellationToken::new();
        let inbox = Arc::new(Inbox::new());
        let mut answers = Vec::with_capacity(pages.len());
        for page in pages {
            let (say, answered) = oneshot::channel();
            let question = withdrawn.child_token();
            inbox.input(Input::new(
                page,
                server.clone(),
                question,
                move |_, answer| {
                    let _ = say.send(answer);
                },
            ));
            answers.push(accepted(answered));
        }
        let ending = async move {
            if try_join_all(answers).await.is_err() {
                return Ok(None);
            }
            let connection = call::connection_of(&permitted).await?;
            permitted.still_allowed()?;
            Ok(Some((connection, permitted)))
        };
        Self {
            inbox,
            ending: Box::pin(ending),
            reply,
            _withdrawn: withdrawn.drop_guard(),
        }
    }

    /// Waits until somebody has been there, or nobody will.
    pub(super) async fn ended(&mut self) -> Visited {
        self.ending.as_mut().await
    }

    /// Where a person is asked.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }
}

/// The pages that an error names, as questions; nothing where it names none, more than
/// anybody would visit, or something else.
fn pages(error: &Message) -> Option<Vec<Message>> {
    let body = error.body();
    let data = json::field(body, "data").ok().flatten()?.of(body);
    let list = json::field(data, "elicitations").ok().flatten()?.of(data);
    let mut pages = Vec::new();
    for span in json::elements(list) {
        let params = span.of(list);
        let text = |key: &'static str| {
            let span = json::field(params, key).ok().flatten()?;
            json::text(span.of(params))
        };
        if pages.len() >= limits::PAGES || text("mode")? != "url" || text("url")?.is_empty() {
            return None;
        }
        let params = String::from_utf8_lossy(params);
        pages.push(Message::request(
            &Id::number(0),
            Method::ElicitationCreate,
            &params,
        ));
    }
    (!pages.is_empty()).then_some(pages)
}

/// Whether somebody says that they have been there.
async fn accepted(answered: oneshot::Receiver<Answer>) -> Result<(), ()> {
    let Ok(Answer::Response(message)) = answered.await else {
        return Err(());
    };
    let result: Value = serde_json::from_slice(message.body()).unwrap_or_default();
    // One that says two things says nothing clear.
    let accepts = result["action"] == "accept" && ambiguous_key(message.body()).is_none();
    accepts.then_some(()).ok_or(())
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").finish_non_exhaustive()
    }
}
