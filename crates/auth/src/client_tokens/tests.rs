use super::*;
use std::net::TcpListener;

/// A door whose issuer takes connections and says nothing, with keys of this age.
fn door(age: Duration) -> (TcpListener, Door) {
    let issuer = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: Url = format!("http://{}", issuer.local_addr().unwrap())
        .parse()
        .unwrap();
    let door = Door::new(DoorSettings {
        resource: url.clone(),
        issuer: url.clone(),
        audience: "us".into(),
        scopes: Vec::new(),
        allow_private_addresses: true,
        roles: None,
    });
    let door = door.unwrap();
    *door.keys.lock() = Some(Arc::new(Keys {
        set: JwkSet { keys: Vec::new() },
        issuer: url.to_string(),
        fetched: Instant::now().checked_sub(age).unwrap(),
    }));
    (issuer, door)
}

#[tokio::test]
async fn an_issuer_that_hangs_locks_nobody_out() {
    let (_issuer, door) = door(limits::KEYS_LIVE * 2);
    let begun = Instant::now();
    for _ in 0..3 {
        // One of them waits for the issuer, and not for long.
        let (one, other, third) = tokio::join!(door.keys(None), door.keys(None), door.keys(None));
        assert!(one.is_ok() && other.is_ok() && third.is_ok());
    }
    let keys = door.keys(None).await.unwrap();
    assert!(door.keys(Some(&keys)).await.is_ok());
    // Each used to wait for a time-out of 30 s.
    assert!(begun.elapsed() < Duration::from_secs(25));
}

/// What is no token at all is refused before anybody is asked: an issuer that hangs would
/// have its sender wait.
#[tokio::test]
async fn nobody_waits_for_the_issuer_with_what_is_no_token() {
    let (issuer, door) = door(limits::KEYS_TRUSTED + limits::KEYS_LIVE);
    issuer.set_nonblocking(true).unwrap();
    for garbage in ["garbage", "a.b.c", "..", "eyJhbGciOiJub25lIn0.e30."] {
        let shown = format!("Bearer {garbage}");
        let refused = door.admit(Some(&shown)).await;
        assert!(matches!(refused, Err(Rejected::Invalid(_))), "{garbage}");
    }
    assert!(issuer.accept().is_err(), "the issuer was asked");
}

#[tokio::test]
async fn keys_are_not_trusted_for_ever() {
    let (issuer, door) = door(limits::KEYS_TRUSTED + limits::KEYS_LIVE);
    // Now it refuses at once.
    drop(issuer);
    assert!(matches!(
        door.keys(None).await,
        Err(Rejected::Unavailable(_))
    ));
}

#[test]
fn a_claim_gives_roles_by_itself_or_by_what_its_values_mean() {
    let claims = |text: &str| serde_json::from_str::<Claims>(text).unwrap();
    let plain = |claim: &str| RoleClaim {
        claim: claim.into(),
        means: Vec::new(),
    };
    let none: [&str; 0] = [];
    assert_eq!(
        plain("roles").of(&claims(r#"{"roles":["viewer","x"]}"#)),
        ["viewer", "x"]
    );
    assert_eq!(
        plain("role").of(&claims(r#"{"role":"admin viewer"}"#)),
        ["admin", "viewer"]
    );
    let nested = claims(r#"{"realm_access":{"roles":["operator"]}}"#);
    assert_eq!(plain("realm_access.roles").of(&nested), ["operator"]);
    // A name with points in it, as an address is, is found whole.
    let whole = claims(r#"{"https://a.example/roles":["admin"]}"#);
    assert_eq!(plain("https://a.example/roles").of(&whole), ["admin"]);
    assert_eq!(plain("roles.deep").of(&claims(r#"{"roles":["a"]}"#)), none);
    assert_eq!(plain("roles").of(&claims("{}")), none);
    let means = RoleClaim {
        claim: "groups".into(),
        means: vec![("ops".into(), "operator".into())],
    };
    let groups = claims(r#"{"groups":["ops","admin"]}"#);
    assert_eq!(
        means.of(&groups),
        ["operator"],
        "a value that means nothing"
    );
}
