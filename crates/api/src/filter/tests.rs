use super::*;

fn call() -> Call {
    Call {
        id: 12,
        principal: "ada".to_owned(),
        client: Some("Cursor".to_owned()),
        session: Some("7".to_owned()),
        origin: "client".to_owned(),
        server: Some("git".to_owned()),
        method: "tools/call".to_owned(),
        name: Some("branch_delete".to_owned()),
        client_era: "legacy".to_owned(),
        server_era: Some("modern".to_owned()),
        outcome: "error".to_owned(),
        fault: Some("server".to_owned()),
        code: Some(-32602),
        took: Some(250_000),
        at_server: Some(240_000),
        bytes_out: 20_000,
        tokens: 5_000,
        sent: 2,
        kept: true,
        ..Call::default()
    }
}

#[test]
fn every_word_matches_what_it_says() {
    let table = [
        ("", true),
        ("server:git", true),
        ("server:GIT", true),
        ("server:gi", false),
        ("server:g*", true),
        ("server:*", true),
        ("tool:*delete*", true),
        ("tool:*del*te", true),
        ("tool:b*h_*e", true),
        ("tool:*x*", false),
        ("name:branch_delete", true),
        ("client:cursor", true),
        ("principal:ada", true),
        ("principal:bob", false),
        ("session:7", true),
        ("method:tools/*", true),
        ("method:prompts/*", false),
        ("origin:client", true),
        ("origin:own", false),
        ("era:legacy", true),
        ("era:modern", false),
        ("era:bridged", true),
        ("error", true),
        ("ok", false),
        ("outcome:error", true),
        ("denied", false),
        ("running", false),
        ("fault:server", true),
        ("fault:ours", false),
        ("code:-32602", true),
        ("-code:-32602", false),
        ("id:12", true),
        ("id:10..12", true),
        ("id:13..20", false),
        (">200ms", true),
        (">250ms", false),
        (">0.2s", true),
        ("<1s", true),
        ("<100", false),
        ("took>200ms", true),
        ("server>200ms", true),
        ("ours>200ms", false),
        ("ours>9ms", true),
        ("bytes>10k", true),
        ("bytes>1m", false),
        ("tokens<10000", true),
        ("asked", false),
        ("retried", true),
        ("kept", true),
        ("replay", false),
        ("-server:git", false),
        ("!server:git", false),
        ("-server:files", true),
        ("server:git error >200ms", true),
        ("server:git ok", false),
        ("ok or error", true),
        ("server:files or tool:branch_delete", true),
        ("server:files or tool:nothing", false),
        ("server:git ok or server:git -ok", true),
        (r#"server:"git""#, true),
        (r#""needle""#, true),
        (r#""need le""#, false),
        (r#"-"needle""#, false),
        (r#""-needle""#, false),
        (r#"-"-needle""#, true),
        (r#""a \"quoted\" one""#, false),
        (r#"server:files "needle""#, false),
    ];
    for (text, expected) in table {
        let filter = Filter::parse(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
        let found = filter.matches(&call(), &mut |text| text == "needle");
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let table = [
        ("sever:git", 0, "can be asked for"),
        ("ok git", 3, "no word of the filter"),
        ("ok server:", 3, "has to follow"),
        ("era:old", 0, "legacy, modern, bridged"),
        ("fault:me", 0, "client, ours, server"),
        ("code:x", 0, "whole number"),
        ("id:x", 0, "an id is"),
        (">fast", 0, "a time is"),
        ("bytes>much", 0, "a size is"),
        ("size>1", 0, "can be compared"),
        ("or ok", 0, "between two words"),
        ("ok or", 5, "between two words"),
        (r#"ok "open"#, 3, "not closed"),
        (r#"ok """#, 3, "nothing between"),
    ];
    for (text, at, why) in table {
        let wrong = Filter::parse(text).expect_err(text);
        assert_eq!(wrong.at, at, "{text}: {wrong}");
        assert!(wrong.to_string().contains(why), "{text}: {wrong}");
    }
    assert!(Filter::parse(&"ok ".repeat(limits::FILTER_WORDS + 1)).is_err());
    assert!(Filter::parse(&"x".repeat(limits::FILTER_BYTES + 1)).is_err());
    let texts = |count: usize| Filter::parse(&"\"x\" or ok ".repeat(count));
    assert!(texts(limits::FILTER_TEXTS).is_ok());
    let wrong = texts(limits::FILTER_TEXTS + 1).unwrap_err();
    assert_eq!(wrong.why, Why::TooManyTexts);
}

#[test]
fn messages_are_searched_only_where_nothing_else_decides() {
    let filter = Filter::parse(r#"server:files "needle""#).unwrap();
    assert!(filter.needs_messages());
    filter.matches(&call(), &mut |_| panic!("it is another server's"));
    assert!(!Filter::parse("ok").unwrap().needs_messages());
}

#[test]
fn calls_of_our_own_alone() {
    for (text, is_own) in [
        ("origin:own", true),
        ("origin:own tool:a", true),
        ("-origin:client or origin:own", true),
        ("origin:own or tool:a", false),
        ("-origin:own", false),
        ("tool:a", false),
        ("", false),
    ] {
        assert_eq!(Filter::parse(text).unwrap().is_of_own(), is_own, "{text}");
    }
}
