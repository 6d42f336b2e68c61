//! The fuzz targets as a plain test: every file of their corpus, and damaged
//! copies of it, go through the same checks.

mod support;

use proptest::{prelude::*, sample::Index};
use std::{fs, path::PathBuf};

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("message", support::message),
    ("header", support::header),
    ("names", support::names),
    ("scan", support::scan_as_before),
];

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("a file").path())
        .map(|path| (path.clone(), fs::read(path).expect("readable")))
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_of_the_corpus_keeps_the_promises_of_its_target() {
    for (target, run) in TARGETS {
        let files = corpus(target);
        assert!(files.len() >= 10, "{target} has {} files", files.len());
        for (path, data) in files {
            assert!(
                std::panic::catch_unwind(|| run(&data)).is_ok(),
                "{}",
                path.display()
            );
        }
    }
}

/// What one target was found to trip over is often worth showing to the others.
#[test]
fn every_file_of_the_corpus_is_survived_by_every_target() {
    for (_, run) in TARGETS {
        for (other, _) in TARGETS {
            for (path, data) in corpus(other) {
                assert!(
                    std::panic::catch_unwind(|| run(&data)).is_ok(),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

/// The corpus holds both messages that are good and messages that are not.
#[test]
fn the_corpus_of_messages_has_both_kinds() {
    let (good, bad): (Vec<_>, Vec<_>) = corpus("message")
        .into_iter()
        .partition(|(_, data)| switchboard_wire::Received::parse(data.clone().into()).is_ok());
    assert!(
        good.len() >= 15 && bad.len() >= 15,
        "{} good, {} bad",
        good.len(),
        bad.len()
    );
    for (path, _) in good {
        assert!(
            !path.to_string_lossy().contains("bad-"),
            "{} was accepted",
            path.display()
        );
    }
    for (path, _) in bad {
        assert!(
            path.to_string_lossy().contains("bad-"),
            "{} was refused",
            path.display()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn damaged_files_are_survived_too(
        file in any::<Index>(), at in any::<Index>(), what in 0..4u8, byte in any::<u8>(), other in any::<Index>(),
    ) {
        for (target, run) in TARGETS {
            let files = corpus(target);
            let mut data = files[file.index(files.len())].1.clone();
            if data.len() > 20_000 {
                continue;
            }
            let at = at.index(data.len() + 1);
            match what {
                0 => data.truncate(at),
                1 => data.insert(at, byte),
                2 if at < data.len() => data[at] = byte,
                _ => data.splice(at..at, files[other.index(files.len())].1.iter().copied().take(200)).for_each(drop),
            }
            run(&data);
        }
    }
}
