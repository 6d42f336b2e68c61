//! Files survive: many writers, a killed writer, a full disk, a read-only file.

use serde_json::Value;
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::{Child, Stdio},
};
use switchboard_testkit::world::{Ran, World};

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
    let home = World::repository();
    home.write(SETTINGS, BEFORE);
    let add = |name: &str| {
        let mut command = home.command(&["add", "-s", "user", name, "x"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let names: Vec<_> = (0..200).map(|i| format!("s{i}")).collect();
    let children: Vec<_> = names.iter().map(|name| (name, add(name))).collect();
    let ended = |child: Child| Ran::of(child.wait_with_output().unwrap()).without(&home.root);
    for (name, child) in children {
        let mut ran = ended(child);
        // Where the disk stands still for half a minute, what is said is to try again.
        for _ in 0..3 {
            if ran.err.contains("try again when it has finished") {
                ran = ended(add(name));
            }
        }
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

/// The whole old file or the whole new one, wherever the writer dies; where
/// there was none before, none or the whole new one.
#[test]
fn killed_at_every_step() {
    for before in [Some(BEFORE), None] {
        let mut steps = 0;
        for step in 1.. {
            let home = World::repository();
            if let Some(before) = before {
                home.write(SETTINGS, before);
            }
            let killed = home
                .command(&["add", "-s", "user", "new", "x"])
                .env("SWITCHBOARD_FAILPOINT", step.to_string())
                .output()
                .unwrap();
            let text = fs::read_to_string(home.path(SETTINGS)).ok();
            let kept =
                before.is_none() || text.as_ref().is_some_and(|text| text.contains("// mine"));
            let whole = |text: &String| servers(text) == 1 + usize::from(before.is_some());
            assert!(
                text.as_deref() == before || text.as_ref().is_some_and(whole) && kept,
                "step {step}: {text:?}"
            );
            if killed.status.signal() != Some(9) {
                break;
            }
            steps += 1;
            // The next writer is not held up by the dead one, and clears up after it.
            home.show(&["add", "-s", "user", "next", "x"]).ok();
            let file = home.path(SETTINGS);
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let beside = fs::read_dir(file.parent().unwrap()).unwrap().count();
            assert_eq!(beside, 1, "step {step}");
        }
        assert_eq!(steps, 11);
    }
}

/// A disk that is really full: a small file system of its own, in which there is
/// room for less and less of the new file.
#[test]
fn a_full_disk_leaves_the_old_file() {
    const SCRIPT: &str = r#"set -e
for size in $SIZES; do
  mount -t tmpfs -o size=${size}k none "$FOLDER"
  cp "$OLD" "$FOLDER/settings.json"
  chmod 600 "$FOLDER/settings.json"
  code=0
  "$PROGRAM" add -s user new x >"$OUT/$size.out" 2>"$OUT/$size.err" || code=$?
  echo $code >"$OUT/$size.code"
  ls -A "$FOLDER" >"$OUT/$size.ls"
  cat "$FOLDER/settings.json" >"$OUT/$size.json"
  umount "$FOLDER"
done
mount -t tmpfs none "$FOLDER"
cp "$OLD" "$FOLDER/settings.json"
mount -o remount,ro "$FOLDER"
"$PROGRAM" add -s user new x 2>"$OUT/ro.err" && exit 1
cmp "$OLD" "$FOLDER/settings.json"
"#;
    let home = World::repository();
    let old = format!("{{\"long\": \"{}\"}}\n", "x".repeat(40_000));
    let file = home.write("old.json", &old);
    let folder = home.path("home/.config/switchboard");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir(home.path("out")).unwrap();
    let sizes: Vec<u32> = (40..=100).step_by(4).collect();
    let words: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    let ran = home
        .any("unshare", &["-Urm", "sh", "-c", SCRIPT])
        .env("SIZES", words.join(" "))
        .env("PROGRAM", env!("CARGO_BIN_EXE_switchboard"))
        .env("FOLDER", &folder)
        .env("OLD", &file)
        .env("OUT", home.path("out"))
        .output()
        .expect("unshare (util-linux) is needed for this test");
    assert!(
        ran.status.success(),
        "this test mounts file systems in a user namespace of its own, which must be allowed: {ran:?}"
    );
    let (mut full, mut fine) = (0, 0);
    for size in sizes {
        let read = |what: &str| home.read(format!("out/{size}.{what}"));
        assert_eq!(read("ls"), "settings.json\n", "{size}");
        let (text, err) = (read("json"), read("err"));
        if read("code") == "0\n" {
            fine += 1;
            assert_eq!(servers(&text), 1, "{size}");
        } else {
            full += 1;
            assert_eq!(
                (read("code").as_str(), text.as_str()),
                ("3\n", old.as_str()),
                "{size}"
            );
            assert!(
                err.contains("settings.json cannot be written: No space left on device")
                    && err.contains("hint: make room on the disk; the file is as it was"),
                "{size}: {err}"
            );
        }
    }
    assert!(full >= 10 && fine >= 2, "{full} {fine}");
    let err = home.read("out/ro.err");
    assert!(
        err.contains("settings.json cannot be written: Read-only file system")
            && err.contains("hint: the file system is mounted read-only"),
        "{err}"
    );
}

#[test]
fn a_read_only_file_is_left_alone() {
    let home = World::repository();
    let file = home.write(SETTINGS, BEFORE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    for args in [
        &["add", "-s", "user", "a", "x"][..],
        &["remove", "old"],
        &["disable", "old"],
    ] {
        let ran = home.show(args);
        assert!(
            ran.code == Some(3)
                && ran
                    .err
                    .contains("settings.json is read-only\nhint: allow it with chmod u+w "),
            "{args:?} {ran:?}"
        );
        assert_eq!(home.read(SETTINGS), BEFORE);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }
}
