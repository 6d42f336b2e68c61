use super::*;
use crate::upstream::Target;
use serde_json::json;
use std::sync::Arc;
use switchboard_wire::{
    Message, Method, Params,
    name::{Namer, Style},
};

pub(super) const WHO: Who<'static> = Who {
    principal: "me",
    mode: None,
};

pub(super) fn spec(name: &str) -> ServerSpec {
    ServerSpec::new(name, Target::InProcess(Arc::new(|_| {})))
}

fn rules(servers: &[&str], mode: Mode, list: &[(Effect, &str)]) -> Rules {
    let builder = Rules::builder(servers.iter().copied(), mode);
    let (rules, faults) = list
        .iter()
        .fold(builder, |builder, (effect, text)| {
            builder.rule(*effect, text, Origin::user("settings.json"))
        })
        .build();
    assert!(faults.is_empty(), "{faults:?}");
    rules
}

fn decide(rules: &Rules, server: &str, tool: &str, siblings: &[&str]) -> Decision {
    let spellings = Spellings::new(
        siblings
            .iter()
            .copied()
            .chain([tool])
            .collect::<std::collections::BTreeSet<_>>(),
    );
    let facts = Facts {
        spellings: Some(&spellings),
        ..Facts::default()
    };
    rules.decide(WHO, &spec(server), What::Tool(tool), &facts)
}

fn allows(rules: &Rules, server: &str, tool: &str, siblings: &[&str]) -> bool {
    decide(rules, server, tool, siblings) == Decision::Allow
}

fn denies(rules: &Rules, server: &str, tool: &str) -> bool {
    matches!(decide(rules, server, tool, &[]), Decision::Deny(_))
}

#[test]
fn allow_and_deny_by_name_and_by_star() {
    let list = [
        (Effect::Allow, "mcp__github__search_code"),
        (Effect::Allow, "mcp__slack__*"),
        (Effect::Deny, "mcp__untrusted_server__*"),
        (Effect::Deny, "mcp__slack__delete"),
        (Effect::Ask, "mcp__slack__post"),
        (Effect::Deny, "mcp__whole"),
    ];
    let rules = rules(
        &["github", "slack", "untrusted-server", "whole"],
        Mode::Default,
        &list,
    );
    assert!(allows(&rules, "github", "search_code", &[]));
    assert!(matches!(
        decide(&rules, "github", "create_issue", &[]),
        Decision::Ask(_)
    ));
    assert!(allows(&rules, "slack", "search", &[]));
    assert!(denies(&rules, "slack", "delete"), "deny wins over allow");
    assert!(
        matches!(decide(&rules, "slack", "post", &[]), Decision::Ask(_)),
        "ask wins over allow"
    );
    assert!(denies(&rules, "untrusted-server", "anything"));
    assert!(denies(&rules, "whole", "anything"));
}

#[test]
fn a_rule_about_a_whole_server_covers_everything_of_it() {
    for text in ["mcp__s", "mcp__s__*", "mcp__*"] {
        let rules = rules(&["s", "other"], Mode::Bypass, &[(Effect::Deny, text)]);
        for what in [
            What::Tool("t"),
            What::Prompt("p"),
            What::Resource("file:///x"),
            What::Method,
            What::SignIn,
        ] {
            assert!(
                !rules.permitted(WHO, &spec("s"), what, &Facts::default()),
                "{text} {what:?}"
            );
            assert_eq!(
                rules.permitted(WHO, &spec("other"), what, &Facts::default()),
                text != "mcp__*",
                "{text} {what:?}"
            );
        }
    }
    // A rule about one name leaves the rest alone.
    let rules = rules(&["s"], Mode::Bypass, &[(Effect::Deny, "mcp__s__t")]);
    let found = [
        What::Tool("t"),
        What::Prompt("t"),
        What::Resource("t"),
        What::Tool("u"),
    ]
    .map(|what| rules.permitted(WHO, &spec("s"), what, &Facts::default()));
    assert_eq!(found, [false, false, true, true]);
}

#[test]
fn rules_match_servers_and_tools_never_joined_text() {
    // `a` + `b__c` and `a__b` + `c` look the same.
    let both = ["a", "a__b"];
    let deny = rules(&both, Mode::Bypass, &[(Effect::Deny, "mcp__a__b__c")]);
    assert!(denies(&deny, "a", "b__c") && denies(&deny, "a__b", "c"));
    assert!(!denies(&deny, "a", "b") && !denies(&deny, "a__b", "b__c"));
    let allow = rules(&both, Mode::Default, &[(Effect::Allow, "mcp__a__b__c")]);
    assert!(
        !allows(&allow, "a", "b__c", &[]) && !allows(&allow, "a__b", "c", &[]),
        "it could mean either"
    );
    let alone = rules(&["a"], Mode::Default, &[(Effect::Allow, "mcp__a__b__c")]);
    assert!(allows(&alone, "a", "b__c", &[]));
    // A wildcard over one server's tools does not reach another whose name begins alike.
    let wild = rules(&both, Mode::Default, &[(Effect::Allow, "mcp__a__*")]);
    assert!(allows(&wild, "a", "x", &[]) && !allows(&wild, "a__b", "x", &[]));
    let wild = rules(&both, Mode::Bypass, &[(Effect::Deny, "mcp__a__*")]);
    assert!(denies(&wild, "a", "x") && !denies(&wild, "a__b", "x"));
    // A server named alike is another server.
    let other = rules(
        &["git", "github"],
        Mode::Bypass,
        &[(Effect::Deny, "mcp__git")],
    );
    assert!(denies(&other, "git", "x") && !denies(&other, "github", "x"));
}

#[test]
fn spellings_of_servers() {
    // Safe names of these collide.
    let alike = ["my server", "my.server", "my-server"];
    let deny = rules(&alike, Mode::Bypass, &[(Effect::Deny, "mcp__my_server__*")]);
    assert!(
        alike.iter().all(|server| denies(&deny, server, "x")),
        "a restriction holds for all of them"
    );
    let allow = rules(
        &alike,
        Mode::Default,
        &[(Effect::Allow, "mcp__my_server__*")],
    );
    assert!(
        alike.iter().all(|server| !allows(&allow, server, "x", &[])),
        "a permission for none"
    );
    let exact = rules(
        &alike,
        Mode::Default,
        &[(Effect::Allow, "mcp__my-server__*")],
    );
    assert_eq!(
        alike.map(|server| allows(&exact, server, "x", &[])),
        [false, false, true],
        "but as it is shown it is one"
    );
    // The name with a hash that a colliding server was given.
    let namer = Namer::new(Style::Full, alike);
    let text = format!("mcp__{}__*", namer.prefix("my.server").unwrap());
    let hashed = rules(&alike, Mode::Default, &[(Effect::Allow, &text)]);
    assert_eq!(
        alike.map(|server| allows(&hashed, server, "x", &[])),
        [false, true, false]
    );
    // A name that was normalised, with the hyphen of the tool spelled either way.
    for text in ["mcp__My_Server___do_thing", "mcp__My_Server___do-thing"] {
        let rules = rules(&["My Server!"], Mode::Default, &[(Effect::Allow, text)]);
        assert!(allows(&rules, "My Server!", "do-thing", &[]), "{text}");
    }
}

#[test]
fn a_restriction_may_name_things_as_their_server_does() {
    let list = [
        (Effect::Deny, "mcp__my.server__files.delete"),
        (Effect::Deny, "mcp__my.server__wipe*.now"),
        (Effect::Deny, "mcp__whole/one"),
    ];
    let rules = rules(&["my.server", "whole/one"], Mode::Bypass, &list);
    assert!(denies(&rules, "my.server", "files.delete"));
    assert!(denies(&rules, "my.server", "wipe all.now"));
    assert!(!denies(&rules, "my.server", "files.read"));
    assert!(denies(&rules, "whole/one", "anything"));
}

#[test]
fn spellings_of_tools() {
    let tools = ["do-x", "do_x", "do.y", "do y", "do-z"];
    let siblings = |tool: &str| {
        tools
            .into_iter()
            .filter(|other| *other != tool)
            .collect::<Vec<_>>()
    };
    let allowed = |text: &str| {
        let rules = rules(&["s"], Mode::Default, &[(Effect::Allow, text)]);
        tools
            .into_iter()
            .filter(|tool| allows(&rules, "s", tool, &siblings(tool)))
            .collect::<Vec<_>>()
    };
    let denied = |text: &str| {
        let rules = rules(&["s"], Mode::Bypass, &[(Effect::Deny, text)]);
        tools
            .into_iter()
            .filter(|tool| denies(&rules, "s", tool))
            .collect::<Vec<_>>()
    };
    assert_eq!(allowed("mcp__s__do-x"), ["do-x"]);
    assert_eq!(allowed("mcp__s__do_x"), ["do_x"]);
    assert_eq!(
        allowed("mcp__s__do_y"),
        Vec::<&str>::new(),
        "two tools look like that"
    );
    assert_eq!(allowed("mcp__s__do_z"), ["do-z"], "only one can be meant");
    assert_eq!(denied("mcp__s__do_x"), ["do-x", "do_x"]);
    assert_eq!(denied("mcp__s__do-y"), ["do.y", "do y"]);
    // Without the other tools' names only the name itself is certain.
    let blind = |text: &str, tool: &str| {
        let rules = rules(&["s"], Mode::Default, &[(Effect::Allow, text)]);
        rules.decide(WHO, &spec("s"), What::Tool(tool), &Facts::default()) == Decision::Allow
    };
    assert!(
        blind("mcp__s__do-z", "do-z")
            && !blind("mcp__s__do_z", "do-z")
            && !blind("mcp__s__do_y", "do.y")
    );
}

#[test]
fn names_with_a_hash_are_understood_as_they_are_shown() {
    let long = "long_".repeat(20);
    let other = format!("{long}other");
    let namer = Namer::new(Style::Full, ["s"]);
    let shown = namer.assign(&[("s", &long)]).remove(0);
    assert_eq!(shown.len(), 64);
    let allow = rules(&["s"], Mode::Default, &[(Effect::Allow, &shown)]);
    assert!(allows(&allow, "s", &long, &[&other]) && !allows(&allow, "s", &other, &[&long]));
    let deny = rules(&["s"], Mode::Bypass, &[(Effect::Deny, &shown)]);
    assert!(denies(&deny, "s", &long) && !denies(&deny, "s", &other));
    // Tools that collide are given hashes together, which the caller hands in.
    let names = namer.assign(&[("s", "do.y"), ("s", "do y")]);
    let allow = rules(&["s"], Mode::Default, &[(Effect::Allow, &names[0])]);
    let decided = ["do.y", "do y"]
        .into_iter()
        .zip(&names)
        .map(|(tool, name)| {
            let facts = Facts {
                canonical: Some(name),
                ..Facts::default()
            };
            allow.decide(WHO, &spec("s"), What::Tool(tool), &facts) == Decision::Allow
        });
    assert_eq!(decided.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn rules_that_are_not_taken_are_named() {
    let builder = Rules::builder(["s"], Mode::Default)
        .rule(Effect::Allow, "Bash(ls:*)", Origin::user("u"))
        .rule(Effect::Allow, "mcp__*", Origin::user("u"))
        .rule(Effect::Allow, "mcp__s*__x", Origin::user("u"))
        .rule(Effect::Allow, "mcp__s__x(path:*)", Origin::user("u"))
        .rule(
            Effect::Allow,
            "mcp__s__x",
            Origin::project(".claude/settings.json"),
        )
        .rule(
            Effect::Deny,
            "mcp__s__y(path:*)",
            Origin::project(".claude/settings.json"),
        )
        .rule(
            Effect::Ask,
            "mcp__s__z",
            Origin::project(".claude/settings.json"),
        );
    let (rules, faults) = builder.build();
    let kinds: Vec<&str> = faults
        .iter()
        .map(|fault| match fault {
            RuleFault::NotOurs(_) => "not ours",
            RuleFault::TooWide(_) => "too wide",
            RuleFault::FromProject { .. } => "project",
        })
        .collect();
    assert_eq!(
        kinds,
        ["not ours", "too wide", "too wide", "too wide", "project"]
    );
    assert!(
        matches!(decide(&rules, "s", "x", &[]), Decision::Ask(_)),
        "a repository cannot allow"
    );
    assert!(denies(&rules, "s", "y"), "but restrict it can");
    let bypass = Who {
        mode: Some(Mode::Bypass),
        ..WHO
    };
    assert!(matches!(
        rules.decide(bypass, &spec("s"), What::Tool("z"), &Facts::default()),
        Decision::Ask(_)
    ));
}

#[test]
fn what_was_decided_can_be_explained() {
    let rules = rules(&["s"], Mode::Default, &[(Effect::Deny, "mcp__s__t")]);
    let ruling = rules.explain(WHO, &spec("s"), What::Tool("t"), &Facts::default());
    assert_eq!(
        ruling.decision.to_string(),
        "denied: deny rule \"mcp__s__t\" in settings.json"
    );
    let lines: Vec<String> = ruling.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "· the server's entry: lets it exist",
            "→ deny rules: deny rule \"mcp__s__t\" in settings.json"
        ]
    );
    let ruling = rules.explain(WHO, &spec("s"), What::Tool("u"), &Facts::default());
    assert_eq!(ruling.reasons.len(), 6);
    assert_eq!(
        ruling.reasons.last().unwrap().to_string(),
        "→ mode default: no rule allows it"
    );
}

#[test]
fn what_a_request_asks_for() {
    for (method, prompt, expected) in [
        (Method::ToolsCall, false, What::Tool("n")),
        (Method::PromptsGet, false, What::Prompt("n")),
        (Method::ResourcesRead, false, What::Resource("n")),
        (Method::ResourcesSubscribe, false, What::Resource("n")),
        (Method::ResourcesUnsubscribe, false, What::Resource("n")),
        (Method::Complete, true, What::Prompt("n")),
        (Method::Complete, false, What::Resource("n")),
        (Method::ToolsList, false, What::Method),
        (Method::TasksGet, false, What::Task("n")),
        (Method::Other, false, What::UnknownMethod),
    ] {
        assert_eq!(What::from(&named(method, "n", prompt)), expected);
    }
}

/// What a request of this method names: `name`, as a prompt if it is a completion
/// of one.
pub(super) fn named(method: Method, name: &str, prompt: bool) -> Named {
    let params = match (method, prompt) {
        (Method::Complete, true) => json!({"ref": {"type": "ref/prompt", "name": name}}),
        (Method::Complete, false) => json!({"ref": {"type": "ref/resource", "uri": name}}),
        _ => json!({"name": name, "uri": name, "taskId": name}),
    };
    let method = match method {
        Method::Other => "com.example/other",
        method => method.as_str(),
    };
    let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let message = Message::parse(text.to_string().into()).unwrap();
    let params = Params::of(&message).unwrap();
    params.named(&message).unwrap().0
}

#[test]
fn an_unknown_method_passes_only_where_tools_pass_without_a_question() {
    for mode in Mode::ALL {
        let (rules, _) = Rules::builder(["s"], mode).build();
        let decision = rules.decide(WHO, &spec("s"), What::UnknownMethod, &Facts::default());
        match mode {
            Mode::Client | Mode::Bypass => assert_eq!(decision, Decision::Allow, "{mode}"),
            _ => {
                let Decision::Deny(reason) = decision else {
                    panic!("{mode}: {decision:?}");
                };
                assert!(reason.contains("client") && reason.contains("bypassPermissions"));
            }
        }
        // A server that is denied has no methods at all.
        let builder = Rules::builder(["s"], mode);
        let (rules, _) = builder
            .rule(Effect::Deny, "mcp__s", Origin::user("u"))
            .build();
        let decision = rules.decide(WHO, &spec("s"), What::UnknownMethod, &Facts::default());
        assert!(matches!(decision, Decision::Deny(_)), "{mode}");
    }
}

#[test]
fn a_restriction_with_a_star_holds_for_every_name_that_it_fits() {
    for (text, covered, not) in [
        ("*", "forbidden", None),
        ("**", "forbidden", None),
        ("mcp*", "forbidden", None),
        ("m*", "forbidden", None),
        ("mcp_*", "forbidden", None),
        ("*forbidden", "forbidden", Some("fine")),
        ("*__forbidden", "forbidden", Some("fine")),
        ("*-forbidden", "really_forbidden", Some("fine")),
        ("*rec__f*", "forbidden", Some("other")),
        ("mcp__*forbidden", "forbidden", Some("fine")),
        ("mcp__r*n", "forbidden", Some("fine")),
        ("project:*", "forbidden", None),
    ] {
        for effect in [Effect::Deny, Effect::Ask] {
            let found = rules(&["rec"], Mode::Bypass, &[(effect, text)]);
            let of_projects = text.starts_with("project:");
            let meant = |tool: &str| !matches!(decide(&found, "rec", tool, &[]), Decision::Allow);
            assert_eq!(meant(covered), !of_projects, "{text}");
            assert!(not.is_none_or(|tool| !meant(tool)), "{text}");
        }
    }
    // What means everything means prompts and resources, too.
    let all = rules(&["rec"], Mode::Bypass, &[(Effect::Deny, "m*")]);
    let what = What::Resource("file:///x");
    assert!(!all.permitted(WHO, &spec("rec"), what, &Facts::default()));
    // To permit, a rule has to name its server.
    for text in ["*", "mcp*", "*forbidden", "mcp__*"] {
        let builder = Rules::builder(["rec"], Mode::Default);
        let builder = builder.rule(Effect::Allow, text, Origin::user("s"));
        let (rules, faults) = builder.build();
        assert_eq!(faults.len(), 1, "{text}");
        assert!(!allows(&rules, "rec", "forbidden", &[]), "{text}");
    }
}
