//! The other names of a path, where a directory or a file is mounted in more
//! than one place.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// What is mounted where.
#[derive(Debug, Default)]
pub(super) struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    /// The file system.
    device: String,
    /// What of it is mounted.
    inner: PathBuf,
    /// Where.
    point: PathBuf,
}

impl Mounts {
    /// As the system says. Where it does not, a path has its one name.
    pub(super) fn now() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let each = text.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(2);
            Some(Mount {
                device: words.next()?.to_owned(),
                inner: unescape(words.next()?),
                point: unescape(words.next()?),
            })
        });
        let all: Vec<Mount> = each.collect();
        let is_twice = |mount: &Mount| {
            let same = all.iter().filter(|other| other.device == mount.device);
            same.count() > 1
        };
        // Nothing has another name where every file system is mounted once.
        match all.iter().any(is_twice) {
            true => Self(all),
            false => Self(Vec::new()),
        }
    }

    /// All paths under which this one can be reached, itself the first.
    pub(super) fn names(&self, path: &Path) -> Vec<PathBuf> {
        let mut names = vec![path.to_owned()];
        // The innermost, and of several in one place the last.
        let holds = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, mount)| path.starts_with(&mount.point));
        let Some((_, own)) =
            holds.max_by_key(|(order, mount)| (mount.point.as_os_str().len(), *order))
        else {
            return names;
        };
        let Ok(below) = path.strip_prefix(&own.point) else {
            return names;
        };
        let inner = joined(&own.inner, below);
        for other in self.0.iter().filter(|other| other.device == own.device) {
            if let Ok(below) = inner.strip_prefix(&other.inner) {
                let name = joined(&other.point, below);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The last names of all places where something is mounted.
    pub(super) fn last_names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.iter().filter_map(|mount| mount.point.file_name())
    }
}

fn joined(above: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        return above.to_owned();
    }
    above.join(below)
}

/// Spaces and their like stand as `\040`.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = (*first == b'\\').then(|| after.get(..3)).flatten();
        let octal = digits.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: &str = "\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw - proc proc rw
23 21 8:1 /home/u/.ssh /srv/root/keys rw - ext4 /dev/sda1 rw
24 21 8:1 /home /mnt/with\\040space rw - ext4 /dev/sda1 rw
";

    #[test]
    fn a_path_has_a_name_for_every_mount() {
        let mounts = Mounts::parse(TWICE);
        for (path, other) in [
            ("/srv/root/keys/id", "/home/u/.ssh/id"),
            ("/srv/root/keys", "/home/u/.ssh"),
            ("/mnt/with space/u/.ssh/id", "/home/u/.ssh/id"),
            ("/home/u/.ssh/id", "/srv/root/keys/id"),
        ] {
            let names = mounts.names(Path::new(path));
            assert_eq!(names[0], Path::new(path));
            assert!(names.contains(&PathBuf::from(other)), "{path}: {names:?}");
        }
        assert_eq!(mounts.names(Path::new("/proc/1")).len(), 1);
        let once = TWICE.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(Mounts::parse(&once).names(Path::new("/a")).len(), 1);
    }
}
