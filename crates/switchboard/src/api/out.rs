//! Who else is told that something waits for a person: the desktop, and a webhook with an
//! address at which the question can be answered once. Neither is told what a call would
//! be made with.

mod signature;
mod tickets;

use super::{
    Api,
    answer::{No, Reply},
    now, questions,
};
use crate::limits;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Value, json};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_api::questions::{Answer, Kind, Question};
use switchboard_auth::NetLimits;
use switchboard_config::{Inbox, Webhook};
use switchboard_gateway::{Asked, Controlled};
use switchboard_process as process;
use switchboard_tasks as tasks;
use tickets::Tickets;
use url::Url;

/// What the paths of answers begin with.
pub(crate) const ANSWERS: &str = "/answers/";

/// When it was signed, in seconds since 1970: a part of what is signed.
const TIMESTAMP: HeaderName = HeaderName::from_static("switchboard-timestamp");
/// The signature.
const SIGNATURE: HeaderName = HeaderName::from_static("switchboard-signature");

/// Who else is told.
#[derive(Debug, Default)]
pub(crate) struct Out {
    said: OnceLock<Said>,
    tickets: Tickets,
    under_way: AtomicUsize,
}

/// What was said about that.
#[derive(Debug)]
struct Said {
    webhook: Option<Webhook>,
    desktop: bool,
}

impl Out {
    /// Takes what settings say, with the webhook as it is called; `has_display`, where there
    /// is a screen to tell it on.
    pub(crate) fn say(&self, inbox: &Inbox, webhook: Option<Webhook>, has_display: bool) {
        let _ = self.said.set(Said {
            webhook,
            desktop: has_display && inbox.notify.unwrap_or(true),
        });
    }

    /// Whether anybody is told.
    pub(super) fn is_wanted(&self) -> bool {
        let said = self.said.get();
        said.is_some_and(|said| said.desktop || said.webhook.is_some())
    }

    /// Tells that something is asked.
    pub(super) fn asked(&self, api: &Arc<Api>, question: &Question) {
        let Some(said) = self.said.get() else { return };
        // Whoever has set a breakpoint looks already.
        if question.kind == Kind::Held {
            return;
        }
        if self.under_way.load(Ordering::Acquire) >= limits::OUT_UNDER_WAY {
            tracing::warn!("a question is told nowhere else: too many are being told");
            return;
        }
        // Somebody who is asked at a client already is not called to the desktop.
        if said.desktop && !question.also_client {
            let title = question.title.chars().take(limits::OUT_TITLE).collect();
            self.begin(api, on_desktop(title));
        }
        if let Some(webhook) = &said.webhook {
            let sending = send(webhook.clone(), self.body(api, question));
            self.begin(api, sending);
        }
    }

    fn begin(&self, api: &Arc<Api>, telling: impl Future<Output = ()> + Send + 'static) {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        let api = Arc::downgrade(api);
        tasks::spawn(tasks::Kind::Background, async move {
            telling.await;
            if let Some(api) = api.upgrade() {
                api.out.under_way.fetch_sub(1, Ordering::AcqRel);
            }
        });
    }

    /// What the webhook is told: what is asked and of whom, never with which arguments.
    fn body(&self, api: &Api, question: &Question) -> Value {
        let address = api.address.get();
        let answer = address.filter(|_| question.principal.is_some());
        let answer = answer.and_then(|address| {
            let ticket = self.tickets.give(&question.id)?;
            Some(format!("http://{address}{ANSWERS}{ticket}"))
        });
        json!({
            "question": {
                "id": question.id,
                "kind": question.kind,
                "title": question.title,
                "principal": question.principal,
                "client": question.client,
                "server": question.server,
                "name": question.name,
                "at": question.at,
                "until": question.until,
                "answers": question.answers,
            },
            "answer": answer,
        })
    }
}

async fn on_desktop(title: String) {
    let told = process::notify("Switchboard", &format!("{title} (switchboard inbox)")).await;
    if let Err(fault) = told {
        tracing::debug!(%fault, "the desktop was not told");
    }
}

/// Tells the webhook, and tries again for a while.
async fn send(webhook: Webhook, body: Value) {
    let body = Bytes::from(body.to_string());
    let Ok(url) = Url::parse(&webhook.address) else {
        return;
    };
    let net = NetLimits {
        connect: limits::OUT_TRY,
        total: limits::OUT_TRY,
        ..NetLimits::default()
    };
    let mut pause = limits::OUT_PAUSE;
    for attempt in 1..=limits::OUT_TRIES {
        let headers = signed(&webhook.secret, &body);
        let told = match switchboard_auth::post(&url, headers, body.clone(), &net).await {
            Ok(status) if status.is_success() => return,
            Ok(status) => format!("it answered {status}"),
            Err(fault) => fault.to_string(),
        };
        // The address may hold a secret.
        tracing::warn!(attempt, told, "the webhook was not told of a question");
        tokio::time::sleep(pause).await;
        pause *= 4;
    }
}

fn signed(secret: &str, body: &[u8]) -> HeaderMap {
    let timestamp = (now() / 1000).to_string();
    let signature = signature::of(secret.as_bytes(), &timestamp, body);
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    for (name, value) in [(TIMESTAMP, timestamp), (SIGNATURE, signature)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    headers
}

/// `POST /answers/{ticket}`: an answer of whoever was told by the webhook.
pub(crate) async fn take(api: &Arc<Api>, asked: Asked) -> Controlled {
    match taken(api, &asked).await {
        Ok(reply) => reply.into(),
        Err(no) => no.into(),
    }
}

async fn taken(api: &Arc<Api>, asked: &Asked) -> Result<Reply, No> {
    let ticket = asked.path.strip_prefix(ANSWERS).unwrap_or_default();
    let gone = || No::gone("this address answers nothing: it was used, or its question is over");
    let id = api.out.tickets.find(ticket).ok_or_else(gone)?;
    let answer: Answer = serde_json::from_slice(&asked.body)
        .map_err(|fault| No::invalid(format!("the body is no answer: {fault}")))?;
    if answer.lasts() {
        api.may.be_edited()?;
    }
    let question = questions::open_at_desk(api, &id).ok_or_else(gone)?;
    let taken = questions::take(api, &question, &answer, None, "webhook", false).await?;
    api.out.tickets.used(ticket);
    // Whoever answers here learns that it counted, and nothing else.
    let Ok(json) = Reply::json(&json!({ "status": taken.question.status })) else {
        return Err(gone());
    };
    Ok(json)
}
