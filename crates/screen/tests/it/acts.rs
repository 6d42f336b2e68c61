//! What keys ask for: a line for each act.

use crate::{
    samples::{Bench, NOON, call, question, server},
    views::{cells, text},
};
use serde_json::{Value, json};
use switchboard_api::{events::Event, questions::Kind, state::Client};
use switchboard_screen::{Ask, Effect, Key, Link, Message, Request, View, page};

/// What is typed, and what the gateway is asked by that.
#[test]
fn keys_ask_for_what_they_say() {
    // The list begins with postgres (local), deploy (project), github, linear, puppeteer (user).
    for (typed, expected) in [
        ("r", "POST servers/postgres/reconnect"),
        ("jje", "POST servers/github/disable"),
        ("jjjje", "POST servers/puppeteer/enable"),
        ("jjja", "POST servers/linear/sign-in"),
        ("jjjxy", "POST servers/linear/sign-out"),
        ("jAy", "POST servers/deploy/approve"),
        ("jAn", "POST servers/deploy/reject"),
        ("jj\n", "GET servers/github"),
        ("jjt", "GET servers/github/tools"),
        ("jjl", "GET servers/github/stderr"),
        ("jjw", "GET explain/github"),
        ("Ey", "POST servers/puppeteer/enable"),
        ("Ry", "POST servers/github/reconnect"),
        ("Dy", "POST servers/files/disable"),
        ("2\nhi\n\n\n", "POST calls"),
        ("2py", ""),
        ("2pdy", "POST tools/rules"),
        ("2w", "GET explain/mcp__github__list_issues"),
        ("3\n", "GET calls/3"),
        ("3t", "POST tap"),
        (
            "3/server:github\n",
            "GET calls?limit=200&filter=server%3Agithub",
        ),
        ("3jjry", "POST calls/1/replay"),
        ("3x", "DELETE calls/3"),
        ("4yy", "POST questions/q1"),
        ("4n", "POST questions/q1"),
        ("4j\nmain\n\n\n", "POST questions/q2"),
        ("4jjyy", "POST questions/q3"),
        ("5nlaptop\n", "POST tokens"),
        ("5xy", "DELETE tokens/default"),
    ] {
        let mut bench = Bench::new(80, 24);
        bench.news();
        bench.types(typed);
        let asked = bench.news();
        let found = expected.is_empty() || asked.iter().any(|it| it == expected);
        assert!(found, "{typed:?}: {expected} is not in {asked:?}");
    }
}

fn body(request: Request) -> Value {
    serde_json::from_str(&request.body.unwrap()).unwrap()
}

#[test]
fn what_is_approved_is_what_was_shown() {
    let mut bench = Bench::new(80, 24);
    bench.types("jA");
    bench.asked.clear();
    bench.types("y");
    let request = bench.asked[0].request();
    assert_eq!(body(request)["digest"], "sha256:abc");
    // Without having been shown, nothing is.
    let mut bench = Bench::new(80, 24);
    bench.types("jA");
    let Some(page::Kind::Approve(page)) = bench.model.pages.last_mut().map(|it| &mut it.kind)
    else {
        panic!("no page")
    };
    page.detail = None;
    bench.asked.clear();
    bench.types("y");
    assert!(bench.asked.is_empty());
}

#[test]
fn a_call_is_filled_in_run_and_copied() {
    let mut bench = Bench::new(80, 24);
    bench.types("2\n");
    // It must be there, so it cannot be left out.
    bench.key(Key::Ctrl('s'));
    assert!(!bench.news().iter().any(|it| it == "POST calls"));
    bench.types("it's\n");
    bench.types(" ");
    bench.key(Key::Ctrl('s'));
    let request = bench.asked.last().unwrap().request();
    assert_eq!(request.path, "calls");
    let body = body(request);
    assert_eq!(
        body["arguments"],
        json!({"message": "it's", "level": "low"})
    );
    bench.types("y");
    let Some(Effect::Copy(text)) = bench.done.last() else {
        panic!("{:?}", bench.done)
    };
    assert_eq!(
        text,
        r#"switchboard call mcp__github__list_issues '{"message":"it'\''s","level":"low"}'"#
    );
}

#[test]
fn a_running_call_shows_how_far_it_is_and_is_cancelled() {
    let mut bench = Bench::new(80, 24);
    let make = switchboard_api::calls::Make {
        server: "github".into(),
        name: Some("list_issues".into()),
        ..Default::default()
    };
    let run = page::RunPage {
        title: "t".into(),
        make,
        command: String::new(),
        call: None,
        is_given_up: false,
        progress: None,
        outcome: None,
        raw: false,
    };
    bench.model.pages.push(page::Page {
        id: 99,
        scroll: 0,
        kind: page::Kind::Run(Box::new(run)),
    });
    let mut begun = call(40, "list_issues", "running");
    begun.origin = "own".into();
    bench.event(Event::Call {
        call: Box::new(begun),
    });
    assert!(
        matches!(bench.done.last(), Some(Effect::Later(_, ask)) if ask.request().path == "calls/40")
    );
    bench.news();
    bench.types("x");
    assert_eq!(bench.news(), ["DELETE calls/40"]);
    // Leaving the page while it runs cancels, too.
    bench.key(Key::Esc);
    assert_eq!(bench.news(), ["DELETE calls/40"]);
    assert!(matches!(bench.done.last(), Some(Effect::Abandon(99))));
}

#[test]
fn commands_are_run() {
    let mut bench = Bench::new(80, 24);
    bench.types(":list --json\n");
    let Some(Effect::Run { run, words }) = bench.done.pop() else {
        panic!("{:?}", bench.done)
    };
    assert_eq!(words, ["list", "--json"]);
    bench.happens(Message::Wrote {
        run,
        lines: vec!["[]".into()],
    });
    bench.happens(Message::Ended { run, code: Some(0) });
    bench.key(Key::Esc);
    // What may ask gets the terminal; so does what is told to.
    bench.types(":login github\n");
    assert!(
        matches!(bench.done.pop(), Some(Effect::RunOnTerminal(words)) if words == ["login", "github"])
    );
    bench.types(":!list\n");
    assert!(matches!(bench.done.pop(), Some(Effect::RunOnTerminal(words)) if words == ["list"]));
    // The last ones are there again.
    bench.types(":");
    bench.key(Key::Up);
    bench.key(Key::Up);
    assert_eq!(
        bench.model.prompt.as_ref().unwrap().input.text(),
        "login github"
    );
    bench.key(Key::Esc);
    bench.types(":log\t");
    assert_eq!(
        bench.model.prompt.as_ref().unwrap().offered,
        ["login", "logs"]
    );
    bench.types("i\t");
    assert_eq!(bench.model.prompt.as_ref().unwrap().input.text(), "login ");
    bench.types("gith\t\n");
    assert!(
        matches!(bench.done.pop(), Some(Effect::RunOnTerminal(words)) if words == ["login", "github"])
    );
    bench.types(":'open\n");
    assert!(bench.model.told.as_ref().unwrap().bad);
}

#[test]
fn what_a_finding_advises_is_shown_before_it_is_done() {
    let mut bench = Bench::new(80, 24);
    bench.doctor();
    bench.types("6\n");
    let prompt = bench.model.prompt.as_ref().unwrap();
    assert_eq!(prompt.input.text(), "logs postgres");
}

#[test]
fn signing_in_by_browser_or_by_hand() {
    let mut bench = Bench::new(80, 24);
    bench.types("jjja");
    bench.types("\n");
    assert!(
        matches!(bench.done.last(), Some(Effect::Open(url)) if url.starts_with("https://auth.example/"))
    );
    bench.happens(Message::Pasted(
        "http://127.0.0.1:9/callback?code=c\n".into(),
    ));
    bench.asked.clear();
    bench.types("\n");
    let body = body(bench.asked[0].request());
    assert_eq!(body["pasted"], "http://127.0.0.1:9/callback?code=c");
    // Once it is signed in, the page goes by itself.
    let mut bench = Bench::new(80, 24);
    bench.types("jjja");
    let mut linear = server("linear", "user", "connected");
    linear.sign_in.word = "signed-in".into();
    bench.event(Event::Server {
        server: Box::new(linear),
    });
    assert!(bench.model.pages.is_empty());
}

/// A server connects a while after somebody has signed in to it, which may be heard as an event
/// or read with all that there is.
#[test]
fn what_a_server_offers_is_read_once_it_has_connected() {
    for is_event in [true, false] {
        let mut bench = Bench::new(80, 24);
        bench.types("jjja");
        let mut linear = server("linear", "user", "connecting");
        linear.sign_in.word = "signed-in".into();
        linear.tools = None;
        bench.event(Event::Server {
            server: Box::new(linear.clone()),
        });
        assert!(bench.model.pages.is_empty());
        bench.news();
        linear.state.word = "connected".into();
        match is_event {
            true => bench.event(Event::Server {
                server: Box::new(linear),
            }),
            false => {
                let mut state = bench.model.state.clone();
                let it = state.servers.iter_mut().find(|it| it.name == "linear");
                *it.unwrap() = linear;
                bench.happens(Message::Answered {
                    ask: Box::new(Ask::State),
                    answer: Ok(serde_json::to_vec(&state).unwrap()),
                });
            }
        }
        let asked = bench.news();
        let listed = |it: &String| it == "GET servers/linear/tools";
        assert_eq!(asked.iter().filter(|it| listed(it)).count(), 1, "{asked:?}");
    }
}

#[test]
fn the_line_that_one_is_on_is_found_again() {
    let mut bench = Bench::new(80, 24);
    bench.types("jj");
    assert_eq!(bench.model.list().key, "github");
    bench.event(Event::ServerGone {
        name: "postgres".into(),
        file: Some("/home/ada/.claude.json".into()),
    });
    assert_eq!(bench.model.list().key, "github");
    let server = Box::new(server("aaa", "local", "connected"));
    bench.event(Event::Server { server });
    assert_eq!(bench.model.list().key, "github");
    bench.event(Event::ServerGone {
        name: "github".into(),
        file: Some("/home/ada/.claude.json".into()),
    });
    assert_ne!(bench.model.list().key, "github");
}

#[test]
fn a_gateway_that_comes_back_is_read_anew() {
    let mut bench = Bench::new(80, 24);
    bench.happens(Message::Linked(Link::Lost {
        why: "connection refused".into(),
    }));
    bench.news();
    bench.happens(Message::Linked(Link::Attached {
        address: "127.0.0.1:3701".into(),
    }));
    let asked = bench.news();
    for path in [
        "GET state",
        "GET tools",
        "GET questions",
        "GET calls?limit=200",
    ] {
        assert!(asked.iter().any(|it| it == path), "{path}: {asked:?}");
    }
}

#[test]
fn a_question_that_comes_is_told_and_counted() {
    let mut bench = Bench::new(80, 24);
    bench.model.questions.clear();
    bench.event(Event::Question {
        question: Box::new(question("new", Kind::Permission, &["allow"])),
        waiting: 1,
    });
    assert_eq!(bench.model.waiting(), 1);
    assert!(bench.model.told.is_some());
    let mut answered = question("new", Kind::Permission, &["allow"]);
    answered.status = "answered".into();
    bench.event(Event::Question {
        question: Box::new(answered),
        waiting: 0,
    });
    assert_eq!(bench.model.waiting(), 0);
    let clients = vec![Client {
        since: NOON,
        ..Client::default()
    }];
    bench.types("5");
    bench.event(Event::Clients { clients });
    assert_eq!(bench.model.state.clients.len(), 1);
}

#[test]
fn pasted_text_is_no_keys() {
    let mut bench = Bench::new(80, 24);
    bench.news();
    bench.happens(Message::Pasted("Dy\nq".into()));
    assert!(bench.news().is_empty() && bench.done.is_empty());
    bench.types(":");
    bench.happens(Message::Pasted("list\n".into()));
    assert_eq!(bench.model.prompt.as_ref().unwrap().input.text(), "list");
}

#[test]
fn what_was_asked_for_at_the_start_is_opened() {
    let mut bench = Bench::new(80, 24);
    bench.model.wanted = Some("servers/github".into());
    bench.event(Event::Reset);
    assert_eq!(bench.news().last().unwrap(), "GET servers/github");
    assert_eq!(bench.model.view, View::Servers);
    bench.types("qq");
    assert!(matches!(bench.done.last(), Some(Effect::Quit)));
}

/// What differs is there to be seen at once, wherever it was made again from.
#[test]
fn a_call_that_is_made_again_shows_what_differs() {
    for typed in ["3jjry", "3jj\nry"] {
        let mut bench = Bench::new(80, 24);
        bench.types(typed);
        let shown = text(&cells(&bench.model));
        for line in [
            "made again: 1 difference",
            " /content/0/text",
            " - \"a\"",
            " + \"b\"",
        ] {
            assert!(
                shown.contains(line),
                "{typed:?}: {line:?} is not in\n{shown}"
            );
        }
    }
    // Who has gone elsewhere meanwhile is only told.
    let mut bench = Bench::new(80, 24);
    bench.types("3jj");
    let replay = Box::new(Ask::Replay(1, Box::default()));
    bench.types("4");
    let answer = json!({"same": false, "differences": [{"path": "/a", "before": 1}]});
    bench.happens(Message::Answered {
        ask: replay,
        answer: Ok(answer.to_string().into_bytes()),
    });
    assert!(bench.model.pages.is_empty());
    assert!(text(&cells(&bench.model)).contains("made again: 1 difference"));
}
