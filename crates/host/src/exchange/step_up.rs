//! A call that its server refuses for want of rights: 403 with a scope.
//!
//! A client that can open pages is sent to one, on the stream of its call, and
//! the call leaves once more when somebody has signed in there. Any other client
//! is told the scope, the page and the command.

use super::{Answer, Event, Exchange, Inbox, Input, Outcome};
use crate::{
    call::Permitted,
    client::Client,
    error::CallError,
    limits,
    upstream::{Connection, SignIn, StandIn},
};
use serde_json::{Value, json};
use std::{fmt, future::Future, pin::Pin, sync::Arc};
use switchboard_wire::{ErrorObject, Id, Message, Method, code};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

type Ended = Result<(Arc<Connection>, Permitted), CallError>;

/// The sign-in that a call waits for.
pub(super) struct StepUp {
    ending: Pin<Box<dyn Future<Output = Ended> + Send>>,
    refused: Refused,
    /// Takes the question back when the call is given up.
    _withdrawn: DropGuard,
}

/// What was refused.
#[derive(Clone)]
struct Refused {
    server: Arc<str>,
    scope: String,
}

impl Exchange {
    /// Whether a call that ended so waits for a sign-in with more rights.
    pub(super) fn steps_up(&mut self, fault: &CallError) -> bool {
        let CallError::Undelivered { why, .. } = fault else {
            return false;
        };
        // What was answered in earlier rounds would have to be asked again.
        let is_under_way = self.bridge.as_ref().is_some_and(|bridge| !bridge.is_new());
        let (Some(scope), false) = (why.missing_scope(), is_under_way) else {
            return false;
        };
        let can_sign_in = |permitted: &Permitted| permitted.server.spec.stand_in.clone();
        let found = self.again.as_ref().and_then(|a| can_sign_in(&a.permitted));
        let (Some(stand_in), Some(again)) = (found, self.again.take()) else {
            return false;
        };
        let permitted = again.permitted;
        let server = permitted.server.name().clone();
        let refused = Refused { server, scope };
        let withdrawn = CancellationToken::new();
        let inbox = Arc::new(Inbox::new());
        self.inbox = inbox.clone();
        self.allowed = limits::CONSENT;
        self.deadline = Instant::now() + self.allowed;
        let (told, open) = (refused.clone(), withdrawn.clone());
        let ending = async move {
            signed_in(&stand_in, permitted.client(), &told, &inbox, open).await?;
            let connection = permitted.server.connection(permitted.client()).await?;
            Ok((connection, permitted))
        };
        self.step_up = Some(Box::new(StepUp {
            ending: Box::pin(ending),
            refused,
            _withdrawn: withdrawn.drop_guard(),
        }));
        true
    }

    /// Sends the call again when somebody has signed in; the end if nobody does.
    pub(super) fn stepped_up(&mut self, ended: Ended) -> Option<Event> {
        self.step_up = None;
        let sent = ended.and_then(|(connection, permitted)| {
            self.give_way_to(connection.start(&permitted)?);
            Ok(())
        });
        sent.err()
            .map(|fault| Event::Outcome(Outcome::Failed(fault)))
    }
}

impl StepUp {
    /// Waits for the sign-in.
    pub(super) async fn ended(&mut self) -> Ended {
        self.ending.as_mut().await
    }

    /// The end when nobody signs in.
    pub(super) fn timed_out(&self) -> Event {
        Event::Outcome(Outcome::Failed(self.refused.fault("nobody did", None)))
    }
}

/// Waits until somebody has signed in.
async fn signed_in(
    stand_in: &StandIn,
    client: &Client,
    refused: &Refused,
    inbox: &Inbox,
    withdrawn: CancellationToken,
) -> Result<(), CallError> {
    let SignIn { page, id, mut done } = (stand_in.begin)().await;
    let failed = |why: String| refused.fault(&why, None);
    let Some(page) = page else {
        return done.await.map_err(failed);
    };
    if !client.opens_pages() {
        return Err(refused.fault("", Some(&page)));
    }
    let params = json!({
        "mode": "url",
        "message": format!("Sign in to {} with more rights: {}", refused.server, refused.scope),
        "url": page,
        "elicitationId": id,
    });
    let question = Message::request(
        &Id::number(0),
        Method::ElicitationCreate,
        &params.to_string(),
    );
    let (say, answered) = oneshot::channel();
    let server = refused.server.clone();
    inbox.input(Input::new(
        question,
        server,
        withdrawn.clone(),
        move |_, answer| {
            let _ = say.send(answer);
        },
    ));
    let answer = tokio::select! {
        ended = &mut done => {
            // Signed in without the client's word: the question is void.
            withdrawn.cancel();
            return ended.map_err(failed);
        }
        answer = answered => answer,
    };
    let accepted = match answer {
        Ok(Answer::Response(message)) => {
            let result: Value = serde_json::from_slice(message.body()).unwrap_or_default();
            result["action"] == "accept"
        }
        // It could not be asked after all.
        _ => return Err(refused.fault("", Some(&page))),
    };
    if !accepted {
        return Err(refused.fault("the user said no", None));
    }
    done.await.map_err(failed)
}

impl Refused {
    fn fault(&self, why: &str, page: Option<&str>) -> CallError {
        let Self { server, scope } = self;
        let mut text = match scope.as_str() {
            "" => format!("server {server:?} wants a sign-in with more rights for this"),
            scope => format!("server {server:?} wants a sign-in with the scope {scope:?} for this"),
        };
        if !why.is_empty() {
            text.push_str(&format!(", and nobody signed in: {why}"));
        }
        let command = format!("switchboard login {server}");
        text.push_str("; the user can sign in ");
        if let Some(page) = page {
            text.push_str(&format!("at {page} or "));
        }
        text.push_str(&format!("by {command}; then call it again"));
        let data = json!({"server": &**server, "scope": scope, "command": command, "url": page});
        ErrorObject::new(code::INTERNAL, text)
            .with_data(data)
            .into()
    }
}

impl fmt::Debug for StepUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepUp")
            .field("server", &self.refused.server)
            .finish_non_exhaustive()
    }
}
