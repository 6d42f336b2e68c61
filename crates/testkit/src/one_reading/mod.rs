//! Requests in every spelling, and readers that disagree about them: what was
//! decided about a request must be what each of them sees.

mod go;
mod spell;

pub use go::Go;
pub use spell::Speller;

use super::json;

/// What somebody reads in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// `method`
    pub method: Option<String>,
    /// `params.name`
    pub name: Option<String>,
    /// `params.uri`
    pub uri: Option<String>,
    /// `params.taskId`
    pub task: Option<String>,
    /// `params.level`
    pub level: Option<String>,
    /// `params.ref`: its type, and its name or URI.
    pub reference: Option<(String, String)>,
}

impl Seen {
    /// Only what a server acts on that got this method.
    pub fn acted_on(self) -> Self {
        let Self {
            method,
            name,
            uri,
            task,
            level,
            reference,
        } = self;
        let is = |methods: &[&str]| methods.contains(&method.as_deref().unwrap_or_default());
        let none = Self::default();
        let uris = [
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
        ];
        let tasks = ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"];
        Self {
            name: if is(&["tools/call", "prompts/get"]) {
                name
            } else {
                none.name
            },
            uri: if is(&uris) { uri } else { none.uri },
            task: if is(&tasks) { task } else { none.task },
            level: if is(&["logging/setLevel"]) {
                level
            } else {
                none.level
            },
            reference: if is(&["completion/complete"]) {
                reference
            } else {
                none.reference
            },
            method,
        }
    }

    /// Whether it asks for this thing, in whatever way.
    pub fn asks_for(&self, name: &str) -> bool {
        let reference = self.reference.as_ref().map(|(_, name)| name);
        let mut all = [&self.name, &self.uri, &self.task]
            .into_iter()
            .flatten()
            .chain(reference);
        all.any(|text| text == name)
    }
}

/// How a reader finds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Whether it ignores case.
    pub folds: bool,
    /// Whether the last of two counts, and not the first.
    pub last: bool,
    /// What it makes of characters that are not seen.
    pub unseen: Unseen,
}

/// What becomes of characters that are not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// They are characters like others.
    Kept,
    /// A text ends at U+0000, as in C: keys and values.
    EndsAtNul,
    /// They are left out of keys.
    LeftOut,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::new(false, false, Unseen::Kept),
        Self::new(false, true, Unseen::Kept),
        Self::new(true, false, Unseen::Kept),
        Self::new(true, true, Unseen::Kept),
        // As two libraries in C do it.
        Self::new(false, true, Unseen::EndsAtNul),
        Self::new(true, false, Unseen::EndsAtNul),
        Self::new(true, true, Unseen::LeftOut),
    ];

    const fn new(folds: bool, last: bool, unseen: Unseen) -> Self {
        Self {
            folds,
            last,
            unseen,
        }
    }

    /// What it reads in a request.
    pub fn read(self, request: &[u8]) -> Seen {
        let text = |object: Option<&[u8]>, key: &str| {
            let value = self.get(object?, key)?;
            json::string(value).map(|text| match self.unseen {
                Unseen::EndsAtNul => before_nul(&text).to_owned(),
                _ => text.into_owned(),
            })
        };
        let params = self.get(request, "params");
        let reference = params.and_then(|params| self.get(params, "ref"));
        let kind = text(reference, "type").unwrap_or_default();
        let key = if kind == "ref/resource" {
            "uri"
        } else {
            "name"
        };
        Seen {
            method: text(Some(request), "method"),
            name: text(params, "name"),
            uri: text(params, "uri"),
            task: text(params, "taskId"),
            level: text(params, "level"),
            reference: text(reference, key).map(|name| (kind, name)),
        }
    }

    fn get<'a>(self, object: &'a [u8], key: &str) -> Option<&'a [u8]> {
        let mut found = json::members(object)?
            .filter(|(other, _)| self.is(other, key))
            .map(|(_, value)| value);
        if self.last {
            found.last()
        } else {
            found.next()
        }
    }

    fn is(self, other: &str, key: &str) -> bool {
        let seen: String;
        let other = match self.unseen {
            Unseen::Kept => other,
            Unseen::EndsAtNul => before_nul(other),
            Unseen::LeftOut => {
                let unseen = |c: &char| c.is_control() || matches!(c, '\u{FEFF}' | '\u{200B}');
                seen = other.chars().filter(|c| !unseen(c)).collect();
                &seen
            }
        };
        other == key || self.folds && folded(other) == folded(key)
    }
}

fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Keys that are equal so are one key to readers that ignore case: by simple
/// folding, or by putting every letter into upper or lower case.
fn folded(key: &str) -> String {
    key.chars()
        .map(|c| match c {
            'ſ' => 's',
            '\u{212A}' => 'k',
            'ı' | 'İ' => 'i',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}
