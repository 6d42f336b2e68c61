use super::*;
use serde_json::json;

const MARK: &str = secret::HIDDEN;

fn wrong(result: Result<Whole, No>, field: &str) {
    let no = format!("{:?}", result.unwrap_err());
    assert!(no.contains(&format!("\"{field}\"")), "{no}");
}

#[test]
fn what_was_left_alone_is_what_it_was() {
    let whole = json!({"user": "ada", "password": "wanderlust", "pins": [12, 34],
        "url": "db://ada:wanderlust@host/x", "in": {"token": "abc"}});
    let shown = json!({"user": "ada", "password": MARK, "pins": [MARK, MARK],
        "url": format!("db://ada:{MARK}@host/x"), "in": {"token": MARK}});
    let unchanged = changed(shown.clone(), &shown, &whole).unwrap();
    assert_eq!(unchanged, (whole.clone(), 1));
    let mut given = shown.clone();
    given["user"] = json!("bob");
    let mut expected = whole.clone();
    expected["user"] = json!("bob");
    assert_eq!(changed(given, &shown, &whole).unwrap(), (expected, 4));
    // One that is written anew is what it says.
    let mut given = shown.clone();
    given["password"] = json!("other");
    let (made, _) = changed(given, &shown, &whole).unwrap();
    assert_eq!(made["password"], "other");
    assert_eq!(made["in"]["token"], "abc");
    // Elsewhere, or in other words, nobody knows which one is meant.
    for (path, value, field) in [
        ("/user", json!(MARK), "/content/user"),
        (
            "/url",
            json!(format!("db://bob:{MARK}@host/x")),
            "/content/url",
        ),
        ("/pins", json!([MARK]), "/content/pins/0"),
        ("/in", json!({"other": MARK}), "/content/in/other"),
        ("/in", json!({MARK: 1}), "/content/in/[redacted]"),
    ] {
        let mut given = shown.clone();
        *given.pointer_mut(path).unwrap() = value;
        wrong(changed(given, &shown, &whole), field);
    }
    wrong(
        changed(json!({"a": MARK}), &json!("written"), &json!("as it is")),
        "/content/a",
    );
    // What a peer wrote itself is no mark of ours.
    let same = json!({"text": MARK});
    assert_eq!(
        changed(same.clone(), &same, &same).unwrap(),
        (same.clone(), 0)
    );
}

#[test]
fn what_a_form_offers_is_what_was_meant() {
    let key = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let other = "ghp_b1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let whole = json!({"type": "object", "$defs": {"k": {"default": other}}, "properties": {
        "key": {"type": "string", "default": key},
        "one": {"enum": [key, "none"]},
        "several": {"enum": [key, other]},
        "named": {"oneOf": [{"const": key, "title": "mine"}, {"const": "none"}]},
        "list": {"type": "array", "items": {"anyOf": [{"const": key}, {"const": "none"}]}},
        "referred": {"$ref": "#/$defs/k"},
        "free": {"type": "string"},
    }});
    let shown: Value =
        serde_json::from_str(&whole.to_string().replace(key, MARK).replace(other, MARK)).unwrap();
    let fill = |content: Value| filled(content, &shown, &whole);
    let table = [
        (json!({"key": MARK}), json!({"key": key}), 1),
        (json!({"key": "mine"}), json!({"key": "mine"}), 0),
        (json!({"one": MARK}), json!({"one": key}), 1),
        (json!({"one": "none"}), json!({"one": "none"}), 0),
        (json!({"named": MARK}), json!({"named": key}), 1),
        (
            json!({"list": [MARK, "none"]}),
            json!({"list": [key, "none"]}),
            1,
        ),
        (json!({"referred": MARK}), json!({"referred": other}), 1),
        (
            json!({"free": "text", "n": 1}),
            json!({"free": "text", "n": 1}),
            0,
        ),
    ];
    for (given, expected, back) in table {
        assert_eq!(fill(given).unwrap(), (expected, back));
    }
    wrong(fill(json!({"several": MARK})), "/content/several");
    wrong(fill(json!({"free": MARK})), "/content/free");
    wrong(
        fill(json!({"unknown": {"x": [MARK]}})),
        "/content/unknown/x/0",
    );
}
