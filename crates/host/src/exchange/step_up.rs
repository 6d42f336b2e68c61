//! A call that its server refuses for want of rights: 403 with a scope.
//!
//! A client that can open pages is sent to one, on the stream of its call, and
//! the call leaves once more when somebody has signed in there. Any other client
//! is told the scope, the page and the command.

use super::{Answer, Event, Exchange, Inbox, Input, Stage, failed};
use crate::{
    call::Permitted,
    client::Client,
    error::CallError,
    limits,
    upstream::{BoxError, Connection, SignIn, StandIn},
};
use serde_json::{Value, json};
use std::{fmt, future::Future, pin::Pin, sync::Arc};
use switchboard_wire::{ErrorObject, Id, Message, Method, code, reading::ambiguous_key};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

type Ended = Result<(Arc<Connection>, Permitted), CallError>;

/// The sign-in that a call waits for.
pub(super) struct StepUp {
    /// Where the question to the client is.
    inbox: Arc<Inbox>,
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
        let (Some(scope), false) = (why.missing_scope(), self.is_under_way()) else {
            return false;
        };
        let can_sign_in = |permitted: &Permitted| {
            let stand_in = permitted.server.spec.stand_in.clone();
            stand_in.filter(|_| permitted.server.lets_sign_in())
        };
        let found = self.again.as_ref().and_then(|a| can_sign_in(&a.permitted));
        let (Some(stand_in), Some(again)) = (found, self.again.take()) else {
            return false;
        };
        let permitted = again.permitted;
        let server = permitted.server.name().clone();
        let refused = Refused { server, scope };
        let withdrawn = CancellationToken::new();
        let inbox = Arc::new(Inbox::new());
        let asked = inbox.clone();
        self.allowed = limits::CONSENT;
        self.deadline = Instant::now() + self.allowed;
        let (told, open) = (refused.clone(), withdrawn.clone());
        let ending = async move {
            signed_in(&stand_in, permitted.client(), &told, &asked, open).await?;
            let connection = permitted.server.connection(permitted.client()).await?;
            permitted.still_allowed()?;
            Ok((connection, permitted))
        };
        self.stage = Stage::SigningIn(Box::new(StepUp {
            inbox,
            ending: Box::pin(ending),
            refused,
            _withdrawn: withdrawn.drop_guard(),
        }));
        true
    }

    /// Sends the call again when somebody has signed in; the end if nobody does.
    pub(super) fn stepped_up(&mut self, ended: Ended) -> Option<Event> {
        self.leave_stage();
        let sent = ended.and_then(|(connection, permitted)| connection.start(&permitted));
        match sent {
            Ok(sent) => self.goes_on_as(sent),
            Err(fault) => return Some(failed(fault)),
        }
        None
    }
}

impl StepUp {
    /// Waits for the sign-in.
    pub(super) async fn ended(&mut self) -> Ended {
        self.ending.as_mut().await
    }

    /// Where the client is asked.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// The end when nobody signs in.
    pub(super) fn timed_out(&self) -> CallError {
        self.refused.fault("nobody did", None)
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
    let failed = |why: BoxError| refused.fault(&why.to_string(), None);
    let Some(page) = page else {
        return done.await.map_err(failed);
    };
    if !client.opens_pages() && !client.asked_at().asks_inbox() {
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
            // One that says two things says nothing clear.
            result["action"] == "accept" && ambiguous_key(message.body()).is_none()
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
