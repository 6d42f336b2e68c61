use super::{Facts, Rules, Who};
use crate::{
    catalog::Annotations,
    permission::{
        Answer, Answers, Classifier, Decision, Effect, Leaning, Mode, Origin, Spellings, Subject,
        What,
        tests::{WHO, named, spec},
    },
    upstream::ToolFilter,
};
use proptest::prelude::*;
use std::sync::Arc;
use switchboard_wire::Method;

fn hints(
    read_only: Option<bool>,
    destructive: Option<bool>,
    open_world: Option<bool>,
) -> Annotations {
    Annotations {
        read_only,
        destructive,
        open_world,
        ..Annotations::default()
    }
}

#[test]
fn modes_by_annotations_and_trust() {
    let none = hints(None, None, None);
    let read_only = hints(Some(true), None, None);
    let careful = hints(None, Some(false), Some(false));
    let worldly = hints(None, Some(false), None);
    let contradictory = hints(Some(true), Some(true), None);
    // (annotations, trusted) → default, bypassPermissions, auto, read-only, client
    let table = [
        (&none, true, "ask allow ask deny allow"),
        (&none, false, "ask allow ask deny allow"),
        (&read_only, true, "ask allow allow allow allow"),
        (&read_only, false, "ask allow ask ask allow"),
        (&careful, true, "ask allow allow deny allow"),
        (&careful, false, "ask allow ask deny allow"),
        (&worldly, true, "ask allow ask deny allow"),
        (&contradictory, true, "ask allow ask deny allow"),
    ];
    for (annotations, trusted, expected) in table {
        let decided = Mode::ALL.map(|mode| {
            let mut builder = Rules::builder(["s"], mode);
            if trusted {
                builder = builder.trust("s");
            }
            let facts = Facts {
                annotations: Some(annotations),
                ..Facts::default()
            };
            match builder
                .build()
                .0
                .decide(WHO, &spec("s"), What::Tool("t"), &facts)
            {
                Decision::Allow => "allow",
                Decision::Ask(_) => "ask",
                Decision::Deny(_) => "deny",
                Decision::Held(_) => "held",
            }
        });
        assert_eq!(
            decided.join(" "),
            expected,
            "{annotations:?} trusted: {trusted}"
        );
    }
}

#[test]
fn modes_by_face_and_principal() {
    let (rules, _) = Rules::builder(["s"], Mode::Client)
        .mode_of("guest", Mode::ReadOnly)
        .build();
    let mode = |principal, mode| rules.mode_for(Who { principal, mode });
    assert_eq!(mode("me", None), Mode::Client);
    assert_eq!(mode("me", Some(Mode::Default)), Mode::Default);
    assert_eq!(
        mode("guest", Some(Mode::Bypass)),
        Mode::ReadOnly,
        "a face cannot lift what holds for a principal"
    );
    assert!(rules.differ_by_principal());
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    assert!("yolo".parse::<Mode>().is_err());
}

#[test]
fn a_classifier_of_one_s_own() {
    struct Shy;
    impl Classifier for Shy {
        fn classify(&self, subject: &Subject<'_>) -> Leaning {
            match subject.arguments {
                Some(b"{}") => Leaning::Allow("nothing is given".to_owned()),
                _ => Leaning::Ask(format!(
                    "{} of {} for {}",
                    subject.tool, subject.server, subject.principal
                )),
            }
        }
    }
    let (rules, _) = Rules::builder(["s"], Mode::Auto)
        .classifier(Arc::new(Shy))
        .build();
    let with = |arguments: &'static [u8]| Facts {
        arguments: Some(arguments),
        ..Facts::default()
    };
    assert_eq!(
        rules.decide(WHO, &spec("s"), What::Tool("t"), &with(b"{}")),
        Decision::Allow
    );
    assert_eq!(
        rules.decide(WHO, &spec("s"), What::Tool("t"), &with(b"{\"a\":1}")),
        Decision::Ask("t of s for me".to_owned())
    );
}

#[test]
fn answers_are_remembered_for_what_was_shown() {
    let dir = tempfile::tempdir().unwrap();
    let answers = Arc::new(Answers::open(dir.path()).unwrap());
    let (rules, _) = Rules::builder(["s"], Mode::Default)
        .rule(Effect::Ask, "mcp__s__always", Origin::user("u"))
        .answers(answers.clone())
        .build();
    let decide = |rules: &Rules, principal, tool, definition| {
        let facts = Facts {
            definition: Some(definition),
            ..Facts::default()
        };
        rules.decide(
            Who {
                principal,
                mode: None,
            },
            &spec("s"),
            What::Tool(tool),
            &facts,
        )
    };
    let answer = |tool, allow, lasting| Answer {
        principal: "me",
        server: "s",
        tool,
        definition: Some("h1"),
        allow,
        lasting,
    };
    answers.remember(answer("yes", true, true)).unwrap();
    answers.remember(answer("once", true, false)).unwrap();
    answers.remember(answer("no", false, true)).unwrap();
    answers.remember(answer("always", true, true)).unwrap();
    assert_eq!(decide(&rules, "me", "yes", "h1"), Decision::Allow);
    assert!(
        matches!(decide(&rules, "me", "yes", "h2"), Decision::Ask(_)),
        "it changed since"
    );
    assert!(
        matches!(decide(&rules, "you", "yes", "h1"), Decision::Ask(_)),
        "somebody else's answer"
    );
    assert_eq!(decide(&rules, "me", "once", "h1"), Decision::Allow);
    assert!(
        matches!(decide(&rules, "me", "no", "h2"), Decision::Deny(_)),
        "a no stays a no"
    );
    assert!(
        matches!(decide(&rules, "me", "always", "h1"), Decision::Ask(_)),
        "an ask rule asks every time"
    );
    // After a restart.
    let again = Arc::new(Answers::open(dir.path()).unwrap());
    let (rules, _) = Rules::builder(["s"], Mode::Default)
        .answers(again.clone())
        .build();
    assert_eq!(decide(&rules, "me", "yes", "h1"), Decision::Allow);
    assert!(matches!(
        decide(&rules, "me", "once", "h1"),
        Decision::Ask(_)
    ));
    again.forget("s").unwrap();
    assert!(again.is_empty() && Answers::open(dir.path()).unwrap().is_empty());
    std::fs::write(dir.path().join("permissions.json"), "{").unwrap();
    assert!(Answers::open(dir.path()).is_err(), "never taken for empty");
}

/// One tool, prompt or resource, and everything that can be said about it.
#[derive(Debug, Clone)]
struct Case {
    mode: Mode,
    face: Option<Mode>,
    rules: Vec<(Effect, String)>,
    annotations: Annotations,
    trusted: bool,
    quarantined: bool,
    hidden: bool,
    kind: usize,
    can_ask: bool,
    says_yes: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let effect = prop_oneof![Just(Effect::Allow), Just(Effect::Ask), Just(Effect::Deny)];
    let text = prop_oneof![
        Just("mcp__my-srv__my_item"),
        Just("mcp__my_srv__my-item"),
        Just("mcp__my-srv__*"),
        Just("mcp__my-srv"),
        Just("mcp__my-srv__my*"),
        Just("mcp__other__my_item"),
        Just("mcp__my-srv__other"),
    ];
    let hint = || prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    let mode = || proptest::sample::select(Mode::ALL.to_vec());
    (
        (
            mode(),
            proptest::option::of(mode()),
            proptest::collection::vec((effect, text.prop_map(str::to_owned)), 0..4),
        ),
        (
            hint(),
            hint(),
            hint(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
        ),
        (0..6_usize, any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |(
                (mode, face, rules),
                (read_only, destructive, open_world, trusted, quarantined, hidden),
                (kind, can_ask, says_yes),
            )| Case {
                mode,
                face,
                rules,
                trusted,
                quarantined,
                hidden,
                kind,
                can_ask,
                says_yes,
                annotations: hints(read_only, destructive, open_world),
            },
        )
}

/// Every method by which something can be found, and the one by which it is reached.
fn ways(kind: usize) -> Vec<(Method, bool)> {
    match kind {
        0 => vec![(Method::ToolsCall, false)],
        1 => vec![(Method::PromptsGet, false), (Method::Complete, true)],
        _ => vec![
            (Method::ResourcesRead, false),
            (Method::ResourcesSubscribe, false),
            (Method::Complete, false),
        ],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Found if and only if permitted: mode × face × rule × annotation × method.
    #[test]
    fn found_if_and_only_if_permitted(case in cases()) {
        let mut builder = Rules::builder(["my-srv", "other"], case.mode);
        for (effect, text) in &case.rules {
            builder = builder.rule(*effect, text, Origin::user("u"));
        }
        if case.trusted {
            builder = builder.trust("my-srv");
        }
        let (rules, _) = builder.build();
        let mut server = spec("my-srv");
        if case.hidden {
            server.tool_filter = ToolFilter { deny: vec!["my_*".to_owned()], ..ToolFilter::default() };
        }
        let spellings = Spellings::new(["my_item", "other"]);
        let facts = Facts {
            annotations: Some(&case.annotations),
            spellings: Some(&spellings),
            quarantined: case.quarantined.then_some("changed"),
            ..Facts::default()
        };
        let who = Who { principal: "me", mode: case.face };
        let listed = match case.kind {
            0 => What::Tool("my_item"),
            1 => What::Prompt("my_item"),
            _ => What::Resource("file:///my_item"),
        };
        let name = match listed { What::Tool(name) | What::Prompt(name) | What::Resource(name) => name, _ => "" };
        let found = rules.permitted(who, &server, listed, &facts);
        for (method, prompt) in ways(case.kind) {
            let named = named(method, name, prompt);
            let what = What::from(&named);
            let decision = rules.decide(who, &server, what, &facts);
            // Nothing is reached that is not found, and what is found is refused only by whoever is asked.
            let reached = match &decision {
                Decision::Allow => true,
                Decision::Ask(_) => case.can_ask && case.says_yes,
                Decision::Deny(_) | Decision::Held(_) => false,
            };
            prop_assert_eq!(found, decision.is_visible(), "{:?}", decision);
            prop_assert!(found || !reached);
            prop_assert!(!found || reached || matches!(decision, Decision::Ask(_)));
            prop_assert_eq!(&rules.explain(who, &server, what, &facts).decision, &decision);
        }
        // The decision itself, against the letter of the rules.
        let mode = case.face.unwrap_or(case.mode);
        let is_tool = case.kind == 0;
        let covers = |wanted: Effect| case.rules.iter().any(|(effect, text)| {
            let whole = text == "mcp__my-srv" || text == "mcp__my-srv__*";
            let named = matches!(text.as_str(), "mcp__my-srv__my_item" | "mcp__my_srv__my-item" | "mcp__my-srv__my*");
            *effect == wanted && (whole || (named && case.kind < 2))
        });
        let denied = (case.hidden && is_tool)
            || covers(Effect::Deny)
            || case.quarantined
            || (mode == Mode::ReadOnly && is_tool && !case.annotations.says_read_only());
        prop_assert_eq!(found, !denied);
        let decision = rules.decide(who, &server, listed, &facts);
        if !denied && covers(Effect::Ask) {
            prop_assert!(matches!(decision, Decision::Ask(_)), "{:?}", decision);
        }
        if decision == Decision::Allow && is_tool && !case.trusted && matches!(mode, Mode::Auto | Mode::ReadOnly | Mode::Default) {
            prop_assert!(covers(Effect::Allow), "only a rule can allow what an untrusted server says of itself");
        }
    }
}
