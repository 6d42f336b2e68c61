//! Texts that people read, kept beside the tests. `SWITCHBOARD_WRITE_SNAPSHOTS=1`
//! writes them anew; what changed is then read in the difference.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The texts of one test program, each of which must be used.
pub struct Snapshots {
    folder: PathBuf,
    used: BTreeSet<String>,
}

impl Snapshots {
    pub fn of(name: &str) -> Self {
        Self {
            folder: Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/snapshots")
                .join(name),
            used: BTreeSet::new(),
        }
    }

    /// Compares a text with the one that is kept.
    #[track_caller]
    pub fn check(&mut self, name: &str, text: &str) {
        let file = self.folder.join(format!("{name}.txt"));
        assert!(self.used.insert(format!("{name}.txt")), "{name} twice");
        if std::env::var_os("SWITCHBOARD_WRITE_SNAPSHOTS").is_some() {
            fs::create_dir_all(&self.folder).unwrap();
            fs::write(&file, text).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(
            text,
            kept,
            "{} is different; if it reads well: SWITCHBOARD_WRITE_SNAPSHOTS=1",
            file.display()
        );
    }

    /// No text is left over from a test that is gone.
    pub fn finish(self) {
        let there = fs::read_dir(&self.folder).unwrap();
        let there: BTreeSet<String> = there
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(there, self.used, "in {}", self.folder.display());
    }
}
