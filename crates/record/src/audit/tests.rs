use super::*;
use serde_json::json;
use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// A folder with this many records in files of a few each.
fn with_records(home: &Path, count: usize) -> Keep {
    let keep = Keep {
        bytes: 1000,
        ..Keep::within(home.join("audit"))
    };
    let mut appender = Appender::new(keep.clone()).unwrap();
    for number in 0..count {
        let record = Record::new("call").with("tool", format!("t{number}"));
        appender.append(&[record], true).unwrap();
    }
    keep
}

fn problems(keep: &Keep) -> Vec<Problem> {
    verify(keep, None).unwrap().problems
}

/// All lines of all files, with the file of each.
fn lines(keep: &Keep) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for file in keep.files().unwrap() {
        let text = fs::read_to_string(&file).unwrap();
        all.extend(text.lines().map(|line| (file.clone(), line.to_owned())));
    }
    all
}

fn write(lines: &[(PathBuf, String)]) {
    for (file, _) in lines {
        let of_file = lines.iter().filter(|(of, _)| of == file);
        let text: String = of_file.map(|(_, line)| format!("{line}\n")).collect();
        fs::write(file, text).unwrap();
    }
}

#[test]
fn what_was_not_touched_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let keep = with_records(home.path(), 30);
    assert!(keep.files().unwrap().len() > 2, "it is in several files");
    let verified = verify(&keep, None).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!(
        (verified.records, verified.last, verified.after_head),
        (30, 30, 0)
    );
    for file in keep.files().unwrap().iter().chain([&keep.head()]) {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn each_line_that_is_altered_removed_or_moved_is_found() {
    for at in 0..12 {
        let home = tempfile::tempdir().unwrap();
        let keep = with_records(home.path(), 12);
        let whole = lines(&keep);
        let record = at as u64 + 1;

        let mut altered = whole.clone();
        altered[at].1 = altered[at].1.replace("\"t", "\"x");
        write(&altered);
        let found = problems(&keep);
        assert!(
            matches!(found.as_slice(), [Problem::Altered { record: it, .. }] if *it == record),
            "{record}: {found:?}"
        );

        let mut removed = whole.clone();
        removed.remove(at);
        write(&removed);
        let found = problems(&keep);
        match found.as_slice() {
            [Problem::Missing { from, to, .. }] => assert_eq!((*from, *to), (record, record)),
            [Problem::Cut { last, count }] => assert_eq!((record, *last, *count), (12, 11, 12)),
            other => panic!("{record}: {other:?}"),
        }

        let mut moved = whole.clone();
        let other = (at + 1) % 12;
        let (one, two) = (moved[at].1.clone(), moved[other].1.clone());
        moved[at].1 = two;
        moved[other].1 = one;
        write(&moved);
        assert!(!problems(&keep).is_empty(), "{record} moved");
    }
}

#[test]
fn a_cut_end_is_found_and_stays_so_when_others_append() {
    let home = tempfile::tempdir().unwrap();
    let keep = with_records(home.path(), 12);
    let mut cut = lines(&keep);
    let last = cut.pop().unwrap();
    cut.retain(|(file, _)| *file == last.0);
    match cut.is_empty() {
        true => fs::write(&last.0, "").unwrap(),
        false => write(&cut),
    }
    assert_eq!(
        problems(&keep),
        [Problem::Cut {
            last: 11,
            count: 12
        }]
    );
    let mut appender = Appender::new(keep.clone()).unwrap();
    appender.append(&[Record::new("start")], true).unwrap();
    let found = problems(&keep);
    assert!(
        matches!(
            found.as_slice(),
            [Problem::Missing {
                from: 12,
                to: 12,
                ..
            }]
        ),
        "{found:?}"
    );
}

#[test]
fn more_records_than_the_head_says_are_a_crash() {
    let home = tempfile::tempdir().unwrap();
    let keep = with_records(home.path(), 3);
    let mut appender = Appender::new(keep.clone()).unwrap();
    appender
        .append(&[Record::new("call"), Record::new("call")], false)
        .unwrap();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(keep.current())
        .unwrap();
    file.write_all(b"{\"n\":6,\"half").unwrap();
    let verified = verify(&keep, None).unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!((verified.after_head, verified.is_torn), (2, true));
    // Whoever comes next goes on behind what is whole.
    let mut next = Appender::new(keep.clone()).unwrap();
    next.append(&[Record::new("start")], true).unwrap();
    let verified = verify(&keep, None).unwrap();
    assert_eq!((verified.problems, verified.last), (vec![], 6));
}

#[test]
fn a_head_that_is_gone_or_forged_is_found_even_after_others_append() {
    let home = tempfile::tempdir().unwrap();
    let keep = with_records(home.path(), 3);
    let head = fs::read_to_string(keep.head()).unwrap();
    let forged = head.replace("00003 ", "00009 ");
    fs::write(keep.head(), &forged).unwrap();
    assert_eq!(problems(&keep), [Problem::SpoiledHead]);
    fs::write(keep.head(), forged.replace("00002 ", "00009 ")).unwrap();
    assert_eq!(problems(&keep), [Problem::ForgedHead]);
    fs::remove_file(keep.head()).unwrap();
    assert_eq!(problems(&keep), [Problem::NoHead]);
    let mut appender = Appender::new(keep.clone()).unwrap();
    appender.append(&[Record::new("start")], true).unwrap();
    assert_eq!(problems(&keep), [Problem::HeadWasGone { record: 4 }]);
}

#[test]
fn a_record_that_was_taken_away_whole_is_missed() {
    let home = tempfile::tempdir().unwrap();
    let keep = with_records(home.path(), 3);
    for file in keep.files().unwrap().iter().chain([&keep.head()]) {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(problems(&keep), [Problem::NoHead]);
    let mut appender = Appender::new(keep.clone()).unwrap();
    appender.append(&[Record::new("start")], true).unwrap();
    assert_eq!(problems(&keep), [Problem::HeadWasGone { record: 1 }]);
    fs::remove_file(keep.folder.join("key")).unwrap();
    assert_eq!(problems(&keep), [Problem::NoKey]);
    // Where nothing was ever recorded nothing is missed, and nothing is made.
    let keep = Keep::within(home.path().join("other"));
    fs::create_dir(&keep.folder).unwrap();
    assert_eq!(problems(&keep), []);
    assert!(!keep.folder.join("key").exists());
}

#[test]
fn what_is_too_old_goes_and_the_rest_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let keep = Keep {
        files: 2,
        ..with_records(home.path(), 5)
    };
    let mut appender = Appender::new(keep.clone()).unwrap();
    for _ in 0..40 {
        appender.append(&[Record::new("call")], true).unwrap();
    }
    let files = keep.files().unwrap();
    assert_eq!(files.len(), 3);
    let verified = verify(&keep, None).unwrap();
    assert_eq!((verified.problems, verified.last), (vec![], 45));
    assert!(verified.records < 45);
    // One of those that are kept is missed all the same.
    fs::remove_file(&files[0]).unwrap();
    assert!(matches!(
        problems(&keep).as_slice(),
        [Problem::Missing { .. }]
    ));
}

#[test]
fn several_programs_make_one_chain() {
    let home = tempfile::tempdir().unwrap();
    let keep = with_records(home.path(), 1);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let keep = keep.clone();
            std::thread::spawn(move || {
                let mut appender = Appender::new(keep).unwrap();
                for number in 0..25 {
                    let sync = number % 3 == 0;
                    appender.append(&[Record::new("call")], sync).unwrap();
                }
                appender.sync().unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let verified = verify(&keep, None).unwrap();
    assert_eq!(
        (verified.problems, verified.last, verified.after_head),
        (vec![], 101, 0)
    );
}

#[test]
fn heads_that_were_sent_elsewhere_show_what_was_written_anew() {
    let home = tempfile::tempdir().unwrap();
    let heads = home.path().join("heads");
    let keep = Keep {
        heads: Some(heads.clone()),
        ..Keep::within(home.path().join("audit"))
    };
    let mut appender = Appender::new(keep.clone()).unwrap();
    for tool in ["a", "b", "c"] {
        let record = Record::new("call").with("tool", tool);
        appender.append(&[record], true).unwrap();
    }
    assert_eq!(verify(&keep, Some(&heads)).unwrap().problems, []);
    // Whoever can write to the folder makes another chain that is whole.
    for file in [keep.current(), keep.head(), keep.folder.join("key")] {
        fs::remove_file(file).unwrap();
    }
    let forged = Keep {
        heads: None,
        ..keep.clone()
    };
    let mut appender = Appender::new(forged).unwrap();
    for tool in ["a", "x"] {
        let record = Record::new("call").with("tool", tool);
        appender.append(&[record], true).unwrap();
    }
    assert_eq!(problems(&keep), []);
    let found = verify(&keep, Some(&heads)).unwrap().problems;
    assert!(
        found.contains(&Problem::Cut { last: 2, count: 3 }),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|one| matches!(one, Problem::Altered { .. })),
        "{found:?}"
    );
}

#[test]
fn nothing_that_looks_like_a_secret_is_recorded() {
    let home = tempfile::tempdir().unwrap();
    let keep = Keep::within(home.path().join("audit"));
    let mut appender = Appender::new(keep.clone()).unwrap();
    let deep = json!({"a": [{"password": "canary-1", "pin": 7}], "token": ["canary-2"],
        "text": "Authorization: Bearer canary3canary3canary3canary3", "plain": "seen"});
    let record = Record::new("call").with("arguments", deep);
    appender.append(&[record], true).unwrap();
    let text = fs::read_to_string(keep.current()).unwrap();
    assert!(!text.contains("canary"), "{text}");
    assert!(text.contains(r#""plain":"seen""#), "{text}");
}

#[tokio::test]
async fn the_end_of_a_call_waits_for_the_disk_where_that_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let keep = Keep::within(home.path().join("audit"));
    let queue = Queue::begin(keep.clone(), Sync::Each, OnFailure::Refuse).unwrap();
    let kept = queue
        .add(&Record::new("call"))
        .expect("something to wait for");
    kept.await.unwrap();
    let verified = verify(&keep, None).unwrap();
    assert_eq!((verified.last, verified.after_head), (1, 0));
    let later = Queue::begin(keep.clone(), Sync::Second, OnFailure::Warn).unwrap();
    assert!(later.add(&Record::new("call")).is_none());
    later.flush().await;
    let verified = verify(&keep, None).unwrap();
    assert_eq!((verified.last, verified.after_head), (2, 0));
}

#[tokio::test]
async fn where_records_cannot_be_written_the_setting_decides() {
    for (on_failure, refuses) in [(OnFailure::Warn, false), (OnFailure::Refuse, true)] {
        let home = tempfile::tempdir().unwrap();
        let keep = Keep::within(home.path().join("audit"));
        let queue = Queue::begin(keep.clone(), Sync::Each, on_failure).unwrap();
        // A device that is always full stands where the records should be.
        std::os::unix::fs::symlink("/dev/full", keep.current()).unwrap();
        let kept = queue
            .add(&Record::new("call"))
            .expect("something to wait for");
        assert_eq!(kept.await.is_err(), refuses);
        assert_eq!(queue.refuses().is_some(), refuses);
        // Once there is room again, that something is missing is recorded, and calls go on.
        fs::remove_file(keep.current()).unwrap();
        let whole = async {
            while queue.refuses().is_some() || verify(&keep, None).unwrap().last == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), whole)
            .await
            .expect("it goes on");
        let text = fs::read_to_string(keep.current()).unwrap();
        assert!(
            text.contains(r#""event":"audit.lost","records":1"#),
            "{text}"
        );
    }
}
