//! Who is asked whether something is held, and when: nobody, while nothing is to be.

use crate::{
    observe::{Notes, ada, admitted, host_of},
    scripted::Scripted,
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_host::{
    Event, Outcome,
    desk::{Breaks, Coming, Given, Hit, Kind, Point},
};

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

#[tokio::test]
async fn nobody_is_asked_while_nothing_is_to_be_held() {
    let server = Scripted::new("s");
    let host = host_of(&server);
    host.observe(Arc::new(Notes::default()));
    host.desk().open();
    let counts = Arc::new(Counts::default());
    host.desk().set_breaks(counts.clone());
    let client = Arc::new(ada("{}").at_desk(host.desk(), None));
    let call = |text: &str| admitted(&host, &client, "echo", &json!({ "text": text }));

    let plain = host.call(call("a")).await;
    let ended = plain.expect("it leaves").outcome().await;
    assert!(matches!(ended, Outcome::Reply(_)), "{ended:?}");
    assert_eq!(counts.0.load(Ordering::Relaxed), 0);

    host.desk().arm(true);
    let held = host.call(call("b")).await;
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
    let plain = host.call(call("d")).await;
    plain.expect("it leaves").outcome().await;
    assert_eq!(counts.0.load(Ordering::Relaxed), 2);
}
