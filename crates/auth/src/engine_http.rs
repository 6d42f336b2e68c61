//! The HTTP client under rmcp's OAuth engine. Everything the engine sends goes
//! through here, so this is where its traps are disarmed: addresses are judged,
//! redirects stop, answers are capped and put right where the engine is stricter
//! than servers are, DPoP proofs are added, and what the engine keeps to itself
//! (the resource, why a request failed) is noted.

mod amend;
mod proving;

use crate::{
    address::{AddressError, Guard},
    dpop::{Dpop, DpopError},
    error::shown,
    journal::{self, Journal},
    net::{self, Inbound, NetError, NetLimits, Outbound},
    secret::Secret,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use oauth2::{HttpRequest, HttpResponse};
use parking_lot::Mutex;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use url::Url;

pub(crate) use amend::NO_AUTHORIZATION_ENDPOINT;
pub(crate) use proving::Proving;

/// What is said about the `resource` of token requests.
#[derive(Clone, Debug, Default)]
pub(crate) enum ResourceParam {
    /// As the engine has it.
    #[default]
    Engine,
    /// This one: the engine forgets it over a restart.
    Is(String),
    /// None, for an identity provider that knows no resources.
    Absent,
}

/// How the last exchange went, beyond what the engine reports.
#[derive(Clone, Debug)]
pub(crate) enum Last {
    /// An answer came.
    Answered {
        status: StatusCode,
        retry_after: Option<Duration>,
        /// The OAuth error code that it holds, if any.
        error: Option<String>,
    },
    /// None came.
    Failed(NetError),
}

/// The hook, for one server.
pub(crate) struct Hook {
    base: Url,
    guard: Guard,
    limits: NetLimits,
    resource: Mutex<ResourceParam>,
    dpop: Mutex<Option<Arc<Dpop>>>,
    /// How a client that we register will prove itself, if not as a public one.
    registration: Mutex<Option<&'static str>>,
    /// How a client with a secret proves itself here.
    proving: Mutex<Proving>,
    last: Mutex<Option<Last>>,
    /// The protected-resource document that was seen last.
    document: Mutex<Option<Value>>,
    /// What was sent in confidence, and must not come back in an error.
    confided: Mutex<Vec<Secret>>,
    /// Where what is sent is written down.
    journal: Journal,
}

impl Hook {
    pub(crate) fn new(base: Url, guard: Guard, limits: NetLimits, journal: Journal) -> Arc<Self> {
        Arc::new(Self {
            base,
            guard,
            limits,
            resource: Mutex::default(),
            dpop: Mutex::default(),
            registration: Mutex::default(),
            proving: Mutex::default(),
            last: Mutex::default(),
            document: Mutex::default(),
            confided: Mutex::default(),
            journal,
        })
    }

    pub(crate) fn set_resource(&self, resource: ResourceParam) {
        *self.resource.lock() = resource;
    }

    pub(crate) fn set_dpop(&self, dpop: Option<Arc<Dpop>>) {
        *self.dpop.lock() = dpop;
    }

    pub(crate) fn set_registration(&self, method: Option<&'static str>) {
        *self.registration.lock() = method;
    }

    pub(crate) fn set_proving(&self, proving: Proving) {
        *self.proving.lock() = proving;
    }

    /// How the client proved itself when that last went well.
    pub(crate) fn proving(&self) -> Proving {
        *self.proving.lock()
    }

    pub(crate) fn last(&self) -> Option<Last> {
        self.last.lock().clone()
    }

    /// The protected-resource document of the discovery that just ran.
    pub(crate) fn document(&self) -> Option<Value> {
        self.document.lock().clone()
    }

    pub(crate) fn keep_document(&self, document: Value) {
        *self.document.lock() = Some(document);
    }

    /// Whether an address may be used at all.
    pub(crate) fn check(&self, url: &Url) -> Result<(), AddressError> {
        self.guard.check(url)
    }

    /// Remembers a secret, so that an error that repeats it does not show it.
    pub(crate) fn confide(&self, secret: &Secret) {
        if !secret.is_empty() {
            self.confided.lock().push(secret.clone());
        }
    }

    /// A text of a server or of the engine, fit to be shown.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.confided.lock().iter() {
            text = text.replace(secret.expose(), "[secret]");
        }
        shown(&text)
    }

    /// What to say when the engine failed: the network's fault if there was one,
    /// since the engine hides it.
    pub(crate) fn explain(&self, engine: &dyn std::fmt::Display) -> String {
        match self.last() {
            Some(Last::Failed(fault)) => self.scrub(&fault.to_string()),
            Some(Last::Answered { status, .. }) if !status.is_success() => {
                self.scrub(&format!("HTTP {}: {engine}", status.as_u16()))
            }
            _ => self.scrub(&engine.to_string()),
        }
    }

    /// Sends a request of ours.
    pub(crate) async fn send(&self, out: Outbound) -> Result<Inbound, NetError> {
        let (noted, begun) = (out.clone(), Instant::now());
        let sent = net::send(&self.guard, &self.limits, out).await;
        let came = sent.as_ref().map(journal::came);
        self.journal.note(&noted, begun, came);
        match &sent {
            Ok(answer) => self.note(answer),
            Err(fault) => *self.last.lock() = Some(Last::Failed(fault.clone())),
        }
        sent
    }

    fn note(&self, answer: &Inbound) {
        *self.last.lock() = Some(Last::Answered {
            status: answer.status,
            retry_after: retry_after(answer),
            error: error_code(answer),
        });
    }

    /// Sends a request of ours of whose answer only the head matters; the body may
    /// be a stream without end.
    pub(crate) async fn head(&self, out: Outbound) -> Result<HeaderMap, NetError> {
        let (noted, begun) = (out.clone(), Instant::now());
        let sent = net::head(&self.guard, &self.limits, out).await;
        let came = sent.as_ref().map(journal::came);
        self.journal.note(&noted, begun, came);
        Ok(sent?.headers)
    }

    /// Somebody is sent to a page, which is written down.
    pub(crate) fn sends_to(&self, page: &Url) {
        self.journal.sent_to(page);
    }

    /// Fetches a JSON document of a server. `None` where there is none.
    pub(crate) async fn document_at(&self, url: Url) -> Result<Option<Value>, NetError> {
        let answer = self.send(Outbound::get(url)).await?;
        if answer.status != StatusCode::OK {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&answer.body).ok())
    }

    /// Sends a form to a token endpoint, proven in another way where the server
    /// does not know the client in the first.
    pub(crate) async fn token_request(&self, out: Outbound) -> Result<Inbound, NetError> {
        let Some(named) = proving::Named::by_header(&out) else {
            return self.possessed(out).await;
        };
        let usual = self.proving();
        let refused = self.possessed(usual.apply(&out, &named)).await?;
        if !proving::refuses_client(&refused) {
            return Ok(refused);
        }
        for other in Proving::ALL.into_iter().filter(|way| *way != usual) {
            let answer = self.possessed(other.apply(&out, &named)).await?;
            if !proving::refuses_client(&answer) {
                self.set_proving(other);
                return Ok(answer);
            }
        }
        // The first refusal is about what the server itself says it wants.
        self.note(&refused);
        Ok(refused)
    }

    /// Sends a form with proof of possession where there is a key; a wish for a
    /// nonce is granted once.
    async fn possessed(&self, out: Outbound) -> Result<Inbound, NetError> {
        let dpop = self.dpop.lock().clone();
        let Some(dpop) = dpop else {
            return self.send(out).await;
        };
        let answer = self.send(with_proof(&dpop, out.clone())?).await?;
        let renewed = dpop.note_nonce(&out.url, &answer.headers);
        if renewed && answer.status.is_client_error() && wants_nonce(&answer) {
            return self.send(with_proof(&dpop, out)?).await;
        }
        Ok(answer)
    }

    async fn engine_request(&self, request: HttpRequest) -> Result<HttpResponse, NetError> {
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string()).map_err(|_| AddressError::Unreadable)?;
        if head.method == Method::GET && url == self.base {
            // The MCP endpoint may answer a GET with a stream that never ends; all
            // that its challenge says is known already.
            return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
        }
        let form = amend::is_form(&head.headers);
        let mut out = Outbound {
            method: head.method.clone(),
            url: url.clone(),
            headers: head.headers,
            body: body.into(),
        };
        if form && head.method == Method::POST {
            let resource = self.resource.lock().clone();
            let grant = amend::form(&mut out, &resource);
            let mut answer = self.token_request(out).await?;
            amend::token_answer(&mut answer, grant.as_deref());
            return Ok(response(answer));
        }
        let registers = head.method == Method::POST;
        if let (true, Some(method)) = (registers, *self.registration.lock()) {
            amend::registration(&mut out, method);
        }
        let mut answer = self.send(out).await?;
        if answer.status.is_redirection() && registers {
            return Err(AddressError::Redirect.into());
        }
        if let (true, Some(proving)) = (registers, Proving::registered(&answer)) {
            self.set_proving(proving);
        }
        if answer.status == StatusCode::OK
            && url.path().contains("/.well-known/")
            && let Some(document) = amend::metadata_answer(&mut answer)
        {
            *self.document.lock() = Some(document);
        }
        Ok(response(answer))
    }
}

impl OAuthHttpClient for Hook {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            self.engine_request(request.request).await.map_err(|fault| {
                *self.last.lock() = Some(Last::Failed(fault.clone()));
                fault.into()
            })
        })
    }
}

/// The hook for the engine, which wants an `Arc<dyn …>`.
pub(crate) fn client(hook: &Arc<Hook>) -> Arc<dyn OAuthHttpClient> {
    hook.clone()
}

fn with_proof(dpop: &Dpop, mut out: Outbound) -> Result<Outbound, NetError> {
    let proof = dpop.proof(&out.method, &out.url, None)?;
    let mut value = HeaderValue::try_from(proof).map_err(|_| DpopError::NoHeader)?;
    value.set_sensitive(true);
    out.headers.insert("dpop", value);
    Ok(out)
}

fn wants_nonce(answer: &Inbound) -> bool {
    error_code(answer).as_deref() == Some("use_dpop_nonce")
}

/// The error code (RFC 6749, section 5.2) of an answer that is no success.
fn error_code(answer: &Inbound) -> Option<String> {
    if answer.status.is_success() {
        return None;
    }
    let mut body: Value = serde_json::from_slice(&answer.body).ok()?;
    match body["error"].take() {
        Value::String(code) => Some(code),
        _ => None,
    }
}

fn retry_after(answer: &Inbound) -> Option<Duration> {
    let seconds = answer.headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

fn response(answer: Inbound) -> HttpResponse {
    let mut response = HttpResponse::new(answer.body.to_vec());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

fn empty(status: StatusCode) -> HttpResponse {
    let mut response = HttpResponse::new(Vec::new());
    *response.status_mut() = status;
    response
}
