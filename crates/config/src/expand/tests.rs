use super::*;
use crate::{entry::Scope, fault::Source};

fn lookup(name: &str) -> Option<String> {
    match name {
        "A" => Some("one".into()),
        "EMPTY" => Some(String::new()),
        "NESTED" => Some("${A}".into()),
        _ => None,
    }
}

#[test]
fn the_rules_of_expansion() {
    for (text, expected) in [
        ("plain", "plain"),
        ("${A}", "one"),
        ("x${A}y${A}z", "xoneyonez"),
        ("${MISSING:-d}", "d"),
        ("${MISSING:-}", ""),
        ("${MISSING:-a:-b}", "a:-b"),
        ("${A:-d}", "one"),
        ("${EMPTY:-d}", ""),
        ("${NESTED}", "${A}"),
        ("$A", "$A"),
        ("${A-x}", "${A-x}"),
        ("${}", "${}"),
        ("${1}", "${1}"),
        ("${A", "${A"),
        ("$${A}", "$one"),
        ("${${A}}", "${one}"),
    ] {
        assert_eq!(substitute(text, &lookup).as_deref(), Ok(expected), "{text}");
    }
    assert_eq!(
        substitute("${X}${A}${Y}", &lookup),
        Err(vec!["X".into(), "Y".into()])
    );
}

#[test]
fn every_field_is_expanded_and_every_missing_variable_named() {
    let mut entry = Entry::at("s", Scope::Dynamic, Source::File("/f.json".into()), 3);
    entry.command = Some("${A}/bin".into());
    entry.args = vec!["${X}".into()];
    entry.env = vec![("K".into(), "${Y}".into())];
    entry.headers = vec![("H".into(), "${A}".into())];
    entry.url = Some("https://${Z}/".into());
    let faults: Vec<String> = expand(&entry, &lookup)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        faults,
        [
            r#"/f.json:3: server "s": `url`: the environment variable Z is not set; set it, or give a default: ${Z:-…}"#,
            r#"/f.json:3: server "s": `args[0]`: the environment variable X is not set; set it, or give a default: ${X:-…}"#,
            r#"/f.json:3: server "s": `env.K`: the environment variable Y is not set; set it, or give a default: ${Y:-…}"#,
        ]
    );
    let all = |name: &str| Some(name.to_lowercase());
    let out = expand(&entry, &all).unwrap();
    assert_eq!(out.command.as_deref(), Some("a/bin"));
    assert_eq!(
        (
            out.args[0].as_str(),
            out.env[0].1.as_str(),
            out.headers[0].1.as_str()
        ),
        ("x", "y", "a")
    );
    assert_eq!(out.url.as_deref(), Some("https://z/"));
}

#[test]
fn nul_goes_nowhere() {
    let mut entry = Entry::at("s", Scope::Dynamic, Source::Ours, 1);
    entry.args = vec!["a\0b".into()];
    assert_eq!(
        expand(&entry, &lookup).unwrap_err()[0].reason(),
        "`args[0]`: contains a NUL character; write it without"
    );
}
