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
