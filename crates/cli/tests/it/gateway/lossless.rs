//! Odd but legal messages cross the gateway byte for byte, apart from what
//! `docs/reference/rewrites.md` lists: all of the corpus, both ways, on either transport.

use crate::support::{
    crossing::{Recorder, Side, contains, face},
    mask::{self, assert_same, one_line},
    rig::Rig,
};
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::corpus::{self, Case, Direction, META};
use switchboard_testkit::json as raw;
use switchboard_testkit::world::servers;

fn fits(case: &Case, modern: bool) -> bool {
    let hello = ["initialize", "server/discover"].contains(&case.method.as_str());
    !hello && if modern { case.modern } else { case.legacy }
}

async fn one_server(down: Side, up: Side) {
    for modern in [false, true] {
        let mut rig = Rig::one(down, up, modern).await;
        let mut crossed = 0;
        for case in corpus::cases() {
            if fits(&case, modern) {
                rig.run(&case).await;
                crossed += 1;
            }
        }
        assert!(crossed >= 60, "only {crossed} cases");
        introduction(down, up, modern).await;
    }
}

/// The server's own words about itself, in the answer to the handshake.
async fn introduction(down: Side, up: Side, modern: bool) {
    let name = if modern {
        "discover-result-odd"
    } else {
        "initialize-result-odd"
    };
    let cases = corpus::cases();
    let case = cases.iter().find(|case| case.name == name).unwrap();
    let text = String::from_utf8(case.text(modern)).unwrap();
    let script = [json!({"method": case.method, "reply": text})];
    let recorder = Recorder::new(up, &script, modern).await;
    let (mut face, _gateway) = face(
        down,
        &servers([("odd", recorder.entry.clone())]),
        "/mcp/odd",
    )
    .await;
    let came = if modern {
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{{"_meta":{{{META}"x":1}}}}}}"#
        );
        face.exchange(ask.as_bytes(), true, b"").await
    } else {
        face.initialize_raw().await
    };
    let listed = mask::one_server();
    let sent = listed.mask(&case.message(modern, "7"), &case.method);
    let arrived = listed.mask(came.answer(), &case.method);
    assert_same(name, &one_line(&sent), &one_line(&arrived));
}

/// On `/mcp`, lists are composed of items, and methods that nobody knows end at the gateway.
async fn two_servers(down: Side, up: Side) {
    for modern in [false, true] {
        let mut rig = Rig::two(down, up, modern).await;
        let mut crossed = 0;
        for case in corpus::cases() {
            let relayed = !case.method.starts_with("com.example/")
                && !case.method.ends_with("/list")
                && case.direction != Direction::Notification;
            let relayed = relayed || case.method == "roots/list";
            if fits(&case, modern) && relayed {
                rig.run(&case).await;
                crossed += 1;
            }
        }
        assert!(crossed >= 60, "only {crossed} cases");
        unknown_ends_here(&mut rig).await;
    }
}

/// What only `/mcp/{server}` relays: methods and notifications that nobody knows.
async fn unknown_ends_here(rig: &mut Rig) {
    let from = rig.recorder.seen();
    let meta = if rig.modern { META } else { "" };
    let odd = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"com.example/odd","params":{{"_meta":{{{meta}"x":1}}}}}}"#
    );
    let came = rig.face.exchange(odd.as_bytes(), rig.modern, b"").await;
    let code = raw::path(came.answer(), &["error", "code"]);
    assert_eq!(code, Some(&b"-32601"[..]));
    if !rig.modern {
        let odd = br#"{"jsonrpc":"2.0","method":"notifications/com.example/odd"}"#;
        rig.face.notify(odd).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let seen = switchboard_testkit::record::read(&rig.recorder.record).unwrap();
    let leaked = seen.iter().skip(from).find(|m| contains(m, "com.example"));
    assert!(leaked.is_none(), "reached a server: {leaked:?}");
}

/// Lists of `/mcp` are composed; their items keep their bytes.
#[tokio::test]
async fn items_of_merged_lists() {
    let lists = [
        ("result-tools-list", "tools"),
        ("result-resources-list", "resources"),
        ("result-cursor-odd", "prompts"),
    ];
    let cases = corpus::cases();
    let listed = mask::aggregate();
    for modern in [false, true] {
        for (name, member) in lists {
            let case = cases.iter().find(|case| case.name == name).unwrap();
            let text = String::from_utf8(case.text(modern)).unwrap();
            // Once: the same cursor a second time would be an endless list.
            let script = [json!({"method": case.method, "reply": text, "times": 1})];
            let left = Recorder::new(Side::Stdio, &script, modern).await;
            let right = Recorder::new(Side::Http, &[], modern).await;
            let all = servers([("left", left.entry.clone()), ("right", right.entry.clone())]);
            let (mut face, _gateway) = face(Side::Http, &all, "/mcp").await;
            if !modern {
                face.initialize().await;
            }
            let meta = if modern { META } else { "" };
            let method = &case.method;
            let ask = format!(
                r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{{"_meta":{{{meta}"x":1}}}}}}"#
            );
            let came = face.exchange(ask.as_bytes(), modern, b"").await;
            let items = |text: &[u8]| -> Vec<Vec<u8>> {
                let text = one_line(&listed.mask(text, method));
                let list = raw::path(&text, &["result", member]).unwrap_or_default();
                raw::elements(list).map(<[u8]>::to_vec).collect()
            };
            let sent = items(&case.message(modern, "9"));
            let arrived = items(came.answer());
            assert!(!sent.is_empty(), "{name}");
            for item in sent {
                let text = String::from_utf8_lossy(&item);
                let answer = String::from_utf8_lossy(came.answer());
                assert!(
                    arrived.contains(&item),
                    "{name}: {text}\nis not in {answer}"
                );
            }
        }
    }
}

/// The comparison itself: it allows what is listed, there, and nothing else.
#[test]
fn the_lists_allow_nothing_else() {
    let call = |id: &str, name: &str, token: &str, rest: &str| {
        format!(
            r#"{{"id":{id},"method":"tools/call","params":{{"name":"{name}","_meta":{{"progressToken":{token}}}{rest}}}}}"#
        )
    };
    let (one, all) = (mask::one_server(), mask::aggregate());
    let mask = |listed: &mask::Listed, text: &str| listed.mask(text.as_bytes(), "");
    let (a, b) = (call("1", "x", "2", ""), call("\"9\"", "x", "7.0", ""));
    assert_eq!(mask(&one, &a), mask(&one, &b));
    let renamed = call("1", "left__x", "2", "");
    assert_ne!(mask(&one, &a), mask(&one, &renamed));
    assert_eq!(mask(&all, &a), mask(&all, &renamed));
    for other in [r#","x":1"#, r#","arguments":{"name":1}"#, " "] {
        assert_ne!(mask(&all, &a), mask(&all, &call("1", "x", "2", other)));
    }
    let nested = |id| call("1", "x", "2", &format!(r#","arguments":{{"id":{id}}}"#));
    assert_ne!(mask(&all, &nested("1")), mask(&all, &nested("2")));
    let read = |uri| format!(r#"{{"id":1,"method":"resources/read","params":{{"uri":"{uri}"}}}}"#);
    assert_ne!(mask(&one, &read("a")), mask(&one, &read("b")));
    assert_eq!(mask(&all, &read("a")), mask(&all, &read("b")));
}

#[tokio::test]
async fn stdio_to_stdio() {
    one_server(Side::Stdio, Side::Stdio).await;
}

#[tokio::test]
async fn stdio_to_http() {
    one_server(Side::Stdio, Side::Http).await;
}

#[tokio::test]
async fn http_to_stdio() {
    one_server(Side::Http, Side::Stdio).await;
}

#[tokio::test]
async fn http_to_http() {
    one_server(Side::Http, Side::Http).await;
}

#[tokio::test]
async fn aggregate_over_http_of_stdio() {
    two_servers(Side::Http, Side::Stdio).await;
}

#[tokio::test]
async fn aggregate_over_http_of_http() {
    two_servers(Side::Http, Side::Http).await;
}

#[tokio::test]
async fn aggregate_over_stdio() {
    two_servers(Side::Stdio, Side::Http).await;
}
