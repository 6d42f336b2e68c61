//! What a call names, until it is written: most are short, and known to the server under a
//! name that comes later, so that nothing is read or allocated before it must be.

use super::kept;
use bytes::Bytes;
use smallvec::SmallVec;
use std::borrow::Cow;
use switchboard_host::observe::Begin;
use switchboard_wire::{Method, Named, json};

/// Bytes of a name that has room in its call.
// tidy: a size of memory, no cap.
const ROOM: usize = 40;

#[derive(Debug)]
pub(super) enum Name {
    /// Nothing.
    None,
    /// As the client wrote it.
    Said(Bytes),
    /// As it is written.
    Short(SmallVec<[u8; ROOM]>),
    Long(String),
}

impl Name {
    /// What a call names as its client does.
    pub(super) fn of(call: &Begin<'_>) -> Self {
        let params = call.params;
        let span = match call.method {
            Method::ToolsCall | Method::PromptsGet => params.name,
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                params.uri
            }
            _ => return Self::own(call.named().and_then(Named::into_text).as_deref()),
        };
        span.map_or(Self::None, |span| {
            Self::Said(call.message.raw().slice(span.start..span.end))
        })
    }

    /// What it names as its server does.
    pub(super) fn own(name: Option<&str>) -> Self {
        match name {
            None => Self::None,
            Some(name) if name.len() <= ROOM => Self::Short(SmallVec::from_slice(name.as_bytes())),
            Some(name) => Self::Long(kept(name.to_owned())),
        }
    }

    pub(super) fn is_some(&self) -> bool {
        match self {
            Self::None => false,
            Self::Said(_) => self.text().is_some(),
            Self::Short(_) | Self::Long(_) => true,
        }
    }

    /// As it is written.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::None => None,
            // One with an end in it is nobody's name.
            Self::Said(said) => json::text(said)
                .filter(|name| !name.contains('\0'))
                .map(|name| kept(name.into_owned()).into()),
            Self::Short(name) => std::str::from_utf8(name).ok().map(Cow::Borrowed),
            Self::Long(name) => Some(Cow::Borrowed(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_it_was_however_long() {
        for length in [0, 1, ROOM, ROOM + 1, 900] {
            let name = "ü".repeat(length / 2) + &"x".repeat(length % 2);
            assert_eq!(Name::own(Some(&name)).text().as_deref(), Some(&*name));
            let said = Name::Said(format!("{name:?}").into());
            assert_eq!(said.text().as_deref(), Some(&*name));
        }
        assert!(!Name::own(None).is_some());
        for no_name in ["7", "null", r#""a\u0000b""#] {
            assert!(!Name::Said(no_name.into()).is_some(), "{no_name}");
        }
    }
}
