use super::*;

#[test]
fn secrets_go_and_everything_else_stays() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let same = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a plain sentence, \"quoted\""}}}"#,
        r#"{"params":{"_meta":{"progressToken":"a1B2c3D4e5F6g7H8i9J0k1L2m3"}}}"#,
        "{ \"a\" : [ 1 , \"b\" ] , \"password\" : \"\" }",
        "no message",
        r#"{"unclosed":"a"#,
    ];
    for text in same {
        assert_eq!(redact(text), (text.to_owned(), 0));
    }
    let with = |value: &str, key: &str| format!(r#"{{"{key}" : {value}, "n":1}}"#);
    for (key, secret) in [
        ("text", token.as_str()),
        ("password", "correct horse"),
        ("apiKey", "0123456789"),
        ("text", &format!("it is {token} here")),
    ] {
        let (shown, cut) = redact(&with(&json::quote(secret), key));
        assert_eq!(cut, 1, "{shown}");
        assert!(!shown.contains(secret), "{shown}");
        assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
    }
    // Between what is too long to be one.
    let picture = "iVBORw0KGgo".repeat(2000);
    let around = json::quote(&format!("{picture} {token} {picture}"));
    let (shown, cut) = redact(&with(&around, "text"));
    assert_eq!(cut, 1);
    assert!(!shown.contains(&token) && shown.matches(&picture).count() == 2);
    let (shown, cut) = redact(&with(&format!("[\"{token}\",\"{token}\"]"), "keys"));
    assert_eq!(cut, 2, "{shown}");
    // In the text of another message.
    let inner = json::quote(&format!("{{\"token\":\"{token}\"}}"));
    let (shown, cut) = redact(&with(&inner, "text"));
    assert_eq!(cut, 1, "{shown}");
    assert!(!shown.contains(&token), "{shown}");
}
#[test]
fn what_stands_under_a_telling_name_goes_whatever_it_is() {
    let table = [
        (
            r#"{"password":1234,"n":1234}"#,
            r#"{"password":"[redacted]","n":1234}"#,
        ),
        (r#"{"pin": -12.5e3 }"#, r#"{"pin": "[redacted]" }"#),
        (
            r#"{"authorization":{"scheme":"x","value":["a",7,true,null]},"b":"c"}"#,
            r#"{"authorization":{"scheme":"[redacted]","value":["[redacted]","[redacted]",true,null]},"b":"c"}"#,
        ),
        (
            r#"{"secret":["a",["b"]],"n":[1]}"#,
            r#"{"secret":["[redacted]",["[redacted]"]],"n":[1]}"#,
        ),
        (
            r#"{"a":[{"token":{"x":{"y":"z"}}}]}"#,
            r#"{"a":[{"token":{"x":{"y":"[redacted]"}}}]}"#,
        ),
    ];
    for (text, expected) in table {
        assert_eq!(redact(text).0, expected);
    }
    // What is no secret by these names.
    for text in [
        r#"{"inputSchema":{"properties":{"token":{"type":"string","maxLength":5}},"required":["token"]}}"#,
        r#"{"tokens":1200,"maxTokens":5,"progressToken":17,"keys":3,"monkey":4}"#,
        r#"{"params":{"_meta":{"progressToken":17}},"id":12}"#,
    ] {
        assert_eq!(redact(text), (text.to_owned(), 0));
    }
}

#[test]
fn what_is_large_is_looked_through_as_well() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let picture = "iVBORw0KGgo".repeat(2000);
    for key in ["data", "blob", "text"] {
        let same = format!(r#"{{"{key}":"{picture}"}}"#);
        assert_eq!(redact(&same), (same.clone(), 0));
        for with in [
            format!("{picture}/{token}/{picture}"),
            format!("{picture} {token} {picture}"),
            format!("{picture}_{token}"),
        ] {
            let (shown, cut) = redact(&format!(r#"{{"{key}":"{with}"}}"#));
            assert!(cut == 1 && !shown.contains(token), "{key}");
        }
    }
    // A text in such a field is a text.
    let text = format!("{} password=wanderlust", "lorem ipsum ".repeat(200));
    assert_eq!(redact(&format!(r#"{{"data":"{text}"}}"#)).1, 1);
}

/// A canary in a string with any escapes around it, in any place, is not shown.
#[test]
fn no_escape_switches_it_off() {
    let canary = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let escaped: String = canary.bytes().map(|b| format!("\\u{b:04x}")).collect();
    let around = [
        "\\ud83d",
        "\\udc00",
        "\\udc00\\ud83d",
        "\\ud83d\\ude00",
        "\\n",
        "\\/",
        "\\\"",
        "\\\\",
        "\\u00e4",
        "\\x",
        "\\u12",
        "\u{1}",
        " ",
        "",
    ];
    for before in around {
        for after in around {
            for secret in [canary, &escaped] {
                let plain = format!(r#"{{"t":"{before} {secret} {after}"}}"#);
                let (shown, cut) = redact(&plain);
                assert!(cut == 1 && !shown.contains("k1L2m3N4"), "{plain}: {shown}");
                assert!(!shown.contains(&escaped[60..]), "{plain}: {shown}");
                let (shown, cut) = redact(&format!(r#"{{"t":["{before}","{before} {secret}"]}}"#));
                assert!(cut == 1 && !shown.contains("k1L2m3N4"), "{shown}");
                // In a key, and under one that is written so.
                let (shown, cut) = redact(&format!(r#"{{"{before} {secret}":1}}"#));
                assert!(cut == 1 && !shown.contains("k1L2m3N4"), "{shown}");
            }
        }
        let (shown, cut) = redact(&format!(r#"{{"password{before}":"wanderlust"}}"#));
        assert!(cut == 1 && !shown.contains("wanderlust"), "{shown}");
        let (shown, cut) = redact(&format!(r#"{{"p\u0061ssword":"wanderlust {before}"}}"#));
        assert!(cut == 1 && !shown.contains("wanderlust"), "{shown}");
    }
}

/// What a structure hides, a text of the same hides as well, however deep it is in texts.
#[test]
fn json_in_a_text_goes_the_same_way() {
    let hides = [
        r#"{"credentials":{"value":"wanderlust"}}"#,
        r#"{"password":["wanderlust","wanderlust"]}"#,
        r#"[{"a":1},{"secret":{"b":["wanderlust"]}}]"#,
        r#"{"list":[{"name":"X-Api-Key","value":"wanderlust"}]}"#,
        r#"{"value":"wanderlust","key":"DB_PASSWORD"}"#,
        r#"{"type":"password","value":"wanderlust"}"#,
        r#"{"headers":[["Authorization","wanderlust"],["Accept","json"]]}"#,
        r#"["Authorization","wanderlust"]"#,
        r#"{"args":["run","--token","wanderlust"]}"#,
        r#"{"rawHeaders":["Accept","json","X-Api-Key","wanderlust"]}"#,
    ];
    for structure in hides {
        let mut text = structure.to_owned();
        for depth in 0..4 {
            let (shown, cut) = redact(&text);
            assert!(cut > 0 && !shown.contains("wanderlust"), "{depth}: {shown}");
            assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
            text = format!(
                r#"{{"content":[{{"type":"text","text":{}}}]}}"#,
                json::quote(&text)
            );
        }
        // After a sentence, cut off at its end, and as a string of JSON in one.
        for text in [
            format!("it said: {structure} and went"),
            format!("{structure}\n{structure}"),
            structure[..structure.len() - 1].to_owned(),
            json::quote(structure),
        ] {
            let (shown, cut) = redact(&format!(r#"{{"text":{}}}"#, json::quote(&text)));
            assert!(cut > 0 && !shown.contains("wanderlust"), "{text}: {shown}");
        }
    }
    let bare = r#"{"text":"{\"a\": ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}"#;
    assert!(!redact(bare).0.contains("D4e5"), "{}", redact(bare).0);
    // Deeper than anybody writes, nothing is shown.
    let mut text = r#"{"a":["plain"]}"#.to_owned();
    for _ in 0..limits::TAP_JSON_WITHIN + 1 {
        text = format!(r#"{{"t":{}}}"#, json::quote(&text));
    }
    assert!(!redact(&text).0.contains("plain"));
    for same in [
        r#"{"text":"{\"a\":[1,{\"b\":\"c\"}]} and {no} [x]"}"#,
        r#"{"name":"token","description":"d","inputSchema":{"required":["token","name"]}}"#,
        r#"{"method":"tools/call","params":{"name":"get_token","arguments":{"value":1}}}"#,
        r#"{"enum":["password","other"],"tags":["pin","board"]}"#,
    ] {
        assert_eq!(redact(same), (same.to_owned(), 0));
    }
}

/// `key` is what a value is kept under as often as it is one that opens something.
#[test]
fn a_bare_key_is_a_secret_where_it_may_be_one() {
    for stays in [
        r#"{"key":"colour","value":"blue"}"#,
        r#"{"key":"backgroundColour"}"#,
        r#"{"Key":"page-2/item 17"}"#,
        r#"{"key":17,"keys":["a","b","user:1001"]}"#,
        r#"{"key":{"ctrl":true,"name":"Enter"}}"#,
        r#"{"name":"key","value":"F5"}"#,
        r#"{"arguments":{"key":"greeting","value":"hello"}}"#,
    ] {
        assert_eq!(redact(stays), (stays.to_owned(), 0), "{stays}");
    }
    for goes in [
        r#"{"key":"sk-ant-REDACTED"}"#,
        r#"{"key":"hunter2"}"#,
        r#"{"key":"9f86d081884c7d659a2feaa0c55ad015"}"#,
        r#"{"keys":["a","550e8400-e29b-41d4-a716-446655440000"]}"#,
        r#"{"api":{"key":"colour"}}"#,
        r#"{"api":[{"key":"colour"}]}"#,
        r#"{"KEY":"colour"}"#,
        r#"{"api_key":"colour"}"#,
        r#"{"apiKey":"colour"}"#,
        r#"{"x-api-key":"colour"}"#,
        r#"{"private-key":"colour"}"#,
        r#"{"access_key":"colour"}"#,
        r#"{"secretKey":"colour"}"#,
    ] {
        let (shown, cut) = redact(goes);
        assert!(
            cut == 1 && shown.contains(secret::HIDDEN),
            "{goes}: {shown}"
        );
    }
}
