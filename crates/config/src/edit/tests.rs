use super::*;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt, os::unix::fs::symlink};

const FILE: &str = "// mine\n{\n    \"other\": {\"kept\": [1,2]}, // odd spacing\n    \"mcpServers\": {\n        /* first */\n        \"a\": {\"command\": \"x\"},\n    },\n    \"zz\": 1\n}\n";

#[test]
fn all_else_stays_as_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.json");
    fs::write(&file, FILE).unwrap();
    let target = Target::private(&file);
    put(
        &target,
        &["mcpServers"],
        "b",
        &json!({"type": "stdio", "command": "y", "args": ["1"]}),
        false,
    )
    .unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("// mine\n{\n    \"other\": {\"kept\": [1,2]}, // odd spacing\n"),
        "{text}"
    );
    assert!(
        text.contains(
            "        /* first */\n        \"a\": {\"command\": \"x\"},\n        \"b\": {\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("    \"zz\": 1\n}\n"), "{text}");
    remove(&target, &["mcpServers"], "b").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), FILE);
    let exists = put(&target, &["mcpServers"], "a", &json!({}), false).unwrap_err();
    assert!(
        exists.to_string().contains("\"a\" already exists in "),
        "{exists}"
    );
    let missing = remove(&target, &["mcpServers"], "c").unwrap_err();
    assert!(
        missing.to_string().contains("\"c\" is not in "),
        "{missing}"
    );
}

#[test]
fn names_in_lists() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::private(&dir.path().join("s.json"));
    let path = ["projects", "/p", "disabledMcpServers"];
    assert!(mark(&target, &path, "a", true).unwrap());
    assert!(!mark(&target, &path, "a", true).unwrap());
    assert!(mark(&target, &path, "a", false).unwrap());
    assert!(!mark(&target, &path, "a", false).unwrap());
}

#[test]
fn rights_are_private_from_the_first_byte_and_kept_for_projects() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    let (own, project) = (dir.path().join("new/s.json"), dir.path().join(".mcp.json"));
    put(
        &Target::private(&own),
        &["mcpServers"],
        "a",
        &json!({}),
        false,
    )
    .unwrap();
    assert_eq!((mode(&own), mode(own.parent().unwrap())), (0o600, 0o700));
    // One that others could read is taken from them.
    fs::set_permissions(&own, fs::Permissions::from_mode(0o644)).unwrap();
    put(
        &Target::private(&own),
        &["mcpServers"],
        "b",
        &json!({}),
        false,
    )
    .unwrap();
    assert_eq!(mode(&own), 0o600);
    let target = Target::project(&project, dir.path());
    put(&target, &["mcpServers"], "a", &json!({}), false).unwrap();
    assert_eq!(mode(&project), 0o644);
    fs::set_permissions(&project, fs::Permissions::from_mode(0o640)).unwrap();
    put(&target, &["mcpServers"], "b", &json!({}), false).unwrap();
    assert_eq!(mode(&project), 0o640);
}

#[test]
fn links_are_followed_unless_they_lead_out_of_the_project() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("dotfiles.json"), dir.path().join("s.json"));
    fs::write(&real, "{}").unwrap();
    symlink(&real, &link).unwrap();
    put(
        &Target::private(&link),
        &["mcpServers"],
        "a",
        &json!({}),
        false,
    )
    .unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"a\""));

    let project = dir.path().join("repo");
    fs::create_dir(&project).unwrap();
    let before = fs::read_to_string(&real).unwrap();
    for to in [real.as_path(), Path::new("../none.json")] {
        let file = project.join(".mcp.json");
        let _ = fs::remove_file(&file);
        symlink(to, &file).unwrap();
        put(
            &Target::project(&file, &project),
            &["mcpServers"],
            "x",
            &json!({}),
            false,
        )
        .unwrap_err();
    }
    assert_eq!(fs::read_to_string(&real).unwrap(), before);
    assert!(!dir.path().join("none.json").exists());
}

#[test]
fn what_cannot_be_read_or_written_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.json");
    let target = Target::private(&file);
    for (text, problem) in [
        ("", "the file is empty"),
        ("{\n\"a\": ", ":2: not JSON: "),
        ("[]", "the whole file must be an object"),
        ("{\"mcpServers\": []}", "\"mcpServers\" must be an object"),
    ] {
        fs::write(&file, text).unwrap();
        let error = put(&target, &["mcpServers"], "a", &json!({}), false).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    let error = put(&target, &["mcpServers"], "a", &json!({}), false).unwrap_err();
    assert!(matches!(error, EditError::ReadOnly(_)), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Other programs know nothing of our lock: what they write between our reading and our
/// writing stays, and so do the rights that a file of theirs has.
#[test]
fn what_another_program_writes_meanwhile_stays() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.json");
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let target = Target::foreign(&file);
    swap(&target, Some("{}"), Some("{\"a\": 1}")).unwrap();
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    let raced = atomic::rewrite(&target, |_| {
        fs::write(&file, "theirs").unwrap();
        Ok("ours".to_owned())
    });
    assert!(matches!(raced, Err(EditError::Changed(_))), "{raced:?}");
    for to in [Some("ours"), None] {
        let late = swap(&target, Some("{}"), to);
        assert!(matches!(late, Err(EditError::Changed(_))), "{late:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    swap(&target, Some("theirs"), None).unwrap();
    assert!(!file.exists());
}

/// Whoever lives keeps the lock; whoever wants it waits for it.
#[test]
fn nobody_steals_the_lock_of_the_living() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.json");
    let holder = fs::File::open(dir.path()).unwrap();
    holder.lock().unwrap();
    let (tell, done) = std::sync::mpsc::channel();
    let target = Target::private(&file);
    let writer = std::thread::spawn(move || {
        put(&target, &["mcpServers"], "a", &json!({}), false).unwrap();
        tell.send(()).unwrap();
    });
    let waits = std::time::Duration::from_millis(300);
    assert!(done.recv_timeout(waits).is_err(), "it did not wait");
    assert!(!file.exists());
    holder.unlock().unwrap();
    writer.join().unwrap();
    assert!(file.exists());
}
