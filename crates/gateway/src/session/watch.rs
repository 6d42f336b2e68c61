//! `subscriptions/listen`: a stream of the changes that a client asked for.

use super::{
    Weight, may_hear,
    modern::{Answer, Request},
    rewrite,
    steps::{Step, Steps},
};
use crate::{admission::Admission, gateway::Gateway, limits};
use bytes::Bytes;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use switchboard_host::{
    CallError, Client, ClientSink, Hello, Host, Input, NoSink, Notice, Scope, Topic, catalog::task,
    permission::What, route_uris,
};
use switchboard_tasks as tasks;
use switchboard_transport::{Share, limits::QUEUE_STEP};
use switchboard_wire::{Edits, Id, Message, Method, Params, Payload, Revision, code, json, meta};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

/// One open `subscriptions/listen`.
pub(crate) struct Listen {
    host: Arc<Host>,
    client: Arc<Client>,
    id: Id,
    acknowledgement: Option<Payload>,
    notices: mpsc::Receiver<Payload>,
    /// Bytes of them.
    waiting: Arc<AtomicUsize>,
    /// Whose it is, and until when.
    admission: Admission,
    /// Nothing new comes from its client.
    closing: CancellationToken,
}

/// What the client asked to hear of.
#[derive(Clone, Debug, Default)]
struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    updates: Vec<String>,
    tasks: Vec<String>,
}

struct Sink {
    gateway: Arc<Gateway>,
    /// Stands for the client where its view of the catalog matters.
    viewer: Client,
    aggregate: bool,
    filter: Filter,
    id: Id,
    out: mpsc::Sender<Payload>,
    /// Bytes of what waits to be read.
    waiting: Arc<AtomicUsize>,
    /// Where it is counted.
    share: Share,
}

impl Listen {
    /// Makes sure that the servers will tell us, then acknowledges.
    pub(crate) async fn open(gateway: &Arc<Gateway>, request: &Request) -> Result<Self, CallError> {
        let (scope, message) = (&request.scope, &request.message);
        let principal = request.admission.principal().clone();
        let id = message.id().unwrap_or_else(|| Id::number(0));
        let filter = Filter::of(message)?;
        let (out, notices) = mpsc::channel(limits::STREAM_EVENTS);
        let waiting = Arc::<AtomicUsize>::default();
        let aggregate = matches!(scope, Scope::All);
        let none = Bytes::from_static(b"{}");
        let viewer = Client::new(
            principal.clone(),
            Revision::NEWEST,
            none.clone(),
            Arc::new(NoSink),
        );
        let sink = Sink {
            gateway: gateway.clone(),
            viewer,
            aggregate,
            filter: filter.clone(),
            id: id.clone(),
            out,
            waiting: waiting.clone(),
            share: request.admission.share().clone(),
        };
        let client = Client::new(principal, Revision::NEWEST, none, Arc::new(sink));
        let client = Arc::new(client.known_by(request.key.as_deref()));
        let host = gateway.host().clone();
        let mut listen = Self {
            host: host.clone(),
            client: client.clone(),
            id,
            acknowledgement: None,
            notices,
            waiting,
            admission: request.admission.clone(),
            closing: CancellationToken::new(),
        };

        let honoured = match scope {
            Scope::One(server) => {
                host.guard().check(&client, server, What::Method)?;
                let connection = server.connection(&client).await?;
                let mut topics = filter.topics(|task| connection.lets_see_task(&client, task));
                // What a server does not tell of is missing in what is acknowledged.
                topics.retain(|topic| tells_of(connection.hello(), topic));
                connection.watch(&client, &topics).await?;
                filter.limited_to(&connection.acknowledged())
            }
            Scope::All => {
                host.attach(&client);
                listen.watch_all(filter).await?
            }
        };
        let params = format!(
            "{{\"_meta\":{{\"{}\":{}}},\"notifications\":{}}}",
            meta::SUBSCRIPTION_ID,
            String::from_utf8_lossy(listen.id.token()),
            honoured.to_json()
        );
        listen.acknowledgement =
            Some(Message::notification(Method::SubscriptionAcknowledged, &params).payload());
        Ok(listen)
    }

    /// Subscribes at every server. What is not there in time follows when it is:
    /// the acknowledgement does not wait for it.
    async fn watch_all(&self, mut filter: Filter) -> Result<Filter, CallError> {
        let (host, client) = (&self.host, &self.client);
        let mut topics: HashMap<Arc<str>, Vec<Topic>> = HashMap::new();
        let routed = route_uris(host, client, &filter.updates).await?;
        let mut told = Vec::new();
        for ((server, own), uri) in routed.into_iter().zip(filter.updates) {
            let guard = host.guard();
            guard.check(client, &server, What::Resource(&own))?;
            let topic = Topic::Resource(own);
            if tells_of(server.hello(client).as_ref(), &topic) {
                let theirs = topics.entry(server.name().clone()).or_default();
                theirs.push(topic);
                told.push(uri);
            }
        }
        filter.updates = told;
        filter.tasks.retain(|id| {
            let Some((server, own)) = task::route(&host.namer(), id) else {
                return false;
            };
            let theirs = topics.entry(server.into()).or_default();
            theirs.push(Topic::Task(own));
            true
        });
        let mut watching = JoinSet::new();
        for server in host.servers().iter() {
            if !host.guard().reaches(client, server) {
                continue;
            }
            let mut theirs = topics.remove(server.name()).unwrap_or_default();
            let (server, client) = (server.clone(), client.clone());
            let is_asked = !theirs.is_empty();
            let watch = async move {
                let watch = async {
                    let connection = server.connection(&client).await?;
                    theirs.retain(|topic| match topic {
                        Topic::Task(id) => connection.lets_see_task(&client, id),
                        Topic::Resource(_) => true,
                    });
                    connection.watch(&client, &theirs).await
                };
                let watched = watch.await;
                // Only what was asked for by name can be missed.
                if is_asked { watched } else { Ok(()) }
            };
            #[expect(clippy::disallowed_methods, reason = "its panics are watched")]
            watching.spawn(tasks::watched(tasks::Kind::Listening, watch));
        }
        let settled = async {
            while let Some(watched) = watching.join_next().await {
                watched.unwrap_or_else(|_| Err(CallError::broke_off()))?;
            }
            Ok::<(), CallError>(())
        };
        let settled = timeout(limits::LISTEN_ACK, settled).await;
        watching.detach_all();
        settled.unwrap_or(Ok(()))?;
        Ok(filter)
    }

    /// The same, also ended by this.
    pub(crate) fn until(mut self: Box<Self>, closing: CancellationToken) -> Box<Self> {
        self.closing = closing;
        self
    }

    /// What says that we end the stream, not an accident.
    fn farewell(&self) -> Payload {
        let id = String::from_utf8_lossy(self.id.token());
        let result = format!(
            "{{\"resultType\":\"complete\",\"_meta\":{{\"{}\":{id}}}}}",
            meta::SUBSCRIPTION_ID
        );
        Message::response(&self.id, &result).payload()
    }
}

/// The acknowledgement first, then what happens, until the client may not listen
/// any more or we stop.
impl Steps for Listen {
    type End = Answer;

    async fn next(&mut self) -> Step<Answer> {
        if let Some(acknowledgement) = self.acknowledgement.take() {
            return Step::Notice(acknowledgement, Weight::Notice);
        }
        tokio::select! {
            biased;
            _ = self.admission.ended() => {}
            () = self.closing.cancelled() => {}
            Some(notice) = self.notices.recv() => {
                self.waiting.fetch_sub(notice.len(), Ordering::Relaxed);
                return Step::Notice(notice, Weight::Notice);
            }
        }
        Step::Done(Answer {
            begun: None,
            payload: self.farewell(),
            code: None,
        })
    }
}

/// Whether a server said that it tells of this; one that has not spoken yet may.
fn tells_of(hello: Option<&Hello>, topic: &Topic) -> bool {
    match topic {
        Topic::Resource(_) => hello.is_none_or(Hello::tells_of_resources),
        Topic::Task(_) => true,
    }
}

impl Drop for Listen {
    fn drop(&mut self) {
        self.host.detach(&self.client);
    }
}

impl fmt::Debug for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listen")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl Filter {
    fn of(message: &Message) -> Result<Self, CallError> {
        let body = message.body();
        let wrong = |what: &str| {
            CallError::refused(code::INVALID_PARAMS, format!("Invalid params: {what}"))
        };
        let notifications =
            json::field(body, "notifications").map_err(|fault| wrong(&fault.to_string()))?;
        let filter = notifications
            .ok_or_else(|| wrong("\"notifications\" is missing"))?
            .of(body);
        if filter.len() > limits::LISTEN_FILTER {
            return Err(wrong(&format!(
                "\"notifications\" can have {} bytes at most, and this has {}",
                limits::LISTEN_FILTER,
                filter.len()
            )));
        }
        Self::parse(filter).ok_or_else(|| wrong("\"notifications\" is not a filter"))
    }

    fn parse(raw: &[u8]) -> Option<Self> {
        let fields = [
            "toolsListChanged",
            "promptsListChanged",
            "resourcesListChanged",
            "resourceSubscriptions",
            "taskIds",
        ];
        let [tools, prompts, resources, updates, tasks] = json::fields(raw, fields).ok()?;
        let on = |span: Option<json::Span>| span.is_some_and(|span| span.of(raw) == b"true");
        let texts = |span: Option<json::Span>| {
            let array = span.map_or(&b"[]"[..], |span| span.of(raw));
            // To some readers a text ends at U+0000, and names another thing.
            let text = |element: json::Span| {
                let text = json::text(element.of(array))?;
                (!text.contains('\0')).then(|| text.into_owned())
            };
            json::elements(array)
                .map(text)
                .collect::<Option<Vec<String>>>()
        };
        Some(Self {
            tools: on(tools),
            prompts: on(prompts),
            resources: on(resources),
            updates: texts(updates)?,
            tasks: texts(tasks)?,
        })
    }

    /// The part of this that a server agreed to.
    fn limited_to(mut self, acknowledged: &Bytes) -> Self {
        if let Some(theirs) = Self::parse(acknowledged) {
            self.tools &= theirs.tools;
            self.prompts &= theirs.prompts;
            self.resources &= theirs.resources;
            self.updates.retain(|uri| theirs.updates.contains(uri));
            self.tasks.retain(|id| theirs.tasks.contains(id));
        }
        self
    }

    /// What to ask one server for, in its own words.
    fn topics(&self, may_see: impl Fn(&str) -> bool) -> Vec<Topic> {
        let resources = self.updates.iter().cloned().map(Topic::Resource);
        let tasks = self.tasks.iter().filter(|id| may_see(id)).cloned();
        resources.chain(tasks.map(Topic::Task)).collect()
    }

    fn to_json(&self) -> String {
        let mut parts = Vec::new();
        for (on, name) in [
            (self.tools, "toolsListChanged"),
            (self.prompts, "promptsListChanged"),
            (self.resources, "resourcesListChanged"),
        ] {
            if on {
                parts.push(format!("\"{name}\":true"));
            }
        }
        for (texts, name) in [
            (&self.updates, "resourceSubscriptions"),
            (&self.tasks, "taskIds"),
        ] {
            if !texts.is_empty() {
                let texts: Vec<String> = texts.iter().map(|text| json::quote(text)).collect();
                parts.push(format!("\"{name}\":[{}]", texts.join(",")));
            }
        }
        format!("{{{}}}", parts.join(","))
    }

    fn wants(&self, method: Method) -> bool {
        match method {
            Method::ToolsListChanged => self.tools,
            Method::PromptsListChanged => self.prompts,
            Method::ResourcesListChanged => self.resources,
            // The connection knows who subscribed to what.
            Method::ResourceUpdated | Method::TaskNews => true,
            _ => false,
        }
    }
}

impl ClientSink for Sink {
    fn notice(&self, server: &Arc<str>, notice: Notice) {
        if !self.filter.wants(notice.method)
            || !may_hear(&self.gateway, &self.viewer, server, &notice)
        {
            return;
        }
        let message = &notice.message;
        let Ok(params) = Params::of(message) else {
            return;
        };
        let mut edits = Edits::new();
        let id = String::from_utf8_lossy(self.id.token());
        params.set_meta(
            message,
            &mut edits,
            params.subscription_id,
            meta::SUBSCRIPTION_ID,
            &id,
        );
        if self.aggregate {
            rewrite::notice_edits(
                &self.gateway,
                &self.viewer,
                server,
                message,
                &params,
                &mut edits,
            );
        }
        // A reader that stopped reading loses notices, not the stream.
        let payload = message.edited(&edits);
        let size = payload.len();
        let before = self.waiting.fetch_add(size, Ordering::Relaxed);
        let is_behind = before > QUEUE_STEP;
        let is_too_much = before > 0 && before + size > limits::STREAM_BYTES
            || is_behind && !self.share.has_room();
        let payload = match is_behind && !is_too_much {
            true => self.share.queue(payload),
            false => payload,
        };
        if is_too_much || self.out.try_send(payload).is_err() {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
        }
    }

    fn ask(&self, input: Input) {
        input.refuse_unsupported();
    }
}
