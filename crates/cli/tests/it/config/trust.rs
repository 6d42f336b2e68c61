//! A folder is trusted before it is worked in: who says so and how, and what
//! becomes of servers where nobody has.

use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};
use switchboard_testkit::bin;
use switchboard_testkit::world::{Ran, World};

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchboard");

/// Name and state of each row of `list --json`.
pub(super) fn states(list: &Value) -> Vec<(String, String)> {
    let rows = list.as_array().unwrap().iter();
    rows.map(|row| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("name"), text("state"))
    })
    .collect()
}

#[test]
fn what_became_of_servers_is_said_with_the_command_that_changes_it() {
    let home = World::untrusted();
    let servers = json!({"a": {"command": bin("echo-server"), "args": ["--stdio"]},
        "b": {"command": "sh", "args": ["./here.sh"]}});
    home.write(
        "home/.claude.json",
        json!({ "mcpServers": servers }).to_string(),
    );
    home.write(
        "home/repo/here.sh",
        format!("exec {} --stdio\n", bin("echo-server").display()),
    );
    let said = "/home/repo is not a trusted folder, so server a is started in an empty directory and not in it; \
                if you trust all that is in this folder, it can start there: switchboard trust /home/repo\n";
    let failed = "names \"./here.sh\" in /home/repo, which is not a trusted folder; \
                  if you trust all that is in this folder: switchboard trust /home/repo";
    let list = home.show(&["list"]);
    assert_eq!(list.err, format!("warning: {said}"));
    assert!(list.out.contains(failed), "{list:?}");
    let rows = home.show(&["list", "--json"]).json();
    assert_eq!(rows[1]["state"], "failed");
    assert!(
        rows[1]["reason"]
            .as_str()
            .unwrap()
            .contains("switchboard trust "),
        "{rows}"
    );
    let explained = home.show(&["explain", "a"]).ok().out;
    assert!(explained.ends_with(said), "{explained}");
    let explained = home.show(&["explain", "b"]).ok().out;
    assert!(explained.contains(failed), "{explained}");
    let doctor = home.show(&["doctor", "--no-connect"]).out;
    assert!(
        doctor.contains("folder /home/repo: is not trusted, so servers start in an empty directory and not in it: a\n")
            && doctor.contains("do: if you trust all that is in it: switchboard trust /home/repo\n")
            && doctor.contains(failed),
        "{doctor}"
    );

    // Every way to say that it is trusted, and none of them says anything more.
    let claude = json!({"mcpServers": servers, "projects": {"ROOT/home/repo": {"hasTrustDialogAccepted": true}}});
    let ways: [&dyn Fn(&World); 5] = [
        &|home| drop(home.show(&["trust"]).ok()),
        &|home| drop(home.show(&["trust", ".."]).ok()),
        &|home| drop(home.write("home/.claude.json", claude.to_string())),
        &|home| drop(home.show(&["add", "c", "true"]).ok()),
        &|home| drop(home.show(&["add", "-s", "project", "c", "true"]).ok()),
    ];
    for (i, way) in ways.iter().enumerate() {
        let home = World::untrusted();
        home.write(
            "home/.claude.json",
            json!({ "mcpServers": servers }).to_string(),
        );
        home.write(
            "home/repo/here.sh",
            format!("exec {} --stdio\n", bin("echo-server").display()),
        );
        way(&home);
        let list = home.show(&["list", "--json"]);
        let states = states(&list.json());
        for name in ["a", "b"] {
            let connected = (name.to_owned(), "connected".to_owned());
            assert!(states.contains(&connected), "{i}: {list:?}");
        }
        assert!(!list.err.contains("trusted"), "{i}: {list:?}");
    }
}

#[test]
fn a_word_is_kept_shown_and_taken_back() {
    let home = World::untrusted();
    let here = |home: &World| home.show(&["trust", "--list", "--json"]).ok().json()["here"].clone();
    assert_eq!(here(&home)["trusted"], false);
    let said = home.show(&["trust"]).ok().out;
    assert!(
        said.starts_with("Trusted /home/repo and all that lies in it: "),
        "{said}"
    );
    let record = home.path("home/.local/share/switchboard/folders.json");
    assert_eq!(
        fs::metadata(&record).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::create_dir(home.path("home/repo/sub")).unwrap();
    let below = home.show(&["-C", "sub", "trust", "--list"]).ok().out;
    assert_eq!(
        below,
        "trusted      /home/repo\n/home/repo/sub is trusted: it lies in /home/repo, and you said so\n"
    );
    home.show(&["untrust", "."]).ok();
    assert_eq!(here(&home)["reason"], "you said no to /home/repo");
    // World by itself is nothing that one trusts by chance.
    let refused = home.show(&["-C", "..", "trust"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let refused = home.show(&["trust", "no/such"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    // A variable that a repository could set moves nothing into it.
    let mut command = home.command(&["trust"]);
    command.env("XDG_DATA_HOME", home.path("home/repo/data"));
    Ran::of(command.output().unwrap()).without(&home.root).ok();
    assert!(!home.path("home/repo/data").exists());
    assert_eq!(
        here(&home)["trusted"],
        true,
        "it is kept where it always is"
    );
}

/// Where an entry gives its own directory, that counts; and what the user names
/// in the tree belongs to the tree.
#[test]
fn servers_that_say_where_they_start() {
    let home = World::untrusted();
    let script = |mark: &str| {
        let echo = bin("echo-server").display().to_string();
        let says = format!(
            "pwd > ROOT/{mark}; echo \"$PYTHONSAFEPATH $PATH $XDG_CONFIG_DIRS\" > ROOT/{mark}-env; exec {echo} --stdio"
        );
        json!({"command": "sh", "args": ["-c", says]})
    };
    let mut own = script("own");
    own["cwd"] = json!("${userHome}");
    home.write(
        "home/.claude.json",
        json!({"mcpServers": {"own": own, "away": script("away")}}).to_string(),
    );
    home.write(
        "home/repo/named.json",
        json!({"mcpServers": {"named": script("named")}}).to_string(),
    );
    let inside = home.path("home/repo/x").display().to_string();
    let path = format!("bin:{inside}:/usr/bin:/bin");
    let mut command = home.command(&["--mcp-config", "named.json", "list"]);
    command.env("PATH", &path).env("XDG_CONFIG_DIRS", &inside);
    let list = Ran::of(command.output().unwrap()).without(&home.root).ok();
    assert!(list.err.contains("so server away is started"), "{list:?}");
    let repo = format!("{}\n", home.path("home/repo").display());
    let place = format!("{}\n", home.path("home").display());
    assert_eq!(home.read("own"), place);
    assert_eq!(home.read("named"), repo);
    // Nothing that leads into the folder gets into what comes from outside.
    assert_eq!(home.read("named-env"), format!(" {path} {inside}\n"));
    assert_eq!(home.read("own-env"), " /usr/bin:/bin \n");
    assert_eq!(home.read("away-env"), "1 /usr/bin:/bin \n");
    let rooms = home.path("home/.local/state/switchboard/rooms");
    assert!(Path::new(home.read("away").trim()).starts_with(&rooms));
    assert_eq!(
        fs::read_dir(&rooms).unwrap().count(),
        0,
        "rooms go with their servers"
    );
}

#[test]
fn on_a_terminal_it_is_asked_once() {
    for (typed, kept, marks) in [("y\n", true, 0), ("n\n", false, 1), ("\n", false, 1)] {
        let home = World::untrusted();
        let servers = json!({"a": {"command": bin("echo-server"), "args": ["--stdio"]}});
        home.write(
            "home/.claude.json",
            json!({ "mcpServers": servers }).to_string(),
        );
        let list = |keys: &str| {
            let mut command = home.on_terminal(40, 200, "list");
            let mut child = command
                .env("MCP_TIMEOUT", "300000")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(keys.as_bytes()).unwrap();
            // Its end would end the terminal before the program has read.
            let said = child.wait_with_output().unwrap();
            drop(stdin);
            String::from_utf8(said.stdout).unwrap()
        };
        let first = list(typed);
        assert!(
            first.contains("Trust it? [y/N]") && first.contains("connected"),
            "{first}"
        );
        assert_eq!(
            first.matches("is not a trusted folder").count(),
            marks,
            "{first}"
        );
        let record: Value =
            serde_json::from_str(&home.read("home/.local/share/switchboard/folders.json")).unwrap();
        assert_eq!(
            record["folders"],
            json!({home.path("home/repo").display().to_string(): kept})
        );
        let second = list("");
        assert!(
            !second.contains("Trust it?") && second.contains("connected"),
            "{second}"
        );
    }
}

/// To others than root, folders that only root can write are trusted.
#[test]
fn folders_of_root_count_for_others_only() {
    let home = World::untrusted();
    let judged = |command: &mut Command| {
        let said = command.output().unwrap();
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let list: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{said:?}"));
        list["here"].clone()
    };
    let args = ["-C", "/usr", "trust", "--list", "--json"];
    if rustix::process::geteuid().is_root() {
        assert_eq!(judged(&mut home.command(&args))["trusted"], false);
        // A copy that everybody can reach.
        fs::set_permissions(&home.root, fs::Permissions::from_mode(0o755)).unwrap();
        let program = home.path("switchboard");
        fs::hard_link(PROGRAM, &program)
            .or_else(|_| fs::copy(PROGRAM, &program).map(drop))
            .unwrap();
        let program = program.display().to_string();
        let other = [
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            &program,
        ];
        let mut command = home.any("setpriv", &[&other[..], &args].concat());
        let here = judged(command.current_dir("/"));
        assert_eq!(here["reason"], "only root can write to it", "{here}");
    } else {
        let here = judged(&mut home.command(&args));
        assert_eq!(here["reason"], "only root can write to it", "{here}");
    }
}

/// A `cwd`, an argument or a variable that leads into the folder is no way around
/// the question whether it is trusted.
#[test]
fn a_server_that_leads_into_an_untrusted_folder_fails() {
    let home = World::untrusted();
    let echo = bin("echo-server").display().to_string();
    let planted = format!("#!/bin/sh\ntouch ROOT/touched\nexec {echo} --stdio\n");
    for file in ["run.sh", "sub/run.sh"] {
        let file = home.write(format!("home/repo/{file}"), &planted);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    home.write(
        "home/repo/tools/x.tool.json",
        r#"{"name": "x", "description": "x", "command": ["touch", "ROOT/touched"]}"#,
    );
    std::os::unix::fs::symlink(home.path("home/repo"), home.path("home/link")).unwrap();
    let code = "exec ./run.sh";
    let servers = json!({
        "dot": {"command": "sh", "args": ["-c", code], "cwd": "."},
        "sub": {"command": "sh", "args": ["-c", code], "cwd": "sub"},
        "whole": {"command": "sh", "args": ["-c", code], "cwd": "${workspaceFolder}"},
        "variable": {"command": "sh", "args": ["-c", code], "cwd": "${PWD}"},
        "link": {"command": "sh", "args": ["-c", code], "cwd": "ROOT/home/link"},
        "own-command": {"command": "./run.sh", "cwd": "${PWD}"},
        "argument": {"command": "sh", "args": ["${PWD}/run.sh"]},
        "by-link": {"command": "sh", "args": ["ROOT/home/link/run.sh"]},
        "text": {"command": "sh", "args": ["-c", "exec '${PWD}/run.sh'"]},
        "from-above": {"command": "sh", "args": ["repo/run.sh"], "cwd": "${userHome}"},
        "environment": {"command": "sh", "args": ["-c", "exec $RUN"], "env": {"RUN": "${PWD}/run.sh"}},
        "tools": {"type": "builtin", "builtin": "tools", "folder": "tools", "cwd": "."},
        "tools-whole": {"type": "builtin", "builtin": "tools", "folder": "ROOT/home/repo/tools"},
    });
    let count = servers.as_object().unwrap().len();
    home.write(
        "home/.config/switchboard/settings.json",
        json!({ "mcpServers": servers }).to_string(),
    );
    let run = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("PWD", home.path("home/repo"));
        Ran::of(command.output().unwrap()).without(&home.root)
    };
    let rows = run(&["list", "--json"]).json();
    for row in rows.as_array().unwrap() {
        let reason = row["reason"].as_str().unwrap_or_default();
        assert_eq!(row["state"], "failed", "{row}");
        assert!(reason.contains("switchboard trust /home/repo"), "{row}");
    }
    assert_eq!(rows.as_array().unwrap().len(), count, "{rows}");
    for args in [&["tools"][..], &["call", "tools__x"], &["doctor"]] {
        run(args);
    }
    assert!(!home.path("touched").exists());
    run(&["trust"]).ok();
    let rows = run(&["list", "--json"]).json();
    assert!(
        states(&rows).iter().all(|(_, state)| state == "connected"),
        "{rows}"
    );
    assert!(home.path("touched").exists(), "this could run");
}

/// Whoever wrote the folder would say whose certificate is good for the user's own
/// server, which gets the user's token.
#[test]
fn a_certificate_of_the_folder_is_trusted_with_it_and_not_before() {
    let home = World::untrusted();
    home.write("home/repo/ca.pem", "whatever");
    for (field, entry) in [
        ("tls.ca", json!({"tls": {"ca": "ca.pem"}})),
        (
            "oauth.privateKey",
            json!({"oauth": {"grant": "client", "clientId": "c", "privateKey": "./ca.pem"}}),
        ),
    ] {
        let mut entry = entry;
        entry["type"] = json!("http");
        entry["url"] = json!("https://127.0.0.1:1/mcp");
        let text = json!({"mcpServers": {"h": entry}}).to_string();
        home.write("home/.claude.json", text);
        let row = &home.show(&["list", "--json"]).json()[0];
        assert_eq!(row["state"], "failed", "{row}");
        let reason = row["reason"].as_str().unwrap();
        let problem = format!("`{field}`: names");
        assert!(
            reason.contains(&problem) && reason.contains("switchboard trust"),
            "{row}"
        );
    }
    home.show(&["trust"]).ok();
    let row = &home.show(&["list", "--json"]).json()[0];
    assert!(!row.to_string().contains("not a trusted folder"), "{row}");
}
