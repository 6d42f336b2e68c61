use super::*;
use crate::DoorSettings;
use serde_json::json;

/// People at an issuer that is not asked, since what it publishes is known.
fn people(published: Value) -> People {
    let issuer: Url = "https://id.example/realm".parse().unwrap();
    let door = Door::new(DoorSettings {
        resource: issuer.clone(),
        issuer,
        audience: "us".into(),
        scopes: Vec::new(),
        allow_private_addresses: false,
        roles: None,
    });
    let settings = PeopleSettings {
        client_id: "console".into(),
        params: vec![("audience".into(), "us".into())],
        ..PeopleSettings::default()
    };
    let mut people = People::new(Arc::new(door.unwrap()), settings).unwrap();
    *people.published.get_mut() = Some((Instant::now(), Ok(Arc::new(published))));
    people
}

fn published() -> Value {
    json!({
        "issuer": "https://id.example/realm",
        "authorization_endpoint": "https://id.example/authorize?realm=1",
        "token_endpoint": "https://id.example/token",
        "authorization_response_iss_parameter_supported": true,
    })
}

const HERE: &str = "https://gateway.example/";

#[tokio::test]
async fn a_page_is_asked_with_a_hash_of_what_stays_here() {
    let people = people(published());
    let one = people.begin(HERE).await.unwrap();
    let said: std::collections::HashMap<_, _> = one.page.query_pairs().into_owned().collect();
    for (name, value) in [
        ("realm", "1"),
        ("response_type", "code"),
        ("client_id", "console"),
        ("redirect_uri", HERE),
        ("scope", "openid"),
        ("audience", "us"),
        ("code_challenge_method", "S256"),
        ("state", &one.state),
    ] {
        assert_eq!(said[name], value, "{name}");
    }
    let begun = one.state.rsplit_once('.').unwrap().0;
    let verifier = people.verifier(begun, one.secret.expose());
    assert!((43..=128).contains(&verifier.len()));
    assert!(!one.page.as_str().contains(&verifier));
    // Whoever sees the address has neither the secret nor what could be made of it.
    assert!(!one.page.as_str().contains(one.secret.expose()));
    assert_ne!(people.verifier(begun, ""), verifier);
    // Each is another.
    let other = people.begin(HERE).await.unwrap();
    let challenge = |begun: &Begun| {
        let mut pairs = begun.page.query_pairs();
        let found = pairs.find(|(name, _)| name == "code_challenge");
        found.unwrap().1.into_owned()
    };
    assert_ne!(one.state, other.state);
    assert_ne!(challenge(&one), challenge(&other));
}

#[tokio::test]
async fn only_a_page_is_come_back_to() {
    let people = people(published());
    for bad in [
        "",
        "gateway.example",
        "javascript:alert(1)",
        "https://gateway.example",
        "https://gateway.example/other",
        "https://gateway.example/?a=b",
        "https://gateway.example/#a",
        "https://ada@gateway.example/",
    ] {
        let refused = people.begin(bad).await;
        assert!(matches!(refused, Err(PeopleError::Back)), "{bad}");
    }
}

#[tokio::test]
async fn what_was_not_begun_here_is_not_ended_here() {
    let (people, others) = (people(published()), people(published()));
    let begun = people.begin(HERE).await.unwrap();
    let theirs = others.begin(HERE).await.unwrap();
    let (start, proof) = begun.state.rsplit_once('.').unwrap();
    let (id, at) = start.split_once('.').unwrap();
    let old = clock::seconds() - limits::PERSON_AT_PAGE.as_secs();
    let old = format!("{id}.{old}");
    let old_and_ours = format!("{old}.{}", people.proof(&old, HERE, begun.secret.expose()));
    let later = at.parse::<u64>().unwrap() + 1;
    for (state, to) in [
        (theirs.state.as_str(), HERE),
        (&begun.state, "https://evil.example/"),
        (&old_and_ours, HERE),
        (&format!("{id}.{later}.{proof}"), HERE),
        (start, HERE),
        ("", HERE),
    ] {
        let back = Back {
            to,
            state,
            secret: begun.secret.expose(),
            code: "c",
            issuer: Some("https://id.example/realm"),
        };
        let refused = people.finish(&back).await;
        assert!(matches!(refused, Err(PeopleError::NotBegun)), "{state}");
    }
    // Nor by whoever has seen no more than the address that the browser came back to.
    for secret in ["", "guessed", theirs.secret.expose()] {
        let back = Back {
            to: HERE,
            state: &begun.state,
            secret,
            code: "c",
            issuer: Some("https://id.example/realm"),
        };
        let refused = people.finish(&back).await;
        assert!(matches!(refused, Err(PeopleError::NotBegun)), "{secret}");
    }
    // And what another issuer answers, or nobody who says who it is, is not taken.
    for issuer in [Some("https://evil.example"), None] {
        let back = Back {
            to: HERE,
            state: &begun.state,
            secret: begun.secret.expose(),
            code: "c",
            issuer,
        };
        let refused = people.finish(&back).await;
        assert!(
            matches!(refused, Err(PeopleError::OtherIssuer)),
            "{issuer:?}"
        );
    }
}

#[test]
fn a_secret_is_written_as_the_standard_says() {
    let secret = Secret::new("p%ss:w+rd");
    let shown = basic_of("my client", &secret);
    let text = shown.strip_prefix("Basic ").unwrap();
    let text = String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
    assert_eq!(text, "my+client:p%25ss%3Aw%2Brd");
}
