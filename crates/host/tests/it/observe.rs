//! What those who watch calls are told.

use crate::scripted::Scripted;
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use switchboard_host::{
    Admitted, Client, Event, Exchange, Host, NoSink, Outcome, Scope, StillAdmitted,
    observe::{Begin, Edge, End, Ending, Follow, Happened, Observer, Passing, Trace},
    permission::Rules,
};
use switchboard_transport::Budget;
use switchboard_wire::{Message, Params, Revision, name::Style};

/// Notes all that it is told.
#[derive(Clone, Default)]
pub(crate) struct Notes {
    lines: Arc<Mutex<Vec<String>>>,
    messages: Arc<Mutex<Vec<(Edge, Value)>>>,
}

impl Notes {
    fn note(&self, line: String) {
        self.lines.lock().expect("nobody panics").push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("nobody panics"))
    }
}

impl Observer for Notes {
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        let (method, name) = (call.method.as_str(), call.name.unwrap_or("nothing"));
        self.note(format!(
            "{} calls {method} {name} of {:?} as {}",
            call.client.principal,
            call.server,
            call.client.era()
        ));
        Some(Box::new(self.clone()))
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, message: &Passing<'_>) {
        let payload = message.pieces.concat();
        let read = serde_json::from_slice(&payload).expect("JSON");
        let mut messages = self.messages.lock().expect("nobody panics");
        messages.push((message.edge, read));
    }
}

impl Follow for Notes {
    fn event(&mut self, event: &Happened<'_>) {
        match event {
            Happened::Passed(passed) => {
                let times = [passed.routed, passed.permitted, passed.connected];
                let came = times.iter().flatten().count();
                self.note(format!("passed {came} at {:?}", passed.server));
            }
            Happened::Routed(to) => {
                self.note(format!(
                    "goes to {} as {:?}",
                    to.server_name(),
                    to.named.text()
                ));
            }
            Happened::Left { server, .. } => self.note(format!("left for {server}")),
            Happened::Notice(notice) => self.note(format!("notice {}", notice.method.as_str())),
            Happened::Asked(input) => self.note(format!("asked {}", input.method().as_str())),
            Happened::Held
            | Happened::Released(_)
            | Happened::Edited(_)
            | Happened::Answered(..)
            | Happened::Parked
            | Happened::Resumed(_) => {}
        }
    }

    fn end(self: Box<Self>, end: &End<'_>) {
        assert!(end.at_server <= end.took);
        let fault = end.ending.fault();
        let (sent, got) = (end.bytes_in > 0, end.bytes_out > 0);
        self.note(match &end.ending {
            Ending::Reply(_) => format!("answered, fault {fault:?}, {sent} {got}"),
            Ending::Failed(why) => format!("failed, fault {fault:?}, {sent} {got}: {why}"),
            Ending::GivenUp => format!("given up, {sent} {got}"),
        });
    }
}

/// Servers of a script, of which all may be called.
pub(crate) fn host_of(server: &Scripted) -> Arc<Host> {
    let rules = Rules::everything_allowed();
    Host::new(vec![server.spec()], rules, Style::Short, Budget::default())
}

/// A client that can do this.
pub(crate) fn ada(capabilities: &'static str) -> Client {
    let capabilities = Bytes::from_static(capabilities.as_bytes());
    let (revision, sink) = (Revision::NEWEST_LEGACY, Arc::new(NoSink));
    Client::new("ada".into(), revision, capabilities, sink)
}

/// A call of a tool of the server `s`.
pub(crate) fn admitted(
    host: &Host,
    client: &Arc<Client>,
    tool: &str,
    arguments: &Value,
) -> Admitted {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let message = Message::parse(request.to_string().into()).expect("a message");
    Admitted {
        client: client.clone(),
        scope: Scope::One(host.server("s").expect("it is configured")),
        params: Params::of(&message).expect("readable"),
        message,
        headers: None,
        trace: Trace::default(),
        passes_on: false,
    }
}

async fn outcome(mut exchange: Exchange) -> Outcome {
    loop {
        match exchange.next().await {
            Event::Outcome(outcome) => return outcome,
            Event::Input(input) => input.refuse_unsupported(),
            Event::Notice(_) => {}
        }
    }
}

#[tokio::test]
async fn a_call_is_told_from_its_beginning_to_its_end() {
    let server = Scripted::new("s");
    let host = host_of(&server);
    let notes = Notes::default();
    host.observe(Arc::new(notes.clone()));
    let client = Arc::new(ada("{\"sampling\":{}}"));

    let call = admitted(&host, &client, "echo", &json!({"text": "hi"}));
    let echoed = host.call(call).await.expect("it leaves");
    assert!(matches!(outcome(echoed).await, Outcome::Reply(_)));
    let begun = "ada calls tools/call echo of Some(\"s\") as legacy";
    assert_eq!(
        notes.take(),
        [
            begun,
            "goes to s as Some(\"echo\")",
            "passed 3 at Some(\"s\")",
            "left for s",
            "answered, fault None, true true"
        ]
    );
    let of_call = |(edge, message): &(Edge, Value)| {
        let text = message.to_string();
        text.contains("\"hi\"").then_some(*edge)
    };
    let messages = std::mem::take(&mut *notes.messages.lock().expect("nobody panics"));
    let edges: Vec<Edge> = messages.iter().filter_map(of_call).collect();
    assert_eq!(
        edges,
        [
            Edge::FromClient,
            Edge::ToServer,
            Edge::FromServer,
            Edge::ToClient
        ]
    );

    // What the server asks on the way is told, too.
    let call = admitted(&host, &client, "sample", &json!({}));
    outcome(host.call(call).await.expect("it leaves")).await;
    let told = notes.take();
    assert!(
        told.contains(&"asked sampling/createMessage".to_owned()),
        "{told:?}"
    );

    // One that nobody waits for any more.
    let call = admitted(&host, &client, "meet", &json!({}));
    drop(host.call(call).await.expect("it leaves"));
    assert_eq!(
        notes.take().last().map(String::as_str),
        Some("given up, true false")
    );
}

#[tokio::test]
async fn a_call_that_does_not_leave_is_told_as_well() {
    let server = Scripted::broken("s");
    let host = host_of(&server);
    let notes = Notes::default();
    host.observe(Arc::new(notes.clone()));
    let call = admitted(&host, &Arc::new(ada("{}")), "echo", &json!({"text": "hi"}));
    assert!(host.call(call).await.is_err());
    let told = notes.take();
    let [_, _, passed, end] = told.as_slice() else {
        panic!("{told:?}");
    };
    // It was routed and permitted, and its server was not there.
    assert_eq!(passed, "passed 2 at Some(\"s\")");
    assert!(
        end.starts_with("failed, fault Some(Server), true false"),
        "{end}"
    );
}

/// What a client came in by, and whether that is over.
struct Pass(AtomicBool);

impl StillAdmitted for Pass {
    fn over(&self) -> Option<&'static str> {
        self.0.load(Ordering::SeqCst).then_some("it is over")
    }
}

/// Whatever face a client came by: nothing is sent for one that may not come in.
#[tokio::test]
async fn nothing_is_sent_for_a_client_that_may_not_come_in_any_more() {
    let server = Scripted::new("s");
    let host = host_of(&server);
    let client = Arc::new(ada("{}"));
    let pass = Arc::new(Pass(AtomicBool::new(false)));
    client.comes_in_by(pass.clone());
    let call = || admitted(&host, &client, "echo", &json!({"text": "hi"}));
    let echoed = host.call(call()).await.expect("it leaves");
    assert!(matches!(outcome(echoed).await, Outcome::Reply(_)));
    let sent = server.calls().len();
    pass.0.store(true, Ordering::SeqCst);
    let refused = host.call(call()).await.map(|_| ()).expect_err("it stays");
    assert_eq!(refused.to_error().message, "it is over");
    // Nor for one that stands for it.
    let mut other = call();
    other.client = client.unasked();
    assert!(host.call(other).await.is_err());
    assert_eq!(server.calls().len(), sent);
    // By a newer token it goes on.
    client.comes_in_by(Arc::new(Pass(AtomicBool::new(false))));
    assert!(host.call(call()).await.is_ok());
}
