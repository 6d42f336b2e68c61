//! What is recorded of calls.

mod name;

use super::{
    Audit,
    chain::{HASH, Record, redact, sha256},
    pen::{Asked, Caller, Entry, Line},
    queue::Queue,
    said::short,
};
use crate::{
    again::{self, Follows, Spare},
    limits,
};
use name::Name;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    thread::LocalKey,
    time::{Duration, SystemTime},
};
use switchboard_host::{
    Blame, CallError, Client, Verdict,
    desk::Point,
    observe::{
        Begin, Decided, Edited, End, Ending, Follow, Happened, Keeping, Noted, Observer, Origin,
        Release, Released,
    },
};
use switchboard_wire::Method;

impl Observer for Audit {
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        let arguments = call.params.arguments;
        let arguments = arguments.map(|span| span.of(call.message.raw()));
        let said_name = call.params.client_info.and_then(|_| call.client_name());
        let call = Call {
            queue: self.queue.clone(),
            time: call.at,
            number: call.number,
            client: call.client.clone(),
            said_name,
            origin: call.origin,
            method: call.method,
            hash: arguments.map(sha256),
            shows_arguments: self.arguments,
            arguments: arguments.filter(|_| self.arguments).map(shown),
            edited: [false; 2],
            server: call.server.cloned(),
            name: Name::of(call),
            decided: None,
            answered: None,
            released: None,
            outcome: "",
            fault: None,
            error: None,
            took: Duration::ZERO,
        };
        Some(again::follow(call))
    }

    fn wants_decisions(&self) -> bool {
        true
    }

    fn wants_details(&self) -> bool {
        false
    }

    fn holds_answers(&self) -> bool {
        self.queue.is_first()
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

/// Arguments without what looks like a secret.
#[cold]
fn shown(arguments: &[u8]) -> Box<Value> {
    if arguments.len() > limits::AUDIT_ARGUMENTS {
        return Box::new(json!(format!("left out: {} bytes", arguments.len())));
    }
    let mut value: Value = serde_json::from_slice(arguments).unwrap_or_default();
    redact(&mut value);
    Box::new(value)
}

/// One call. What is known of it is gathered here, and is a line at its end.
#[derive(Debug)]
struct Call {
    /// Where it goes in the end.
    queue: Arc<Queue>,
    time: SystemTime,
    number: u64,
    client: Arc<Client>,
    /// What it calls itself, where it says so in this request.
    said_name: Option<Arc<str>>,
    origin: Origin,
    method: Method,
    hash: Option<[u8; HASH]>,
    shows_arguments: bool,
    arguments: Option<Box<Value>>,
    /// Whether a person has changed its arguments, and its answer.
    edited: [bool; 2],
    server: Option<Arc<str>>,
    name: Name,
    decided: Option<(Decided, Arc<str>)>,
    /// What whoever was asked about it said, and who that was, where it was not its client.
    answered: Option<(Verdict, Option<Box<str>>)>,
    /// What became of it, and of its answer, at breakpoints.
    released: Option<Box<Value>>,
    outcome: &'static str,
    fault: Option<Blame>,
    error: Option<String>,
    took: Duration,
}

impl Call {
    /// Notes how it ended. Gives whether that is worth a record: what only asks which
    /// things there are is not, unless it is refused.
    fn ends(&mut self, end: &End<'_>) -> bool {
        let (outcome, error) = match &end.ending {
            Ending::GivenUp | Ending::Failed(CallError::Cancelled) => ("cancelled", None),
            Ending::Failed(
                fault @ (CallError::NotPermitted { .. } | CallError::NotAllowed { .. }),
            ) => ("denied", Some(fault)),
            Ending::Failed(fault) => ("failed", Some(fault)),
            Ending::Reply(_) if end.fault.is_some() => ("error", None),
            Ending::Reply(_) => ("ok", None),
        };
        self.outcome = outcome;
        self.fault = end.fault;
        self.error = error.map(|error| kept(error.to_string()));
        self.took = end.took;
        self.name.is_some() || outcome == "denied"
    }

    /// A person has changed it: what is recorded is what was sent.
    #[cold]
    fn was_edited(&mut self, edited: Edited<'_>) {
        match edited {
            Edited::Arguments(arguments) => {
                self.hash = Some(sha256(arguments));
                self.arguments = self.shows_arguments.then(|| shown(arguments));
                self.edited[0] = true;
            }
            Edited::Answer => self.edited[1] = true,
        }
    }

    /// A person has said what becomes of what was held: at most a call and its answer.
    #[cold]
    fn was_released(&mut self, release: Release<'_>) {
        let mut one = json!({
            "at": match release.point {
                Point::Call => "call",
                Point::Answer => "answer",
            },
            "answer": match release.how {
                Released::AsItIs => "release",
                Released::Changed => "edit",
                Released::Refused => "refuse",
            },
            "by": release.by,
        });
        redact(&mut one);
        let all = self.released.get_or_insert_with(|| Box::new(json!([])));
        if let Some(all) = all.as_array_mut() {
            all.push(one);
        }
    }

    fn is_at(&mut self, server: &Arc<str>) {
        if !matches!(&self.server, Some(known) if Arc::ptr_eq(known, server)) {
            self.server = Some(server.clone());
        }
    }

    /// What stands before the name of what is asked for.
    fn before_name(&self) -> &'static str {
        match self.method {
            Method::PromptsGet => r#","prompt":"#,
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                r#","resource":"#
            }
            Method::ToolsCall => r#","tool":"#,
            _ => r#","name":"#,
        }
    }

    /// Who asks, and for what kind of thing.
    fn write_caller(&self, line: &mut Line<'_>) {
        let client = &*self.client;
        line.said(r#","principal":"#, &client.principal);
        let said_name = self.said_name.as_ref();
        if let Some(name) = said_name.or_else(|| client.said_name()) {
            line.said(r#","client":"#, name);
        }
        if let Some(address) = client.address {
            line.address(r#","address":"#, address);
        }
        line.number(r#","session":"#, client.id);
        line.word(r#","era":"#, client.era().as_str());
        if self.origin == Origin::Own {
            line.put(r#","origin":"own""#);
        }
        line.word(r#","method":"#, self.method.as_str());
    }

    /// Whether nobody was asked about it.
    fn is_plain(&self) -> bool {
        self.answered.is_none() && self.released.is_none()
    }

    /// What is asked for, what was decided and what came of it.
    fn write_asked(&self, line: &mut Line<'_>) {
        if let Some(server) = &self.server {
            line.named(r#","server":"#, server);
        }
        if let Some(name) = self.name.text() {
            line.said(self.before_name(), &name);
        }
        self.write_decision(line);
        line.word(r#","outcome":"#, self.outcome);
    }

    /// What was decided and by what, and who agreed.
    fn write_decision(&self, line: &mut Line<'_>) {
        if let Some((decided, rule)) = &self.decided {
            line.put(match decided {
                Decided::Allowed => r#","decision":"allowed""#,
                Decided::Asks => r#","decision":"asked""#,
                Decided::Denied => r#","decision":"denied""#,
            });
            line.said(r#","rule":"#, rule);
        }
        if let Some((verdict, by)) = &self.answered {
            line.put(match verdict {
                Verdict::Once => r#","consent":"yes, this time""#,
                Verdict::Session => r#","consent":"yes, until Switchboard ends""#,
                Verdict::Always => r#","consent":"yes, from now on""#,
                Verdict::No => r#","consent":"no""#,
                Verdict::Never => r#","consent":"no, never""#,
            });
            // Whoever is asked answers in the inbox, sits before the client that calls, or
            // runs what calls.
            match (by.as_deref().filter(|by| *by != "client"), self.origin) {
                (Some(by), _) => line.said(r#","consentBy":"#, by),
                (None, Origin::Client) => line.put(r#","consentBy":"client""#),
                (None, Origin::Own) => line.put(r#","consentBy":"operator""#),
            }
        }
        if let Some(released) = &self.released {
            line.value(r#","held":"#, released);
        }
    }
}

impl Entry for Call {
    fn time(&self) -> SystemTime {
        self.time
    }

    fn write(&self, line: &mut Line<'_>) {
        line.number(r#""call","call":"#, self.number);
        match &self.said_name {
            // Whoever says who it is in each request comes anew with each.
            Some(_) => self.write_caller(line),
            None => {
                let client = &*self.client;
                let caller = Caller {
                    id: client.id,
                    address: client.address,
                    is_named: client.said_name().is_some(),
                    origin: self.origin,
                    method: self.method,
                };
                line.kept(caller, |line| self.write_caller(line));
            }
        }
        if let Some(hash) = &self.hash {
            line.digits(r#","argumentsSha256":"#, hash);
        }
        if let Some(arguments) = &self.arguments {
            // Without secrets already.
            line.value(r#","arguments":"#, arguments);
        }
        line.put(match self.edited {
            [false, false] => "",
            [true, false] => r#","edited":["arguments"]"#,
            [false, true] => r#","edited":["answer"]"#,
            [true, true] => r#","edited":["arguments","answer"]"#,
        });
        match (&self.server, &self.decided, self.name.text()) {
            // What most calls of a tool say.
            (Some(server), Some((decided, rule)), Some(name)) if self.is_plain() => {
                let asked = Asked {
                    server,
                    rule,
                    name: &name,
                    kind: (self.method, *decided, self.outcome),
                };
                line.kept_asked(&asked, |line| self.write_asked(line));
            }
            _ => self.write_asked(line),
        }
        if let Some(fault) = self.fault {
            line.put(match fault {
                Blame::Client => r#","fault":"client""#,
                Blame::Us => r#","fault":"switchboard""#,
                Blame::Server => r#","fault":"server""#,
            });
        }
        if let Some(error) = &self.error {
            line.said(r#","error":"#, error);
        }
        line.millis(r#","durationMs":"#, self.took);
    }
}

thread_local! {
    static SPARE: Spare<Call> = const { Spare::new(Vec::new()) };
}

impl Follows for Call {
    fn spare() -> &'static LocalKey<Spare<Self>> {
        &SPARE
    }

    fn refuses(&self) -> Option<CallError> {
        self.queue.refuses()
    }

    fn event(&mut self, event: &Happened<'_>) {
        match event {
            Happened::Routed(to) => {
                self.is_at(to.server_name());
                self.name = Name::own(to.named.text());
            }
            Happened::Passed(passed) => self.decided.clone_from(&passed.decided),
            Happened::Left { server, .. } => self.is_at(server),
            Happened::Answered(verdict, by) => {
                self.answered = Some((*verdict, by.map(Box::from)));
            }
            Happened::Edited(edited) => self.was_edited(*edited),
            Happened::Released(release) => self.was_released(*release),
            Happened::Held
            | Happened::Notice(_)
            | Happened::Asked(_)
            | Happened::Parked
            | Happened::Resumed(_) => {}
        }
    }

    fn end(&mut self, end: &End<'_>) -> Option<Keeping> {
        if !self.ends(end) {
            return None;
        }
        if matches!(end.ending, Ending::GivenUp) {
            self.queue.add_later(self);
            return None;
        }
        self.queue.add(self)
    }
}

/// A name as it is kept until it is written: as it is, unless it is long.
fn kept(name: String) -> String {
    match name.len() > limits::AUDIT_TEXT {
        true => short(&name),
        false => name,
    }
}
