//! The table of `up` goes on after all is ready: what happens to a server is
//! there to be seen, in place on a terminal and as lines elsewhere.

use crate::support::screen::Shown;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpListener,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{World, echo, servers};
use switchboard_testkit::{HttpClient, bin, text_of};

/// A server that notes its process, and that fails while there is a file `broken`.
fn fragile(home: &World) -> Value {
    let script = format!(
        "echo $$ > {0}/pid; if test -e {0}/broken; then echo no good >&2; exit 3; fi; exec {1} --stdio",
        home.root.display(),
        bin("echo-server").display()
    );
    json!({"command": "sh", "args": ["-c", script]})
}

/// A server that lets nobody in.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    format!("http://{address}/mcp")
}

fn user_settings(home: &World, servers: &Value) {
    let settings = json!({ "mcpServers": servers }).to_string();
    home.write("home/.config/switchboard/settings.json", settings);
}

/// Kills the server's process, and waits for whatever was noted after it.
fn kill(home: &World) {
    let pid: i32 = home.read("pid").trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// What happens to servers, and each time what is to be seen of it.
fn story(home: &World, shown: &mut Shown) {
    shown.until("it is there", |rows| {
        rows.says("echo", "connected") && rows.has("Ready.")
    });
    // It dies, and is started again.
    let before = home.read("pid");
    kill(home);
    let until = Instant::now() + Duration::from_secs(60);
    while home.read("pid") == before {
        assert!(Instant::now() < until, "it was not started again");
        std::thread::sleep(Duration::from_millis(20));
    }
    shown.until("it is back", |rows| rows.says("echo", "connected"));
    // It dies for good; its own words are there.
    home.write("broken", "");
    kill(home);
    shown.until("it has failed", |rows| {
        rows.says("echo", "failed") && rows.has("no good")
    });
    std::fs::remove_file(home.path("broken")).unwrap();
    home.show(&["reconnect", "echo"]).ok();
    shown.until("it was reconnected", |rows| rows.says("echo", "connected"));
    // Others come: one that wants a sign-in, and one that nobody has approved.
    user_settings(
        home,
        &json!({"echo": fragile(home), "closed": {"type": "http", "url": closed()}}),
    );
    shown.until("it wants a sign-in", |rows| {
        rows.says("closed", "needs a sign-in")
    });
    let echo = json!({"command": bin("echo-server"), "args": ["--stdio"]});
    home.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"theirs": echo}}).to_string(),
    );
    shown.until("it waits", |rows| rows.says("theirs", "waits for approval"));
    home.approve("theirs");
    shown.until("it was approved", |rows| rows.says("theirs", "connected"));
    // And one goes.
    user_settings(home, &json!({"echo": fragile(home)}));
    shown.until("it went", |rows| rows.is_without("closed"));
}

#[test]
fn on_a_terminal_each_server_has_one_line_that_changes() {
    let home = World::repository();
    user_settings(&home, &json!({"echo": fragile(&home)}));
    let mut shown = Shown::screen(home.on_terminal(60, 100, "up --port 0 --no-builtins"));
    story(&home, &mut shown);
    let rows = shown.rows();
    // What was logged meanwhile stands above, and has spoilt nothing.
    assert!(rows.has("the connection ended"), "{rows}");
    for name in ["echo", "theirs"] {
        assert_eq!(rows.lines_of(name), 1, "{rows}");
    }
    assert_eq!(rows.lines_that(|line| line.contains("Ready.")), 1, "{rows}");
    assert!(
        rows.last()
            .contains("Ready. s opens a screen, Ctrl-C ends it."),
        "{rows}"
    );
    assert_eq!(shown.end(), Some(0));
}

#[test]
fn without_a_terminal_every_change_is_a_line() {
    let home = World::repository();
    user_settings(&home, &json!({"echo": fragile(&home)}));
    let command = home.command(&["up", "--port", "0", "--no-builtins"]);
    let mut shown = Shown::log(command);
    story(&home, &mut shown);
    let rows = shown.rows();
    assert!(!rows.to_string().contains('\u{1b}'), "{rows}");
    assert!(rows.lines_of("echo") >= 5, "{rows}");
    assert_eq!(shown.end(), Some(0));
}

/// Whoever counts processes finds them in the table and in `list`: a program that
/// speaks both eras has one for each that is in use.
#[tokio::test]
async fn each_copy_of_a_server_is_counted() {
    let home = World::with(&servers([
        ("both", echo(&[])),
        ("old", echo(&["--era", "legacy"])),
    ]));
    let mut shown = Shown::log(home.command(&["up", "--port", "0", "--no-builtins"]));
    shown.until("all were met", |rows| rows.has("Ready."));
    assert!(!shown.rows().has("processes"), "{}", shown.rows());
    let copies = || {
        let listed = home.show(&["list", "--json"]).ok().json();
        [&listed[0], &listed[1]].map(|row| row["copies"].as_u64())
    };
    assert_eq!(copies(), [Some(1), Some(1)]);
    let rows = shown.rows().to_string();
    let at = rows.find("http://127.0.0.1:").expect("its address");
    let url = rows[at..].split_whitespace().next().unwrap();
    let mut client = HttpClient::new(url);
    let token = format!("Bearer {}", home.token("tokens/default"));
    client.headers.insert("authorization".into(), token);
    for server in ["both", "old"] {
        let call = json!({"name": format!("{server}__echo"), "arguments": {"nonce": "n"}});
        let answer = client.modern("tools/call", call).await.message();
        assert_eq!(text_of(&answer), "n");
    }
    shown.until("there are two", |rows| rows.has("; 2 processes"));
    assert_eq!(
        shown.rows().lines_that(|line| line.contains("processes")),
        1
    );
    assert_eq!(copies(), [Some(2), Some(1)]);
    let listed = home.show(&["list"]).ok().out;
    assert_eq!(listed.matches(", 2 processes,").count(), 1, "{listed}");
    let alone = home.show(&["list", "--json", "--direct"]).ok().json();
    assert_eq!(alone[0]["copies"], 1);
    assert_eq!(shown.end(), Some(0));
}

/// What a server uses is shown for as long as it runs, and that it rests.
#[test]
fn what_servers_use_is_shown() {
    let home = World::repository();
    let mut resting = echo(&[]);
    resting["idleTimeout"] = json!(3000);
    user_settings(&home, &json!({"echo": echo(&[]), "rests": resting}));
    let mut shown = Shown::screen(home.on_terminal(60, 100, "up --port 0 --no-builtins"));
    shown.until("it is there", |rows| {
        rows.lines_that(|line| line.contains("echo") && line.contains(" MiB, ")) == 1
    });
    shown.until("it rests", |rows| {
        let rests = |line: &str| line.contains("rests") && line.contains("asleep");
        rows.lines_that(|line| rests(line) && !line.contains("MiB")) == 1
    });
    assert_eq!(shown.end(), Some(0));
}

/// A table that is longer than the screen still changes in place.
#[test]
fn a_small_screen_shows_what_is_not_well() {
    let home = World::repository();
    let echo = json!({"command": bin("echo-server"), "args": ["--stdio"]});
    let mut servers = serde_json::Map::new();
    for at in 0..12 {
        servers.insert(format!("s{at}"), echo.clone());
    }
    servers.insert("gone".to_owned(), json!({"command": "no-such-program"}));
    user_settings(&home, &Value::Object(servers));
    let mut shown = Shown::screen(home.on_terminal(10, 40, "up --port 0 --no-builtins"));
    shown.until("all were met", |rows| rows.has("Ready."));
    let rows = shown.rows();
    assert_eq!(rows.lines_of("gone"), 1, "{rows}");
    assert!(rows.has("… and 8 more"), "{rows}");
    let table = rows.below("Servers");
    assert!(
        table.iter().all(|line| line.chars().count() <= 40),
        "{rows}"
    );
    assert_eq!(shown.end(), Some(0));
}

/// Recorders and containers often have a terminal of 0 lines.
#[test]
fn a_screen_that_does_not_say_its_size_shows_the_servers() {
    let home = World::repository();
    let echo = json!({"command": bin("echo-server"), "args": ["--stdio"]});
    user_settings(&home, &json!({ "echo": echo }));
    let mut shown = Shown::screen(home.on_terminal(0, 0, "up --port 0 --no-builtins"));
    shown.until("all were met", |rows| rows.has("Ready."));
    let rows = shown.rows();
    assert!(rows.says("echo", "connected"), "{rows}");
    assert_eq!(shown.end(), Some(0));
}
