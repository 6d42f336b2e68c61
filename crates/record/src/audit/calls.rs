//! What is recorded of calls.

use super::{Audit, chain::Record, hash, redact, writer::Queue};
use crate::limits;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_host::{
    Blame, CallError, Verdict,
    observe::{Begin, Decided, End, Ending, Follow, Happened, Keeping, Noted, Observer, Origin},
};
use switchboard_local::visible;
use switchboard_wire::Method;

impl Observer for Audit {
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        let arguments = call.params.arguments;
        let arguments = arguments.map(|span| span.of(call.message.raw()));
        let shown = arguments.filter(|_| self.arguments).map(|text| {
            if text.len() > limits::AUDIT_ARGUMENTS {
                return json!(format!("left out: {} bytes", text.len()));
            }
            let mut value: Value = serde_json::from_slice(text).unwrap_or_default();
            redact(&mut value);
            value
        });
        let kind = match call.method {
            Method::PromptsGet => "prompt",
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                "resource"
            }
            Method::ToolsCall => "tool",
            _ => "name",
        };
        let client = call.client;
        let record = Record::new("call")
            .plain("call", call.number)
            .with("principal", short(&client.principal))
            .with("client", call.client_name().map(|name| short(&name)))
            .plain("address", client.address.map(|address| address.to_string()))
            .plain("session", client.id)
            .plain("era", client.era().to_string())
            .plain("origin", (call.origin == Origin::Own).then_some("own"))
            .plain("method", call.method.as_str())
            .plain("argumentsSha256", arguments.map(hash))
            // Without secrets already.
            .plain("arguments", shown);
        Some(Box::new(Call {
            record: Some(record),
            queue: self.queue.clone(),
            is_about_something: call.name.is_some(),
            kind,
            origin: call.origin,
            server: call.server.map(Arc::from),
            name: call.name.map(short),
            decided: None,
            answered: None,
        }))
    }

    fn wants_decisions(&self) -> bool {
        true
    }

    fn noted(&self, noted: &Noted<'_>) {
        let names = |names: &[String]| {
            let each = names.iter().take(limits::AUDIT_NAMES);
            let each: Vec<String> = each.map(|name| short(name)).collect();
            (!each.is_empty()).then_some(each)
        };
        self.record(match noted {
            Noted::Pinned {
                server,
                principal,
                kind,
                is_first,
                held,
                told,
            } => Record::new("pins")
                .plain("server", *server)
                .with("principal", *principal)
                .plain("kind", *kind)
                .plain("first", is_first.then_some(true))
                .with("held", names(held))
                .with("changed", names(told)),
            Noted::SignedIn { server, principal } => Record::new("sign-in")
                .plain("server", *server)
                .with("principal", *principal),
        });
    }
}

/// One call.
struct Call {
    record: Option<Record>,
    queue: Arc<Queue>,
    /// Whether it names anything: what only asks which things there are is not recorded,
    /// unless it is refused.
    is_about_something: bool,
    kind: &'static str,
    origin: Origin,
    server: Option<Arc<str>>,
    name: Option<String>,
    decided: Option<(Decided, String)>,
    answered: Option<Verdict>,
}

impl Call {
    /// The whole record; none where it is not worth one.
    fn finished(&mut self, end: &End<'_>) -> Option<Record> {
        let (outcome, error) = match &end.ending {
            Ending::GivenUp | Ending::Failed(CallError::Cancelled) => ("cancelled", None),
            Ending::Failed(
                fault @ (CallError::NotPermitted { .. } | CallError::NotAllowed { .. }),
            ) => ("denied", Some(fault)),
            Ending::Failed(fault) => ("failed", Some(fault)),
            Ending::Reply(_) if end.ending.fault().is_some() => ("error", None),
            Ending::Reply(_) => ("ok", None),
        };
        if !self.is_about_something && outcome != "denied" {
            return None;
        }
        let record = self.record.take()?;
        let fault = end.ending.fault().map(|blame| match blame {
            Blame::Client => "client",
            Blame::Us => "switchboard",
            Blame::Server => "server",
        });
        let decision = self.decided.as_ref().map(|(decided, _)| match decided {
            Decided::Allowed => "allowed",
            Decided::Asks => "asked",
            Decided::Denied => "denied",
        });
        let rule = self.decided.take().map(|(_, rule)| rule);
        let consent = self.answered.map(|verdict| match verdict {
            Verdict::Once => "yes, this time",
            Verdict::Session => "yes, until Switchboard ends",
            Verdict::Always => "yes, from now on",
            Verdict::No => "no",
            Verdict::Never => "no, never",
        });
        // Whoever is asked sits before the client that calls, or runs what calls.
        let asked = match self.origin {
            Origin::Client => "client",
            Origin::Own => "operator",
        };
        let millis = (end.took.as_secs_f64() * 1_000_000.0).round() / 1000.0;
        Some(
            record
                .plain("server", self.server.as_deref())
                .with(self.kind, self.name.take())
                .plain("decision", decision)
                .with("rule", rule.map(|rule| short(&rule)))
                .plain("consent", consent)
                .plain("consentBy", consent.map(|_| asked))
                .plain("outcome", outcome)
                .plain("fault", fault)
                .with("error", error.map(|error| short(&error.to_string())))
                .plain("durationMs", millis),
        )
    }
}

impl Follow for Call {
    fn refuses(&self) -> Option<CallError> {
        self.queue.refuses()
    }

    fn event(&mut self, event: &Happened<'_>) {
        match event {
            Happened::Passed(passed) => {
                if let (Some(server), Some(named)) = (&passed.server, &passed.named) {
                    self.server = Some(server.clone());
                    self.name = named.text().map(short);
                }
                self.decided.clone_from(&passed.decided);
            }
            Happened::Left { server, .. } => self.server = Some((*server).clone()),
            Happened::Answered(verdict) => self.answered = Some(*verdict),
            Happened::Notice(_) | Happened::Asked(_) | Happened::Parked | Happened::Resumed(_) => {}
        }
    }

    fn end(self: Box<Self>, end: &End<'_>) {
        drop(self.end_kept(end));
    }

    fn end_kept(mut self: Box<Self>, end: &End<'_>) -> Option<Keeping> {
        let record = self.finished(end)?;
        if matches!(end.ending, Ending::GivenUp) {
            self.queue.add_later(record);
            return None;
        }
        self.queue.add(record)
    }
}

/// Text from elsewhere, on one line and not longer than it may be.
fn short(said: &str) -> String {
    visible::line(&visible::cut(said, limits::AUDIT_TEXT))
}
