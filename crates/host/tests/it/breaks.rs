//! Who is asked whether something is held, and when: nobody, while nothing is to be.

use crate::scripted::Scripted;
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_host::{
    Admitted, Client, Event, Host, NoSink, Outcome, Scope,
    desk::{Breaks, Coming, Given, Hit, Kind, Point},
    observe::{Begin, End, Follow, Observer, Trace},
    permission::Rules,
};
use switchboard_transport::Budget;
use switchboard_wire::{Message, Params, Revision, name::Style};

/// Follows every call, and notes nothing.
struct Follows;

impl Observer for Follows {
    fn begin(&self, _: &Begin<'_>) -> Option<Box<dyn Follow>> {
        Some(Box::new(Self))
    }
}

impl Follow for Follows {
    fn end(self: Box<Self>, _: &End<'_>) {}
}

/// Holds calls, and counts how often it was asked.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Breaks for Counts {
    fn holds(&self, coming: &Coming<'_>) -> Option<Hit> {
        self.0.fetch_add(1, Ordering::Relaxed);
        (coming.point == Point::Call).then(|| Hit {
            why: "all".into(),
            name: coming.name.map(str::to_owned),
        })
    }
}

fn call(host: &Host, client: &Arc<Client>, arguments: &Value) -> Admitted {
    let params = json!({"name": "echo", "arguments": arguments});
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

#[tokio::test]
async fn nobody_is_asked_while_nothing_is_to_be_held() {
    let server = Scripted::new("s");
    let specs = vec![server.spec()];
    let rules = Rules::everything_allowed();
    let host = Host::new(specs, rules, Style::Short, Budget::default());
    host.observe(Arc::new(Follows));
    host.desk().open();
    let counts = Arc::new(Counts::default());
    host.desk().set_breaks(counts.clone());
    let none = Bytes::from_static(b"{}");
    let client = Client::new(
        "ada".into(),
        Revision::NEWEST_LEGACY,
        none,
        Arc::new(NoSink),
    );
    let client = Arc::new(client.at_desk(host.desk(), None));

    let plain = host.call(call(&host, &client, &json!({"text": "a"}))).await;
    let ended = plain.expect("it leaves").outcome().await;
    assert!(matches!(ended, Outcome::Reply(_)), "{ended:?}");
    assert_eq!(counts.0.load(Ordering::Relaxed), 0);

    host.desk().arm(true);
    let held = host.call(call(&host, &client, &json!({"text": "b"}))).await;
    let mut held = held.expect("it waits");
    let before = server.calls().len();
    let desk = host.desk().clone();
    let answers = tokio::spawn(async move {
        let question = loop {
            if let Some(question) = desk.questions(false).pop() {
                break question;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(question.kind, Kind::Held);
        let given = r#"{"action":"edit","content":{"text":"c"}}"#.to_owned();
        let taken = desk.answer(&question.id, "edit", "bob", Given::Result(given));
        taken.expect("it is taken");
    });
    let outcome = loop {
        match held.next().await {
            Event::Outcome(outcome) => break outcome,
            Event::Input(_) => panic!("its client is not asked"),
            Event::Notice(_) => {}
        }
    };
    answers.await.expect("an answer");
    assert!(matches!(outcome, Outcome::Reply(_)), "{outcome:?}");
    let calls = server.calls();
    assert_eq!(calls.len(), before + 1, "it is sent once: {calls:?}");
    let sent = calls.last().expect("a call").to_string();
    assert!(sent.contains("\"c\"") && !sent.contains("\"b\""), "{sent}");
    // The call and its answer.
    assert_eq!(counts.0.load(Ordering::Relaxed), 2);

    // What had begun before nothing is held any more goes on unasked.
    host.desk().arm(false);
    let plain = host.call(call(&host, &client, &json!({"text": "d"}))).await;
    plain.expect("it leaves").outcome().await;
    assert_eq!(counts.0.load(Ordering::Relaxed), 2);
}
