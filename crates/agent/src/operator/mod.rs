//! Host use: whoever answers what servers ask when no client is in front of
//! the host. [`call_to_end`] takes a request through all its rounds, in either era.

mod form;
mod rounds;

#[cfg(test)]
mod tests;

pub use form::Form;

use crate::limits;
use futures_util::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
use rounds::Needed;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_host::{
    Admitted, CallError, Client, Consent, Event, Exchange, Host, Input, Notice, Outcome, Reply,
    Verdict,
    observe::{Ending, Watched},
};
use switchboard_wire::{Era, ErrorObject, Id, Message, Method, Params, code};
use tokio::time::sleep;
use tracing::{Instrument, Span};

/// Answers what servers ask during calls. Everything is refused unless it is implemented.
pub trait Operator: Send + Sync {
    /// What it can answer: that is what servers are told.
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// `elicitation/create`: the whole result, such as `{"action":"accept","content":{…}}`.
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        refuse(question)
    }

    /// `sampling/createMessage`: the message that a model gave.
    fn sample<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        refuse(question)
    }

    /// `roots/list`: `{"roots":[…]}`.
    fn roots<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        refuse(question)
    }

    /// Whether a call may go ahead that the rules ask about.
    fn permit<'a>(&'a self, consent: &'a Consent) -> BoxFuture<'a, Verdict> {
        let _ = consent;
        Box::pin(std::future::ready(Verdict::No))
    }

    /// Progress, a log message or another notification about the call. Must not block.
    fn notice(&self, server: &Arc<str>, notice: &Notice) {
        let _ = (server, notice);
    }
}

/// What an [`Operator`] can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Offers {
    /// Questions to a person.
    pub elicitation: bool,
    /// Questions to a model.
    pub sampling: bool,
    /// Which folders are worked on.
    pub roots: bool,
}

/// Refuses everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Operator for Nobody {}

/// What a server asks.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which server.
    pub server: Arc<str>,
    /// What it asks for.
    pub method: Method,
    /// The parameters of its request.
    pub params: Value,
}

/// Takes a request to its end: questions go to the operator, and a modern
/// server that needs input gets it in a retry, at most [`limits::INPUT_ROUNDS`] times.
pub async fn call_to_end(
    host: &Host,
    mut admitted: Admitted,
    operator: &dyn Operator,
) -> Result<Reply, CallError> {
    let mut watched = host.watch(&admitted);
    if let Some(shown) = watched.as_ref().and_then(|watched| watched.shown()) {
        admitted.trace.shown = Some(shown.clone());
    }
    let span = watched.as_ref().map_or_else(Span::none, |it| it.span());
    let refused = watched.as_ref().and_then(|watched| watched.refused());
    let ended = match refused {
        Some(fault) => Err(fault),
        None => {
            let rounds = in_rounds(host, admitted, operator, &mut watched);
            rounds.instrument(span).await
        }
    };
    let keeping = watched.and_then(|watched| {
        watched.end(match &ended {
            Ok(reply) => Ending::Reply(reply),
            Err(fault) => Ending::Failed(fault),
        })
    });
    if let Some(keeping) = keeping {
        keeping.await?;
    }
    ended
}

/// Makes the request, and makes it again with what the server needs.
async fn in_rounds(
    host: &Host,
    admitted: Admitted,
    operator: &dyn Operator,
    watched: &mut Option<Box<Watched>>,
) -> Result<Reply, CallError> {
    let Admitted {
        client,
        scope,
        message,
        params,
        headers,
        trace,
        ..
    } = admitted;
    let again = |message, params| Admitted {
        client: client.clone(),
        scope: scope.clone(),
        message,
        params,
        headers: headers.clone(),
        trace: trace.clone(),
        passes_on: false,
    };
    let mut next = again(message.clone(), params);
    for round in 0..=limits::INPUT_ROUNDS {
        let exchange = host.call_within(next).await?;
        let server = exchange.connection().server_name().clone();
        if let Some(watched) = watched {
            watched.left(&server, exchange.connection().revision());
        }
        let reply = follow(exchange, operator, watched).await?;
        if client.era() == Era::Legacy || !message.method().may_need_input() {
            return Ok(reply);
        }
        let Some(needed) = Needed::of(&reply.message, &server)? else {
            return Ok(reply);
        };
        if needed.requests.is_empty() {
            // The server wants nothing but time.
            sleep(limits::INPUT_PAUSE * (1 << round.min(4))).await;
        }
        let answers = answers(&needed, &client, operator).await?;
        let retry = needed.retry(&message, &answers)?;
        let params = Params::of(&retry)?;
        next = again(retry, params);
    }
    let text = format!(
        "the server still asks for input after {} rounds",
        limits::INPUT_ROUNDS
    );
    Err(CallError::refused(code::INTERNAL, text))
}

/// Waits for the outcome of one round and answers what the server asks on the way.
async fn follow(
    mut exchange: Exchange,
    operator: &dyn Operator,
    watched: &mut Option<Box<Watched>>,
) -> Result<Reply, CallError> {
    let server = exchange.connection().server_name().clone();
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            mut event = exchange.next() => {
                if let Some(watched) = watched {
                    watched.event(&mut event);
                }
                match event {
                    Event::Notice(notice) => operator.notice(&server, &notice),
                    Event::Input(input) => open.push(answer(input, operator)),
                    Event::Outcome(Outcome::Reply(reply)) => return Ok(reply),
                    Event::Outcome(Outcome::Failed(fault)) => return Err(fault),
                    Event::Outcome(Outcome::Begun(_)) => return Err(CallError::broke_off()),
                }
            }
            Some(()) = open.next() => {}
        }
    }
}

/// Answers a question that a legacy server asks during the call, unless it takes it back first.
async fn answer(input: Input, operator: &dyn Operator) {
    let withdrawn = input.withdrawn();
    if let Some(consent) = input.consent().cloned() {
        let verdict = tokio::select! {
            verdict = operator.permit(&consent) => verdict,
            () = withdrawn.cancelled() => return,
        };
        let result = verdict.to_result().to_string();
        return input.answer(&Message::response(&Id::number(0), &result));
    }
    let (server, method) = (input.server().clone(), input.method());
    let params = serde_json::from_slice(input.message().body());
    let answer = async move {
        let params =
            params.map_err(|fault| ErrorObject::new(code::INVALID_PARAMS, fault.to_string()))?;
        ask(
            operator,
            &Question {
                server,
                method,
                params,
            },
        )
        .await
    };
    let answer = tokio::select! {
        answer = answer => answer,
        () = withdrawn.cancelled() => return,
    };
    match answer {
        // The id is the server's own; what stands here is replaced.
        Ok(result) => match Message::response_of(&Id::number(0), &result.to_string()) {
            Ok(response) => input.answer(&response),
            Err(fault) => input.refuse(&ErrorObject::new(code::INTERNAL, fault.to_string())),
        },
        Err(error) => input.refuse(&error),
    }
}

/// Answers what a modern server needs, side by side. Who fails to answer an
/// elicitation has dismissed it; without roots or a sample the call cannot go on.
async fn answers(
    needed: &Needed,
    client: &Client,
    operator: &dyn Operator,
) -> Result<Vec<Value>, CallError> {
    let each = needed.requests.iter().map(|request| async {
        let question = &request.question;
        let able =
            capability(question.method).is_some_and(|capability| client.declares(capability));
        let answer = if able {
            ask(operator, question).await
        } else {
            refuse(question).await
        };
        match answer {
            Err(_) if question.method == Method::ElicitationCreate => {
                Ok(json!({ "action": "cancel" }))
            }
            answer => answer.map_err(CallError::Refused),
        }
    });
    join_all(each).await.into_iter().collect()
}

async fn ask(operator: &dyn Operator, question: &Question) -> Result<Value, ErrorObject> {
    match question.method {
        Method::ElicitationCreate => operator.elicit(question).await,
        Method::SamplingCreateMessage => operator.sample(question).await,
        Method::RootsList => operator.roots(question).await,
        _ => refuse(question).await,
    }
}

/// What a client declares if it can be asked this.
fn capability(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::ElicitationCreate => "elicitation",
        Method::SamplingCreateMessage => "sampling",
        Method::RootsList => "roots",
        _ => return None,
    })
}

fn refuse<'a>(question: &Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
    let text = format!("{} is not supported here", question.method.as_str());
    Box::pin(std::future::ready(Err(ErrorObject::new(
        code::METHOD_NOT_FOUND,
        text,
    ))))
}
