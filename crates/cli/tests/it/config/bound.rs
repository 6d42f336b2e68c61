//! What an approval binds by its content cannot be stepped around: by links, by
//! another repository above, by shells, wrappers, variables or options.

use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use switchboard_testkit::bin;
use switchboard_testkit::world::{World, approve_by};

/// A server as a script, which does something else first.
fn script(home: &World, path: &str, first: &str) {
    let echo = bin("echo-server");
    let text = format!("#!/bin/sh\n{first}\nexec {} --stdio\n", echo.display());
    let file = home.write(path, text);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Approves the server of `.mcp.json` in `from`, changes the script, and sees
/// that it asks again and that nothing of it ran.
#[track_caller]
fn a_change_asks_again(home: &World, from: &str, entry: &Value, changed: &str) {
    let from = home.path(from).display().to_string();
    let run = |args: &[&str]| home.show(&[&["-C", &from], args].concat());
    script(home, changed, "");
    let shown = approve_by(run, "p").out;
    let name = changed.rsplit('/').next().unwrap();
    assert!(
        shown.contains(&format!("{name} is inside the repository")),
        "{entry}: {shown}"
    );
    let before = run(&["list", "--json"]).json();
    assert_eq!(before[0]["state"], "connected", "{entry}: {before}");

    script(home, changed, "touch ROOT/touched");
    let now = run(&["list", "--json"]).json();
    assert_eq!(now[0]["state"], "pending-approval", "{entry}: {now}");
    run(&["tools"]);
    assert!(!home.path("touched").exists(), "{entry}");
}

fn project(home: &World, path: &str, entry: &Value) {
    let text = json!({"mcpServers": {"p": entry}}).to_string();
    home.write(path, text);
}

#[test]
fn whatever_leads_to_a_script_binds_it() {
    for (entry, changed) in [
        // The link is followed before `..` is.
        (json!({"command": "./lnk/../run.sh"}), "far/run.sh"),
        (
            json!({"command": "sh", "args": ["lnk/../run.sh"]}),
            "far/run.sh",
        ),
        (
            json!({"command": "./run.sh", "cwd": "lnk/.."}),
            "far/run.sh",
        ),
        // Directories that the line goes to.
        (
            json!({"command": "sh", "args": ["-c", "cd server && exec ./run.sh"]}),
            "server/run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "cd far; cd deep && ./run.sh"]}),
            "far/deep/run.sh",
        ),
        (
            json!({"command": "env", "args": ["-C", "server", "./run.sh"]}),
            "server/run.sh",
        ),
        (
            json!({"command": "env", "args": ["--chdir=server", "./run.sh"]}),
            "server/run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "cd \"$D\" && ./run.sh"], "env": {"D": "server"}}),
            "server/run.sh",
        ),
        // Whatever the shell or the process makes of the beginning.
        (
            json!({"command": "sh", "args": ["-c", "exec $PWD/run.sh"]}),
            "run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "exec `pwd`/server/run.sh"]}),
            "server/run.sh",
        ),
        (
            json!({"command": "sh", "args": ["/proc/self/cwd/run.sh"], "cwd": "server"}),
            "server/run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "exec ./'run'.sh"]}),
            "run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "exec './my run.sh'"]}),
            "my run.sh",
        ),
        // Names that a shell fills in.
        (
            json!({"command": "sh", "args": ["-c", "exec ./r?n.*"]}),
            "run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "cd ser* && exec ./[r]un.sh"]}),
            "server/run.sh",
        ),
        // Any variable may be run.
        (
            json!({"command": "sh", "args": ["-c", "exec $RUN"], "env": {"RUN": "./run.sh"}}),
            "run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "exec $DATA"], "env": {"DATA": "./run.sh"}}),
            "run.sh",
        ),
        (
            json!({"command": "env", "args": ["my-server"], "env": {"PATH": "server:/usr/bin:/bin"}}),
            "server/my-server",
        ),
        // What looks like data by its option.
        (
            json!({"command": "WRAP", "args": ["--no-cache", "./run.sh"]}),
            "run.sh",
        ),
        (
            json!({"command": "WRAP", "args": ["--cache", "./run.sh"]}),
            "run.sh",
        ),
        (
            json!({"command": "sh", "args": ["-c", "exec \"$2\"", "./README.md", "--data", "./run.sh"]}),
            "run.sh",
        ),
    ] {
        let home = World::repository();
        for folder in ["far/deep", "server"] {
            std::fs::create_dir_all(home.path("home/repo").join(folder)).unwrap();
        }
        home.write("home/repo/README.md", "read me");
        symlink("far/deep", home.path("home/repo/lnk")).unwrap();
        // A program of the user's that runs another one, which nobody here knows.
        let wrap = home.write("bin/wrap", "#!/bin/sh\nshift\nexec /bin/sh \"$@\"\n");
        std::fs::set_permissions(&wrap, std::fs::Permissions::from_mode(0o755)).unwrap();
        let entry: Value =
            serde_json::from_str(&entry.to_string().replace("WRAP", wrap.to_str().unwrap()))
                .unwrap();
        project(&home, "home/repo/.mcp.json", &entry);
        a_change_asks_again(&home, "home/repo", &entry, &format!("home/repo/{changed}"));
    }
}

/// The directory of the entry's own file is the repository's as well, whatever
/// repository lies between that and where we are.
#[test]
fn a_file_above_the_nearest_repository_binds_what_is_there() {
    for git in ["home/outer/.git", "home/.none"] {
        for (entry, changed) in [
            (json!({"command": "../run.sh"}), "home/outer/run.sh"),
            (
                json!({"command": "./run.sh", "cwd": ".."}),
                "home/outer/run.sh",
            ),
            (json!({"command": "./sub.sh"}), "home/outer/real.sh"),
        ] {
            let home = World::repository();
            for folder in [git, "home/outer/sub/.git"] {
                std::fs::create_dir_all(home.path(folder)).unwrap();
            }
            symlink("../real.sh", home.path("home/outer/sub/sub.sh")).unwrap();
            project(&home, "home/outer/.mcp.json", &entry);
            a_change_asks_again(&home, "home/outer/sub", &entry, changed);
        }
    }
}

/// A link that leads to another approved file of the repository is a change.
#[test]
fn a_link_inside_the_repository_stays_where_it_led() {
    let home = World::repository();
    script(&home, "home/repo/one.sh", "");
    script(&home, "home/repo/two.sh", "touch ROOT/touched");
    let link = home.path("home/repo/run.sh");
    symlink("one.sh", &link).unwrap();
    project(
        &home,
        "home/repo/.mcp.json",
        &json!({"command": "./run.sh", "args": ["two.sh"]}),
    );
    home.approve("p");
    let state = || home.show(&["list", "--json"]).json()[0]["state"].clone();
    assert_eq!(state(), "connected");
    std::fs::remove_file(&link).unwrap();
    symlink("two.sh", &link).unwrap();
    assert_eq!(state(), "pending-approval");
    assert!(!home.path("touched").exists());
}

/// Where words cannot say all that will run, the person is told.
#[test]
fn what_runs_other_programs_is_warned_of() {
    let home = World::repository();
    let said = "code and settings from the directory it works in";
    for (entry, program) in [
        (json!({"command": "npx", "args": ["x"]}), Some("npx")),
        (json!({"command": "env", "args": ["npx", "x"]}), Some("npx")),
        (
            json!({"command": "nice", "args": ["-n", "1", "timeout", "9", "uvx", "x"]}),
            Some("uvx"),
        ),
        (
            json!({"command": "flock", "args": ["/x", "y"]}),
            Some("flock"),
        ),
        (
            json!({"command": "/bin/bash", "args": ["-c", "y"]}),
            Some("/bin/bash"),
        ),
        (
            json!({"command": "python3", "args": ["-c", "import y"]}),
            Some("python3"),
        ),
        (
            json!({"command": "node", "args": ["--eval=y"]}),
            Some("node"),
        ),
        (
            json!({"command": "perl", "args": ["-we", "y"]}),
            Some("perl"),
        ),
        (
            json!({"url": "https://x.example/", "headersHelper": "y"}),
            Some("headersHelper"),
        ),
        // Nobody knows what it does.
        (
            json!({"command": "echo-server", "args": ["--stdio"]}),
            Some("echo-server"),
        ),
        (json!({"command": "node", "args": ["/opt/y.js"]}), None),
    ] {
        project(&home, "home/repo/.mcp.json", &entry);
        let shown = home.show(&["approve", "p", "--show"]).ok().out;
        match program {
            Some(program) => {
                let takes = match program {
                    "echo-server" => "may take",
                    _ => "takes",
                };
                let told = format!("{program} {takes} {said}");
                assert!(shown.contains(&told), "{shown}");
            }
            None => assert!(!shown.contains(said), "{shown}"),
        }
    }
}
