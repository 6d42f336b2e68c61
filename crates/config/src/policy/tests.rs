use super::*;
use crate::{entry::Scope, fault::Source};
use serde_json::json;

fn rules(value: &Value) -> Vec<Rule> {
    let rule = |(i, value)| Rule::read(value, format!("p:{i}")).unwrap();
    value
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(rule)
        .collect()
}

fn local(name: &str, argv: &[&str]) -> Entry {
    let mut entry = Entry::at(name, Scope::User, Source::Ours, 1);
    entry.command = Some(argv[0].into());
    entry.args = argv[1..].iter().map(ToString::to_string).collect();
    entry
}

fn remote(name: &str, url: &str) -> Entry {
    let mut entry = Entry::at(name, Scope::User, Source::Ours, 1);
    entry.transport = Transport::Http;
    entry.url = Some(url.into());
    entry
}

/// What the lists say: `+` allowed, `-` denied, `0` not on the list.
fn verdict(allowed: &Value, denied: &Value, entry: &Entry) -> char {
    let allowed = (!allowed.is_null()).then(|| rules(allowed));
    let policy = Policy {
        allowed,
        denied: rules(denied),
        path: "/usr/bin:/bin".into(),
    };
    match policy.decide(entry) {
        Verdict::Allowed(_) => '+',
        Verdict::Denied(_) => '-',
        Verdict::NotAllowed(_) => '0',
    }
}

#[test]
fn every_observed_rule() {
    let npx = local("a", &["npx", "-y", "p"]);
    let web = remote("a", "https://x.example/mcp");
    let none = json!([]);
    for (allowed, denied, entry, expected) in [
        (json!(null), none.clone(), &npx, '+'),
        // An empty list allows nothing.
        (json!([]), none.clone(), &npx, '0'),
        (json!([{"serverName": "a"}]), none.clone(), &npx, '+'),
        (json!([{"serverName": "b"}]), none.clone(), &npx, '0'),
        // Deny beats allow.
        (
            json!([{"serverName": "a"}]),
            json!([{"serverName": "a"}]),
            &npx,
            '-',
        ),
        (
            json!([{"serverName": "a"}]),
            json!([{"serverCommand": ["npx", "-y", "p"]}]),
            &npx,
            '-',
        ),
        (
            json!([{"serverUrl": "https://x.example/*"}]),
            json!([{"serverUrl": "https://x.example/*"}]),
            &web,
            '-',
        ),
        // Commands in the list: names no longer suffice for local servers.
        (
            json!([{"serverName": "a"}, {"serverCommand": ["uvx", "p"]}]),
            none.clone(),
            &npx,
            '0',
        ),
        (
            json!([{"serverName": "a"}, {"serverCommand": ["uvx", "p"]}]),
            none.clone(),
            &web,
            '+',
        ),
        (
            json!([{"serverCommand": ["npx", "-y", "p"]}]),
            none.clone(),
            &npx,
            '+',
        ),
        (
            json!([{"serverCommand": ["npx", "-y"]}]),
            none.clone(),
            &npx,
            '0',
        ),
        (
            json!([{"serverCommand": ["npx", "-y", "p"]}]),
            none.clone(),
            &web,
            '0',
        ),
        // Addresses in the list: the same for remote servers.
        (
            json!([{"serverName": "a"}, {"serverUrl": "https://y.example/*"}]),
            none.clone(),
            &web,
            '0',
        ),
        (
            json!([{"serverName": "a"}, {"serverUrl": "https://y.example/*"}]),
            none.clone(),
            &npx,
            '+',
        ),
        (
            json!([{"serverUrl": "https://x.example/*"}]),
            none,
            &web,
            '+',
        ),
    ] {
        assert_eq!(
            verdict(&allowed, &denied, entry),
            expected,
            "{allowed} {denied} {}",
            entry.target()
        );
    }
}

#[test]
fn commands_are_judged_as_a_whole() {
    let allow = |rule: Value, entry: &Entry| {
        verdict(&json!([{"serverCommand": rule}]), &json!([]), entry) == '+'
    };
    for (rule, argv, expected) in [
        (
            json!(["npx", "-y", "@corp/*"]),
            &["npx", "-y", "@corp/a"][..],
            true,
        ),
        (
            json!(["npx", "-y", "@corp/*"]),
            &["npx", "-c", "@corp/a"],
            false,
        ),
        (
            json!(["npx", "-y", "@corp/*"]),
            &["npx", "-y", "@corp/a", "-c", "evil"],
            false,
        ),
        (
            json!(["npx", "**"]),
            &["npx", "anything", "at", "all"],
            true,
        ),
        (json!(["npx", "**"]), &["npx"], true),
        (json!(["npx", "**"]), &["sh", "-c", "npx"], false),
        (json!(["npx"]), &["./npx"], false),
        (json!(["npx"]), &["/tmp/npx"], false),
        (json!(["*"]), &["./x"], false),
    ] {
        assert_eq!(
            allow(rule.clone(), &local("a", argv)),
            expected,
            "{rule} {argv:?}"
        );
    }
    // PATH and its like make a known command mean another program.
    for name in [
        "PATH",
        "Path",
        "LD_PRELOAD",
        "NODE_OPTIONS",
        "npm_config_registry",
    ] {
        let mut entry = local("a", &["npx"]);
        entry.env = vec![(name.into(), "x".into())];
        assert!(!allow(json!(["npx"]), &entry), "{name}");
    }
    // So does the directory that it works in.
    for (rule, cwd, expected) in [
        (json!({"serverCommand": ["npx"]}), "/srv/mcp", '0'),
        (
            json!({"serverCommand": ["npx"], "serverCwd": "/srv/*"}),
            "/srv/mcp",
            '+',
        ),
        (
            json!({"serverCommand": ["npx"], "serverCwd": "/srv/*"}),
            "/srv/../tmp",
            '0',
        ),
        (
            json!({"serverCommand": ["npx"], "serverCwd": "/srv/*"}),
            "/tmp/srv/mcp",
            '0',
        ),
        (
            json!({"serverCommand": ["npx"], "serverCwd": "*"}),
            "mcp",
            '0',
        ),
    ] {
        let mut entry = local("a", &["npx"]);
        let rules = json!([rule]);
        assert_eq!(verdict(&rules, &json!([]), &entry), '+', "{rule}");
        entry.cwd = Some(cwd.to_owned());
        assert_eq!(verdict(&rules, &json!([]), &entry), expected, "{rule}");
        assert_eq!(verdict(&json!(null), &rules, &entry), '-', "{rule}");
    }
    for bad in [
        json!({"serverCwd": "/srv"}),
        json!({"serverName": "a", "serverCwd": "/srv"}),
        json!({"serverCommand": ["npx"], "serverCwd": ["/srv"]}),
    ] {
        assert!(Rule::read(&bad, String::new()).is_err(), "{bad}");
    }
    // To forbid is to forbid under any path, and under either spelling of a name.
    let denied = |rule: Value, entry: &Entry| verdict(&json!(null), &json!([rule]), entry) == '-';
    assert!(denied(
        json!({"serverCommand": ["npx", "**"]}),
        &local("a", &["/usr/bin/npx", "x"])
    ));
    assert!(denied(
        json!({"serverName": "my-server"}),
        &local("my_server", &["x"])
    ));
    assert!(denied(
        json!({"serverName": "my-*"}),
        &local("my_server", &["x"])
    ));
    for (name, expected) in [("my-server", '+'), ("my_server", '0'), ("amy-server", '0')] {
        let rule = json!([{"serverName": "my-*"}]);
        let entry = local(name, &["x"]);
        assert_eq!(verdict(&rule, &json!([]), &entry), expected, "{name}");
    }
}

#[test]
fn address_patterns_are_anchored_on_scheme_and_host() {
    for (pattern, url, expected) in [
        ("https://*.company.com/*", "https://a.company.com/mcp", true),
        ("https://*.company.com/*", "https://A.Company.COM/mcp", true),
        (
            "https://*.company.com/*",
            "https://a.company.com:443/mcp",
            true,
        ),
        (
            "https://*.company.com/*",
            "https://a.company.com./mcp",
            true,
        ),
        ("https://*.company.com/*", "https://a.company.com/", true),
        ("https://*.company.com/*", "https://company.com/mcp", false),
        ("https://*.company.com/*", "http://a.company.com/mcp", false),
        (
            "https://*.company.com/*",
            "https://evil.com/?x=.company.com/",
            false,
        ),
        (
            "https://*.company.com/*",
            "https://evil.com/.company.com/",
            false,
        ),
        (
            "https://*.company.com/*",
            "https://evil.com#.company.com/",
            false,
        ),
        (
            "https://*.company.com/*",
            "https://evil.com\\.company.com/",
            false,
        ),
        (
            "https://*.company.com/*",
            "https://a.company.com@evil.com/",
            false,
        ),
        (
            "https://*.company.com/*",
            "https://a.company.com.evil.com/x",
            false,
        ),
        ("https://*.company.com/*", "https://evilcompany.com/", false),
        (
            "https://*.company.com/*",
            "https://a.company.com:8443/",
            false,
        ),
        (
            "https://*.company.com:8443/*",
            "https://a.company.com:8443/",
            true,
        ),
        ("https://x/api/*", "https://x/api/../secret", false),
        ("https://x/api/*", "https://x/api/..%2fsecret", false),
        ("https://x/api/*", "https://x/api/%2e%2e%2Fsecret", false),
        (
            "https://x/api/*",
            "https://x/api/%252e%252e%252fsecret",
            false,
        ),
        ("https://x/api/*", "https://x/api/..;/secret", false),
        ("https://x/api/*", "https://x/api/..%5csecret", false),
        ("https://x/api/*", "https://x/api/a..b/c", true),
        ("https://x", "https://x/", true),
        ("https://x", "https://x/mcp", false),
        ("*://x/*", "ws://x/a", true),
        ("*", "http://127.0.0.1:9/x?y", true),
        ("http://localhost:*/*", "http://localhost:3000/mcp", true),
        (
            "http://localhost:*/*",
            "http://localhost:3000@evil.com/mcp",
            false,
        ),
    ] {
        let pattern_value = UrlPattern::parse(pattern).unwrap();
        assert_eq!(pattern_value.allows(url), expected, "{pattern} {url}");
    }
}

#[test]
fn an_address_is_denied_on_every_port_by_every_scheme_and_spelling() {
    for (pattern, url, expected) in [
        ("https://evil.example/*", "https://evil.example/mcp", true),
        ("https://evil.example/*", "https://evil.example:8443/", true),
        ("https://evil.example/*", "http://evil.example/mcp", true),
        ("https://evil.example/*", "wss://evil.example/mcp", true),
        ("http://evil.example/*", "ws://evil.example:1/mcp", true),
        ("evil.example", "wss://evil.example:99/any?thing", true),
        ("https://evil.example", "https://evil.example/mcp", true),
        ("https://*.evil.example/*", "ws://a.evil.example:8/", true),
        (
            "https://evil.example/mcp",
            "https://evil.example/mcp?x",
            true,
        ),
        (
            "https://evil.example/mcp",
            "https://evil.example/%6dcp",
            true,
        ),
        (
            "https://evil.example/mcp",
            "https://evil.example/other",
            false,
        ),
        (
            "https://b\u{fc}cher.example/*",
            "https://b\u{fc}cher.example/",
            true,
        ),
        (
            "https://*.b\u{fc}cher.example/*",
            "https://a.b\u{fc}cher.example/",
            true,
        ),
        ("https://127.1/*", "http://127.0.0.1:9/", true),
        ("https://[::1]/*", "http://[::1]:9/", true),
        ("https://evil.example./*", "https://evil.example/", true),
        // A port that is named is the one that is meant.
        (
            "https://evil.example:8443/*",
            "http://evil.example:8443/",
            true,
        ),
        (
            "https://evil.example:8443/*",
            "https://evil.example/",
            false,
        ),
        ("https://evil.example:443/*", "https://evil.example/", true),
        (
            "https://evil.example:443/*",
            "https://evil.example:8443/",
            false,
        ),
        ("https://evil.example/*", "https://good.example/", false),
        (
            "https://evil.example/*",
            "https://evil.example.good/",
            false,
        ),
    ] {
        let pattern_value = UrlPattern::parse(pattern).unwrap();
        assert_eq!(pattern_value.denies(url), expected, "{pattern} {url}");
    }
}

#[test]
fn a_rule_that_says_nothing_clear_is_refused() {
    for value in [
        json!({}),
        json!("a"),
        json!({"serverName": "a", "serverUrl": "https://x/*"}),
        json!({"serverName": 1}),
        json!({"serverCommand": "npx"}),
        json!({"serverCommand": []}),
        json!({"serverUrl": "https:///x"}),
        json!({"name": "a"}),
    ] {
        assert!(Rule::read(&value, String::new()).is_err(), "{value}");
    }
}

#[test]
fn sockets_are_denied_by_whatever_means_them() {
    for (pattern, url, expected) in [
        ("*", "unix:///tmp/x.sock:/mcp", true),
        ("*://*", "unix:///tmp/x.sock:/mcp", true),
        ("*/*", "unix:///tmp/x.sock", true),
        ("*://*/*", "unix:///tmp/x.sock", true),
        ("unix://*", "unix:///tmp/x.sock:/mcp", true),
        ("unix:///tmp/*", "unix:///tmp/x.sock:/mcp", true),
        ("unix:///tmp/x.sock", "unix:///tmp/x.sock:/mcp", true),
        ("unix:///tmp/x.sock", "unix:///tmp/x.sock", true),
        ("unix:///tmp/x.sock", "unix:////tmp/./y/../x.sock", true),
        ("unix:///tmp/x.sock:/mcp", "unix:///tmp/x.sock:/mcp", true),
        ("UNIX:///tmp/x.sock", "unix:///tmp/x.sock", true),
        ("unix:///tmp/x.sock", "unix:///tmp/y.sock", false),
        ("https://*", "unix:///tmp/x.sock", false),
        ("http://*/*", "unix:///tmp/x.sock", false),
        ("unix://*", "https://x.example/", false),
    ] {
        let pattern_value = UrlPattern::parse(pattern).unwrap();
        assert_eq!(pattern_value.denies(url), expected, "{pattern} {url}");
    }
    for (pattern, url, expected) in [
        ("unix:///none/*", "unix:///none/x.sock:/mcp", true),
        ("*", "unix:///none/x.sock", true),
        ("unix:///none/*", "unix:///none/../etc/x.sock", false),
        ("*://*", "unix:///none/x.sock", false),
        ("https://*", "unix:///none/x.sock", false),
    ] {
        let pattern_value = UrlPattern::parse(pattern).unwrap();
        assert_eq!(pattern_value.allows(url), expected, "{pattern} {url}");
    }
}

#[test]
fn what_looks_like_an_address_is_denied_as_it_looks() {
    for pattern in ["http*", "https*", "*z.example*", "h*", "*/mcp"] {
        let pattern_value = UrlPattern::parse(pattern).unwrap();
        assert!(
            pattern_value.denies("https://z.example:8443/mcp"),
            "{pattern}"
        );
    }
}

#[test]
fn patterns_that_can_mean_nothing_are_refused() {
    for (pattern, why) in [
        ("tcp://z.example/*", "addresses begin with http://"),
        ("ftp*://z.example", "addresses begin with"),
        ("https:*", "write https://*"),
        ("unix:/tmp/x.sock", "write unix://*"),
        ("unix://tmp/x.sock", "whole path of the socket"),
        ("https://z.ex[a]mple/*", "only * stands for anything"),
        ("https://{a,b}.example/*", "only * stands for anything"),
        ("https://z.example:https/*", "port that no address has"),
        ("https://z.example/#*", "characters that no address has"),
        ("//z.example/*", "names no host"),
        ("", "names no host"),
    ] {
        let said = Rule::read(&json!({"serverUrl": pattern}), String::new());
        let said = said.expect_err(pattern).to_string();
        assert!(said.contains(why), "{pattern}: {said}");
    }
    let line = Rule::read(&json!({"serverCommand": ["npx -y evil"]}), String::new());
    let said = line.unwrap_err().to_string();
    assert!(said.contains(r#"write ["npx","-y","evil"]"#), "{said}");
    let path = json!({"serverCommand": ["/opt/My Server/run"]});
    assert!(Rule::read(&path, String::new()).is_ok());
}

#[test]
fn a_host_in_the_headers_is_judged_like_the_one_in_the_address() {
    let with_host = |url: &str, host: &str| {
        let mut entry = remote("a", url);
        entry.headers = vec![("hOst".into(), host.into())];
        entry
    };
    let good = json!([{"serverUrl": "https://good.example/*"}]);
    let evil = json!([{"serverUrl": "https://evil.example/*"}]);
    for (host, allowed, denied) in [
        ("good.example", '+', '+'),
        ("evil.example", '0', '-'),
        ("evil.example:443", '0', '-'),
        ("EVIL.example.", '0', '-'),
        ("good.example:444", '0', '+'),
        ("not a host", '0', '+'),
    ] {
        let entry = with_host("https://good.example/mcp", host);
        assert_eq!(verdict(&good, &json!([]), &entry), allowed, "{host}");
        assert_eq!(verdict(&json!(null), &evil, &entry), denied, "{host}");
    }
}

#[test]
fn an_allowed_command_with_another_environment_is_another_command() {
    for name in [
        "BASH_FUNC_ls%%",
        "MAKEFLAGS",
        "SSL_CERT_FILE",
        "https_proxy",
        "NIX_PATH",
    ] {
        let mut entry = local("a", &["npx"]);
        entry.env = vec![(name.into(), "x".into())];
        let allowed = json!([{"serverCommand": ["npx"]}]);
        assert_eq!(verdict(&allowed, &json!([]), &entry), '0', "{name}");
    }
}

#[test]
fn a_name_that_leads_to_a_denied_address_is_refused_where_it_leads() {
    let policy = |rules_value: Value| Policy {
        denied: rules(&rules_value),
        ..Policy::default()
    };
    let by_name = policy(json!([{"serverUrl": "https://evil.example/*"}, {"serverName": "x"}]));
    assert!(
        by_name.denied_addresses().is_none(),
        "names are judged by name"
    );
    for (rule, url, address, expected) in [
        (
            "http://127.0.0.1/*",
            "http://vm:48123/mcp",
            "127.0.1.1",
            true,
        ),
        ("http://localhost/*", "http://vm:48123/mcp", "::1", true),
        (
            "http://10.9.8.7/*",
            "https://lab.example/mcp",
            "10.9.8.7",
            true,
        ),
        (
            "http://10.9.8.7/*",
            "https://lab.example/mcp",
            "::ffff:10.9.8.7",
            true,
        ),
        ("http://10.*/*", "wss://lab.example/mcp", "10.1.1.1", true),
        (
            "http://10.9.8.7:99/*",
            "https://lab.example/mcp",
            "10.9.8.7",
            false,
        ),
        (
            "http://10.9.8.7/*",
            "https://lab.example/mcp",
            "10.9.8.8",
            false,
        ),
        (
            "http://[fd00::*]/*",
            "https://lab.example/mcp",
            "fd00::1",
            true,
        ),
    ] {
        let denied = policy(json!([{"serverUrl": rule}])).denied_addresses();
        let refused = denied.unwrap().refuse(url, address.parse().unwrap());
        assert_eq!(refused.is_some(), expected, "{rule} {url} {address}");
    }
}
