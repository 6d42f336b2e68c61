use super::*;
use crate::limits;
use std::time::{Duration, SystemTime};

fn at(url: &str) -> Connectors {
    Connectors {
        url: Url::parse(url).unwrap(),
        token: None,
        place: "/s.json:1".to_owned(),
    }
}

fn settings(text: &str) -> Result<Option<Connectors>, String> {
    read::with(text, &Source::File("/s.json".into()), |doc| {
        Connectors::read(doc, "/s.json").map_err(|fault| fault.to_string())
    })
    .unwrap()
}

#[test]
fn what_the_settings_say() {
    let found =
        settings("{\n\"connectors\": {\"url\": \"https://c.example/list\", \"token\": \"${T}\"}}");
    let found = found.unwrap().unwrap();
    assert_eq!(found.place, "/s.json:2");
    assert_eq!(found.token.as_deref(), Some("${T}"));
    assert!(!format!("{found:?}").contains("${T}"));
    assert!(settings("{}").unwrap().is_none());
    for local in ["http://127.0.0.1:9/", "http://localhost/", "http://[::1]/"] {
        let text = json!({"connectors": {"url": local}}).to_string();
        assert!(settings(&text).unwrap().is_some(), "{local}");
    }
    for (bad, problem) in [
        (json!("https://x"), "must be an object"),
        (json!({}), "has no `url`"),
        (json!({"url": "x"}), "has a `url` that is no web address"),
        (
            json!({"url": "http://c.example/"}),
            "is not https: the token would be read",
        ),
        (json!({"url": "http://10.0.0.1/"}), "is not https"),
        (json!({"url": "ftp://c.example/"}), "is not https"),
        (
            json!({"url": "https://u:p@c.example/"}),
            "a user name or password",
        ),
        (
            json!({"url": "https://c.example/", "token": 1}),
            "has a `token` that is no text",
        ),
        (
            json!({"url": "https://c.example/", "tokn": "x"}),
            "has a key \"tokn\"",
        ),
    ] {
        let said = settings(&json!({ "connectors": bad }).to_string()).unwrap_err();
        assert!(
            said.starts_with("/s.json:1: `connectors` ")
                && said.contains(problem)
                && said.ends_with(SHAPE),
            "{bad}: {said}"
        );
    }
}

#[test]
fn both_shapes_of_a_list() {
    let entry = json!({"type": "http", "url": "https://w.example/mcp", "headers": {"A": "b"}});
    let mut named = entry.clone();
    named["name"] = json!("wiki");
    for whole in [
        json!({"mcpServers": {"wiki": entry}}),
        json!([named]),
        json!({"servers": [named], "next": null}),
    ] {
        let servers = at("https://c.example/").accept(&whole.to_string());
        assert_eq!(servers.unwrap()["wiki"], entry, "{whole}");
    }
    assert!(at("https://c.example/").accept("[]").unwrap().is_empty());
    for (text, problem) in [
        ("<html>", "not JSON"),
        ("", "not JSON"),
        ("1", "neither an object nor a list"),
        ("{}", "neither `mcpServers` nor `servers`"),
        ("[1]", "no. 1 of the list is no object"),
        (
            r#"[{"url": "https://x"}]"#,
            "no. 1 of the list has no `name`",
        ),
        (
            r#"[{"name": "a", "url": "https://x"}, {"name": "a", "url": "https://y"}]"#,
            "two servers are called \"a\"",
        ),
    ] {
        let fault = at("https://c.example/")
            .accept(text)
            .unwrap_err()
            .to_string();
        assert!(
            fault.starts_with("https://c.example/: ") && fault.contains(problem),
            "{text}: {fault}"
        );
    }
    let many: Vec<Value> = (0..=limits::CONNECTORS)
        .map(|i| json!({"name": format!("s{i}"), "url": "https://x"}))
        .collect();
    let fault = at("https://c.example/").accept(&json!(many).to_string());
    assert!(fault.unwrap_err().problem.contains("more than 500 servers"));
}

/// One entry that asks for more than a remote server, and nothing is believed.
#[test]
fn a_list_has_no_say_over_this_machine() {
    let far = "https://c.example/";
    let near = "http://127.0.0.1:9/";
    let url = "https://w.example/";
    for (from, entry, field) in [
        (far, json!({"command": "sh"}), "`type`"),
        (
            far,
            json!({"type": "stdio", "command": "sh", "args": ["-c", "x"]}),
            "`type`",
        ),
        (
            far,
            json!({"type": "builtin", "builtin": "shell", "enabled": true}),
            "`type`",
        ),
        (
            far,
            json!({"type": "ws-ide", "url": "ws://127.0.0.1:1"}),
            "`type`",
        ),
        (
            far,
            json!({"type": "http", "url": url, "command": "sh"}),
            "`command`",
        ),
        (
            far,
            json!({"type": "http", "url": url, "headersHelper": "x"}),
            "`headersHelper`",
        ),
        (
            near,
            json!({"type": "http", "url": url, "headersHelper": "x"}),
            "`headersHelper`",
        ),
        (
            far,
            json!({"type": "http", "url": url, "tls": {"key": "/k"}}),
            "`tls`",
        ),
        (
            far,
            json!({"type": "http", "url": url, "oauth": {"privateKey": "/k"}}),
            "`oauth.privateKey`",
        ),
        (
            far,
            json!({"type": "http", "url": url, "oauth": {"assertionFile": "/k"}}),
            "`oauth.assertionFile`",
        ),
        (
            far,
            json!({"type": "http", "url": "https://w.example/?${HOME}"}),
            "variable HOME",
        ),
        (
            far,
            json!({"type": "http", "url": url, "headers": {"A": "${env:AWS_KEY}"}}),
            "variable AWS_KEY",
        ),
        (
            far,
            json!({"type": "http", "url": "http://w.example/"}),
            "over TLS",
        ),
        (
            far,
            json!({"type": "http", "url": "https://127.0.0.1/"}),
            "your own network",
        ),
        (
            far,
            json!({"type": "http", "url": "https://localhost/"}),
            "your own network",
        ),
        (
            far,
            json!({"type": "http", "url": "https://169.254.169.254/"}),
            "your own network",
        ),
        (
            far,
            json!({"type": "http", "url": "https://[::ffff:10.0.0.1]/"}),
            "your own network",
        ),
        (
            far,
            json!({"type": "http", "url": "https://[fd00::1]/"}),
            "your own network",
        ),
    ] {
        let whole = json!({"mcpServers": {"ok": {"type": "http", "url": url}, "bad": entry}});
        let fault = at(from).accept(&whole.to_string()).unwrap_err().to_string();
        assert!(
            fault.contains("server \"bad\"")
                && fault.contains(field)
                && fault
                    .contains("the whole list is refused; connectors may name remote servers only"),
            "{entry}: {fault}"
        );
    }
    for name in ["", "a\u{1b}[2J", &"x".repeat(limits::CONNECTOR_NAME + 1)] {
        let whole = json!({"mcpServers": {name: {"type": "http", "url": url}}});
        assert!(at(far).accept(&whole.to_string()).is_err(), "{name:?}");
    }
    // On this machine, what a list on this machine names is fine.
    let local = json!({"mcpServers": {"a": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}});
    assert!(at(near).accept(&local.to_string()).is_ok());
}

#[test]
fn when_to_ask_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(&folder.path().join("new"));
    let now = SystemTime::now();
    let later = |wait: Duration| now + wait + Duration::from_secs(2);
    assert!(cache.is_due("a", now));
    let servers = Map::from_iter([("x".to_owned(), json!({"url": "https://x"}))]);
    assert!(cache.keep("a", &servers).unwrap());
    assert!(!cache.keep("a", &servers).unwrap(), "the same again");
    assert!(!cache.is_due("a", now));
    assert!(cache.is_due("b", now), "another address");
    assert!(!cache.is_due("a", later(limits::CONNECTORS_RETRY)));
    assert!(cache.is_due("a", later(limits::CONNECTORS_FRESH)));
    assert!(
        cache.is_due("a", now - Duration::from_secs(3600)),
        "set back"
    );
    cache.failed("a", "why").unwrap();
    assert_eq!(cache.state().unwrap().problem.as_deref(), Some("why"));
    assert!(cache.list().exists(), "the last list stays");
    assert!(!cache.is_due("a", now));
    assert!(cache.is_due("a", later(limits::CONNECTORS_RETRY)));
}
