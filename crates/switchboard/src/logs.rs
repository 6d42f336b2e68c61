//! Where what gateways log, and what servers write to stderr, is kept.

use crate::{Dirs, limits};
use std::path::{Path, PathBuf};

/// The file of what gateways log, where they are not told of another.
pub fn gateways(dirs: &Dirs) -> PathBuf {
    dirs.state.join("gateway.log")
}

/// The folder of what servers write.
pub fn folder(dirs: &Dirs) -> PathBuf {
    dirs.state.join("servers")
}

/// The file of a server of this name.
pub fn file(folder: &Path, server: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut name: String = server
        .chars()
        .filter(|c| plain(*c))
        .take(limits::LOG_NAME_CHARS)
        .collect();
    // Names that are not told apart by what is left of them are by this.
    if name != server {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in server.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        name = format!("{name}.{hash:016x}");
    }
    folder.join(format!("{name}.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else_and_are_told_apart() {
        let file = |name: &str| file(Path::new("/logs"), name);
        assert_eq!(file("git-hub_1"), Path::new("/logs/git-hub_1.log"));
        let odd = ["../../x", "a b", "a.b", "ab", "", ".", "ä", "a/b", "a\nb"];
        let mut all: Vec<PathBuf> = odd.iter().map(|name| file(name)).collect();
        assert!(
            all.iter()
                .all(|path| path.parent() == Some(Path::new("/logs")))
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), odd.len());
    }
}
