use super::*;
use http::HeaderValue;

fn one(value: &str) -> Challenge {
    let mut all = Challenge::parse(value);
    assert_eq!(all.len(), 1, "{value}: {all:?}");
    all.remove(0)
}

#[test]
fn a_description_cannot_pose_as_a_parameter() {
    let challenge = one(
        r#"Bearer error="insufficient_scope", error_description="needs scope=evil, resource_metadata=https://evil", scope="files:read", resource_metadata="https://x/p""#,
    );
    assert_eq!(challenge.scopes(), ["files:read"]);
    assert_eq!(challenge.param("resource_metadata"), Some("https://x/p"));
    assert_eq!(challenge.param("error"), Some("insufficient_scope"));
}

#[test]
fn names_are_whole_names() {
    let challenge = one(r#"Bearer x_scope="evil", xresource_metadata=https://evil, Scope = "a b""#);
    assert_eq!(challenge.scopes(), ["a", "b"]);
    assert_eq!(challenge.param("resource_metadata"), None);
}

#[test]
fn the_first_of_a_name_counts() {
    assert_eq!(one(r#"Bearer scope="a", scope="b""#).scopes(), ["a"]);
}

#[test]
fn escapes_and_unquoted_values() {
    let challenge =
        one(r#"Bearer realm="a \"quoted\" \\ thing", resource_metadata=https://x/y?a=b"#);
    assert_eq!(challenge.param("realm"), Some(r#"a "quoted" \ thing"#));
    assert_eq!(
        challenge.param("resource_metadata"),
        Some("https://x/y?a=b")
    );
}

#[test]
fn several_challenges_in_one_header() {
    let all = Challenge::parse(
        r#"Basic realm="x, Bearer scope=evil", DPoP algs="ES256", error="use_dpop_nonce", Negotiate YII==, Bearer"#,
    );
    let schemes: Vec<_> = all.iter().map(|c| c.scheme.as_str()).collect();
    assert_eq!(schemes, ["basic", "dpop", "negotiate", "bearer"]);
    assert_eq!(all[1].param("error"), Some("use_dpop_nonce"));
    assert!(all[3].scopes().is_empty());
}

#[test]
fn the_telling_challenge_wins() {
    let mut headers = HeaderMap::new();
    headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    headers.append(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Basic realm=x"),
    );
    headers.append(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer scope=\"a\""),
    );
    assert_eq!(oauth(&headers).unwrap().scopes(), ["a"]);
}

#[test]
fn nothing_readable_is_nothing() {
    for value in ["", ",", "=", "\"", "Bearer scope=\"unterminated"] {
        assert!(
            Challenge::parse(value)
                .iter()
                .all(|c| c.scopes().is_empty()),
            "{value}"
        );
    }
}
