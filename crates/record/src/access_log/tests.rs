use super::*;
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant, SystemTime},
};
use switchboard_host::{
    CallError, Client, NoSink,
    observe::{Ending, Origin},
};
use switchboard_wire::{Message, Method, Params, Revision};

/// A call that is told of from its beginning to its end.
fn tell(log: &AccessLog, tool: &str, ending: &Ending<'_>) {
    let request = json!({"jsonrpc": "2.0", "id": "a b", "method": "tools/call",
        "params": {"name": tool, "arguments": {"password": "canary"},
            "_meta": {"io.modelcontextprotocol/clientInfo": {"name": "robot"}}}});
    let message = Message::parse(request.to_string().into()).unwrap();
    let params = Params::of(&message).unwrap();
    let client = Client::new("me".into(), Revision::NEWEST, "{}".into(), Arc::new(NoSink));
    let client = Arc::new(client);
    let mut follow = Observer::begin(
        log,
        &Begin {
            number: 7,
            origin: Origin::Client,
            client: &client,
            at: SystemTime::now(),
            server: None,
            method: Method::ToolsCall,
            name: Some(tool),
            message: &message,
            carried: None,
            params: &params,
        },
    )
    .unwrap();
    follow.event(&Happened::Left {
        server: &Arc::from("s"),
        revision: Revision::NEWEST,
    });
    let end = End {
        fault: ending.fault(),
        ending: match ending {
            Ending::Failed(fault) => Ending::Failed(fault),
            Ending::Reply(reply) => Ending::Reply(reply),
            Ending::GivenUp => Ending::GivenUp,
        },
        took: Duration::from_micros(1500),
        when: Instant::now(),
        at_server: Duration::from_millis(1),
        waited: Duration::ZERO,
        bytes_in: 10,
        bytes_out: 20,
    };
    follow.end(&end);
}

fn in_file(folder: &tempfile::TempDir, format: Format) -> (PathBuf, Arc<AccessLog>) {
    let file = folder.path().join("access.log");
    let to = Place::File(file.clone());
    let log = AccessLog::begin(&Wanted { to, format }).unwrap();
    (file, log)
}

#[tokio::test]
async fn a_line_says_who_what_and_how_it_ended_and_not_with_what() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = in_file(&folder, Format::Json);
    let denied = CallError::NotPermitted {
        what: "t".into(),
        reason: "a rule".into(),
    };
    tell(&log, "t\u{1b}[2J", &Ending::Failed(&denied));
    log.flush().await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("canary"), "{text}");
    let mut line: Value = serde_json::from_str(&text).unwrap();
    let time = line.as_object_mut().unwrap().remove("time").unwrap();
    assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
    line.as_object_mut().unwrap().remove("session").unwrap();
    let expected = json!({"number": 7, "id": "a b", "principal": "me", "client": "robot",
        "era": "modern", "server": "s", "method": "tools/call", "tool": "t\\u{1b}[2J",
        "outcome": "denied", "fault": "client", "durationMs": 1.5, "serverMs": 1.0,
        "bytesIn": 10, "bytesOut": 20});
    assert_eq!(line, expected);
}

#[tokio::test]
async fn values_of_a_line_of_text_cannot_be_taken_for_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = in_file(&folder, Format::Text);
    tell(&log, "x outcome=ok", &Ending::GivenUp);
    log.flush().await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(r#" id="a b" "#), "{text}");
    assert!(
        text.contains(r#" tool="x outcome=ok" outcome=cancelled "#),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}

#[tokio::test]
async fn what_finds_the_queue_full_is_counted_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = in_file(&folder, Format::Json);
    // Nobody takes anything from the queue before this task lets go.
    for _ in 0..limits::ACCESS_QUEUE + 3 {
        tell(&log, "t", &Ending::GivenUp);
    }
    assert_eq!(log.dropped(), 3);
    log.flush().await;
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), limits::ACCESS_QUEUE + 1);
    assert!(text.contains(r#""dropped":3}"#));
    assert_eq!(log.dropped(), 0);
}
