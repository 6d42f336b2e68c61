use super::*;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tokio::sync::oneshot;

#[tokio::test]
async fn a_panic_is_an_outcome_for_whoever_waits() {
    watch_panics();
    let before = panics();
    let handle = spawn(Kind::Background, async { panic!("first fault") });
    assert!(handle.await.unwrap_err().is_panic());
    let done: Result<(), Panicked> =
        caught(Kind::Background, async { panic!("second fault") }).await;
    assert!(done.unwrap_err().to_string().contains("a bug"));
    assert!(caught_now(Kind::Background, || panic!("third fault")).is_err());
    let handle = blocking(|| panic!("fourth fault"));
    assert!(handle.await.unwrap_err().is_panic());
    assert!(
        panics() >= before + 4,
        "each counts once, others may count too"
    );
    assert!(last_panic().unwrap().contains("tests.rs:"));
}

#[tokio::test]
async fn the_last_word_is_said_only_after_a_panic() {
    let (told, heard) = oneshot::channel();
    spawn_or(Kind::Background, async { panic!("a fault") }, move || {
        let _ = told.send(());
    });
    heard.await.unwrap();
    let (told, heard) = oneshot::channel::<()>();
    let well = spawn_or(Kind::Background, async {}, move || {
        let _ = told.send(());
    });
    well.await.unwrap();
    assert!(heard.await.is_err());
}

#[tokio::test]
async fn what_is_kept_starts_again() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    keep(Kind::Upkeep, move || {
        let run = counted.fetch_add(1, Ordering::SeqCst);
        async move { assert!(run >= 2, "not yet") }
    })
    .await
    .unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[test]
fn kinds_have_names_of_their_own() {
    for (i, kind) in Kind::ALL.iter().enumerate() {
        assert!(
            Kind::ALL[..i]
                .iter()
                .all(|other| other.name() != kind.name())
        );
    }
}
