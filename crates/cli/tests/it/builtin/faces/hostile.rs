//! Arguments that somebody means harm with.

use super::setting::{Face, Setting};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    os::unix::{ffi::OsStrExt, fs::symlink},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use switchboard_testkit::world::{alive, tries, until};

/// The most that any answer may take here: the largest cap of a single answer
/// (1 MiB as base64, said twice), with room for escapes.
const ANSWER: usize = 4 * 1024 * 1024;

async fn fails(face: &mut Face, tool: &str, arguments: &Value) -> String {
    let result = face.call("files", tool, arguments.clone()).await;
    assert_eq!(
        result["isError"],
        true,
        "{}: {tool} {arguments}: {result}",
        face.how()
    );
    result.to_string()
}

/// Nothing outside of the root is read, written, listed, moved or deleted.
pub async fn paths(world: &Setting, face: &mut Face) {
    let evil = world.base.join("allowed_evil");
    let root = world.base.join("allowed");
    for (link, to) in [("out", evil.clone()), ("out-file", evil.join("secret"))] {
        let _ = symlink(to, root.join(link));
    }
    let base = world.base.display();
    let paths = [
        format!("{base}/allowed_evil/secret"),
        format!("{base}/allowed/../allowed_evil/secret"),
        "../allowed_evil/secret".to_owned(),
        "out/secret".to_owned(),
        "out-file".to_owned(),
        "out/secret/below".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/root/etc/passwd".to_owned(),
        format!("file://{base}/allowed/%2e%2e/allowed_evil/secret"),
        "a\0b".to_owned(),
        "x/".repeat(3000),
    ];
    for path in &paths {
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "EVIL"})),
            (
                "edit",
                json!({"path": path, "oldText": "SECRET", "newText": "EVIL"}),
            ),
            ("grep", json!({"pattern": "SECRET", "path": path})),
            (
                "move",
                json!({"from": "file", "to": path, "overwrite": true}),
            ),
        ] {
            // A link may itself be replaced; it is never followed out.
            if path == "out-file" && tool == "move" {
                continue;
            }
            let said = fails(face, tool, &arguments).await;
            assert!(!said.contains("SECRET\""), "{tool} {arguments}: {said}");
            // Nor is what is there told from what is not.
            assert!(
                !said.contains("not a directory"),
                "{tool} {arguments}: {said}"
            );
        }
    }
    // Shell commands begin inside, too.
    let outside = json!({"command": "true", "cwd": evil});
    let result = face.call("shell", "runShellCommand", outside).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(fs::read_to_string(evil.join("secret")).unwrap(), "SECRET");
    assert_eq!(
        fs::read_dir(&evil).unwrap().count(),
        1,
        "nothing was made there"
    );
    assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "fine");
}

/// A directory that turns into a link, and back, while files are read through it.
pub async fn swap(world: &Setting, face: &mut Face) {
    let root = world.base.join("allowed");
    let (door, real, evil) = (root.join("door"), root.join("real"), root.join("evil"));
    if !real.exists() && !door.exists() {
        fs::create_dir(&door).unwrap();
        fs::write(door.join("secret"), "HARMLESS").unwrap();
        symlink(world.base.join("allowed_evil"), &evil).unwrap();
    }
    let over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let over = over.clone();
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                fs::rename(&door, &real).unwrap();
                fs::rename(&evil, &door).unwrap();
                fs::rename(&door, &evil).unwrap();
                fs::rename(&real, &door).unwrap();
            }
        })
    };
    // What the server itself does about it is tried far more often beside it.
    for _ in 0..tries(15, 60) {
        for (tool, arguments) in [
            ("read", json!({"path": "door/secret"})),
            ("grep", json!({"pattern": "SECRET", "path": "door"})),
            (
                "edit",
                json!({"path": "door/secret", "oldText": "SECRET", "newText": "EVIL"}),
            ),
        ] {
            let result = face.call("files", tool, arguments).await;
            // The pattern is in some answers; what the file says must not be.
            let text = result.to_string();
            assert!(
                !text.contains("\"SECRET\"") && !text.contains(":SECRET"),
                "{text}"
            );
            assert_ne!(result["structuredContent"]["text"], "SECRET", "{text}");
        }
    }
    over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    let evil = world.base.join("allowed_evil");
    assert_eq!(fs::read_to_string(evil.join("secret")).unwrap(), "SECRET");
    assert_eq!(
        fs::read_dir(evil).unwrap().count(),
        1,
        "nothing was made there"
    );
}

/// Files that are huge, binary, oddly named or one long line.
pub async fn odd_files(world: &Setting, face: &mut Face) {
    let odd = world.base.join("allowed/odd");
    if !odd.exists() {
        fs::create_dir(&odd).unwrap();
        // Sparse: it takes no room and would take all memory.
        File::create(odd.join("huge"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let mut long = File::create(odd.join("long")).unwrap();
        for _ in 0..40 {
            long.write_all(&[b'x'; 100_000]).unwrap();
        }
        let lines = format!("{}\n", "x".repeat(600)).repeat(3000);
        fs::write(odd.join("lines"), lines).unwrap();
        let mut pipe = std::process::Command::new("mkfifo");
        assert!(pipe.arg(odd.join("pipe")).status().unwrap().success());
        fs::write(odd.join("binary"), [0u8, 159, 146, 150, 255, 1]).unwrap();
        fs::write(odd.join(OsStr::from_bytes(b"caf\xe9")), "named").unwrap();
        fs::write(odd.join("esc\u{1b}[31m\nname"), "named").unwrap();
    }
    for (tool, arguments) in [
        ("read", json!({"path": "odd/huge"})),
        ("read", json!({"path": "odd/huge", "encoding": "base64"})),
        ("read", json!({"path": "odd/huge", "offset": 1_000_000_000})),
        (
            "edit",
            json!({"path": "odd/huge", "oldText": "a", "newText": "b"}),
        ),
        ("read", json!({"path": "odd/long"})),
        ("read", json!({"path": "odd/binary"})),
        ("read", json!({"path": "odd/binary", "encoding": "base64"})),
        ("grep", json!({"pattern": "x", "path": "odd"})),
        (
            "grep",
            json!({"pattern": "x", "path": "odd", "context": 5, "limit": 1000}),
        ),
        ("read", json!({"path": "odd/pipe"})),
        ("grep", json!({"pattern": "x", "path": "odd/pipe"})),
        ("write", json!({"path": "odd/pipe", "content": "x"})),
        (
            "write",
            json!({"path": "odd/pipe", "content": "x", "mode": "append"}),
        ),
        (
            "edit",
            json!({"path": "odd/lines", "oldText": "x", "newText": "y".repeat(100_000),
                   "expectedCount": 1_800_000}),
        ),
        (
            "write",
            json!({"path": format!("odd/{}f", "d/".repeat(1000)), "content": "x"}),
        ),
        ("list", json!({"path": "odd"})),
        ("tree", json!({"path": "odd"})),
        ("search", json!({"pattern": "*", "path": "odd"})),
    ] {
        let answer = face.answer("files", tool, arguments.clone()).await;
        let text = answer.to_string();
        assert!(answer.get("result").is_some(), "{tool} {arguments}: {text}");
        assert!(
            text.len() < ANSWER,
            "{tool} {arguments}: {} bytes",
            text.len()
        );
    }
    let listed = face.call("files", "list", json!({"path": "odd"})).await;
    let names = listed["structuredContent"]["entries"]
        .as_array()
        .map(Vec::len);
    assert_eq!(
        names,
        Some(7),
        "every file is listed, however it is called: {listed}"
    );
    let binary = face
        .call("files", "read", json!({"path": "odd/binary"}))
        .await;
    assert!(binary.to_string().contains("binary"), "{binary}");
}

/// Commands that never end, or never stop writing, or write for a terminal.
pub async fn commands(face: &mut Face) {
    let endless = json!({"command": "sleep 1000", "timeoutMs": 300});
    let result = face.call("shell", "runShellCommand", endless).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["structuredContent"]["timedOut"], true, "{result}");
    let flood = json!({"command": "yes", "timeoutMs": 500, "maxOutputBytes": 1000});
    let result = face.call("shell", "runShellCommand", flood).await;
    let kept = result["structuredContent"]["stdout"]
        .as_str()
        .unwrap()
        .len();
    assert!(kept < 2000, "{kept} bytes were kept");
    assert!(
        result["structuredContent"]["leftOutBytes"].as_u64() > Some(10_000),
        "{result}"
    );
    let colours = r"printf '\033[31mred\033]0;title\007'";
    let result = face
        .call("shell", "runShellCommand", json!({"command": colours}))
        .await;
    let shown = result["structuredContent"]["stdout"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        shown.contains("red") && !shown.contains('\u{1b}'),
        "{shown:?}"
    );
    let raw = json!({"command": colours, "raw": true});
    let result = face.call("shell", "runShellCommand", raw).await;
    let shown = result["structuredContent"]["stdout"].as_str().unwrap();
    assert!(shown.contains('\u{1b}'), "{shown:?}");
}

/// What a command leaves behind does not stay, however it hides.
pub async fn leftovers(face: &mut Face) {
    let hides = "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > left; exec sleep 1000' \
                 >/dev/null 2>&1 &); until test -s left; do sleep 0.05; done; cat left; rm left";
    let result = face
        .call("shell", "runShellCommand", json!({"command": hides}))
        .await;
    let left = result["structuredContent"]["stdout"]
        .as_str()
        .unwrap_or_default();
    let pid: i32 = left.trim().parse().unwrap_or_else(|_| panic!("{result}"));
    let gone = until(Duration::from_secs(30), || (!alive(pid)).then_some(())).await;
    assert!(
        gone.is_some(),
        "{}: process {pid} was left behind",
        face.how()
    );
}

/// No query is an expression, and no text is too much for an answer.
pub async fn memories(face: &mut Face) {
    let remember = json!({"text": "hello world", "key": "hostile"});
    face.call("memory", "remember", remember).await;
    for query in [
        "\"",
        "hello OR",
        "NEAR(hello",
        "text:hello",
        "hello\"*",
        "'; DROP TABLE entry; --",
    ] {
        let result = face.call("memory", "recall", json!({"query": query})).await;
        assert_ne!(result["isError"], true, "{query:?}: {result}");
    }
    for number in 0..8 {
        let text = json!({"text": "moon ".repeat(13_000), "key": format!("big{number}")});
        face.call("memory", "remember", text).await;
    }
    for (tool, arguments) in [
        ("recall", json!({"query": "moon", "limit": 100})),
        ("list", json!({"limit": 100})),
    ] {
        let result = face.call("memory", tool, arguments).await;
        let size = result.to_string().len();
        assert!(size < ANSWER / 4, "{tool}: {size} bytes");
    }
    let result = face
        .call("memory", "remember", json!({"text": "x".repeat(100_000)}))
        .await;
    assert_eq!(result["isError"], true, "{result}");
}

/// Words for a program arrive as one argument each, whatever is in them.
pub async fn words(face: &mut Face) {
    for text in [
        "$(id) `id` ${HOME}",
        "; true &",
        "two words",
        "a'b\"c\\",
        "%s%n",
        "",
    ] {
        let result = face.call("tools", "say", json!({"text": text})).await;
        let said = result["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(
            said.trim_end(),
            format!("{text}|"),
            "{}: {result}",
            face.how()
        );
    }
    // What a program would take for an option, or could never get.
    for text in ["--help", "a\0b"] {
        let result = face.call("tools", "say", json!({ "text": text })).await;
        assert_eq!(result["isError"], true, "{text:?}: {result}");
    }
}
