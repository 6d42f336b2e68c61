use super::*;

fn folder(path: &Path) -> PathBuf {
    fs::create_dir_all(path).unwrap();
    path.canonicalize().unwrap()
}

fn places(directory: &Path, home: &Path, more: &[(&str, &Path)]) -> Places {
    let lookup = |name: &str| match name {
        "HOME" => Some(home.as_os_str().to_owned()),
        _ => more
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, path)| path.as_os_str().to_owned()),
    };
    let ours = |name: &str| home.join(name).join("switchboard");
    Places::find(
        directory,
        &ours(".config"),
        &ours(".local/share"),
        &ours(".cache"),
        lookup,
    )
}

#[test]
fn the_search_stops_at_home_or_at_the_root_of_the_repository() {
    let dir = tempfile::tempdir().unwrap();
    let root = folder(dir.path());
    let home = folder(&root.join("home"));
    let deep = folder(&home.join("code/repo/src"));
    folder(&home.join("code/repo/.git"));
    let found = places(&deep, &home, &[]);
    let expected = [
        deep,
        home.join("code/repo"),
        home.join("code"),
        home.clone(),
    ];
    assert_eq!(found.project_folders(), expected);
    assert_eq!(found.project(), home.join("code/repo"));
    assert_eq!(found.tree(), Some(home.join("code/repo").as_path()));

    let outside = folder(&root.join("srv/repo/src"));
    assert_eq!(
        places(&outside, &home, &[]).project_folders(),
        [outside.as_path()]
    );
    folder(&root.join("srv/repo/.git"));
    let found = places(&outside, &home, &[]);
    assert_eq!(found.project_folders(), [outside, root.join("srv/repo")]);
}

#[test]
fn a_home_directory_is_no_repository() {
    let dir = tempfile::tempdir().unwrap();
    let home = folder(dir.path());
    folder(&home.join(".git"));
    assert_eq!(places(&home, &home, &[]).tree(), None);
    let below = folder(&home.join("x"));
    assert_eq!(places(&below, &home, &[]).tree(), Some(below.as_path()));
}

#[test]
fn a_folder_named_by_the_environment_inside_the_tree_is_the_projects() {
    let dir = tempfile::tempdir().unwrap();
    let root = folder(dir.path());
    let (home, repo) = (folder(&root.join("home")), folder(&root.join("repo")));
    folder(&repo.join(".git"));
    let own = folder(&root.join("own"));
    for name in ["SWITCHBOARD_CONFIG_DIR", "CLAUDE_CONFIG_DIR"] {
        let usual = places(&repo, &home, &[]);
        for inside in ["evil", "not/made/yet", "../repo/evil"] {
            let found = places(&repo, &home, &[(name, Path::new(inside))]);
            assert_eq!(found.strays.len(), 1, "{name}={inside}");
            assert_eq!(
                (found.config, found.claude_json),
                (usual.config.clone(), usual.claude_json.clone())
            );
        }
        std::os::unix::fs::symlink(repo.join("evil"), own.join(name)).unwrap();
        folder(&repo.join("evil"));
        assert_eq!(
            places(&repo, &home, &[(name, &own.join(name))])
                .strays
                .len(),
            1
        );
        assert!(places(&repo, &home, &[(name, &own)]).strays.is_empty());
    }
}
