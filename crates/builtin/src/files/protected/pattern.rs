//! Names that are protected in any directory.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// How a path stands to a row of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It has nothing to do with it.
    Not,
    /// It is on the way there: what is meant may lie in it.
    Holds,
    /// It is what is meant, or lies below that.
    Is,
}

/// Compares the names of a path with names such as `*.git`, `**`, `config`. Case
/// makes no difference: there are file systems to which it makes none.
pub(super) fn fit(pattern: &[&str], names: &[&OsStr]) -> Fit {
    let mut best = Fit::Not;
    for start in 0..names.len() {
        match from(pattern, &names[start..], false) {
            Fit::Is => return Fit::Is,
            Fit::Holds => best = Fit::Holds,
            Fit::Not => {}
        }
    }
    best
}

/// The same from the first name on. `begun`: a name has been found already.
fn from(pattern: &[&str], names: &[&OsStr], begun: bool) -> Fit {
    let Some((first, rest)) = pattern.split_first() else {
        return Fit::Is;
    };
    if *first == "**" {
        let mut best = if begun { Fit::Holds } else { Fit::Not };
        for skipped in 0..names.len() {
            match from(rest, &names[skipped..], begun) {
                Fit::Is => return Fit::Is,
                Fit::Holds => best = Fit::Holds,
                Fit::Not => {}
            }
        }
        return best;
    }
    let Some((name, below)) = names.split_first() else {
        return if begun { Fit::Holds } else { Fit::Not };
    };
    let is_it = match first.strip_prefix('*') {
        Some(end) => ends_with(name.as_bytes(), end.as_bytes()),
        None => name.eq_ignore_ascii_case(first),
    };
    if is_it {
        from(rest, below, true)
    } else {
        Fit::Not
    }
}

fn ends_with(name: &[u8], end: &[u8]) -> bool {
    let start = name.len().checked_sub(end.len());
    start.is_some_and(|start| name[start..].eq_ignore_ascii_case(end))
}

/// What of a path lies below this one, whatever the case of their letters.
pub(super) fn below<'a>(path: &'a Path, above: &Path) -> Option<&'a Path> {
    let mut rest = path.components();
    for part in above.components() {
        let own = rest.next()?;
        if !own.as_os_str().eq_ignore_ascii_case(part.as_os_str()) {
            return None;
        }
    }
    Some(rest.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_directory() {
        for (pattern, path, expected) in [
            (".ssh", "/home/u/.ssh", Fit::Is),
            (".ssh", "/home/u/.SSH/id", Fit::Is),
            (".mcp.json", "/p/.Mcp.JSON", Fit::Is),
            ("*.git/**/config", "/p/Bare.GIT/CONFIG", Fit::Is),
            (".ssh", "/home/u/.ssh/id", Fit::Is),
            (".ssh", "/home/u/x.ssh", Fit::Not),
            (".ssh", "/home/u", Fit::Not),
            (".cursor/mcp.json", "/p/.cursor/mcp.json", Fit::Is),
            (".cursor/mcp.json", "/p/.cursor", Fit::Holds),
            (".cursor/mcp.json", "/p/.cursor/rules", Fit::Not),
            (".cursor/mcp.json", "/p/mcp.json", Fit::Not),
            ("*.git/**/config", "/p/.git/config", Fit::Is),
            ("*.git/**/config", "/p/.git/modules/a/config", Fit::Is),
            ("*.git/**/config", "/p/bare.git/config", Fit::Is),
            ("*.git/**/config", "/p/.git", Fit::Holds),
            ("*.git/**/config", "/p/.git/modules", Fit::Holds),
            ("*.git/**/config", "/p/config", Fit::Not),
            (
                "User/profiles/*/mcp.json",
                "/c/User/profiles/1/mcp.json",
                Fit::Is,
            ),
        ] {
            let parts: Vec<&str> = pattern.split('/').collect();
            let names: Vec<&OsStr> = Path::new(path).iter().collect();
            assert_eq!(fit(&parts, &names), expected, "{pattern} {path}");
        }
    }
}
