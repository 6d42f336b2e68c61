use super::*;
use switchboard_config::{Idp, Scope, Source, read};

fn entry(text: &str) -> Expanded {
    let text = format!("{{\"mcpServers\": {{\"s\": {text}}}}}");
    let mut entries = read(&text, &Source::Ours, Scope::User).unwrap();
    let entry = entries.pop().unwrap();
    assert!(entry.faults.is_empty(), "{:?}", entry.faults);
    let lookup = |name: &str| (name == "BASE").then(|| "https://x".to_owned());
    expand::expand(&entry, &lookup).unwrap()
}

fn access(idp: bool, variables: &[(&str, &str)]) -> Access {
    let folder = std::env::temp_dir();
    let dirs = Dirs {
        config: folder.clone(),
        data: folder.clone(),
        state: folder.clone(),
        cache: folder,
    };
    let settings = SignIn {
        token_store: Some("file".into()),
        idp: idp.then(|| Idp {
            issuer: "https://idp.example".into(),
            client_id: "at-idp".into(),
            client_secret: Some("${IDP_SECRET:-x}".into()),
            callback_port: None,
            scopes: Vec::new(),
            place: "settings.json:3".into(),
        }),
    };
    let lookup = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Access::new(Path::new("/"), &dirs, &settings, None, &lookup)
}

#[test]
fn a_server_that_is_told_who_we_are_is_not_signed_in_to() {
    for (text, expected) in [
        (r#"{"url": "https://x/mcp"}"#, true),
        (r#"{"url": "wss://x/mcp"}"#, true),
        (
            r#"{"url": "https://x/mcp", "headers": {"X-Tenant": "1"}}"#,
            true,
        ),
        (
            r#"{"url": "https://x/mcp", "headers": {"authorization": "Bearer x"}}"#,
            false,
        ),
        (r#"{"url": "https://u:p@x/mcp"}"#, false),
        (
            r#"{"url": "https://x/mcp", "headers": {"Authorization": "x"}, "oauth": {}}"#,
            true,
        ),
    ] {
        assert_eq!(wants_oauth(&entry(text)), expected, "{text}");
    }
}

#[test]
fn another_address_is_another_server() {
    let one = entry(r#"{"url": "https://x/mcp", "timeout": 5}"#);
    let same = entry(r#"{"url": "https://x/mcp", "tools": {"deny": ["a"]}}"#);
    let other = entry(r#"{"url": "https://y/mcp"}"#);
    assert_eq!(hash(&one), hash(&same));
    assert_ne!(hash(&one), hash(&other));
    // What a variable holds counts, not how it is called.
    let moved = entry(r#"{"url": "${BASE}/mcp"}"#);
    assert_eq!(hash(&one), hash(&moved));
}

#[test]
fn an_identity_provider_is_used_where_it_is_asked_for() {
    let asks = entry(r#"{"url": "https://x/mcp", "oauth": {"clientId": "c", "xaa": true}}"#);
    let silent = entry(r#"{"url": "https://x/mcp", "oauth": {"clientId": "c"}}"#);
    let refuses = entry(r#"{"url": "https://x/mcp", "oauth": {"clientId": "c", "xaa": false}}"#);
    let everywhere = [("CLAUDE_CODE_ENABLE_XAA", "1")];
    for (entry, variables, expected) in [
        (&asks, &[][..], true),
        (&silent, &[], false),
        (&silent, &everywhere, true),
        (&refuses, &everywhere, false),
    ] {
        let mut faults = Vec::new();
        let grant = access(true, variables).grant(entry, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(matches!(grant, Grant::Enterprise(_)), expected);
    }
    let faults = access(false, &[]).authority(&asks).unwrap_err();
    assert!(
        faults[0].to_string().contains("no identity provider"),
        "{faults:?}"
    );
}
