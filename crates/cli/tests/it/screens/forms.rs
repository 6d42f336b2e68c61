//! Questions on a terminal: what a server asks for is typed, checked and sent as
//! the values it is; pages are shown and never opened; who goes away has said
//! nothing.

use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use switchboard_testkit::world::World;
use switchboard_testkit::{bin, record};

const LONG: Duration = Duration::from_secs(30);

/// The program on a terminal, with somebody who reads and types.
struct Screen {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<String>>,
}

impl Screen {
    #[track_caller]
    fn start(home: &World, words: &str) -> Self {
        let mut command = home.on_terminal(40, 200, words);
        command
            .env("NO_COLOR", "1")
            .env("BROWSER", home.path("browser"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(String::new()));
        let shown = seen.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut part) {
                let text = String::from_utf8_lossy(&part[..length]).into_owned();
                shown.lock().unwrap().push_str(&text);
            }
        });
        Self { child, keys, seen }
    }

    /// Waits until this is on the screen, after what was waited for before.
    #[track_caller]
    fn sees(&mut self, text: &str) {
        let begun = Instant::now();
        loop {
            let mut seen = self.seen.lock().unwrap();
            if let Some(at) = seen.find(text) {
                seen.drain(..at + text.len());
                return;
            }
            assert!(begun.elapsed() < LONG, "{text:?} is not in {seen:?}");
            drop(seen);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// A home with a server whose tool asks this before it answers.
fn asking(question: &Value, rules: Value) -> World {
    let home = World::repository();
    let list = json!({"method": "tools/list", "reply":
        json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}).to_string()});
    let asks =
        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": question});
    let before = if question.is_null() {
        json!([])
    } else {
        json!([asks.to_string()])
    };
    let call = json!({"method": "tools/call", "before": before,
        "reply": json!({"content": [{"type": "text", "text": "all done"}]}).to_string()});
    home.write("script", format!("{list}\n{call}\n"));
    let args = [
        "--stdio",
        "--era",
        "legacy",
        "--script",
        "ROOT/script",
        "--record",
        "ROOT/record",
    ];
    let settings = json!({"mcpServers": {"r": {"command": bin("recorder"), "args": args}}, "permissions": rules});
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    home
}

/// What the server was sent, as far as it is about this.
fn sent(home: &World, about: impl Fn(&Value) -> bool) -> Vec<Value> {
    let messages = record::read(home.path("record")).unwrap_or_default();
    let parsed = messages
        .iter()
        .filter_map(|raw| serde_json::from_slice::<Value>(raw).ok());
    parsed.filter(|message| about(message)).collect()
}

fn answer(home: &World) -> Value {
    let answers = sent(home, |message| message["id"] == "q");
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0]["result"].clone()
}

fn form() -> Value {
    json!({"message": "Who are you?", "requestedSchema": {"type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 3},
            "age": {"type": "integer", "minimum": 1, "maximum": 150},
            "tall": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "city": {"type": "string", "default": "Bern"},
            "nick": {"type": "string"}
        },
        "required": ["name", "age", "tall", "colour"]}})
}

#[test]
fn a_form_is_filled_in_with_values_of_its_types() {
    let home = asking(&form(), json!({}));
    let mut screen = Screen::start(&home, "call r__t");
    screen.sees("server r asks: Who are you?");
    for (field, typed) in [
        ("name", "Jo"),
        ("name", "Joan"),
        ("age", "old"),
        ("age", "151"),
        ("age", "42"),
        ("tall", "perhaps"),
        ("tall", "yes"),
        ("colour", "blue"),
        ("colour", "2"),
        ("city [Bern]", ""),
        ("nick", ""),
    ] {
        screen.sees(&format!("  {field}: "));
        screen.types(&format!("{typed}\r"));
    }
    screen.sees("all done");
    assert_eq!(screen.end(), Some(0));
    let content = json!({"name": "Joan", "age": 42, "tall": true, "colour": "g", "city": "Bern"});
    assert_eq!(
        answer(&home),
        json!({"action": "accept", "content": content})
    );
}

#[test]
fn who_declines_or_goes_away_says_no_more_than_that() {
    for (key, action) in [("!\r", "decline"), ("\u{4}", "cancel")] {
        let home = asking(&form(), json!({}));
        let mut screen = Screen::start(&home, "call r__t");
        screen.sees("  name: ");
        screen.types(key);
        screen.sees("all done");
        assert_eq!(screen.end(), Some(0));
        assert_eq!(answer(&home), json!({"action": action}));
    }
    // Ctrl-C is about the call.
    let home = asking(&form(), json!({}));
    let mut screen = Screen::start(&home, "call r__t");
    screen.sees("  name: ");
    screen.types("\u{3}");
    assert_eq!(screen.end(), Some(130));
    let cancelled = sent(&home, |message| {
        message["method"] == "notifications/cancelled"
    });
    assert_eq!(cancelled.len(), 1, "{cancelled:?}");
    let accepted = sent(&home, |message| message["result"]["action"] == "accept");
    assert!(accepted.is_empty(), "{accepted:?}");
}

#[test]
fn a_page_is_shown_in_full_and_never_opened() {
    let url = "https://xn--pple-43d.example/sign-in?state=0123456789abcdef&next=%2Fhome";
    let page = json!({"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"});
    let home = asking(&page, json!({}));
    let browser = home.write("browser", "#!/bin/sh\ntouch ROOT/opened\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(browser, executable).unwrap();
    let mut screen = Screen::start(&home, "call r__t");
    screen.sees("server r wants you to visit:");
    screen.sees(url);
    screen.sees("Done?");
    screen.types("y\r");
    screen.sees("all done");
    assert_eq!(screen.end(), Some(0));
    assert_eq!(answer(&home), json!({"action": "accept"}));
    assert!(
        !home.path("opened").exists(),
        "a browser was opened unasked"
    );
}

/// Nothing is cut off: who says yes has had all of it on the screen.
#[test]
fn long_arguments_are_turned_page_by_page() {
    let list: Vec<String> = (0..150).map(|i| format!("\"item-{i}\"")).collect();
    let words = format!("call r__t '{{\"list\": [{}]}}'", list.join(","));
    for (key, code, calls) in [("y\r", Some(0), 1), ("q\r", Some(5), 0)] {
        let home = asking(&Value::Null, json!({"ask": ["mcp__r__t"]}));
        let mut screen = Screen::start(&home, &words);
        screen.sees("\"item-20\"");
        screen.sees("more lines of arguments: Enter goes on, q says no");
        if code == Some(0) {
            for item in ["\"item-50\"", "\"item-90\"", "\"item-120\""] {
                screen.types("\r");
                screen.sees(item);
                screen.sees("more lines of arguments");
            }
            screen.types("\r");
            screen.sees("\"item-149\"");
            screen.sees("[y/N]");
        }
        screen.types(key);
        assert_eq!(screen.end(), code, "{key:?}");
        let sent = sent(&home, |message| message["method"] == "tools/call");
        assert_eq!(sent.len(), calls, "{key:?}");
    }
}

#[test]
fn a_call_waits_for_a_yes() {
    for (key, code, calls) in [
        ("y\r", Some(0), 1),
        ("\r", Some(5), 0),
        ("\u{4}", Some(5), 0),
    ] {
        let home = asking(&Value::Null, json!({"ask": ["mcp__r__t"]}));
        let mut screen = Screen::start(&home, r#"call r__t '{"path": "/etc"}'"#);
        screen.sees("Allow this call? mcp__r__t");
        screen.sees("/etc");
        assert!(sent(&home, |message| message["method"] == "tools/call").is_empty());
        screen.sees("[y/N]");
        screen.types(key);
        assert_eq!(screen.end(), code, "{key:?}");
        let sent = sent(&home, |message| message["method"] == "tools/call");
        assert_eq!(sent.len(), calls, "{key:?}");
    }
}
