use super::*;
use std::fs::FileTimes;
use std::path::Path;

fn aged(path: &Path, age: Duration) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(SystemTime::now() - age))
        .unwrap();
}

#[test]
fn what_is_old_goes_when_the_store_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (old, new) = (
        store.put(b"old", "txt").unwrap(),
        store.put(b"new", "txt").unwrap(),
    );
    aged(&old.path, limits::STORE_AGE + Duration::from_secs(60));
    aged(&new.path, limits::STORE_AGE - Duration::from_secs(60));
    let again = Store::open(dir.path()).unwrap();
    assert!(again.find(&old.id).is_none());
    assert_eq!(again.find(&new.id), Some(new.path));
}

#[test]
fn the_oldest_go_when_it_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let caps = Caps {
        bytes: 1000,
        files: 5,
        ..Caps::default()
    };
    let store = Store::with_caps(dir.path(), caps).unwrap();
    let mut stored = Vec::new();
    for n in 0..10_u64 {
        let one = store.put(&[b'x'; 300], "txt").unwrap();
        if one.path.exists() {
            aged(&one.path, Duration::from_secs(1000 - n));
        }
        stored.push(one);
    }
    let left: Vec<usize> = (0..10).filter(|n| stored[*n].path.exists()).collect();
    assert_eq!(left, [7, 8, 9]);
    // By number as well.
    let store = Store::with_caps(
        dir.path(),
        Caps {
            bytes: u64::MAX,
            files: 2,
            ..caps
        },
    )
    .unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    // One that is larger than everything together is still there to be read.
    let store = Store::with_caps(store.dir.clone(), Caps { bytes: 10, ..caps }).unwrap();
    let large = store.put(&[b'y'; 500], "txt").unwrap();
    assert!(large.path.exists());
}

#[test]
fn names_cannot_lead_elsewhere_or_be_guessed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret.txt"), "secret").unwrap();
    let store = Store::open(dir.path().join("results")).unwrap();
    let stored = store.put(b"text", "txt").unwrap();
    assert_eq!(stored.id.len(), 32);
    assert_ne!(store.put(b"text", "txt").unwrap().id, stored.id);
    let upper = stored.id.to_uppercase();
    let short = &stored.id[..31];
    for id in [
        "../secret",
        "",
        ".",
        "..",
        "*",
        upper.as_str(),
        short,
        "../results/x",
    ] {
        assert!(store.find(id).is_none() || upper == stored.id, "{id}");
    }
    let id = "0".repeat(32);
    std::os::unix::fs::symlink(
        dir.path().join("secret.txt"),
        dir.path().join(format!("results/{id}.txt")),
    )
    .unwrap();
    assert!(
        store.find(&id).is_none(),
        "a link out of the store is not followed"
    );
}

#[test]
fn a_directory_that_others_can_read_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().join("results");
    fs::create_dir(&results).unwrap();
    fs::set_permissions(&results, fs::Permissions::from_mode(0o755)).unwrap();
    let store = Store::open(&results).unwrap();
    assert_eq!(
        fs::metadata(&results).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let stored = store.put(b"x", "txt").unwrap();
    assert_eq!(
        fs::metadata(&stored.path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
