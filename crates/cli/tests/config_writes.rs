//! Files survive: many writers, a killed writer, a full disk, a read-only file.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code; the lint knows only test functions"
)]

#[path = "support/homes.rs"]
mod homes;

use homes::{Home, Ran};
use serde_json::Value;
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::Stdio,
};

const SETTINGS: &str = "home/.config/switchboard/settings.json";
const BEFORE: &str = "{\n  // mine\n  \"unknown\": {\"kept\": true},\n  \"mcpServers\": {\n    \"old\": {\"command\": \"x\"} // here\n  }\n}\n";

fn servers(text: &str) -> usize {
    let plain: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect();
    let whole: Value =
        serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {text}"));
    whole["mcpServers"].as_object().unwrap().len()
}

#[test]
fn two_hundred_at_once() {
    let home = Home::new();
    home.write(SETTINGS, BEFORE);
    let children: Vec<_> = (0..200)
        .map(|i| {
            let name = format!("s{i}");
            let mut command = home.command(&["add", "-s", "user", &name, "x"]);
            command
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let ran = Ran::of(child.wait_with_output().unwrap(), &home.root);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let text = home.read(SETTINGS);
    assert_eq!(servers(&text), 201);
    assert!(
        text.starts_with("{\n  // mine\n  \"unknown\": {\"kept\": true},\n")
            && text.contains("// here"),
        "{text}"
    );
}

#[test]
fn killed_at_every_step() {
    let mut steps = 0;
    for step in 1.. {
        let home = Home::new();
        home.write(SETTINGS, BEFORE);
        let killed = home
            .command(&["add", "-s", "user", "new", "x"])
            .env("SWITCHBOARD_FAILPOINT", step.to_string())
            .output()
            .unwrap();
        let text = home.read(SETTINGS);
        assert!(
            text == BEFORE || servers(&text) == 2 && text.contains("// mine"),
            "step {step}: {text}"
        );
        if killed.status.signal() != Some(9) {
            break;
        }
        steps += 1;
        // The next writer is not held up by the dead one.
        home.run(&["add", "-s", "user", "next", "x"]).ok();
        let mode = fs::metadata(home.path(SETTINGS))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(steps, 8);
}

#[test]
fn a_full_disk_and_a_read_only_file_leave_the_old_one() {
    let home = Home::new();
    let long = format!("{{\"long\": \"{}\"}}", "x".repeat(4096));
    let file = home.write(SETTINGS, &long);
    // A limit on the size of files fails like a full disk, in the middle of a write.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} add -s user a x",
        env!("CARGO_BIN_EXE_switchboard")
    );
    let ran = Ran::of(
        home.any("/bin/sh", &["-c", &script]).output().unwrap(),
        &home.root,
    );
    assert!(
        ran.code == Some(3) && ran.err.contains("settings.json cannot be written: "),
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), long);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    let ran = home.run(&["add", "-s", "user", "a", "x"]);
    assert!(
        ran.code == Some(3) && ran.err.contains("settings.json is read-only\nhint: "),
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), long);
}
