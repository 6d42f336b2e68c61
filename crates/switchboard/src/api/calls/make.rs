//! `POST calls`: a call that is made by whoever asks, as a client of either era would.

use super::super::{
    Api,
    answer::{Answer, No, Reply},
    asking::{Ask, CONTROL, Who},
    tools,
};
use crate::watching::Tapping;
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_api::calls::{Made, Make};
use switchboard_host::{
    Admitted, CallError, Client, ClientSink, Event, Exchange, NoSink, Outcome, Scope, Server,
    Verdict, observe::Shown,
};
use switchboard_wire::{Id, Message, Method, Params, Payload, Revision, json as text};

/// On whose behalf calls are made by those who may do everything.
pub(super) const CONSOLE: &str = "console";

/// What is to be called.
pub(super) struct Wanted {
    pub(super) server: Arc<Server>,
    pub(super) method: Method,
    /// The text of its parameters.
    pub(super) params: String,
    /// As a client of which era; the server's own unless it is said.
    pub(super) era: Option<Revision>,
    /// Said yes to, where a rule asks.
    pub(super) confirmed: bool,
    pub(super) replay_of: Option<u64>,
}

/// `POST calls`.
pub(super) async fn answer(api: &Arc<Api>, tapping: &Tapping, ask: &Ask) -> Answer {
    let make: Make = ask.large(&api.readings).await?;
    let wanted = Wanted {
        server: server(api, &make.server)?,
        method: method(make.method.as_deref())?,
        params: params(&make)?,
        era: era(make.era.as_deref())?,
        confirmed: make.confirmed,
        replay_of: None,
    };
    tapping.tap.look();
    Reply::json(&run(api, tapping, &ask.who, wanted).await?)
}

/// The server of this name, or that has it in its paths.
pub(super) fn server(api: &Api, name: &str) -> Result<Arc<Server>, No> {
    let found = api.host.server(name);
    found.ok_or_else(|| No::not_found(format!("there is no server {name:?}")).field("/server"))
}

fn method(named: Option<&str>) -> Result<Method, No> {
    let named = named.unwrap_or(Method::ToolsCall.as_str());
    match Method::parse(named) {
        Method::Other => Err(No::invalid(format!("{named:?} is no method")).field("/method")),
        method => Ok(method),
    }
}

/// The revision of an era by its word.
pub(super) fn era(word: Option<&str>) -> Result<Option<Revision>, No> {
    match word {
        None => Ok(None),
        Some("legacy") => Ok(Some(Revision::NEWEST_LEGACY)),
        Some("modern") => Ok(Some(Revision::NEWEST)),
        Some(_) => Err(No::invalid("era is legacy or modern").field("/era")),
    }
}

fn params(make: &Make) -> Result<String, No> {
    if let Some(params) = &make.params {
        return Ok(params.to_string());
    }
    let method = method(make.method.as_deref())?;
    let mut params = json!({});
    if let Some(name) = &make.name {
        let key = match method {
            Method::ResourcesRead => "uri",
            _ => "name",
        };
        params[key] = json!(name);
    }
    if let Some(arguments) = &make.arguments {
        params["arguments"] = arguments.clone();
    }
    Ok(params.to_string())
}

/// Who makes it: nobody who can be asked, except whether it may be made. What servers ask
/// waits in the inbox, where somebody is to look there.
pub(super) fn client(principal: &str, revision: Option<Revision>) -> Client {
    client_with(principal, revision, Arc::new(NoSink))
}

/// The same, who hears of what no call is about.
pub(super) fn client_with(
    principal: &str,
    revision: Option<Revision>,
    ear: Arc<dyn ClientSink>,
) -> Client {
    let revision = revision.unwrap_or(Revision::NEWEST_LEGACY);
    let capabilities = Bytes::from_static(b"{}");
    let client = Client::new(principal.into(), revision, capabilities, ear);
    let greeting = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": {},
        "clientInfo": {"name": "switchboard-console", "version": crate::VERSION},
    });
    client.greeting(greeting.to_string().into()).deciding(true)
}

/// On whose behalf somebody makes calls here.
pub(super) fn caller(who: &Who) -> &str {
    match &*who.principal {
        CONTROL => CONSOLE,
        own => own,
    }
}

/// Makes a call, and waits for its end.
pub(super) async fn run(
    api: &Api,
    tapping: &Tapping,
    who: &Who,
    wanted: Wanted,
) -> Result<Made, No> {
    let principal = caller(who);
    let revision = wanted.era.unwrap_or_else(|| {
        let plain = client(principal, None);
        match wanted.server.era_for(&plain) == plain.era() {
            true => plain.revision,
            false => Revision::NEWEST,
        }
    });
    let client = client(principal, Some(revision));
    let client = Arc::new(client.at_desk(api.host.desk(), None));
    let scope = Scope::One(wanted.server.clone());
    let mut admitted = Admitted::own(&client, scope, wanted.method, &wanted.params)
        .map_err(|fault| No::invalid(fault.to_string()).field("/params"))?;
    let host = &api.host;
    let shown = host.shows(&client.principal, &admitted.scope, &admitted.message);
    let shown = shown.ok_or_else(|| No::unavailable("messages are not kept"))?;
    admitted.trace.shown = Some(shown.clone());
    let number = shown.number();
    let making = tapping.making(number);
    let given_up = making.given_up.clone();
    let id = admitted.message.id().unwrap_or_else(|| Id::number(1));
    let running = async {
        let call = host.call_own(admitted);
        if let Some(other) = wanted.replay_of {
            tapping.tap.repeats(number, other);
        }
        match call.await {
            Ok(exchange) => to_its_end(exchange, &id, &shown, wanted.confirmed).await,
            Err(fault) => Ended::failed(&fault, &id, &shown),
        }
    };
    let ended = given_up.run_until_cancelled(running).await;
    let ended = ended.unwrap_or_else(|| Ended::failed(&CallError::Cancelled, &id, &shown));
    if let Some(other) = wanted.replay_of {
        tapping.tap.repeats(number, other);
    }
    if let Some(question) = ended.asks {
        return Err(No::confirm(question).hint("say that it is meant: confirmed"));
    }
    let message = Message::parse(ended.payload.into_bytes()).ok();
    let value: Value = message
        .and_then(|message| serde_json::from_slice(message.raw()).ok())
        .unwrap_or_default();
    let faults = match (wanted.method, value.get("result")) {
        (Method::ToolsCall, Some(result)) => {
            let params: Value = serde_json::from_str(&wanted.params).unwrap_or_default();
            let name = params["name"].as_str().unwrap_or_default();
            tools::unfit(api, &wanted.server, name, result).await
        }
        _ => Vec::new(),
    };
    Ok(Made {
        id: number,
        call: tapping.tap.call(number).unwrap_or_default(),
        result: value.get("result").cloned(),
        error: value.get("error").cloned(),
        faults,
    })
}

/// How a call ended.
struct Ended {
    payload: Payload,
    /// What somebody has to say yes to first.
    asks: Option<String>,
}

impl Ended {
    fn failed(fault: &CallError, id: &Id, shown: &Shown) -> Self {
        let payload = fault.to_error().response(Some(id));
        shown.to_client(&payload);
        let asks = None;
        Self { payload, asks }
    }
}

async fn to_its_end(mut exchange: Exchange, id: &Id, shown: &Shown, confirmed: bool) -> Ended {
    let mut asks = None;
    loop {
        match exchange.next().await {
            Event::Notice(notice) => shown.to_client(&notice.payload),
            Event::Input(input) => {
                let question = Id::number(0);
                shown.to_client(&input.payload(&question));
                match input.consent().map(|consent| consent.text()) {
                    Some(_) if confirmed => {
                        let yes = Verdict::Once.to_result().to_string();
                        let answer = Message::response(&question, &yes);
                        shown.from_client(&answer);
                        input.answer(&answer);
                    }
                    Some(text) => {
                        asks = Some(text);
                        input.refuse_unsupported();
                    }
                    None => input.refuse_unsupported(),
                }
            }
            Event::Outcome(Outcome::Reply(reply)) => {
                let payload = reply.payload(id);
                shown.to_client(&payload);
                return Ended {
                    payload,
                    asks: None,
                };
            }
            Event::Outcome(Outcome::Begun(_)) => {
                return Ended::failed(&CallError::broke_off(), id, shown);
            }
            Event::Outcome(Outcome::Failed(fault)) => {
                let ended = Ended::failed(&fault, id, shown);
                return Ended { asks, ..ended };
            }
        }
    }
}

/// The parameters of a request, as they are, for another that is to be the same: what only
/// that one was for is left out.
pub(super) fn repeated(request: &Message, named: Option<(&str, &str)>) -> String {
    let body = request.body();
    let mut kept = Vec::new();
    for member in text::members(body) {
        let key = text::text(member.key.of(body)).unwrap_or_default();
        let value = String::from_utf8_lossy(member.value.of(body));
        let value = match (&*key, named) {
            ("inputResponses" | "requestState" | "task", _) => continue,
            ("_meta", _) => match own_meta(member.value.of(body)) {
                Some(meta) => meta.into(),
                None => continue,
            },
            (key, Some((name, own))) if key == name => text::quote(own).into(),
            _ => value,
        };
        kept.push(format!("{}:{value}", text::quote(&key)));
    }
    format!("{{{}}}", kept.join(","))
}

/// What a request says besides the protocol's own, if it does.
fn own_meta(meta: &[u8]) -> Option<String> {
    let own = text::members(meta).filter_map(|member| {
        let key = text::text(member.key.of(meta))?;
        let is_own = key != "progressToken" && !key.starts_with("io.modelcontextprotocol/");
        let value = String::from_utf8_lossy(member.value.of(meta));
        is_own.then(|| format!("{}:{value}", text::quote(&key)))
    });
    let own: Vec<String> = own.collect();
    (!own.is_empty()).then(|| format!("{{{}}}", own.join(",")))
}

/// Whether a text is that of parameters.
pub(super) fn readable(params: &str) -> bool {
    let request = Message::request_of(&Id::number(1), Method::ToolsCall, params);
    request.is_ok_and(|request| Params::of(&request).is_ok())
}
