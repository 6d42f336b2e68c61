use super::*;
use crate::metrics::Metrics;
use std::time::{Duration, Instant, SystemTime};
use switchboard_host::{
    Client, NoSink,
    observe::{Follow, Happened, Observer, Origin},
};
use switchboard_wire::{Message, Method, Params};

/// A call that begins.
fn begin(metrics: &Metrics, number: u64, client: &str) -> Box<dyn Follow> {
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/clientInfo":{{"name":"{client}"}}}}}}}}"#
    );
    let message = Message::parse(request.into()).unwrap();
    let params = Params::of(&message).unwrap();
    let whose = Client::new("me".into(), Revision::NEWEST, "{}".into(), Arc::new(NoSink));
    let whose = Arc::new(whose);
    let follow = metrics.begin(&Begin {
        number,
        origin: Origin::Client,
        client: &whose,
        at: SystemTime::now(),
        server: None,
        method: Method::ToolsCall,
        name: None,
        message: &message,
        params: &params,
        carried: None,
    });
    follow.unwrap()
}

fn end(mut follow: Box<dyn Follow>, fault: Option<&CallError>) {
    follow.event(&Happened::Left {
        server: &Arc::from("s"),
        revision: Revision::NEWEST_LEGACY,
    });
    follow.end(&End {
        ending: fault.map_or(Ending::GivenUp, Ending::Failed),
        fault: fault.map(CallError::blame),
        took: Duration::from_millis(5),
        when: Instant::now(),
        at_server: Duration::from_millis(4),
        waited: Duration::ZERO,
        bytes_in: 1,
        bytes_out: 2,
    });
}

#[test]
fn the_newest_are_kept_and_others_counted() {
    let metrics = Metrics::default();
    let list = metrics.list();
    let first = begin(&metrics, 1, "slow");
    let most = limits::TAP_CALLS as u64;
    for number in 2..=most + 5 {
        end(begin(&metrics, number, "quick"), None);
    }
    let all: Vec<u64> = list.all().map(|entry| entry.number).collect();
    assert_eq!(all.len(), limits::TAP_CALLS);
    assert_eq!(all.first(), Some(&(most + 5)));
    assert!(all.is_sorted_by(|a, b| a > b));
    assert_eq!(list.dropped(), 5);
    // Its place is another's by now.
    end(first, None);
    assert!(list.get(1).is_none());
    assert!(list.get(most + 1).is_some());
}

#[test]
fn what_is_kept_of_a_call() {
    let metrics = Metrics::default();
    let list = metrics.list();
    let follow = begin(&metrics, 7, "robot");
    let running = list.get(7).unwrap();
    assert!(running.is_running());
    assert_eq!(running.client.as_deref(), Some("robot"));
    let before = list.changes();
    let fault = CallError::TimedOut {
        server: "s".to_owned(),
        allowed: Duration::from_secs(1),
    };
    end(follow, Some(&fault));
    let entry = list.get(7).unwrap();
    assert!(entry.change > before);
    assert_eq!(
        (entry.sent, entry.server_era),
        (1, Some(Revision::NEWEST_LEGACY.era()))
    );
    let State::Over(over) = &entry.state else {
        panic!("it is over");
    };
    assert_eq!(over.wrong.as_ref().unwrap().text, fault.to_string());
    // Another client's name is not taken for this one's.
    drop(begin(&metrics, 8, "other"));
    end(begin(&metrics, 9, "third"), None);
    assert_eq!(list.get(9).unwrap().client.as_deref(), Some("third"));
    // What turns out to be another call is none.
    assert!(list.get(8).is_none());
}
