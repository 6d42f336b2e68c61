//! A reader in another language, which ignores the case of keys.

use super::Seen;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
};

/// The reader, built.
#[derive(Debug)]
pub struct Go {
    folder: PathBuf,
}

impl Go {
    /// Builds it.
    ///
    /// # Panics
    /// Where there is no Go: a test that leaves out its strictest reader has not run.
    pub fn build() -> Self {
        let folder = format!("switchboard-go-reader-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir(&folder).expect("a folder of our own can be made");
        let go = Self { folder };
        let source = go.folder.join("reader.go");
        fs::write(&source, include_str!("../../go/reader.go")).expect("the source can be written");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(go.program()).arg(&source);
        build.current_dir(&go.folder).env("GO111MODULE", "off");
        if std::env::var_os("HOME").is_none() {
            build.env("GOCACHE", go.folder.join("cache"));
        }
        let built = build
            .output()
            .expect("Go is needed: install the package golang-go, or run `cargo xtask setup`");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "go build: {said}");
        go
    }

    fn program(&self) -> PathBuf {
        self.folder.join("reader")
    }

    /// What it reads in each of these requests, none of which has a line end in it.
    ///
    /// # Panics
    /// When the reader ends early.
    pub fn read(&self, requests: &[Vec<u8>]) -> Vec<Seen> {
        let mut reader = Command::new(self.program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reader starts");
        let mut stdin = reader.stdin.take().expect("a pipe");
        let stdout = BufReader::new(reader.stdout.take().expect("a pipe"));
        let seen: Vec<Seen> = std::thread::scope(|scope| {
            scope.spawn(move || {
                for request in requests {
                    assert!(!request.contains(&b'\n'), "a request is one line");
                    // The answers tell whether all were read.
                    let _ = stdin
                        .write_all(request)
                        .and_then(|()| stdin.write_all(b"\n"));
                }
            });
            let lines = stdout.lines().map_while(Result::ok);
            lines.map(|line| seen(&line)).collect()
        });
        let _ = reader.wait();
        assert_eq!(seen.len(), requests.len(), "every request is read");
        seen
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn seen(line: &str) -> Seen {
    let read: Value = serde_json::from_str(line).expect("the reader writes JSON");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let params = &read["params"];
    let kind = text(&params["ref"]["type"]).unwrap_or_default();
    let key = if kind == "ref/resource" {
        "uri"
    } else {
        "name"
    };
    Seen {
        method: text(&read["method"]),
        name: text(&params["name"]),
        uri: text(&params["uri"]),
        task: text(&params["taskId"]),
        level: text(&params["level"]),
        reference: text(&params["ref"][key]).map(|name| (kind, name)),
    }
}
