use super::*;
use std::{collections::HashSet, ffi::OsStr, fs};

#[test]
fn the_table_says_each_thing_once() {
    let mut words = HashSet::new();
    let mut files = HashSet::new();
    let homes = Homes::at(Path::new("/home/me"));
    for client in Client::all() {
        assert!(words.insert(client.as_str()), "{client:?}");
        assert_eq!(Client::parse(client.as_str()), Some(client));
        assert!(!client.candidates(&homes).is_empty(), "{client:?}");
        for file in client.candidates(&homes) {
            assert!(files.insert(file.path.clone()), "{client:?} {file:?}");
            assert!(!file.workspace);
        }
        let mut fields = HashSet::new();
        for (name, _) in client.fields() {
            assert!(fields.insert(name), "{client:?} {name}");
        }
    }
    assert!(words.len() >= 16, "{}", words.len());
}

#[test]
fn variables_move_files_unless_they_lead_into_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (home, repo) = (root.join("home"), root.join("home/repo"));
    fs::create_dir_all(repo.join(".git")).unwrap();
    let places = Places {
        directory: repo.clone(),
        home: Some(home.clone()),
        claude_json: home.join("elsewhere/.claude.json"),
        ..Places::default()
    };
    let codex = Client::parse("codex").unwrap();
    let zed = Client::parse("zed").unwrap();
    let outside = Homes::of(&places, |name| match name {
        "CODEX_HOME" => Some(root.join("codex").into()),
        "XDG_CONFIG_HOME" => Some(root.join("config").into()),
        _ => None,
    });
    assert_eq!(codex.file(&outside).path, root.join("codex/config.toml"));
    assert_eq!(
        zed.file(&outside).path,
        root.join("config/zed/settings.json")
    );
    let inside = Homes::of(&places, |_| Some(repo.join("planted").into()));
    assert_eq!(codex.file(&inside).path, home.join(".codex/config.toml"));
    assert_eq!(
        zed.file(&inside).path,
        home.join(".config/zed/settings.json")
    );
    let claude = Client::parse("claude-code").unwrap();
    assert_eq!(
        claude.file(&inside).path,
        home.join("elsewhere/.claude.json")
    );
    // A project's files are marked as such.
    let files = codex.files(&inside);
    assert_eq!(files[1].path, repo.join(".codex/config.toml"));
    assert!(files[1].workspace && !files[0].workspace);
}

#[test]
fn profiles_are_found_and_a_client_by_its_folder_or_program() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let homes = Homes::at(home);
    let code = Client::parse("vscode").unwrap();
    assert!(!code.is_here(&homes, OsStr::new("")));
    for profile in ["b", "a"] {
        fs::create_dir_all(home.join(".config/Code/User/profiles").join(profile)).unwrap();
    }
    assert!(code.is_here(&homes, OsStr::new("")));
    let files: Vec<PathBuf> = code
        .files(&homes)
        .into_iter()
        .map(|file| file.path)
        .collect();
    for profile in ["a", "b"] {
        let file = home.join(format!(".config/Code/User/profiles/{profile}/mcp.json"));
        assert!(files.contains(&file), "{files:?}");
    }
    let amp = Client::parse("amp").unwrap();
    assert!(!amp.is_here(&homes, OsStr::new("")));
    fs::create_dir(home.join("bin")).unwrap();
    fs::write(home.join("bin/amp"), "").unwrap();
    assert!(amp.is_here(&homes, home.join("bin").as_os_str()));
}
