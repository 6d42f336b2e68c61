use super::*;
use crate::method::UnclearMethod;
use crate::{Edits, Message, Named, Params, json::quote, limits};
use peers::one_reading::{Go, Reader, Seen, Speller};
use std::cell::Cell;

#[expect(
    dead_code,
    unreachable_pub,
    reason = "shared with testkit: each test program uses its part of them"
)]
mod peers;

thread_local! {
    static FOLDS: Cell<bool> = const { Cell::new(true) };
}

/// Whether this test looks at spellings.
pub(super) fn folds() -> bool {
    FOLDS.get()
}

const LISTS: [Method; 5] = [
    Method::ToolsList,
    Method::ResourcesList,
    Method::ResourceTemplatesList,
    Method::PromptsList,
    Method::TasksList,
];

fn every_object() -> Vec<Object> {
    let mut all = vec![
        Object::Envelope,
        Object::Meta,
        Object::RelatedTask,
        Object::Capabilities,
        Object::ElicitationModes,
        Object::Reference,
        Object::Task,
        Object::Topics,
        Object::ProgressValue,
        Object::Annotations,
        Object::Execution,
    ];
    all.extend(Method::ALL.iter().copied().map(Object::Params));
    all.push(Object::Params(Method::Other));
    for list in LISTS {
        all.extend([Object::Page(list), Object::Item(list)]);
    }
    all
}

#[test]
fn the_table_is_sound() {
    for object in every_object() {
        let keys = object.keys();
        assert!(!keys.is_empty() && keys.len() <= MOST_KEYS, "{object:?}");
        for (at, key) in keys.iter().enumerate() {
            assert!(key.is_ascii() && !key.is_empty(), "{object:?} {key}");
            let others = &keys[at + 1..];
            assert!(
                !others.iter().any(|other| same_key(other) == same_key(key)),
                "{object:?}: {key} twice"
            );
        }
        for (key, _) in object.inner() {
            assert!(
                keys.contains(key),
                "{object:?} holds {key} and does not read it"
            );
        }
    }
}

/// Spellings of a key that some reader takes for it.
fn spellings(key: &str) -> Vec<String> {
    let swapped = |c: char| {
        if c.is_ascii_lowercase() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        }
    };
    let mut all = vec![
        key.to_ascii_uppercase(),
        key.chars().map(swapped).collect::<String>(),
    ];
    let mut title = key.to_owned();
    title.replace_range(..1, &key[..1].to_ascii_uppercase());
    all.push(title);
    for (plain, odd) in [
        ('s', 'ſ'),
        ('S', 'ſ'),
        ('k', '\u{212A}'),
        ('i', 'ı'),
        ('I', 'İ'),
        ('i', 'İ'),
    ] {
        all.push(key.replace(plain, &odd.to_string()));
    }
    for unseen in ["\0", "\0x", "\u{1}", "\u{7F}", "\u{FEFF}", "\u{200B}", " "] {
        all.extend([format!("{key}{unseen}"), format!("{key}{unseen}\0name")]);
    }
    for unseen in ["\0", "\u{FEFF}", "\u{FFFD}", "\u{AD}"] {
        let (head, tail) = key.split_at(1);
        all.extend([format!("{unseen}{key}"), format!("{head}{unseen}{tail}")]);
    }
    all.retain(|spelling| spelling != key);
    all.sort();
    all.dedup();
    all
}

fn escaped(key: &str) -> String {
    key.encode_utf16()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect()
}

#[test]
fn each_key_stands_once_and_as_we_write_it() {
    for object in every_object() {
        for key in object.keys() {
            let once = format!(r#"{{"other":1,"{key}":null}}"#);
            assert_eq!(check(object, once.as_bytes()), Ok(()), "{object:?} {once}");
            let once = format!(r#"{{"other":1,"{}":null}}"#, escaped(key));
            assert_eq!(check(object, once.as_bytes()), Ok(()), "{object:?} {once}");
            for twice in [
                format!(r#"{{"{key}":1,"{key}":1}}"#),
                format!(r#"{{"{key}":1,"{}":1}}"#, escaped(key)),
            ] {
                let fault = check(object, twice.as_bytes());
                assert_eq!(fault, Err(Unclear::Twice(key)), "{object:?} {twice}");
            }
            for spelling in spellings(key) {
                let plain = quote(&spelling);
                for other in [plain.trim_matches('"'), &escaped(&spelling)] {
                    for source in [
                        format!(r#"{{"{other}":1}}"#),
                        format!(r#"{{"{key}":1,"{other}":1}}"#),
                        format!(r#"{{"{other}":1,"{key}":1}}"#),
                    ] {
                        let fault = check(object, source.as_bytes());
                        assert_eq!(fault, Err(Unclear::Misspelt(key)), "{object:?} {source}");
                    }
                }
            }
        }
    }
}

#[test]
fn other_keys_are_data() {
    let source = r#"{"names":1,"Names":2,"nam":1,"nam":2,"naïve":1,"":0,"":1,"näme":1,"\ud800nam":1,"nam\u0000x":1}"#;
    for object in every_object() {
        assert_eq!(check(object, source.as_bytes()), Ok(()), "{object:?}");
    }
    // A key of another object, or of another method.
    let uri = br#"{"name":"t","uri":1,"Uri":2,"uri":3,"level":1,"LEVEL":1}"#;
    assert_eq!(check(Object::Params(Method::ToolsCall), uri), Ok(()));
    // What we do not know of a method that we do not know.
    let name = br#"{"name":1,"Name":2,"name":3}"#;
    assert_eq!(check(Object::Params(Method::Other), name), Ok(()));
    // Below the table.
    let deep = br#"{"name":"t","arguments":{"name":1,"Name":1,"name":2},"task":{"x":1,"X":1}}"#;
    assert_eq!(check(Object::Params(Method::ToolsCall), deep), Ok(()));
}

#[test]
fn the_objects_inside_are_looked_at_too() {
    for (object, source) in [
        (
            Object::Params(Method::ToolsCall),
            r#"{"name":"t","_meta":{"ProgressToken":1}}"#,
        ),
        (
            Object::Params(Method::Other),
            r#"{"_meta":{"progresſToken":1}}"#,
        ),
        (
            Object::Params(Method::Complete),
            r#"{"ref":{"type":"ref/prompt","name":"a","NAME":"b"}}"#,
        ),
        (
            Object::Params(Method::ToolsCall),
            r#"{"task":{"ttl":1,"TTL":2}}"#,
        ),
        (
            Object::Params(Method::Initialize),
            r#"{"capabilities":{"elicitation":{"form":{},"URL":{}}}}"#,
        ),
        (
            Object::Params(Method::Listen),
            r#"{"notifications":{"taskIds":[],"taskids":[]}}"#,
        ),
        (
            Object::Item(Method::ToolsList),
            r#"{"name":"t","annotations":{"readOnlyHint":true,"readonlyhint":false}}"#,
        ),
    ] {
        assert!(check(object, source.as_bytes()).is_err(), "{source}");
    }
}

#[test]
fn a_key_twice_is_found_at_any_depth() {
    for (source, key) in [
        (r#"{"a":1,"b":{"a":1,"c":[{"d":"a"},"d",{"d":{}}]}}"#, None),
        (r#"[1,"a","a",{"a":"a"},{"a":"a"}]"#, None),
        (r#""text""#, None),
        (r#"{"a":1,"a":1}"#, Some("a")),
        (r#"{"a":1,"A":1}"#, Some("A")),
        (r#"{"path":"x","Path":"y"}"#, Some("Path")),
        (r#"{"x":[{"y":{"k":1,"\u212A":2}}]}"#, Some("\u{212A}")),
        (r#"{"x":[{"y":{"ı":1,"z":{"q":[]},"I":2}}]}"#, Some("I")),
        (r#"{"a":{"b":1},"c":{"b":1},"a":{}}"#, Some("a")),
        (r#"{"straße":1,"STRASSE":1}"#, Some("STRASSE")),
        (r#"{"\ud800":1,"\ud800":2}"#, Some("\u{FFFD}")),
        (r#"{"p\ud800":1,"p\uD800":2}"#, Some("p\u{FFFD}")),
        (r#"{"p\ud800":1,"\u0070\udfff":2}"#, Some("p\u{FFFD}")),
        (r#"{"p\ud800":1,"p\ufffd":2}"#, Some("p\u{FFFD}")),
        (
            r#"{"p\\ud800":1,"p":2,"\ud83d\ude00":3,"\ud83d\ude01":4}"#,
            None,
        ),
        (r#"{"\u1e9e":1,"ß":2}"#, Some("ß")),
        (r#"{"path":1,"path\u0000":2}"#, Some("path\0")),
        (r#"{"path\u0000":2}"#, Some("path\0")),
        (r#"{"path":1,"pa\u0001th":2}"#, Some("pa\u{1}th")),
        (r#"{"path":1,"\ufeffpath":2}"#, Some("\u{FEFF}path")),
        (r#"{"path":1,"path ":2}"#, Some("path ")),
    ] {
        assert_eq!(ambiguous_key(source.as_bytes()).as_deref(), key, "{source}");
    }
    // Some keep no more of a key than this.
    let long = "k".repeat(limits::KEY_BYTES);
    let pair = format!(r#"{{"{long}x":1,"{long}y":2}}"#);
    assert_eq!(ambiguous_key(pair.as_bytes()), Some(format!("{long}y")));
    let long = &long[1..];
    let pair = format!(r#"{{"{long}x":1,"{long}y":2}}"#);
    assert_eq!(ambiguous_key(pair.as_bytes()), None);
    let deep = format!("{}{}", "{\"a\":".repeat(1000), "1") + &"}".repeat(1000);
    assert_eq!(ambiguous_key(deep.as_bytes()), None);
}

/// However a letter's case is changed, and however often, it is the same key.
#[test]
fn every_way_through_the_cases_ends_at_the_same_key() {
    for c in '\0'..=char::MAX {
        let (letter, upper) = (c.to_string(), c.to_uppercase().to_string());
        let same = same_key(&letter).into_owned();
        for other in [
            upper.clone(),
            c.to_lowercase().to_string(),
            upper.to_lowercase(),
            c.to_lowercase().flat_map(char::to_uppercase).collect(),
        ] {
            assert_eq!(same_key(&other), same, "{c:?} and {other:?}");
        }
    }
}

#[test]
fn a_method_is_nothing_else_to_others() {
    let read = |token: &str| Method::read(token.as_bytes());
    assert_eq!(read(r#""tools\/call""#), Ok(Method::ToolsCall));
    assert_eq!(read(r#""com.example/Wipe""#), Ok(Method::Other));
    for token in [
        r#"" tools/call""#,
        r#""tools/call ""#,
        r#""Tools/Call""#,
        r#""toolſ/call""#,
        r#""\ufefftools/call""#,
        r#""tools/call\n""#,
        r#""tools/call\ud800""#,
    ] {
        let like = Err(UnclearMethod::Like("tools/call"));
        assert_eq!(read(token), like, "{token}");
    }
    for token in [r#""tools/call\u0000""#, r#""x\u0000""#] {
        assert_eq!(read(token), Err(UnclearMethod::Ends), "{token}");
    }
}

/// How many requests are written: enough to meet every pair of spellings.
const CASES: usize = 120_000;

/// What is decided about a request, and what then goes to its server: the request
/// as it came, or under the server's own name for what it asks for. Nothing where
/// it is refused.
fn decided(request: &[u8]) -> Option<(Seen, Vec<Vec<u8>>)> {
    let message = Message::parse(request.to_vec().into()).ok()?;
    if message.is_reply() {
        return None;
    }
    let params = Params::of(&message).ok()?;
    let (named, span) = params.named(&message).ok()?;
    let level = Params::text(&message, params.level, "level").ok()?;
    let mut seen = Seen {
        method: Some(message.method_name()),
        level,
        ..Seen::default()
    };
    let completes = message.method() == Method::Complete;
    match &named {
        Named::Prompt(name) if completes => {
            seen.reference = Some(("ref/prompt".to_owned(), name.clone()));
        }
        Named::Resource(uri) if completes => {
            seen.reference = Some(("ref/resource".to_owned(), uri.clone()));
        }
        Named::Tool(name) | Named::Prompt(name) => seen.name = Some(name.clone()),
        Named::Resource(uri) => seen.uri = Some(uri.clone()),
        Named::Task(id) => seen.task = Some(id.clone()),
        Named::Nothing | Named::Unknown => {}
    }
    let mut sent = vec![message.raw().to_vec()];
    if let (Some(span), Some(name)) = (span, named.text()) {
        let mut edits = Edits::new();
        edits.replace(span, quote(name));
        sent.push(message.edited(&edits).into_bytes().to_vec());
    }
    Some((seen, sent))
}

/// The first request that some reader reads otherwise than it was decided; and how
/// many were forwarded.
fn counterexample(cases: usize, go: Option<&Go>) -> (Option<String>, usize) {
    let mut speller = Speller::new(7, &["ok", "delete_all", "file:///etc/skin"]);
    let (mut forwarded, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..cases {
        let request = speller.request();
        let Some((seen, sent)) = decided(&request) else {
            continue;
        };
        for bytes in sent {
            for reader in Reader::ALL {
                let read = reader.read(&bytes).acted_on();
                if read != seen {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let found = format!("{reader:?} of {text}: {read:?}, decided {seen:?}");
                    return (Some(found), forwarded.len());
                }
            }
            forwarded.push(bytes);
            expected.push(seen.clone());
        }
    }
    let read = go.map(|go| go.read(&forwarded)).unwrap_or_default();
    for ((bytes, seen), read) in forwarded.iter().zip(expected).zip(read) {
        let read = read.acted_on();
        if read != seen {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let found = format!("Go of {text}: {read:?}, decided {seen:?}");
            return (Some(found), forwarded.len());
        }
    }
    (None, forwarded.len())
}

/// Whatever a server's parser is, it sees the request that was decided.
#[test]
fn every_reader_sees_what_was_decided() {
    let (found, forwarded) = counterexample(CASES, Some(&Go::build()));
    assert_eq!(found, None);
    // Of both there were many: what was refused, and what crossed.
    assert!(forwarded > CASES / 5, "{forwarded} crossed");
    assert!(forwarded < CASES * 2 - CASES / 5, "{forwarded} crossed");
}

/// The same check notices when spellings do not count: by its own readers, and by
/// Go alone.
#[test]
fn without_folding_a_reader_sees_something_else() {
    FOLDS.set(false);
    let (found, _) = counterexample(10_000, None);
    assert!(found.is_some(), "the readers notice");
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","Name":"delete_all"}}"#;
    let (seen, sent) = decided(request).expect("it is let through");
    let read = Go::build().read(&sent[..1]).remove(0).acted_on();
    assert_ne!(read, seen, "Go takes the other key");
    FOLDS.set(true);
    assert_eq!(decided(request), None);
}
