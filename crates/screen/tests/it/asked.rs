//! What a tool asks while it runs, forms, and what is not known any more.

use crate::{
    samples::{Bench, call, question},
    views::{cells, text},
};
use serde_json::json;
use switchboard_api::{
    calls::Make,
    events::Event,
    questions::{Kind, Question},
};
use switchboard_screen::{Ask, Effect, Key, Link, Message, Model, View, model, page, update};

fn shown(model: &Model) -> String {
    text(&cells(model))
}

/// A form that call 40 waits for.
fn asks() -> Question {
    Question {
        call: Some(40),
        about: None,
        title: "github asks for a branch".into(),
        text: Some("Which branch shall it be?".into()),
        schema: Some(json!({"type": "object"})),
        ..question("q2", Kind::Form, &["accept", "decline", "cancel"])
    }
}

/// A screen on which a tool runs that has asked something.
fn running() -> Bench {
    let mut bench = Bench::new(80, 24);
    bench.types("2");
    bench.model.questions.clear();
    let make = Make {
        server: "github".into(),
        name: Some("list_issues".into()),
        ..Make::default()
    };
    let run = page::RunPage {
        title: "github · list_issues".into(),
        make,
        command: "switchboard call x".into(),
        call: Some(40),
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
    assert!(
        !shown(&bench.model).contains("Enter"),
        "nothing is asked yet"
    );
    let question = Box::new(asks());
    bench.event(Event::Question {
        question,
        waiting: 1,
    });
    bench
}

/// The answer of the tool.
fn is_answered(bench: &mut Bench) {
    let made = json!({"id": 40, "call": call(40, "list_issues", "ok"), "result": {"content": [{"type": "text", "text": "on main then"}]}});
    let ask = Box::new(Ask::Call {
        page: 99,
        make: Box::default(),
    });
    bench.happens(Message::Answered {
        ask,
        answer: Ok(made.to_string().into_bytes()),
    });
}

#[test]
fn a_tool_that_asks_says_so_and_one_key_leads_there_and_back() {
    let mut bench = running();
    let waits = shown(&bench.model);
    assert!(waits.contains("It asks you something"), "{waits}");
    assert!(waits.contains("Enter opens it"), "{waits}");
    bench.types("\n");
    let form = shown(&bench.model);
    assert!(form.contains("Which branch shall it be?"), "{form}");
    bench.news();
    bench.types("main\n\n\n");
    assert!(bench.news().contains(&"POST questions/q2".to_owned()));
    assert!(shown(&bench.model).contains("list_issues · runs"));
    is_answered(&mut bench);
    assert!(shown(&bench.model).contains("on main then"));
}

#[test]
fn answered_in_the_inbox_one_comes_back_to_the_tool() {
    let mut bench = running();
    bench.types("4");
    let left = shown(&bench.model);
    assert!(left.contains("waits for your answer"), "{left}");
    bench.types("\nmain\n\n\n");
    let back = shown(&bench.model);
    assert!(back.contains("list_issues · runs"), "{back}");
    assert_eq!(bench.model.view, View::Tools);
    is_answered(&mut bench);
    assert!(shown(&bench.model).contains("on main then"));
}

#[test]
fn a_page_that_was_left_is_found_again() {
    let mut bench = running();
    bench.types("1");
    is_answered(&mut bench);
    let told = shown(&bench.model);
    assert!(told.contains("has ended: Esc goes back to it"), "{told}");
    bench.types("2");
    bench.key(Key::Esc);
    let back = shown(&bench.model);
    assert!(back.contains("on main then"), "{back}");
    // Leaving it then is leaving it.
    bench.key(Key::Esc);
    bench.key(Key::Esc);
    assert!(bench.model.pages.is_empty() && bench.model.aside.is_empty());
}

#[test]
fn a_form_opens_at_once_and_no_letter_answers_it_before() {
    for typed in ["n", "c", "y", "\n", "nope", "\nno", "can"] {
        let mut bench = Bench::new(80, 24);
        bench.types("4j");
        bench.news();
        bench.types(typed);
        let asked = bench.news();
        assert!(
            !asked.iter().any(|it| it.starts_with("POST questions")),
            "{typed:?}: {asked:?}"
        );
        let form = shown(&bench.model);
        assert!(
            form.contains("message*") && form.contains("github asks"),
            "{form}"
        );
    }
    // It says how it is declined, and is.
    let mut bench = Bench::new(80, 24);
    bench.types("4j\n");
    assert!(
        shown(&bench.model).contains("Ctrl-N decline"),
        "{}",
        shown(&bench.model)
    );
    bench.asked.clear();
    bench.key(Key::Ctrl('n'));
    let Some(Ask::Answer { answer, .. }) = bench.asked.first() else {
        panic!("{:?}", bench.asked)
    };
    assert_eq!(answer.action, "decline");
    // Nor is a request for a model's answer, whose page comes first.
    let mut bench = Bench::new(80, 24);
    bench.model.questions = vec![question("s", Kind::Sampling, &["accept", "decline"])];
    bench.types("4");
    bench.news();
    bench.types("nncy");
    assert!(bench.news().is_empty());
    bench.types("\n");
    assert!(
        shown(&bench.model).contains("answer*"),
        "{}",
        shown(&bench.model)
    );
}

/// A form whose schema a list leaves out is fetched, and then opened.
#[test]
fn a_form_that_is_long_is_fetched_first() {
    let mut bench = Bench::new(80, 24);
    bench.model.questions[1].partial = true;
    bench.model.questions[1].schema = None;
    bench.types("4j");
    bench.news();
    bench.types("\n");
    assert_eq!(bench.news().first().unwrap(), "GET questions/q2");
    assert!(
        shown(&bench.model).contains("message*"),
        "{}",
        shown(&bench.model)
    );
}

/// What it asks in many words can be read to the first of them; nothing but a yes is not said
/// by an Enter too many.
#[test]
fn a_form_with_a_long_text_and_without_fields() {
    let mut bench = Bench::new(40, 12);
    let mut long = asks();
    long.text = Some(format!(
        "first word {} last word",
        "and more of it ".repeat(60)
    ));
    bench.model.questions = vec![long];
    bench.types("4\n");
    let Some(page::Kind::Form(form)) = bench.model.pages.last_mut().map(|it| &mut it.kind) else {
        panic!("no form")
    };
    form.form = Some(switchboard_screen::form::Form::new(
        serde_json::from_value(json!({"kind": "object", "required": true})).unwrap(),
    ));
    form.schema = serde_json::Value::Null;
    let end = shown(&bench.model);
    assert!(end.contains("last word") && end.contains('↑'), "{end}");
    for _ in 0..100 {
        bench.key(Key::Up);
    }
    let start = shown(&bench.model);
    assert!(start.contains("first word"), "{start}");
    bench.news();
    bench.types("\n\n");
    assert!(bench.news().is_empty());
    bench.key(Key::Ctrl('s'));
    assert!(bench.news().contains(&"POST questions/q2".to_owned()));
}

#[test]
fn the_doctor_looks_whenever_it_is_opened_and_says_when() {
    let mut bench = Bench::new(80, 24);
    for _ in 0..2 {
        bench.done.clear();
        bench.types("6");
        assert!(
            matches!(bench.done.last(), Some(Effect::Examine)),
            "{:?}",
            bench.done
        );
        // Not twice at a time.
        bench.done.clear();
        bench.types("16r");
        assert!(bench.done.is_empty(), "{:?}", bench.done);
        bench.doctor();
        assert!(
            shown(&bench.model).contains("looked at 12:00:06"),
            "{}",
            shown(&bench.model)
        );
        bench.types("1");
    }
    bench.types("6");
    let again = shown(&bench.model);
    assert!(
        again.contains("looking again; this was at 12:00:06"),
        "{again}"
    );
    assert!(again.contains("postgres"), "{again}");
    let why = "it was ended".to_owned();
    bench.happens(Message::NotExamined { why });
    assert!(shown(&bench.model).contains("it was ended"));
    assert!(matches!(bench.model.doctor, model::Doctor::Failed(_)));
}

#[test]
fn of_a_gateway_that_is_gone_nobody_knows_what_waits() {
    let why = "connection refused".to_owned();
    let mut model = Model {
        size: (80, 24),
        known: true,
        link: Link::Lost { why },
        ..Model::default()
    };
    for (key, claim) in [
        ('4', "Nothing waits"),
        ('2', "No server has told"),
        ('3', "No call was made"),
        ('5', "Nobody is connected"),
    ] {
        update(&mut model, Message::Key(Key::Char(key)));
        let text = shown(&model);
        assert!(text.contains("nobody knows"), "{text}");
        assert!(!text.contains(claim), "{text}");
        assert!(text.contains("Inbox(?)"), "{text}");
    }
    let mut bench = Bench::new(80, 24);
    let why = "connection refused".to_owned();
    bench.happens(Message::Linked(Link::Lost { why }));
    bench.types("4");
    let text = shown(&bench.model);
    assert!(text.contains("as it was when the gateway went"), "{text}");
}

#[test]
fn adding_is_shown_by_an_example_in_one_form() {
    let mut bench = Bench::new(80, 24);
    bench.types("n");
    let text = shown(&bench.model);
    assert!(text.contains("add NAME -- COMMAND"), "{text}");
    assert!(
        text.contains("add files -- switchboard builtin files"),
        "{text}"
    );
    for columns in [40, 24] {
        let mut bench = Bench::new(columns, 12);
        bench.types("n");
        let text = shown(&bench.model);
        assert!(text.contains("files -- switch"), "{text}");
    }
}

#[test]
fn templates_stand_below_resources_and_lists_are_counted() {
    let mut bench = Bench::new(80, 24);
    bench.news();
    bench.types("jj\n");
    let asked = bench.news();
    for list in ["resources", "templates", "prompts"] {
        let wanted = format!("GET servers/github/{list}");
        assert!(asked.contains(&wanted), "{wanted}: {asked:?}");
    }
    let overview = shown(&bench.model);
    assert!(
        overview.contains("2 resources, 1 template, 2 prompts"),
        "{overview}"
    );
    bench.model.state.servers[0].prompts = Some(1);
    assert!(
        shown(&bench.model).contains(" 1 prompt;"),
        "{}",
        shown(&bench.model)
    );
    bench.types("\t\t");
    let both = shown(&bench.model);
    assert!(both.contains("template file:///{path}"), "{both}");
    bench.types("jj\n");
    let prompt = bench.model.prompt.as_ref().unwrap();
    assert_eq!(prompt.input.text(), "read '@github:file:///{path}'");
    // One that sleeps is not woken to be counted.
    let mut bench = Bench::new(80, 24);
    bench.types("jjjjj");
    bench.news();
    bench.types("\n");
    let asked = bench.news();
    assert!(
        !asked.iter().any(|it| it.ends_with("/prompts")),
        "{asked:?}"
    );
    // Templates alone are no nothing.
    let mut bench = Bench::new(80, 24);
    bench.types("jjt\t");
    let Some(page::Kind::Server(server)) = bench.model.pages.last_mut().map(|it| &mut it.kind)
    else {
        panic!("no page")
    };
    server.items = Some(Vec::new());
    let text = shown(&bench.model);
    assert!(
        text.contains("any_file") && !text.contains("lists no"),
        "{text}"
    );
}

/// However small it is, a list shows what it lists.
#[test]
fn the_smallest_screen_shows_lines() {
    for (typed, line) in [
        ("1", "postgres"),
        ("2", "list_issues"),
        ("3", "list_issues"),
        ("4", "May create"),
        ("5", "default"),
        ("6", "postgres"),
    ] {
        let mut bench = Bench::new(20, 6);
        bench.doctor();
        bench.types(typed);
        let text = shown(&bench.model);
        assert!(text.contains(line), "{typed}: {text}");
    }
}
