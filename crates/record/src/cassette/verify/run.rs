//! Asking a server what was asked, one thing after the other.

use super::{
    super::{
        Answer, Between, Call, Cassette, Difference, Question, Recorded,
        asked::{comparable, exact_tree, name_of, tree},
        differences, redact,
    },
    Asking, Case, Outcome as Came, Repeatable, Report, Skip,
    carried::Carried,
    repeatable_in,
    said::{Said, Unanswered, answer_of, recorded},
};
use crate::limits;
use bytes::Bytes;
use serde_json::{Value, json};
use std::{collections::HashSet, sync::Arc};
use switchboard_host::{
    Admitted, CallError, Client, Event, Host, Input, NoSink, Outcome, Scope, Server, ServerSpec,
    observe::Trace, permission::Rules,
};
use switchboard_transport::Budget;
use switchboard_wire::{
    Era, ErrorObject, Id, Message, Method, Params, Revision, code, json as text, meta, name::Style,
};
use tokio::time::Instant;

/// Holds the server of `spec`, under these rules, to a cassette of one server. What cannot be
/// reached at all is an error.
pub async fn verify(
    cassette: &Cassette,
    name: &str,
    spec: &ServerSpec,
    rules: &Rules,
    asking: &Asking,
) -> Result<Report, CallError> {
    let mut cases = Vec::new();
    let plan = Plan {
        cassette,
        asking,
        recorded: Repeatable::of(cassette),
    };
    for era in cassette.eras() {
        let mut spec = ServerSpec {
            era: Some(era),
            ..spec.clone()
        };
        if let Some(patience) = asking.patience {
            spec.timeouts.tool_call = patience;
            spec.timeouts.request = patience;
        }
        let rules = rules.clone();
        let host = Host::new(vec![spec], rules, Style::Bare, Budget::default());
        let ran = run(&host, &plan, era, &mut cases).await;
        host.close().await;
        ran?;
    }
    let server = name.to_owned();
    Ok(Report { server, cases })
}

/// What is asked.
struct Plan<'a> {
    cassette: &'a Cassette,
    asking: &'a Asking,
    /// What the cassette says of tools.
    recorded: Repeatable,
}

async fn run(
    host: &Arc<Host>,
    plan: &Plan<'_>,
    era: Era,
    cases: &mut Vec<Case>,
) -> Result<(), CallError> {
    let cassette = plan.cassette;
    let servers = host.servers();
    let Some(server) = servers.iter().next().cloned() else {
        return Ok(());
    };
    let client = Arc::new(client(cassette, era));
    let begun = Instant::now();
    server.connection(&client).await?;
    cases.extend(met(plan, era, &server, &client, begun));
    let mut asker = Asker {
        host: host.clone(),
        server,
        client,
        carried: Carried::default(),
        repeatable: None,
    };
    for recorded in cassette.calls.iter().filter(|one| one.call.era == era) {
        if let Some(case) = asker.case(plan, recorded).await {
            cases.push(case);
        }
    }
    Ok(())
}

/// As whom the server is asked: with what it was told when it was recorded.
fn client(cassette: &Cassette, era: Era) -> Client {
    let greeting = cassette.hello(era).and_then(|hello| hello.params.clone());
    let field = |raw: &Bytes, key: &'static str| {
        let span = text::field(raw, key).ok().flatten()?;
        Some(raw.slice(span.start..span.end))
    };
    let nothing = Bytes::from_static(b"{}");
    if era == Era::Modern {
        let mut calls = cassette.calls.iter().filter(|one| one.call.era == era);
        let said = calls.find_map(|one| {
            let about = field(one.call.params.as_ref()?, "_meta")?;
            field(&about, meta::CLIENT_CAPABILITIES)
        });
        let capabilities = said.unwrap_or(nothing);
        return Client::new(
            "verify".into(),
            Revision::NEWEST,
            capabilities,
            Arc::new(NoSink),
        );
    }
    let said = |key: &'static str| greeting.as_ref().and_then(|raw| field(raw, key));
    let revision = said("protocolVersion")
        .and_then(|token| Revision::parse(&text::text(&token)?))
        .filter(|revision| revision.era() == Era::Legacy);
    let client = Client::new(
        "verify".into(),
        revision.unwrap_or(Revision::NEWEST_LEGACY),
        said("capabilities").unwrap_or(nothing),
        Arc::new(NoSink),
    );
    client.exclusive(greeting)
}

/// What the server says when it is met. Its version may be another.
fn met(
    plan: &Plan<'_>,
    era: Era,
    server: &Arc<Server>,
    client: &Client,
    begun: Instant,
) -> Option<Case> {
    let asking = plan.asking;
    let hello = plan.cassette.hello(era)?;
    let method = match era {
        Era::Legacy => Method::Initialize,
        Era::Modern => Method::Discover,
    };
    if matches!(
        asking.skips(&plan.recorded, era, method.as_str(), &Value::Null),
        Some(Skip::Unwanted)
    ) {
        return None;
    }
    let said = server.hello(client).map(|hello| hello.result);
    let shown = |raw: &Bytes| {
        let mut value = exact_tree(&redact(raw)).unwrap_or_default();
        if let Some(info) = value.get_mut("serverInfo").and_then(Value::as_object_mut) {
            info.shift_remove("version");
        }
        json!({"result": value})
    };
    let is = said.as_ref().map(shown).unwrap_or_default();
    let found = differences(&shown(&hello.result), &is, &asking.ignored);
    Some(Case {
        line: 1,
        era: era.to_string(),
        method: method.as_str().to_owned(),
        name: None,
        outcome: if found.is_empty() {
            Came::Same
        } else {
            Came::Differs
        },
        differences: found,
        reason: None,
        took: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// Whoever asks a server.
struct Asker {
    host: Arc<Host>,
    server: Arc<Server>,
    client: Arc<Client>,
    carried: Carried,
    /// The tools of which the server itself says that they may be called twice, once that
    /// was asked. A cassette can say so of any tool, whoever wrote it.
    repeatable: Option<HashSet<String>>,
}

impl Asker {
    /// Asks what was asked; nothing where that is not wanted.
    async fn case(&mut self, plan: &Plan<'_>, recorded: &Recorded) -> Option<Case> {
        let asking = plan.asking;
        let Recorded { line, call, .. } = recorded;
        let asked = comparable(call.params.as_ref());
        let known = asked.as_ref().unwrap_or(&Value::Null);
        let mut case = Case {
            line: *line,
            era: call.era.to_string(),
            method: call.method.clone(),
            name: name_of(Method::parse(&call.method), known).map(ToOwned::to_owned),
            outcome: Came::Skipped,
            differences: Vec::new(),
            reason: None,
            took: 0,
        };
        match asking.skips(&plan.recorded, call.era, &call.method, known) {
            Some(Skip::Unwanted) => return None,
            Some(Skip::Acts) => {
                case.reason = Some("its tool may change something each time".to_owned());
                return Some(case);
            }
            None => {}
        }
        let is_tool = Method::parse(&call.method) == Method::ToolsCall;
        if is_tool && !asking.all && !self.is_repeatable(plan.cassette, call.era, &case).await {
            case.reason =
                Some("the server does not say of this tool that it may be called twice".to_owned());
            return Some(case);
        }
        let begun = Instant::now();
        let compared = match asked {
            Ok(_) => self.compare(call, asking).await,
            Err(fault) => Err(fault.into()),
        };
        case.took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        match compared {
            Ok(found) if found.is_empty() => case.outcome = Came::Same,
            Ok(found) => {
                case.outcome = Came::Differs;
                case.differences = found;
            }
            Err(fault) => {
                case.outcome = Came::Failed;
                case.reason = Some(fault.to_string());
            }
        }
        Some(case)
    }

    /// Whether the server itself says that a tool may be called twice.
    async fn is_repeatable(&mut self, cassette: &Cassette, era: Era, case: &Case) -> bool {
        if self.repeatable.is_none() {
            self.repeatable = Some(self.repeatable(cassette, era).await);
        }
        let known = self.repeatable.as_ref();
        let name = case.name.as_ref();
        known.is_some_and(|known| name.is_some_and(|name| known.contains(name)))
    }

    /// Asks for all tools, as they were asked for when it was recorded.
    async fn repeatable(&self, cassette: &Cassette, era: Era) -> HashSet<String> {
        let mut found = HashSet::new();
        let is_list =
            |call: &Call| call.era == era && Method::parse(&call.method) == Method::ToolsList;
        let mut calls = cassette.calls.iter().map(|one| &one.call);
        let Some(mut call) = calls.find(|call| is_list(call)).cloned() else {
            return found;
        };
        let mut params = call.params.as_ref().and_then(|raw| tree(raw).ok());
        let mut cursor = Value::Null;
        for _ in 0..limits::CASSETTE_PAGES {
            if let Some(params) = params.as_mut().and_then(Value::as_object_mut) {
                params.shift_remove("cursor");
            }
            if cursor.is_string() {
                params.get_or_insert_with(|| json!({}))["cursor"] = cursor;
            }
            call.params = params.as_ref().map(|params| params.to_string().into());
            let Ok(said) = self.ask(&call).await else {
                break;
            };
            let page = &said.answer["result"];
            found.extend(repeatable_in(page));
            cursor = page["nextCursor"].clone();
            if !cursor.is_string() {
                break;
            }
        }
        found
    }

    async fn compare(
        &mut self,
        call: &Call,
        asking: &Asking,
    ) -> Result<Vec<Difference>, Unanswered> {
        let was = recorded(call)?;
        let mut is = self.ask(call).await?.value();
        if let (Some(was), Some(is)) = (was.get("result"), is.get_mut("result")) {
            self.carried.note(was, is);
        }
        Ok(differences(&was, &is, &asking.ignored))
    }

    /// Makes a request, and answers what the server asks as it was answered.
    async fn ask(&self, call: &Call) -> Result<Said, Unanswered> {
        let message = self.request(call)?;
        let params = Params::of(&message).map_err(Unanswered::Params)?;
        let admitted = Admitted {
            client: self.client.clone(),
            scope: Scope::One(self.server.clone()),
            message,
            params,
            headers: None,
            trace: Trace::default(),
            passes_on: false,
        };
        let mut exchange = Box::pin(self.host.call_own(admitted)).await?;
        let mut answers: Vec<&Question> = call.between.iter().filter_map(question).collect();
        let mut said = Said::default();
        loop {
            match exchange.next().await {
                Event::Notice(notice) => {
                    let params = notice
                        .message
                        .body_span()
                        .map(|_| notice.message.body_bytes());
                    said.says(&notice.message.method_name(), params.as_ref())?;
                }
                Event::Input(input) => {
                    let body = input.message().body_bytes();
                    let method = input.message().method_name();
                    said.asks(&method, Some(&body))?;
                    let recorded = answers.iter().position(|one| one.method == method);
                    answer(input, recorded.map(|at| answers.remove(at)));
                }
                Event::Outcome(Outcome::Reply(reply)) => {
                    said.answer = answer_of(reply.message.kind(), &reply.message.body_bytes())?;
                    return Ok(said);
                }
                Event::Outcome(Outcome::Failed(fault)) => return Err(fault.into()),
                Event::Outcome(Outcome::Begun(_)) => return Err(CallError::broke_off().into()),
            }
        }
    }

    /// The request as it is sent now.
    fn request(&self, call: &Call) -> Result<Message, Unanswered> {
        let params = match &call.params {
            None => String::new(),
            Some(raw) => {
                let mut value = tree(raw)?;
                let before = value.clone();
                self.carried.put(&mut value);
                // What need not change keeps its bytes.
                let text = match value == before {
                    true => String::from_utf8_lossy(raw).into_owned(),
                    false => value.to_string(),
                };
                format!(",\"params\":{text}")
            }
        };
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":{}{params}}}",
            text::quote(&call.method)
        );
        Ok(Message::parse(Bytes::from(text))?)
    }
}

fn question(between: &Between) -> Option<&Question> {
    match between {
        Between::Question(question) => Some(question),
        Between::Notice(_) => None,
    }
}

/// Answers what a server asks as it was answered when it was recorded.
fn answer(input: Input, recorded: Option<&Question>) {
    let answered = recorded.and_then(|question| question.answered.as_ref());
    match answered {
        Some((_, Answer::Result(raw))) => {
            let text = String::from_utf8_lossy(raw);
            match Message::response_of(&Id::number(0), &text) {
                Ok(response) => input.answer(&response),
                Err(fault) => input.refuse(&ErrorObject::new(code::INTERNAL, fault.to_string())),
            }
        }
        Some((_, Answer::Error(raw))) => {
            let value = tree(raw).unwrap_or_default();
            input.refuse(&ErrorObject {
                code: value["code"].as_i64().unwrap_or(code::INTERNAL),
                message: value["message"].as_str().unwrap_or_default().to_owned(),
                data: value.get("data").cloned(),
            });
        }
        None => input.refuse_unsupported(),
    }
}
