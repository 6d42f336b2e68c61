//! What is held at a breakpoint: a call before it leaves, an answer before its client gets
//! it. It lies in the inbox until a person lets it go, as it is or changed, or keeps it back;
//! where nobody does it ends by its own time.

use super::{Answer, Asker, Event, Exchange, Inbox, Input, Outcome, Reply, Stage, failed};
use crate::{
    bridge::rounds::asks_for_input,
    call::{Onward, Stopped, can_be_held, held_for},
    desk::{Coming, Held, Point},
    error::CallError,
    observe::{Edited, Passed, Release, Released},
    upstream::Connection,
};
use bytes::Bytes;
use std::{fmt, sync::Arc, time::Duration};
use switchboard_wire::{ErrorObject, Id, Kind, Message, Method, code, json};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What is held.
#[derive(Debug)]
pub(super) struct Hold {
    /// Where the question is.
    inbox: Arc<Inbox>,
    said: oneshot::Receiver<Said>,
    what: What,
    held: Arc<Held>,
    server: Arc<str>,
    /// Whether the server was one of the other era.
    pub(super) crossed: bool,
    /// Takes the question back when the call is given up.
    _withdrawn: DropGuard,
}

#[derive(Debug)]
enum What {
    Call(Box<Stopped>),
    Answer(Box<Reply>),
}

/// What a person said.
#[derive(Debug)]
pub(super) enum Said {
    LetGo,
    /// It goes on as this.
    Changed(Bytes),
    KeptBack,
    /// It could not be held.
    NoRoom(ErrorObject),
}

/// What was held and leaves now.
pub(super) struct Leaving(pub(super) Onward);

impl fmt::Debug for Leaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Leaving")
    }
}

impl Exchange {
    /// A call that is held before it leaves.
    pub(crate) fn held_back(connection: Arc<Connection>, stopped: Stopped) -> Self {
        let (held, server) = (stopped.held.clone(), stopped.server().clone());
        let until = held.until;
        let hold = Hold::of(What::Call(Box::new(stopped)), held, server, false);
        Self::at(Stage::Held(Box::new(hold)), connection, until)
    }

    /// Whether an answer is held before its client gets it.
    #[inline]
    pub(super) fn holds(&mut self, reply: &Reply) -> bool {
        let may_be_held = self.asker.as_ref().is_some_and(Asker::may_be_held);
        may_be_held && self.hold_answer(reply)
    }

    #[cold]
    fn hold_answer(&mut self, reply: &Reply) -> bool {
        let Some(asker) = &mut self.asker else {
            return false;
        };
        let (method, client) = (asker.method(), asker.client().clone());
        // A question is none of a person's who has not been asked it.
        if !can_be_held(method) || asks_for_input(&reply.message) {
            return false;
        }
        let (Some(watched), Some(desk)) = (&self.watched, client.desk()) else {
            return false;
        };
        let (took, at_server) = watched.so_far();
        let hit = desk.holds(&Coming {
            call: watched.number(),
            point: Point::Answer,
            server: self.connection.server_name(),
            name: None,
            era: self.connection.revision().era(),
            message: &reply.message,
            has_failed: reply.message.is_failure(),
            took,
            at_server,
        });
        let Some(hit) = hit else { return false };
        let message = reply.clone().settled();
        let held = Arc::new(Held {
            point: Point::Answer,
            method,
            name: hit.name.as_deref().map(Held::short),
            why: hit.why,
            text: message.body_bytes(),
            is_error: message.kind() == Kind::Error,
            can_change: true,
            until: held_for(&client, self.deadline.duration_since(Instant::now())),
        });
        asker.was_held();
        if let Some(watched) = &mut self.watched {
            watched.held();
        }
        self.allowed = held.until;
        self.deadline = Instant::now() + held.until;
        let (server, crossed) = (self.connection.server_name().clone(), self.crosses_eras());
        let hold = Hold::of(What::Answer(Box::new(reply.clone())), held, server, crossed);
        self.stage = Stage::Held(Box::new(hold));
        true
    }

    /// Somebody has said what becomes of what is held.
    pub(super) fn let_go(&mut self, said: Said) -> Option<Event> {
        let Stage::Held(hold) = self.leave_stage() else {
            return None;
        };
        let Hold {
            what, held, server, ..
        } = *hold;
        self.tell_release(held.point, &said);
        let stopped = match what {
            What::Call(stopped) => stopped,
            What::Answer(reply) => return Some(self.answer_goes_on(*reply, said, &held, &server)),
        };
        let onward = match said {
            Said::LetGo => Ok(*stopped),
            Said::Changed(arguments) => {
                if let Some(watched) = &mut self.watched {
                    watched.edited(Edited::Arguments(&arguments));
                }
                stopped.with_arguments(&arguments)
            }
            Said::KeptBack => Err(refused(
                &held,
                &server,
                "a person refused it at a breakpoint",
            )),
            Said::NoRoom(error) => Err(CallError::Refused(error)),
        };
        match onward {
            Ok(stopped) => {
                self.allowed = stopped.timeout();
                self.deadline = Instant::now() + self.allowed;
                self.stage = Stage::Leaving(Box::new(Leaving(stopped.onward())));
                None
            }
            Err(fault) => Some(failed(fault)),
        }
    }

    /// Those who watch are told what became of it, and by whom.
    fn tell_release(&mut self, point: Point, said: &Said) {
        let how = match said {
            Said::LetGo => Released::AsItIs,
            Said::Changed(_) => Released::Changed,
            Said::KeptBack => Released::Refused,
            // Nobody has said anything.
            Said::NoRoom(_) => return,
        };
        let by = self.answered_by();
        if let Some(watched) = &mut self.watched {
            let by = by.as_deref();
            watched.released(Release { point, how, by });
        }
    }

    fn answer_goes_on(
        &mut self,
        reply: Reply,
        said: Said,
        held: &Held,
        server: &Arc<str>,
    ) -> Event {
        let outcome = match said {
            // The server has done it: what there is no room for its client gets all the same.
            Said::LetGo | Said::NoRoom(_) => Outcome::Reply(reply),
            Said::KeptBack => {
                let why = "a person kept it back at a breakpoint";
                Outcome::Failed(kept_back(held, server, why))
            }
            Said::Changed(text) => {
                if let Some(watched) = &mut self.watched {
                    watched.edited(Edited::Answer);
                }
                Outcome::Reply(Reply {
                    message: answer_of(&text, held.is_error),
                    edits: switchboard_wire::Edits::new(),
                })
            }
        };
        Event::Outcome(outcome)
    }

    /// What was held has left, or could not.
    pub(super) fn left_from_hold(
        &mut self,
        (sent, passed): (Result<Self, CallError>, Passed),
    ) -> Option<Event> {
        self.leave_stage();
        if let Some(watched) = &mut self.watched {
            watched.decided_again(&passed);
        }
        match sent {
            Ok(mut sent) => {
                self.again = sent.again.take();
                self.goes_on_as(sent);
                None
            }
            Err(fault) => Some(failed(fault)),
        }
    }
}

impl Hold {
    fn of(what: What, held: Arc<Held>, server: Arc<str>, crossed: bool) -> Self {
        let (say, said) = oneshot::channel();
        let withdrawn = CancellationToken::new();
        // Nobody gets this but the inbox, which shows what is held.
        let message = Message::request(&Id::number(0), Method::ElicitationCreate, "{}");
        let input = Input::new(
            message,
            server.clone(),
            withdrawn.clone(),
            move |_, answer| {
                let _ = say.send(Said::of(answer));
            },
        )
        .about_held(held.clone());
        let inbox = Arc::new(Inbox::new());
        inbox.input(input);
        Self {
            inbox,
            said,
            what,
            held,
            server,
            crossed,
            _withdrawn: withdrawn.drop_guard(),
        }
    }

    /// Where a person is asked.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Waits for what a person says. May be given up and begun again.
    pub(super) async fn said(&mut self) -> Said {
        (&mut self.said).await.unwrap_or(Said::KeptBack)
    }

    /// The end when nobody says anything.
    pub(super) fn timed_out(&self, allowed: Duration) -> CallError {
        let seconds = allowed.as_secs();
        let why = format!("it was held at a breakpoint, and nobody let it go within {seconds} s");
        match self.what {
            What::Call(_) => refused(&self.held, &self.server, &why),
            What::Answer(_) => kept_back(&self.held, &self.server, &why),
        }
    }
}

impl Said {
    fn of(answer: Answer) -> Self {
        let message = match answer {
            Answer::Response(message) => message,
            Answer::Refused(error) => return Self::NoRoom(error),
        };
        let body = message.body_bytes();
        let field = |key| json::field(&body, key).ok().flatten();
        let action = field("action").and_then(|span| json::text(span.of(&body)));
        match (action.as_deref(), field("content")) {
            (Some("release"), _) => Self::LetGo,
            (Some("edit"), Some(span)) => Self::Changed(body.slice(span.start..span.end)),
            _ => Self::KeptBack,
        }
    }
}

/// What a call asked for, in words.
fn words(held: &Held, server: &str) -> String {
    let kind = match held.method {
        Method::PromptsGet => "prompt",
        Method::ResourcesRead => "resource",
        _ => "tool",
    };
    match &held.name {
        Some(name) => format!("{kind} {name:?} of server {server:?}"),
        None => format!("a {kind} of server {server:?}"),
    }
}

/// The end of a call of which nothing has left.
fn refused(held: &Held, server: &str, why: &str) -> CallError {
    CallError::NotAllowed {
        what: words(held, server),
        reason: format!("{why}; nothing was sent"),
    }
}

/// The end of a call whose server has answered.
fn kept_back(held: &Held, server: &str, why: &str) -> CallError {
    let what = words(held, server);
    let text = format!(
        "the answer of {what} does not come: {why}; the server was asked, and has answered"
    );
    CallError::refused(code::INTERNAL, text)
}

/// An answer of this text, which was looked at when it was given.
fn answer_of(text: &[u8], is_error: bool) -> Message {
    let id = Id::number(0);
    let text = String::from_utf8_lossy(text);
    let message = match is_error {
        false => Message::response_of(&id, &text),
        true => {
            let written = format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{text}}}");
            Message::parse(written.into())
        }
    };
    message.unwrap_or_else(|_| {
        let error = ErrorObject::new(code::INTERNAL, "what a person wrote is no answer");
        Message::error(Some(&id), &error)
    })
}
