use super::*;

fn sources(root: &Path, ignored: &[&str]) -> Sources {
    Sources {
        roots: vec![root.to_owned()],
        ignored: ignored.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn what_is_written_made_and_removed_is_seen_and_what_is_no_source_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("server.py", "one");
    write("lib/deep/part.py", "one");
    let sources = sources(root, &["*.log", "made/*"]);
    let first = sources.look();
    assert_eq!(first.files.len(), 2);
    for aside in [
        ".git/index",
        "target/debug/x",
        "a/node_modules/x/index.js",
        "lib/__pycache__/part.pyc",
        "out.log",
        "server.py~",
        ".server.py.swp",
        "lib/.#part.py",
        "lib/#part.py#",
        "4913",
        "made/by/itself",
    ] {
        write(aside, "x");
    }
    assert_eq!(changed(&first, &sources.look()), None);
    write("lib/deep/part.py", "other");
    let second = sources.look();
    assert_eq!(
        changed(&first, &second),
        Some(root.join("lib/deep/part.py"))
    );
    write("lib/new.py", "x");
    let third = sources.look();
    assert_eq!(changed(&second, &third), Some(root.join("lib/new.py")));
    fs::remove_file(root.join("lib/new.py")).unwrap();
    assert_eq!(
        changed(&third, &sources.look()),
        Some(root.join("lib/new.py"))
    );
}

/// There are as many as there are: what is near is seen, and the rest is said.
#[test]
fn too_many_are_said_and_what_is_near_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for part in ["a", "m", "z"] {
        fs::create_dir(root.join(part)).unwrap();
        for n in 0..limits::SOURCES_WATCHED / 2 {
            fs::write(root.join(part).join(n.to_string()), "").unwrap();
        }
    }
    fs::write(root.join("server.py"), "one").unwrap();
    let sources = sources(root, &[]);
    let first = sources.look();
    assert!(first.is_cut);
    assert_eq!(first.files.len(), limits::SOURCES_WATCHED);
    assert_eq!(first, sources.look(), "the same are seen each time");
    fs::write(root.join("server.py"), "other").unwrap();
    assert_eq!(
        changed(&first, &sources.look()),
        Some(root.join("server.py"))
    );
}

#[test]
fn a_link_that_leads_around_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "a").unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
    let seen = sources(folder.path(), &[]).look();
    assert!(seen.files.len() <= 2 && !seen.is_cut, "{seen:?}");
}

#[test]
fn a_link_that_was_named_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    fs::write(real.join("a.py"), "a").unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let sources = sources(&link, &[]);
    let first = sources.look();
    assert_eq!(first.files.len(), 1);
    fs::write(real.join("a.py"), "other").unwrap();
    assert_eq!(changed(&first, &sources.look()), Some(link.join("a.py")));
    // What is replaced as a whole, too.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let before = sources.look();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    assert!(changed(&before, &sources.look()).is_some());
}
