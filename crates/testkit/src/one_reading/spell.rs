//! Requests in every spelling: the same seed writes the same requests.

/// Writes requests.
#[derive(Debug)]
pub struct Speller {
    state: u64,
    /// What requests may ask for.
    names: Vec<String>,
    written: u64,
}

const METHODS: [&str; 12] = [
    "tools/call",
    "tools/call",
    "tools/call",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "completion/complete",
    "tasks/get",
    "tasks/cancel",
    "logging/setLevel",
    "tools/list",
    "com.example/wipe",
];

/// What is written instead of a letter, which some readers take for it.
const ODD: [(char, char); 7] = [
    ('s', 'ſ'),
    ('S', 'ſ'),
    ('k', '\u{212A}'),
    ('K', '\u{212A}'),
    ('i', 'ı'),
    ('I', 'İ'),
    ('i', 'İ'),
];

/// What is written into a text and not seen; the first ends it for some readers.
const UNSEEN: [&str; 5] = ["\0", "\0x", "\u{FEFF}", "\u{200B}", "\u{1}"];

impl Speller {
    /// Requests that ask for these things.
    pub fn new(seed: u64, names: &[&str]) -> Self {
        Self {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            written: 0,
        }
    }

    /// The next request: one line, with a number for its id.
    pub fn request(&mut self) -> Vec<u8> {
        self.written += 1;
        let method = self.pick(&METHODS).to_owned();
        let mut members = vec![
            ("jsonrpc".to_owned(), "\"2.0\"".to_owned()),
            ("id".to_owned(), self.written.to_string()),
            ("method".to_owned(), self.text(&method)),
        ];
        if !self.once_in(12) {
            members.push(("params".to_owned(), self.params(&method)));
        }
        // Another reading of the envelope, beside the first.
        if self.once_in(4) {
            let extra = match self.below(4) {
                0 => {
                    let other = self.pick(&METHODS).to_owned();
                    ("method", self.text(&other))
                }
                1 => ("params", self.params(&method)),
                2 => ("id", "77".to_owned()),
                _ => ("result", "{}".to_owned()),
            };
            members.push((extra.0.to_owned(), extra.1));
        }
        self.object(members).into_bytes()
    }

    fn params(&mut self, method: &str) -> String {
        if self.once_in(16) {
            let name = self.name();
            return format!("[{name},{{\"name\":{name}}}]");
        }
        let mut members = Vec::new();
        let key = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" | "resources/subscribe" => "uri",
            "tasks/get" | "tasks/cancel" => "taskId",
            "logging/setLevel" => "level",
            "completion/complete" => "ref",
            _ => "x",
        };
        let copies = match self.below(12) {
            0 => 0,
            1 | 2 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let value = self.value(key);
            members.push((key.to_owned(), value));
        }
        for extra in [
            "name",
            "uri",
            "arguments",
            "_meta",
            "task",
            "cursor",
            "params",
        ] {
            if self.once_in(8) {
                let value = self.value(extra);
                members.push((extra.to_owned(), value));
            }
        }
        self.object(members)
    }

    fn value(&mut self, key: &str) -> String {
        match key {
            "level" => {
                let level = self.pick(&["debug", "error"]).to_owned();
                self.text(&level)
            }
            "ref" => self.reference(),
            "arguments" | "params" | "x" => {
                let name = self.name();
                let members = vec![("name".to_owned(), name.clone()), ("name".to_owned(), name)];
                self.object(members)
            }
            "_meta" => {
                let members = vec![("progressToken".to_owned(), "1".to_owned())];
                self.object(members)
            }
            "task" => "{\"ttl\":1}".to_owned(),
            _ if self.once_in(20) => self.pick(&["null", "1", "{}", "[]"]).to_owned(),
            _ => self.name(),
        }
    }

    fn reference(&mut self) -> String {
        let prompt = self.once_in(2);
        let kind = if prompt { "ref/prompt" } else { "ref/resource" };
        let kind = self.text(kind);
        let mut members = vec![("type".to_owned(), kind)];
        let key = if prompt { "name" } else { "uri" };
        if !self.once_in(10) {
            members.push((key.to_owned(), self.name()));
        }
        if self.once_in(6) {
            let key = self.pick(&["name", "uri"]).to_owned();
            let name = self.name();
            members.push((key, name));
        }
        self.object(members)
    }

    fn name(&mut self) -> String {
        let names = self.names.clone();
        let at = self.below(names.len() as u64) as usize;
        self.text(&names[at])
    }

    /// An object of these members, in any order, with spellings of the keys.
    fn object(&mut self, mut members: Vec<(String, String)>) -> String {
        for at in (1..members.len()).rev() {
            let other = self.below(at as u64 + 1) as usize;
            members.swap(at, other);
        }
        let mut out = String::from("{");
        for (at, (key, value)) in members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            let key = self.key(key);
            let (before, after) = (self.gap(), self.gap());
            out.push_str(&format!("{before}{key}{after}:{value}{before}"));
        }
        out.push('}');
        out
    }

    fn key(&mut self, key: &str) -> String {
        let mut key = key.to_owned();
        // Rarely, since any one of them spoils the request.
        if self.once_in(24) {
            key = self.other_case(&key);
        }
        if self.once_in(24) {
            let (from, to) = ODD[self.below(ODD.len() as u64) as usize];
            key = key.replacen(from, &to.to_string(), 1);
        }
        // One without an id would get no answer.
        if self.once_in(24) && key != "id" {
            let unseen = self.pick(&UNSEEN);
            let at = self.below(key.chars().count() as u64 + 1) as usize;
            let at = key.char_indices().nth(at).map_or(key.len(), |(at, _)| at);
            key.insert_str(at, unseen);
        }
        self.text(&key)
    }

    fn other_case(&mut self, key: &str) -> String {
        let flip = |c: char| match c.is_ascii_lowercase() {
            true => c.to_ascii_uppercase(),
            false => c.to_ascii_lowercase(),
        };
        let all = self.once_in(2);
        key.chars()
            .enumerate()
            .map(|(at, c)| {
                if all || at == 0 || self.once_in(4) {
                    flip(c)
                } else {
                    c
                }
            })
            .collect()
    }

    /// A string token, some of whose letters are escaped.
    fn text(&mut self, text: &str) -> String {
        let escapes = self.once_in(6);
        let end = match self.once_in(40) {
            true => self.pick(&UNSEEN[..2]),
            false => "",
        };
        let mut out = String::from("\"");
        for c in text.chars().chain(end.chars()) {
            if c.is_control() || escapes && self.once_in(3) {
                let upper = self.once_in(2);
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let digits = match upper {
                        true => format!("\\u{unit:04X}"),
                        false => format!("\\u{unit:04x}"),
                    };
                    out.push_str(&digits);
                }
            } else if c == '/' && escapes {
                out.push_str("\\/");
            } else {
                out.push(c);
            }
        }
        out.push('"');
        out
    }

    fn gap(&mut self) -> &'static str {
        match self.below(12) {
            0 => " ",
            1 => "\t ",
            _ => "",
        }
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = self.below(from.len() as u64) as usize;
        from[at]
    }

    fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn below(&mut self, limit: u64) -> u64 {
        // xorshift: any order will do, as long as it is always the same.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % limit
    }
}
