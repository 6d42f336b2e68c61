//! The page's files: those inside the program, or those of a folder while somebody works
//! on them.

use crate::{kinds, limits::LARGEST_FILE, policy};
use flate2::read::GzDecoder;
use std::{
    borrow::Cow,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

/// A file inside the program.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its path.
    pub path: &'static str,
    /// What it is served as.
    pub kind: &'static str,
    /// Its tag: changes with its bytes.
    pub tag: &'static str,
    /// Its bytes, gzipped.
    pub gzipped: &'static [u8],
}

/// All files inside the program.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The policy of the page inside the program.
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/policy.txt"));

/// A file, to be sent.
#[derive(Clone, Debug)]
pub struct Asset {
    /// What it is.
    pub kind: &'static str,
    /// Its tag.
    pub tag: Cow<'static, str>,
    /// Its bytes.
    pub bytes: Cow<'static, [u8]>,
    /// Whether they are gzipped.
    pub gzipped: bool,
    /// What the page may do.
    pub policy: Cow<'static, str>,
}

/// Where the page's files are.
#[derive(Clone, Debug, Default)]
pub struct Assets {
    folder: Option<PathBuf>,
}

impl Assets {
    /// Those inside the program.
    pub fn inside() -> Self {
        Self::default()
    }

    /// Those of a folder, read anew each time.
    pub fn of_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = Some(folder.into());
        Self { folder }
    }

    /// The file at a path; gzipped only for whoever takes that.
    pub fn find(&self, path: &str, takes_gzip: bool) -> Option<Asset> {
        match &self.folder {
            Some(folder) => on_disk(folder, path),
            None => inside(path, takes_gzip),
        }
    }
}

fn inside(path: &str, takes_gzip: bool) -> Option<Asset> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let bytes = match takes_gzip {
        true => Cow::Borrowed(file.gzipped),
        false => {
            let mut plain = Vec::new();
            GzDecoder::new(file.gzipped).read_to_end(&mut plain).ok()?;
            plain.into()
        }
    };
    Some(Asset {
        kind: file.kind,
        tag: file.tag.into(),
        bytes,
        gzipped: takes_gzip,
        policy: POLICY.into(),
    })
}

fn on_disk(folder: &Path, path: &str) -> Option<Asset> {
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let below = Path::new(name);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !below.components().all(is_plain) {
        return None;
    }
    let kind = kinds::of(below)?;
    let bytes = read(&folder.join(below))?;
    let page = String::from_utf8(read(&folder.join("index.html"))?).ok()?;
    Some(Asset {
        kind,
        tag: policy::tag(&bytes).into(),
        bytes: bytes.into(),
        gzipped: false,
        policy: policy::policy(&page).into(),
    })
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let length = std::fs::metadata(file).ok()?.len();
    (length <= LARGEST_FILE).then(|| std::fs::read(file).ok())?
}

#[cfg(test)]
mod tests;
