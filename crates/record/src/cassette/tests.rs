use super::{line::Line, *};
use crate::limits;
use serde_json::{Value, json};
use std::{io::Cursor, path::Path};
use verify::{Case, Outcome, Report};

fn raw(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

fn call() -> Call {
    Call {
        server: "a".into(),
        era: Era::Legacy,
        at: 12,
        took: 7,
        method: "tools/call".to_owned(),
        // Odd and legal: what was written is what stands there.
        params: Some(Bytes::from_static(b"{\"name\" : \"x\\u0041\",\"n\":1.0e2}")),
        between: vec![
            Between::Notice(Notice {
                at: 1,
                method: "notifications/progress".to_owned(),
                params: Some(raw(&json!({"progress": 1}))),
            }),
            Between::Question(Question {
                at: 2,
                method: "elicitation/create".to_owned(),
                params: Some(raw(&json!({"message": "who?"}))),
                answered: Some((5, Answer::Result(raw(&json!({"action": "decline"}))))),
            }),
            Between::Question(Question {
                at: 6,
                method: "roots/list".to_owned(),
                params: None,
                answered: None,
            }),
        ],
        answer: Answer::Error(raw(&json!({"code": 1, "message": "no"}))),
    }
}

fn hello() -> Hello {
    Hello {
        server: "a".into(),
        era: Era::Modern,
        params: Some(raw(&json!({"x": 1}))),
        result: raw(&json!({"serverInfo": {}})),
    }
}

fn read(text: &str) -> Result<Cassette, CassetteError> {
    Cassette::read(
        Path::new("x.mcp.jsonl"),
        Cursor::new(text.as_bytes().to_vec()),
    )
}

fn whole(calls: &[Call]) -> String {
    text("1", chrono::Utc::now(), &[hello()], calls)
}

#[test]
fn what_is_written_is_read() {
    for line in [
        Line::Header(Header::default(), vec![hello()]),
        Line::Hello(hello()),
        Line::Call(call()),
        Line::Notice(
            "a".into(),
            Notice {
                at: 3,
                method: "notifications/message".to_owned(),
                params: None,
            },
        ),
    ] {
        let text = line.text();
        assert_eq!(text.lines().count(), 1);
        let read = Line::read(&Bytes::from(text.trim_end().to_owned()));
        assert_eq!(read.unwrap(), line, "{text}");
    }
}

#[test]
fn messages_of_several_lines_are_one() {
    let mut call = call();
    call.params = Some(Bytes::from_static(b"{\n  \"a\": \"b\\nc\"\r\n}"));
    let text = Line::Call(call).text();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains(r#"{   "a": "b\nc"  }"#), "{text}");
}

#[test]
fn a_whole_file_is_read_with_where_things_stand() {
    let notice = json!({"server": "a", "at": 1, "notice": "notifications/x"});
    let text = format!(
        "{}\n{notice}\n{}",
        whole(&[call()]),
        Line::Hello(hello()).text()
    );
    let cassette = read(&text).unwrap();
    assert_eq!(cassette.header.by, "switchboard 1");
    assert_eq!(cassette.hellos.len(), 2);
    assert_eq!(cassette.calls.len(), 1);
    assert_eq!(cassette.calls[0].line, 2);
    assert_eq!(cassette.calls[0].call, call());
    assert_eq!(cassette.calls[0].after.len(), 1);
    assert_eq!(cassette.servers(), ["a".into()]);
    assert_eq!(cassette.eras(), [Era::Legacy, Era::Modern]);
    assert!(cassette.of("b").calls.is_empty());
}

#[test]
fn faults_are_told_with_their_place() {
    let first = whole(&[]);
    for (text, says) in [
        (String::new(), "x.mcp.jsonl:1: the file is empty"),
        ("nothing".to_owned(), "x.mcp.jsonl:1: no JSON"),
        (
            "{\"cassette\":9}".to_owned(),
            "x.mcp.jsonl:1: this is version 9",
        ),
        (
            "{\"cassette\":\"1\"}".to_owned(),
            "x.mcp.jsonl:1: \"cassette\" must be",
        ),
        (
            format!("{first}{first}"),
            "x.mcp.jsonl:2: a second first line",
        ),
        (
            format!("{first}{{}}"),
            "x.mcp.jsonl:2: \"method\" is missing",
        ),
        (format!("{first}3"), "x.mcp.jsonl:2: a line must be"),
        (
            format!(
                "{first}{}",
                json!({"method": "x", "server": "a", "era": "legacy"})
            ),
            "x.mcp.jsonl:2: \"result\" is missing",
        ),
    ] {
        let fault = read(&text).unwrap_err().to_string();
        assert!(fault.starts_with(says), "{fault}");
    }
    let long = format!("{first}\"{}\"", "x".repeat(limits::CASSETTE_LINE));
    let fault = read(&long).unwrap_err().to_string();
    assert!(
        fault.starts_with("x.mcp.jsonl:2: the line has more"),
        "{fault}"
    );
    let many = format!("{first}{}", "\n".repeat(limits::CASSETTE_LINES));
    let fault = read(&many).unwrap_err().to_string();
    assert!(fault.contains("the file has more than"), "{fault}");
}

#[test]
fn secrets_are_not_written() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let mut call = call();
    call.params = Some(raw(
        &json!({"arguments": {"apiKey": "letmein", "text": format!("use {secret}")}}),
    ));
    call.answer = Answer::Result(raw(&json!({"content": [{"text": secret}]})));
    if let Some(Between::Question(question)) = call.between.get_mut(1) {
        let answer = json!({"content": {"password": "hunter2"}});
        question.answered = Some((1, Answer::Result(raw(&answer))));
    }
    let text = whole(&[call]);
    for canary in [secret, "letmein", "hunter2"] {
        assert!(!text.contains(canary), "{text}");
    }
    assert!(read(&text).is_ok());
}

#[test]
fn messages_become_calls() {
    let request = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call",
        "params": {"name": "x", "_meta": {"progressToken": 4}}});
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": 4, "progress": 1}});
    let question =
        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}});
    let answer = json!({"jsonrpc": "2.0", "id": "q", "result": {"action": "cancel"}});
    let result = json!({"jsonrpc": "2.0", "id": 4, "result": {"content": []}});
    let messages = [
        (0, false, raw(&request)),
        (2, true, raw(&progress)),
        (3, true, raw(&question)),
        (5, false, raw(&answer)),
        (9, true, raw(&result)),
    ];
    let calls = calls_of("a", &messages);
    assert_eq!(calls.len(), 1);
    let Call {
        took,
        between,
        answer,
        era,
        ..
    } = &calls[0];
    assert_eq!((*took, *era), (9, Era::Legacy));
    assert_eq!(*answer, Answer::Result(raw(&json!({"content": []}))));
    let [Between::Notice(said), Between::Question(asked)] = between.as_slice() else {
        panic!("{between:?}");
    };
    assert_eq!(
        (said.at, said.method.as_str()),
        (2, "notifications/progress")
    );
    let answered = Answer::Result(raw(&json!({"action": "cancel"})));
    assert_eq!(asked.answered, Some((5, answered)));
}

#[test]
fn files_are_private_whole_and_not_too_many() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mut files = file::Files::new(&folder.path().join("tapes"), "1").unwrap();
    // Room for one call beside the first line.
    files.full = 700;
    files.write(vec![Line::Hello(hello())]).unwrap();
    for _ in 0..limits::CASSETTE_FILES + 3 {
        files.write(vec![Line::Call(call())]).unwrap();
    }
    let mut names: Vec<_> = std::fs::read_dir(folder.path().join("tapes"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert_eq!(names.len(), limits::CASSETTE_FILES);
    let last = names.last().unwrap();
    assert_eq!(last.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Each can be used alone.
    let cassette = Cassette::open(last).unwrap();
    assert_eq!((cassette.hellos.len(), cassette.calls.len()), (1, 1));
}

/// A reader keeps seventeen digits of a number, and servers may mean more.
#[test]
fn numbers_that_a_reader_takes_for_the_same_differ() {
    let with = |number: &str| {
        let text = format!("{{\"a\":[1,{{\"n\":{number}}}],\"b\":1.50}}");
        asked::exact_tree(text.as_bytes()).unwrap()
    };
    let (one, two) = ("12345678901234567890123", "12345678901234567890124");
    assert_eq!(differences(&with(one), &with(one), &[]), []);
    let found = differences(&with(one), &with(two), &[]);
    assert_eq!(found[0].path, "/a/1/n");
    assert_eq!(found[0].recorded, Some(json!(format!("{one} (a number)"))));
    // What is kept whole stays a number.
    assert_eq!(with("1.0")["b"], json!(1.5));
}

#[test]
fn differences_are_named_by_path() {
    let one = json!({"a": [1, 2], "b": {"c/d": 1}, "gone": 1,
        "tools": [{"name": "x", "n": 1}, {"name": "y"}, {"name": "old"}]});
    let two = json!({"a": [1, 3, 4], "b": {"c/d": 2}, "new": 1,
        "tools": [{"name": "new"}, {"name": "y"}, {"name": "x", "n": 2}]});
    let paths = |ignored: &[&str]| -> Vec<String> {
        let ignored: Vec<String> = ignored.iter().map(ToString::to_string).collect();
        let found = differences(&one, &two, &ignored);
        found.into_iter().map(|one| one.path).collect()
    };
    let all = [
        "/a/1",
        "/a/2",
        "/b/c~1d",
        "/gone",
        "/tools/0/n",
        "/tools/2",
        "/tools/0",
        "/new",
    ];
    assert_eq!(paths(&[]), all);
    assert_eq!(paths(&["/a", "/b/*", "/tools"]), ["/gone", "/new"]);
    assert_eq!(differences(&one, &one, &[]), []);
}

#[test]
fn a_report_is_valid_xml_whatever_stands_in_it() {
    let case = |outcome, reason: &str| Case {
        line: 3,
        era: "legacy".to_owned(),
        method: "tools/call".to_owned(),
        name: Some("<&\"'\u{1}>".to_owned()),
        outcome,
        differences: vec![Difference {
            path: "/<a>".to_owned(),
            recorded: Some(json!("]]>&\u{7}")),
            actual: None,
        }],
        reason: Some(reason.to_owned()),
        took: 1234,
    };
    let report = Report {
        server: "a & b".to_owned(),
        cases: vec![
            case(Outcome::Same, ""),
            case(Outcome::Differs, ""),
            case(Outcome::Failed, "<no>"),
            case(Outcome::Skipped, "\u{0}"),
        ],
    };
    let xml = junit("x<y>.jsonl", &report);
    assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"4.936\""));
    let is_bad = |c: char| c.is_control() && c != '\n';
    assert!(!xml.contains(is_bad), "{xml}");
    // Nothing of what was said is markup.
    assert!(
        !xml.contains("<no>") && !xml.contains("</a>") && !xml.contains("<a>"),
        "{xml}"
    );
}

#[test]
fn requests_are_found_whatever_the_order_of_their_keys() {
    let text = format!(
        "{}{}\n",
        "{\"cassette\":1,\"servers\":[]}\n",
        r#"{"server":"a","era":"legacy","method":"x","params":{"b":{"d":1,"c":[2,{"f":1,"e":2}]},"a":1},"result":{}}"#
    );
    let cassette = read(&text).unwrap();
    let index = asked::Index::of(&cassette).unwrap();
    let asked = serde_json::json!({"a": 1, "b": {"c": [2, {"e": 2, "f": 1}], "d": 1}});
    let found = index.find(&cassette, Era::Legacy, "x", &asked);
    assert_eq!(found.unwrap(), [0]);
    let asked = serde_json::json!({"a": 1, "b": {"c": [{"e": 2, "f": 1}, 2], "d": 1}});
    let missed = index.find(&cassette, Era::Legacy, "x", &asked);
    assert!(missed.is_err());
}
