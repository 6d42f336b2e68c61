use super::*;

fn secret(text: &str) -> Secret {
    Secret::new(text)
}

/// What is kept under this.
fn kept(people: &People, shown: &str) -> Option<Secret> {
    let found = people.find(shown, Instant::now())?;
    let held = found.refresh.try_lock().unwrap();
    held.clone()
}

#[test]
fn what_stands_for_a_sign_in_is_good_for_a_day() {
    let people = People::new(None);
    let now = Instant::now();
    let shown = people.keep("oidc:ada", secret("r"), now).unwrap();
    assert!(people.find("", now).is_none());
    assert!(people.find(&shown[1..], now).is_none());
    assert_eq!(kept(&people, &shown), Some(secret("r")));
    let later = now + limits::API_SESSION_IDLE;
    assert!(people.find(&shown, later).is_none());
}

#[test]
fn whoever_signs_in_often_gives_up_none_but_their_own() {
    let people = People::new(None);
    let now = Instant::now();
    let keep = |who: &str| people.keep(who, secret("r"), now).unwrap();
    let ada = keep("oidc:ada");
    let first = keep("oidc:mallory");
    for _ in 0..2 * limits::API_SIGN_INS {
        keep("oidc:mallory");
    }
    assert!(people.find(&ada, now).is_some());
    assert!(
        people.find(&first, now).is_none(),
        "their oldest goes first"
    );
    assert_eq!(people.kept.lock().len(), 1 + limits::API_SIGN_INS_EACH);
    // Nor do many of them together: who has most gives up one.
    for number in 0..2 * limits::API_SIGN_INS {
        keep(&format!("oidc:m{}", number / limits::API_SIGN_INS_EACH));
    }
    assert!(people.find(&ada, now).is_some());
    assert_eq!(people.kept.lock().len(), limits::API_SIGN_INS);
}

#[tokio::test]
async fn a_newer_token_has_another_place_and_who_left_finds_it_in_the_old_one() {
    let people = People::new(None);
    let shown = people
        .keep("oidc:ada", secret("old"), Instant::now())
        .unwrap();
    // The page waits for it.
    let one = people.find(&shown, Instant::now()).unwrap();
    let held = one.refresh.clone().lock_owned().await;
    let mut next = None;
    people.settle(&one, held, Some(secret("new")), |renewal| {
        next = renewal;
        true
    });
    let next = next.unwrap();
    assert!(people.find(&shown, Instant::now()).is_none());
    assert_eq!(kept(&people, &next), Some(secret("new")));
    // The page has gone, and comes back with what it has.
    let one = people.find(&next, Instant::now()).unwrap();
    let held = one.refresh.clone().lock_owned().await;
    people.settle(&one, held, Some(secret("newest")), |_| false);
    assert_eq!(kept(&people, &next), Some(secret("newest")));
    assert_eq!(people.kept.lock().len(), 1);
    // Somebody signs out while it is asked for.
    let one = people.find(&next, Instant::now()).unwrap();
    let held = one.refresh.clone().lock_owned().await;
    people.forget(&one);
    people.settle(&one, held, Some(secret("late")), |renewal| {
        renewal.is_some()
    });
    assert!(people.kept.lock().is_empty());
}
