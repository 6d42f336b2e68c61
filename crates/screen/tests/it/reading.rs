//! Nobody says yes to what was not on the screen.

use crate::{
    samples::{Bench, question},
    views::{cells, text},
};
use serde_json::{Value, json};
use switchboard_api::{events::Event, questions::Kind};
use switchboard_screen::{Key, Message, limits, page};

fn shown(bench: &Bench) -> String {
    text(&cells(&bench.model))
}

/// What was asked of the gateway that lets something run or writes a rule.
fn decided(bench: &mut Bench) -> Vec<String> {
    let mut asked = bench.news();
    asked.retain(|it| it.starts_with("POST"));
    asked
}

/// An entry as a newcomer met it: six arguments, eight variables, and the one that matters last.
fn long_entry() -> Value {
    let mut variables: Vec<Value> = (1..8)
        .map(|at| json!([format!("PLAIN_{at}"), "x"]))
        .collect();
    variables.push(json!(["LD_PRELOAD", "/tmp/evil.so"]));
    json!({
        "from": "/home/ada/shop/.mcp.json:3",
        "runs": ["npx", "-y", "--one", "--two", "--three", "--four", "--five"],
        "program": "/usr/bin/npx",
        "connects": null,
        "alsoRuns": [],
        "worksIn": null,
        "variables": variables,
        "headers": [],
        "reads": [],
        "manifests": [],
        "entry": {"command": "npx", "env": {"LD_PRELOAD": "/tmp/evil.so"}},
        "fromTheRepository": [],
        "warnings": ["LD_PRELOAD decides what runs inside the program"],
        "digest": "sha256:abc",
    })
}

fn with_approval(columns: u16, rows: u16) -> Bench {
    let mut bench = Bench::new(columns, rows);
    let mut asks = question("entry", Kind::Approval, &["approve", "reject"]);
    asks.about = Some(long_entry());
    asks.text = Some("LD_PRELOAD decides what runs inside the program".into());
    bench.model.questions = vec![asks];
    bench.model.settle(switchboard_screen::View::Inbox);
    bench.types("4");
    bench.news();
    bench
}

#[test]
fn a_yes_counts_once_the_end_was_on_the_screen() {
    for (columns, rows) in [(80, 24), (40, 12), (20, 6)] {
        let mut bench = with_approval(columns, rows);
        bench.types("y");
        assert!(decided(&mut bench).is_empty(), "the list answers nothing");
        bench.types("y");
        let first = shown(&bench);
        assert!(decided(&mut bench).is_empty(), "{first}");
        assert!(first.contains('↓'), "{first}");
        assert!(!first.contains("y approve"), "{first}");
        // Everything was on the screen by the time that it counts.
        let mut seen = String::new();
        for _ in 0..100 {
            seen.push_str(&shown(&bench));
            if !shown(&bench).contains('↓') {
                break;
            }
            bench.key(Key::PageDown);
            if shown(&bench).contains('↓') {
                bench.types("ya");
                assert!(decided(&mut bench).is_empty(), "{}", shown(&bench));
            }
        }
        // Where a row has no room for a word, it goes on in the next one.
        let flat: String = match columns {
            20 => String::new(),
            _ => seen.split_whitespace().collect(),
        };
        for part in ["--five", "LD_PRELOAD=\"/tmp/evil.so\"", "/usr/bin/npx"] {
            assert!(columns == 20 || flat.contains(part), "{part}: {seen}");
        }
        assert!(
            !seen.contains("null") && !seen.contains("alsoRuns"),
            "{seen}"
        );
        bench.types("y");
        assert_eq!(
            decided(&mut bench),
            ["POST questions/entry"],
            "{columns}x{rows}"
        );
    }
}

#[test]
fn at_80x24_it_says_how_much_more_there_is() {
    let mut bench = with_approval(80, 24);
    bench.types("\n");
    let first = shown(&bench);
    assert!(
        first.contains("more lines, PageDown; y counts at the end"),
        "{first}"
    );
    // A no counts at once.
    bench.types("n");
    assert_eq!(decided(&mut bench), ["POST questions/entry"]);
}

#[test]
fn after_a_resize_it_has_to_be_read_again() {
    let mut bench = with_approval(80, 24);
    bench.types("\nG");
    assert!(!shown(&bench).contains('↓'), "{}", shown(&bench));
    bench.happens(Message::Resized(40, 12));
    bench.types("y");
    assert!(decided(&mut bench).is_empty(), "{}", shown(&bench));
    bench.happens(Message::Resized(10, 3));
    bench.types("Gy");
    assert!(decided(&mut bench).is_empty(), "nothing is seen at all");
    bench.happens(Message::Resized(40, 12));
    bench.types("Gy");
    assert_eq!(decided(&mut bench), ["POST questions/entry"]);
}

#[test]
fn what_becomes_another_is_read_from_its_beginning() {
    let mut bench = with_approval(80, 24);
    bench.types("\nG");
    let mut other = bench.model.questions[0].clone();
    other.about.as_mut().unwrap()["runs"] = json!(["sh", "-c", "evil"]);
    bench.event(Event::Question {
        question: Box::new(other),
        waiting: 1,
    });
    bench.types("y");
    assert!(decided(&mut bench).is_empty());
    assert!(shown(&bench).contains("\"evil\""), "{}", shown(&bench));
    // The same of the page that A opens.
    let mut bench = Bench::new(40, 12);
    bench.types("jAG");
    let Some(page::Kind::Approve(page)) = bench.model.pages.last_mut().map(|it| &mut it.kind)
    else {
        panic!("no page")
    };
    page.detail.as_mut().unwrap().approval.truncate(3);
    bench.event(Event::Reset);
    bench.news();
    bench.types("y");
    assert!(decided(&mut bench).is_empty(), "{}", shown(&bench));
    bench.types("Gy");
    assert_eq!(decided(&mut bench), ["POST servers/deploy/approve"]);
}

/// Entries, definitions, calls with long arguments, proposals, rules: the same for all.
#[test]
fn whatever_lets_something_run_is_read_to_its_end() {
    let long = "a line of it\n".repeat(60);
    for (kind, yes, action) in [
        (Kind::Permission, 'y', "allow"),
        (Kind::Permission, 'a', "allow-always"),
        (Kind::Permission, 'N', "deny-always"),
        (Kind::Changed, 'y', "approve"),
        (Kind::Proposal, 'y', "approve"),
        (Kind::Held, 'y', "release"),
        (Kind::SignIn, 'y', "accept"),
        (Kind::Page, 'y', "accept"),
    ] {
        let mut bench = Bench::new(80, 24);
        let mut asks = question("long", kind, &[action]);
        asks.about = Some(json!({"body": long, "last": "rm -rf ~"}));
        bench.model.questions = vec![asks];
        bench.types("4");
        bench.news();
        bench.key(Key::Char(yes));
        bench.key(Key::Char(yes));
        assert!(
            decided(&mut bench).is_empty(),
            "{kind:?}: {}",
            shown(&bench)
        );
        bench.key(Key::End);
        assert!(shown(&bench).contains("rm -rf ~"), "{}", shown(&bench));
        bench.key(Key::Char(yes));
        assert_eq!(decided(&mut bench), ["POST questions/long"], "{kind:?}");
    }
    // What a rule would write.
    let mut bench = Bench::new(80, 24);
    bench.types("2pd");
    let Some(page::Kind::Confirm(confirm)) = bench.model.pages.last_mut().map(|it| &mut it.kind)
    else {
        panic!("no page")
    };
    confirm.lines = long.lines().map(str::to_owned).collect();
    bench.news();
    bench.types("y");
    assert!(decided(&mut bench).is_empty());
    bench.types("Gy");
    assert_eq!(decided(&mut bench), ["POST tools/rules"]);
}

/// No key and no depth pushes a value out of sight, and no text is cut short.
#[test]
fn arguments_hide_nothing() {
    let mut deep = json!("at-the-bottom");
    for _ in 0..60 {
        deep = json!({ "a": deep });
    }
    let mut about = json!({"deep": deep, "long": format!("{}the-end", "x".repeat(5_000))});
    about["k".repeat(300)] = json!("behind-a-key");
    let mut bench = Bench::new(80, 24);
    let mut asks = question("long", Kind::Permission, &["allow"]);
    asks.about = Some(about);
    bench.model.questions = vec![asks];
    bench.types("4\n");
    let mut seen = shown(&bench);
    while shown(&bench).contains('↓') {
        bench.key(Key::PageDown);
        seen.push_str(&shown(&bench));
    }
    for part in ["at-the-bottom", "the-end", "behind-a-key"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!seen.contains('…'), "{seen}");
}

/// What is too long for any screen is not said yes to on it.
#[test]
fn what_is_too_long_is_left_to_the_command() {
    let mut bench = Bench::new(80, 24);
    let mut asks = question("long", Kind::Permission, &["allow"]);
    asks.about = Some(json!("x\n".repeat(limits::TEXT_LINES + 10)));
    bench.model.questions = vec![asks];
    bench.types("4\nG");
    bench.news();
    bench.types("y");
    assert!(decided(&mut bench).is_empty());
    assert!(
        shown(&bench).contains("switchboard inbox"),
        "{}",
        shown(&bench)
    );
}

/// Pages and lists that go on below say so.
#[test]
fn more_below_is_marked_everywhere() {
    for typed in ["?", "jj\n", "3\n", "2d"] {
        let mut bench = Bench::new(40, 12);
        bench.types(typed);
        let (lines, height) = switchboard_screen::view::extent(&bench.model);
        assert!(lines > height, "{typed:?}: {}", shown(&bench));
        assert!(shown(&bench).contains('↓'), "{typed:?}: {}", shown(&bench));
        bench.types("G");
        assert!(!shown(&bench).contains('↓'), "{typed:?}: {}", shown(&bench));
    }
    let mut bench = Bench::new(40, 12);
    assert!(shown(&bench).contains('↓'), "{}", shown(&bench));
    bench.types("G");
    assert!(!shown(&bench).contains('↓'), "{}", shown(&bench));
}
