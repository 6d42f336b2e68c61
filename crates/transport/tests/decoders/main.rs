//! The fuzz targets as a plain test: every file of their corpus, and damaged
//! copies of it, go through the same checks.

mod checks;

use proptest::{prelude::*, sample::Index};
use std::{fs, path::PathBuf};

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 2] = [("sse", checks::sse), ("ws", checks::ws)];

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_too(
        which in any::<Index>(),
        at in any::<Index>(),
        byte in any::<u8>(),
        cut in any::<Index>(),
        twice in any::<bool>(),
    ) {
        for (target, run) in TARGETS {
            let files = corpus(target);
            let mut data = which.get(&files).1.clone();
            if !data.is_empty() {
                let place = at.index(data.len());
                data[place] = byte;
                data.truncate(cut.index(data.len()) + 1);
            }
            if twice {
                data.extend(data.clone());
            }
            run(&data);
        }
    }
}
