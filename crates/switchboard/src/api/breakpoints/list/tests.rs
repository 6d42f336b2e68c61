use super::*;
use std::time::Duration;
use switchboard_host::{Host, permission::Rules};
use switchboard_record::tap::CallList;
use switchboard_wire::{Era, Id, Message, Method};

fn made() -> (Arc<Host>, Arc<List>) {
    let host = Host::new(
        Vec::new(),
        Rules::everything_allowed(),
        Default::default(),
        Default::default(),
    );
    let tap = Tap::begin(&host, Arc::<CallList>::default());
    (host, List::new(tap))
}

fn set(list: &List, host: &Host, filter: &str, at: At) -> Result<(), No> {
    let wanted = SetBreakpoint {
        filter: filter.to_owned(),
        at,
    };
    let filter = Filter::parse(filter).unwrap();
    list.add(host.desk(), filter, &wanted, "ada")
}

#[tokio::test]
async fn what_a_breakpoint_says_is_held_where_it_says() {
    let (host, list) = made();
    let params = r#"{"name":"rm","arguments":{"path":"/tmp/x","password":"wanderlust"}}"#;
    let request = Message::request(&Id::number(1), Method::ToolsCall, params);
    let answer = Message::response(&Id::number(1), r#"{"content":[],"isError":true}"#);
    let server: Arc<str> = "files".into();
    let coming = |point, message| Coming {
        call: 1,
        point,
        server: &server,
        name: Some("rm"),
        era: Era::Modern,
        message,
        has_failed: point == Point::Answer,
        took: Duration::from_millis(300),
        at_server: Duration::from_millis(250),
    };
    let table = [
        ("server:files tool:rm", At::Call, true, false),
        ("server:files tool:rm", At::Result, false, true),
        ("", At::Both, true, true),
        ("tool:ls", At::Both, false, false),
        ("error", At::Both, false, true),
        ("server>200ms", At::Both, false, true),
        ("\"/tmp/x\"", At::Both, true, false),
        // A secret is not found by guessing at it.
        ("\"wanderlust\"", At::Both, false, false),
    ];
    for (filter, at, call, result) in table {
        set(&list, &host, filter, at).unwrap();
        let held = list.holds(&coming(Point::Call, &request));
        assert_eq!(held.is_some(), call, "{filter} at {at:?}");
        let held = list.holds(&coming(Point::Answer, &answer));
        assert_eq!(held.is_some(), result, "{filter} at {at:?}");
        let hits = list.state(host.desk()).breakpoints[0].hits;
        assert_eq!(hits, u64::from(call) + u64::from(result));
        assert_eq!(list.remove_all(host.desk()), [filter.to_owned()]);
    }
}

#[tokio::test]
async fn they_go_when_nobody_looks() {
    let (host, list) = made();
    let begun = Instant::now();
    let late = begun + limits::BREAKPOINT_PATIENCE;
    assert!(!list.is_left(host.desk(), late), "there are none");
    set(&list, &host, "", At::Call).unwrap();
    list.look(begun);
    assert!(!list.is_left(host.desk(), begun + Duration::from_secs(599)));
    assert!(list.is_left(host.desk(), late));
    list.look(late);
    assert!(!list.is_left(host.desk(), late));
    // Whoever listens looks all the time, and a while after that.
    let listening = host.desk().listen();
    let later = late + limits::BREAKPOINT_PATIENCE * 5;
    assert!(!list.is_left(host.desk(), later));
    assert_eq!(list.state(host.desk()).until, None);
    drop(listening);
    assert!(!list.is_left(host.desk(), later + Duration::from_secs(599)));
    assert!(list.is_left(host.desk(), later + limits::BREAKPOINT_PATIENCE));
}

#[tokio::test]
async fn there_are_so_many_and_no_more() {
    let (host, list) = made();
    for _ in 0..limits::BREAKPOINTS {
        set(&list, &host, "error", At::Call).unwrap();
    }
    let no = set(&list, &host, "error", At::Call).unwrap_err();
    assert!(format!("{no:?}").contains("429"), "{no:?}");
    let id = list.state(host.desk()).breakpoints[3].id;
    assert!(list.remove(host.desk(), id).is_some());
    assert!(list.remove(host.desk(), id).is_none());
    set(&list, &host, "error", At::Call).unwrap();
}
