//! What only a ledger in a file does: it is there afterwards, and several share it.

use super::{KEEP, LIFE, key, value};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};
use switchboard_ledger::{Clock, Ledger, LedgerError, Sqlite, Watch};

fn open(file: &Path) -> Sqlite {
    Sqlite::open(file, Clock::wall()).unwrap()
}

#[tokio::test]
async fn what_was_written_is_there_for_the_next_and_for_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/ledger.sqlite3");
    let first = open(&file);
    let made = first.create(&key("a"), value("1"), Some(LIFE)).await;
    first.append("s", vec![value("x")], KEEP).await.unwrap();
    for found in fs::read_dir(folder.path().join("state")).unwrap() {
        let found = found.unwrap();
        let mode = found.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", found.path());
    }
    drop(first);
    let second = open(&file);
    let found = second.read(&key("a")).await.unwrap().unwrap();
    assert_eq!(Some(found.revision), made.unwrap());
    assert_eq!(second.read_from("s", 0, 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_who_change_an_entry_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite3");
    let all: Vec<Arc<Sqlite>> = (0..4).map(|_| Arc::new(open(&file))).collect();
    let start = all[0].create(&key("a"), value("0"), None).await.unwrap();
    let tries: Vec<_> = all
        .iter()
        .map(|ledger| ledger.compare_and_set(&key("a"), start.unwrap(), value("n"), None))
        .map(tokio::spawn)
        .collect();
    let mut won = 0;
    for one in tries {
        won += usize::from(one.await.unwrap().unwrap().is_some());
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn changes_of_another_process_are_heard_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite3");
    let (one, other) = (open(&file), open(&file));
    let mut watch = Watch::new(Arc::new(one), "space");
    other.create(&key("a"), value("1"), None).await.unwrap();
    assert_eq!(watch.next().await.unwrap().name, "a");
}

/// A file that is as large as it may be takes nothing more, and what is in it goes on; what
/// was removed makes room.
#[tokio::test]
async fn a_file_that_is_full_takes_nothing_more_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite3");
    let most = 256 * 1024;
    let ledger = Sqlite::open_within(&file, Clock::wall(), most).unwrap();
    let large = bytes::Bytes::from("x".repeat(2000));
    let mut revisions = Vec::new();
    let full = loop {
        let name = key(&revisions.len().to_string());
        match ledger.create(&name, large.clone(), Some(LIFE)).await {
            Ok(made) => revisions.push(made.unwrap()),
            Err(fault) => break fault,
        }
        assert!(revisions.len() < 1000, "it is never full");
    };
    assert_eq!(full, LedgerError::Full);
    let refused = ledger.append("s", vec![value("x")], KEEP).await;
    assert_eq!(refused, Err(LedgerError::Full));
    // Together with one that is refused, as well as alone.
    let (refused, read, set) = tokio::join!(
        ledger.create(&key("new"), large.clone(), None),
        ledger.read(&key("0")),
        ledger.compare_and_set(&key("1"), revisions[1], value("small"), None),
    );
    assert_eq!(refused, Err(LedgerError::Full));
    assert_eq!(read.unwrap().unwrap().value, large);
    assert!(set.unwrap().is_some());
    let size = fs::metadata(&file).unwrap().len();
    assert!(size <= most + 64 * 1024, "{size} bytes");
    for number in 2..40 {
        let name = key(&number.to_string());
        assert!(ledger.remove(&name, None).await.unwrap());
    }
    let made = ledger.create(&key("new"), large.clone(), None).await;
    assert!(made.unwrap().is_some());
}

#[tokio::test]
async fn a_file_that_is_none_of_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite3");
    fs::write(&file, "this is no database, and somebody may want it").unwrap();
    let refused = Sqlite::open(&file, Clock::wall()).unwrap_err();
    assert!(matches!(refused, LedgerError::Storage(_)), "{refused}");
    assert!(fs::read_to_string(&file).unwrap().starts_with("this"));
}
