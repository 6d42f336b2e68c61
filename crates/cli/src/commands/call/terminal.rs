//! The person at the terminal: sees progress, says whether a call may go
//! ahead, fills in what servers ask for.

use super::{
    form::{self, Filled},
    progress::Progress,
};
use crate::show::{safe, term};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::{
    io::{BufRead, Write},
    sync::{Arc, Mutex, PoisonError},
};
use switchboard::tasks;
use switchboard::{
    agent::{Form, Operator, Question},
    host::{Consent, Notice, Verdict},
    wire::{ErrorObject, Method, code},
};

/// Whoever typed the command.
#[derive(Debug)]
pub struct Terminal {
    progress: Mutex<Progress>,
    /// One question at a time: there is one keyboard.
    asking: Arc<tokio::sync::Mutex<()>>,
}

impl Terminal {
    /// With progress line by line if that is wanted.
    pub fn new(lines: bool) -> Self {
        Self {
            progress: Mutex::new(Progress::new(lines)),
            asking: Arc::default(),
        }
    }

    /// Takes the line of progress away.
    pub fn clear(&self) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.clear();
    }

    /// Asks on a thread of its own: waiting for a person must not stop everything else.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn BufRead, &mut dyn Write) -> T + Send + 'static,
    ) -> Option<T> {
        let _turn = self.asking.clone().lock_owned().await;
        self.clear();
        let asked =
            tasks::blocking(move || question(&mut std::io::stdin().lock(), &mut std::io::stderr()));
        asked.await.ok()
    }
}

impl Operator for Terminal {
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        Box::pin(async move {
            if !term::can_ask() {
                let text = "nobody can be asked: there is no terminal";
                return Err(ErrorObject::new(code::METHOD_NOT_FOUND, text));
            }
            let (server, params) = (question.server.to_string(), question.params.clone());
            let answer = self.ask(move |input, out| match Form::of(&params) {
                Some(_) => form::fill(&server, &params, input, out),
                None => form::visit(&server, &params, input, out),
            });
            Ok(match answer.await {
                Some(Filled::Accepted(content)) => json!({"action": "accept", "content": content}),
                Some(Filled::Visited) => json!({"action": "accept"}),
                Some(Filled::Declined) => json!({"action": "decline"}),
                Some(Filled::Cancelled) | None => json!({"action": "cancel"}),
            })
        })
    }

    fn permit<'a>(&'a self, consent: &'a Consent) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            let consent = consent.clone();
            let answer = self.ask(move |input, out| form::consent(&consent, input, out));
            answer.await.unwrap_or(Verdict::No)
        })
    }

    fn notice(&self, _: &Arc<str>, notice: &Notice) {
        if notice.method == Method::Progress {
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            return progress.show(notice.message.body());
        }
        let body = String::from_utf8_lossy(notice.message.body());
        let body = safe::line(&body);
        tracing::info!(
            method = notice.message.method_name(),
            body,
            "the server says"
        );
    }
}
