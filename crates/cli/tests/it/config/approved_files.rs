//! A program or script of the repository is approved as it is, not by its path:
//! what `git pull` changes asks again, at every start.

use serde_json::{Value, json};
use switchboard_testkit::world::{self, World};
use switchboard_testkit::{bin, text_of};

const PROJECT: &str = "home/repo/.mcp.json";

fn project(home: &World, entry: &Value) {
    home.write(PROJECT, json!({"mcpServers": {"p": entry}}).to_string());
}

/// A server as a script, which does something else first.
fn script(home: &World, path: &str, first: &str) {
    use std::os::unix::fs::PermissionsExt;
    let echo = bin("echo-server");
    let text = format!("#!/bin/sh\n{first}\nexec {} --stdio\n", echo.display());
    let file = home.write(path, text);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn row(home: &World, args: &[&str]) -> Value {
    let rows = home.show(&[&["list", "--json"], args].concat()).json();
    rows[0].clone()
}

const TOUCH: &str = "touch ROOT/touched";

#[test]
fn a_changed_script_asks_again() {
    let shapes = [
        json!({"command": "./run.sh"}),
        json!({"command": "run.sh", "cwd": "."}),
        json!({"command": "sh", "args": ["run.sh"]}),
        json!({"command": "sh", "args": ["./sub/../run.sh", "x"]}),
        json!({"command": "sh", "args": ["${workspaceFolder}/run.sh"]}),
        json!({"command": "sh", "args": ["${UNSET:-./run.sh}"]}),
        json!({"command": "sh", "args": ["-c", "exec ./run.sh"]}),
        json!({"command": "sh", "args": ["-c", "x=1; . ./run.sh"]}),
        json!({"command": "env", "args": ["A=b", "./run.sh"]}),
        json!({"command": "sh", "args": ["link.sh"]}),
        json!({"command": "bash", "args": ["-c", format!("exec {} --stdio", bin("echo-server").display())],
            "env": {"BASH_ENV": "./run.sh"}}),
    ];
    for entry in shapes {
        let home = World::repository();
        // Found on the search path only if the repository could put it there.
        if entry["command"] == "run.sh" {
            continue;
        }
        script(&home, "home/repo/run.sh", "");
        std::fs::create_dir(home.path("home/repo/sub")).unwrap();
        std::os::unix::fs::symlink("run.sh", home.path("home/repo/link.sh")).unwrap();
        project(&home, &entry);
        let shown = home.approve("p").out;
        assert!(
            shown.contains(".sh is inside the repository"),
            "{entry}: {shown}"
        );
        assert_eq!(row(&home, &[])["state"], "connected", "{entry}");

        script(&home, "home/repo/run.sh", TOUCH);
        let now = row(&home, &[]);
        assert_eq!(now["state"], "pending-approval", "{entry}: {now}");
        for args in [&["tools"][..], &["call", "p__pid"], &["doctor"]] {
            home.show(args);
        }
        assert!(!home.path("touched").exists(), "{entry}");
        let shown = home.show(&["approve", "p", "--show"]).ok().out;
        assert!(
            shown.contains("changed since you approved it:\n    (content of ")
                && shown.contains(".sh): \"sha256:"),
            "{entry}: {shown}"
        );
        home.approve("p");
        assert_eq!(row(&home, &[])["state"], "connected", "{entry}");
        assert!(home.path("touched").exists(), "{entry}: this could run");
    }
}

/// What only turns out to be a file of the repository when variables are filled
/// in was not seen by anybody.
#[test]
fn a_script_behind_a_variable_does_not_start() {
    let home = World::repository();
    script(&home, "home/repo/run.sh", TOUCH);
    project(
        &home,
        &json!({"command": "sh", "args": ["${PLACE}/run.sh"]}),
    );
    home.approve("p");
    let mut list = home.command(&["list", "--json"]);
    list.env("PLACE", home.path("home/repo"));
    let said = String::from_utf8(list.output().unwrap().stdout).unwrap();
    assert!(
        said.contains("run.sh was no part of this server when you approved it"),
        "{said}"
    );
    assert!(!home.path("touched").exists());
    // Outside of the repository it is the user's own affair.
    script(&home, "elsewhere/run.sh", TOUCH);
    let mut list = home.command(&["list", "--json"]);
    list.env("PLACE", home.path("elsewhere"));
    let said = String::from_utf8(list.output().unwrap().stdout).unwrap();
    assert!(said.contains("connected"), "{said}");
}

/// A link that leads out of the repository is bound to where it leads.
#[test]
fn a_link_out_of_the_repository_stays_where_it_led() {
    let home = World::repository();
    script(&home, "tools/one.sh", "");
    script(&home, "tools/two.sh", TOUCH);
    let link = home.path("home/repo/run.sh");
    std::os::unix::fs::symlink(home.path("tools/one.sh"), &link).unwrap();
    project(&home, &json!({"command": "./run.sh"}));
    home.approve("p");
    assert_eq!(row(&home, &[])["state"], "connected");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(home.path("tools/two.sh"), &link).unwrap();
    assert_eq!(row(&home, &[])["state"], "pending-approval");
    assert!(!home.path("touched").exists());
}

/// A database or a log that the server itself writes is none of its code.
#[test]
fn data_may_change() {
    let home = World::repository();
    home.write("home/repo/server.log", "one");
    home.write("home/repo/notes.db", "SQLite format 3\0 one");
    let args = ["--stdio", "--log-file", "server.log", "notes.db"];
    let echo = json!({"command": bin("echo-server"), "args": args});
    project(&home, &echo);
    let shown = home.approve("p").out;
    assert!(shown.contains("server.log is inside the repository and taken for data"));
    home.write("home/repo/server.log", "two");
    home.write("home/repo/notes.db", "SQLite format 3\0 two");
    assert_eq!(row(&home, &["--no-connect"])["state"], "not-connected");
    // An interpreter that was given no script yet reads anything.
    for entry in [
        json!({"command": "sh", "args": ["notes.db"]}),
        json!({"command": "python3", "args": ["-W", "--log", "server.log"]}),
    ] {
        project(&home, &entry);
        home.approve("p");
        home.write("home/repo/server.log", entry.to_string());
        home.write("home/repo/notes.db", format!("SQLite format 3\0 {entry}"));
        let now = row(&home, &["--no-connect"]);
        assert_eq!(now["state"], "pending-approval", "{entry}");
    }
}

/// Another directory of the project may have other files of that name; one
/// approval does not undo the other.
#[test]
fn an_approval_holds_in_every_directory() {
    let home = World::repository();
    script(&home, "home/repo/run.sh", "");
    script(&home, "home/repo/sub/run.sh", "# another");
    project(&home, &json!({"command": "sh", "args": ["run.sh"]}));
    home.approve("p");
    let there = home.path("home/repo/sub").display().to_string();
    let below = |args: &[&str]| home.show(&[&["-C", &there], args].concat());
    assert_eq!(
        below(&["list", "--json"]).json()[0]["state"],
        "pending-approval"
    );
    world::approve_by(below, "p");
    assert_eq!(below(&["list", "--json"]).json()[0]["state"], "connected");
    assert_eq!(row(&home, &[])["state"], "connected");
}

#[tokio::test]
async fn a_restart_looks_again() {
    let home = World::repository();
    script(&home, "home/repo/run.sh", "");
    project(&home, &json!({"command": "sh", "args": ["run.sh"]}));
    home.approve("p");
    let mut client = home.beside_a_second(&[]).await;
    let answer = client.call("p__pid", json!({})).await;
    let pid: i32 = text_of(&answer).parse().unwrap();
    script(&home, "home/repo/run.sh", TOUCH);
    // It goes on as it was; once it has ended, nothing new takes its place.
    let answer = client.call("p__pid", json!({})).await;
    assert_eq!(text_of(&answer), pid.to_string());
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let refused = loop {
        let answer = client.call("p__pid", json!({})).await.to_string();
        if answer.contains("run.sh has changed since you approved this server") {
            break answer;
        }
        assert!(answer.contains("error"), "{answer}");
    };
    assert!(refused.contains("switchboard approve p"), "{refused}");
    assert!(!home.path("touched").exists());
}
