//! What may differ in a message: the lists of `docs/reference/rewrites.md`, and nothing else.

use switchboard_testkit::json::{self, Message};

const PAGE: &str = include_str!("../../../../../docs/reference/rewrites.md");
const LISTS: [&str; 4] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
];

/// The members that a table of the page lists.
#[derive(Debug, Clone, Default)]
pub struct Listed(Vec<Row>);

#[derive(Debug, Clone)]
struct Row {
    path: Vec<Key>,
    place: Place,
}

#[derive(Debug, Clone)]
enum Key {
    Member(String),
    /// Any member.
    Any,
    /// Every element.
    Each,
}

#[derive(Debug, Clone)]
enum Place {
    /// Messages of these kinds.
    Kinds(Vec<&'static str>),
    /// These requests and notifications, and the answers to them.
    Methods(Vec<String>),
    /// Errors with this code.
    Code(String),
}

/// The first table: one server, same era.
pub fn one_server() -> Listed {
    Listed(table("## On `/mcp/{server}`"))
}

/// Both tables: the aggregate.
pub fn aggregate() -> Listed {
    let mut rows = table("## On `/mcp/{server}`");
    rows.extend(table("## On `/mcp`, in addition"));
    Listed(rows)
}

fn table(heading: &str) -> Vec<Row> {
    let (_, section) = PAGE
        .split_once(heading)
        .unwrap_or_else(|| panic!("docs/reference/rewrites.md has no section {heading:?}"));
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<Row> = rows.map(row).collect();
    assert!(!rows.is_empty(), "no table under {heading:?}");
    rows
}

fn row(line: &str) -> Row {
    let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
    let path = cells.next().unwrap_or_default().trim_matches('`');
    let place = cells.next().unwrap_or_default();
    Row {
        path: keys(path),
        place: parse_place(place),
    }
}

/// Members are separated by dots, `*` is any of them. What follows `_meta.` is
/// one key up to the first dot after its slash.
fn keys(path: &str) -> Vec<Key> {
    let (path, reserved) = match path.split_once("_meta.") {
        Some((before, rest)) => (format!("{before}_meta"), Some(rest)),
        None => (path.to_owned(), None),
    };
    let mut keys: Vec<Key> = path.split('.').flat_map(part).collect();
    if let Some(rest) = reserved {
        let slash = rest.find('/').unwrap_or(0);
        let end = rest[slash..]
            .find('.')
            .map_or(rest.len(), |dot| slash + dot);
        keys.push(Key::Member(rest[..end].to_owned()));
        keys.extend(rest[end..].split('.').skip(1).flat_map(part));
    }
    keys
}

fn part(part: &str) -> Vec<Key> {
    match part.strip_suffix("[]") {
        Some(name) => vec![Key::Member(name.to_owned()), Key::Each],
        None if part == "*" => vec![Key::Any],
        None => vec![Key::Member(part.to_owned())],
    }
}

fn parse_place(text: &str) -> Place {
    if let Some((_, code)) = text.split_once("error -") {
        return Place::Code(format!("-{code}"));
    }
    let quoted = text.split('`').skip(1).step_by(2);
    let mut methods: Vec<String> = quoted
        .filter(|word| word.contains('/') || *word == "initialize")
        .map(str::to_owned)
        .collect();
    if text == "lists" {
        methods = LISTS.map(str::to_owned).to_vec();
    }
    if !methods.is_empty() {
        return Place::Methods(methods);
    }
    let kinds = ["request", "notification", "response", "error"];
    let kinds: Vec<_> = kinds.into_iter().filter(|k| text.contains(k)).collect();
    assert!(
        !kinds.is_empty(),
        "docs/reference/rewrites.md: where is {text:?}? The test cannot tell"
    );
    Place::Kinds(kinds)
}

impl Listed {
    /// The message with everything listed replaced by `@`. `method` is that of
    /// the request which an answer belongs to.
    pub fn mask(&self, text: &[u8], method: &str) -> Vec<u8> {
        let Some(message) = Message::read(text) else {
            return text.to_vec();
        };
        let kind = match (&message.method, message.id, message.error) {
            (Some(_), Some(_), _) => "request",
            (Some(_), None, _) => "notification",
            (None, _, Some(_)) => "error",
            (None, _, None) => "response",
        };
        let method = message.method.as_deref().unwrap_or(method);
        let code = message.error.and_then(|error| json::get(error, "code"));
        let mut spans = Vec::new();
        for row in &self.0 {
            let applies = match &row.place {
                Place::Kinds(kinds) => kinds.contains(&kind),
                Place::Methods(methods) => methods.iter().any(|m| m == method),
                Place::Code(listed) => code == Some(listed.as_bytes()),
            };
            if applies {
                find(text, &row.path, &mut |value| spans.push(span(text, value)));
            }
        }
        cut(text, spans)
    }
}

fn find<'a>(value: &'a [u8], path: &[Key], found: &mut dyn FnMut(&'a [u8])) {
    match path.split_first() {
        None => found(value),
        Some((Key::Member(key), rest)) => {
            for (name, member) in json::members(value).into_iter().flatten() {
                if name == *key {
                    find(member, rest, found);
                }
            }
        }
        Some((Key::Any, rest)) => {
            for (_, member) in json::members(value).into_iter().flatten() {
                find(member, rest, found);
            }
        }
        Some((Key::Each, rest)) => {
            for element in json::elements(value) {
                find(element, rest, found);
            }
        }
    }
}

fn span(text: &[u8], part: &[u8]) -> (usize, usize) {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    (start, start + part.len())
}

fn cut(text: &[u8], mut spans: Vec<(usize, usize)>) -> Vec<u8> {
    spans.sort_unstable();
    spans.dedup();
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in spans {
        out.extend_from_slice(&text[at..start]);
        out.push(b'@');
        at = end;
    }
    out.extend_from_slice(&text[at..]);
    out
}

/// Replaces the value at a path of members, where there is one.
pub fn replaced(text: &[u8], path: &[&str], with: &[u8]) -> Vec<u8> {
    let Some(value) = json::path(text, path) else {
        return text.to_vec();
    };
    let (start, end) = span(text, value);
    [&text[..start], with, &text[end..]].concat()
}

/// Line ends between tokens as spaces: what a transport that frames by lines makes of them.
pub fn one_line(text: &[u8]) -> Vec<u8> {
    let space = |byte: &u8| match byte {
        b'\r' | b'\n' => b' ',
        other => *other,
    };
    text.iter().map(space).collect()
}

/// Fails with the place where two texts part.
pub fn assert_same(what: &str, sent: &[u8], arrived: &[u8]) {
    if sent == arrived {
        return;
    }
    let at = sent.iter().zip(arrived).take_while(|(a, b)| a == b).count();
    let around = |text: &[u8]| {
        let text = &text[at.saturating_sub(60)..text.len().min(at + 60)];
        String::from_utf8_lossy(text).into_owned()
    };
    panic!(
        "{what}: differs at byte {at}\n   sent: …{}…\narrived: …{}…",
        around(sent),
        around(arrived)
    );
}
