use super::*;
use std::os::unix::fs::PermissionsExt;

fn lock(folder: &Path, name: &str, text: &str, mode: u32) {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

fn ide(folder: &Path, workspace: &Path) -> Ide {
    Ide {
        carrier: IdeCarrier::Ws,
        locks: folder.into(),
        workspace: workspace.into(),
        address: None,
        token: None,
    }
}

#[test]
fn the_ide_with_the_nearest_folder_is_found() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project/inner");
    fs::create_dir_all(&project).unwrap();
    let outer = home.path().join("project");
    let text = |port: u16, folder: &Path, token: &str| {
        format!(
            r#"{{"port":{port},"authToken":"{token}","workspaceFolders":["{}"],"transport":"ws"}}"#,
            folder.display()
        )
    };
    let locks = home.path().join("ide");
    fs::create_dir(&locks).unwrap();
    assert!(
        ide(&locks, &project)
            .find()
            .err()
            .unwrap()
            .to_string()
            .contains("no IDE is running")
    );
    lock(&locks, "1.lock", &text(1001, &outer, "outer"), 0o600);
    lock(&locks, "2.lock", &text(1002, &project, "inner"), 0o600);
    lock(&locks, "3.lock", &text(1003, &project, "forged"), 0o666);
    lock(&locks, "4.lock", "no JSON", 0o600);
    lock(&locks, "5.txt", &text(1005, &project, "other"), 0o600);
    let found = ide(&locks, &project).find().unwrap();
    assert_eq!(found.url.to_string(), "ws://127.0.0.1:1002/");
    assert_eq!(found.headers[TOKEN], "inner");
    assert!(found.headers[TOKEN].is_sensitive());
    let held = Ide {
        address: Some(Uri::from_static("ws://127.0.0.1:1001/")),
        ..ide(&locks, &project)
    };
    assert_eq!(held.find().unwrap().url.port_u16(), Some(1001));
}

#[test]
fn another_workspace_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("allowed");
    let evil = home.path().join("allowed_evil");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(&evil).unwrap();
    let text = format!(
        r#"{{"port":1,"authToken":"t","workspaceFolders":["{}"],"transport":"ws"}}"#,
        folder.display()
    );
    lock(home.path(), "1.lock", &text, 0o600);
    assert!(ide(home.path(), &folder).find().is_ok());
    assert!(
        ide(home.path(), &evil)
            .find()
            .err()
            .unwrap()
            .to_string()
            .contains("has")
    );
    let sse = Ide {
        carrier: IdeCarrier::Sse,
        ..ide(home.path(), &folder)
    };
    assert!(sse.find().is_err());
}
