//! What a tool says of itself. These are a server's own words: they inform a
//! person, and decide something only where the server is trusted.

use crate::limits;
use switchboard_local::visible::cut;
use switchboard_wire::json;

/// The hints of a tool's `annotations`; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// A title for people.
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy what is there.
    pub destructive: Option<bool>,
    /// Calling it twice is as good as once.
    pub idempotent: Option<bool>,
    /// It reaches beyond its own system.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Those of a tool, from the text of its definition.
    pub(crate) fn of_item(raw: &[u8]) -> Self {
        let span = json::field(raw, "annotations").ok().flatten();
        span.map(|span| Self::read(span.of(raw)))
            .unwrap_or_default()
    }

    /// Reads the text of an `annotations` object. What cannot be read is as if it were not said.
    pub fn read(raw: &[u8]) -> Self {
        let keys = [
            "title",
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ];
        let Ok([title, read_only, destructive, idempotent, open_world]) = json::fields(raw, keys)
        else {
            return Self::default();
        };
        let hint = |span: Option<switchboard_wire::Span>| match span?.of(raw) {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        };
        let title = title.and_then(|span| json::text(span.of(raw)));
        Self {
            title: title.map(|title| cut(&title, limits::TITLE_CHARS)),
            read_only: hint(read_only),
            destructive: hint(destructive),
            idempotent: hint(idempotent),
            open_world: hint(open_world),
        }
    }

    /// It says that it changes nothing, and nothing to the contrary.
    pub fn says_read_only(&self) -> bool {
        self.read_only == Some(true) && self.destructive != Some(true)
    }

    /// Whether it may destroy something: the specification's default is yes.
    pub fn may_destroy(&self) -> bool {
        !self.says_read_only() && self.destructive != Some(false)
    }

    /// Whether calls may run side by side.
    pub fn may_run_in_parallel(&self) -> bool {
        self.says_read_only()
    }

    /// Whether a call may be sent again when nobody knows if the first was carried out.
    pub fn may_be_repeated(&self) -> bool {
        self.says_read_only() || self.idempotent == Some(true)
    }

    /// The hints in words, for prompts and lists.
    pub fn words(&self) -> Vec<&'static str> {
        let hints = [
            (self.read_only == Some(true), "read-only"),
            (self.destructive == Some(true), "destructive"),
            (self.idempotent == Some(true), "idempotent"),
            (self.open_world == Some(true), "reaches other systems"),
        ];
        hints
            .into_iter()
            .filter(|(said, _)| *said)
            .map(|(_, word)| word)
            .collect()
    }
}
