//! Texts that people read, kept beside the tests. `SWITCHBOARD_WRITE_SNAPSHOTS=1`
//! writes them anew; what changed is then read in the difference.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The texts of one test, each of which must be used.
pub struct Snapshots {
    folder: PathBuf,
    used: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Snapshots {
    pub fn of(name: &str) -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
        Self {
            folder: tests.join(name),
            used: BTreeSet::new(),
            wrong: Vec::new(),
        }
    }

    /// Compares a text with the one that is kept.
    pub fn check(&mut self, name: &str, text: &str) {
        let file = self.folder.join(name);
        assert!(self.used.insert(name.to_owned()), "{name} twice");
        if std::env::var_os("SWITCHBOARD_WRITE_SNAPSHOTS").is_some() {
            fs::create_dir_all(&self.folder).unwrap();
            fs::write(&file, text).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        if text != kept {
            self.wrong
                .push(format!("{name}:\n{text}\ninstead of\n{kept}"));
        }
    }

    /// All are as they were, and none is left over from a test that is gone.
    #[track_caller]
    pub fn finish(self) {
        let wrong = self.wrong.join("\n");
        assert!(
            wrong.is_empty(),
            "{wrong}\nin {}; if it reads well: SWITCHBOARD_WRITE_SNAPSHOTS=1",
            self.folder.display()
        );
        let there = fs::read_dir(&self.folder).unwrap();
        let there: BTreeSet<String> = there
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(there, self.used, "in {}", self.folder.display());
    }
}
