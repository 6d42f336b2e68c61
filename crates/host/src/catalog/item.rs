//! One item of a list: read, and what can be wrong with it.

use super::{List, app::Ui, shape};
use crate::limits;
use bytes::Bytes;
use switchboard_wire::{
    Span,
    header::{MirrorError, MirroredParam, mirrored_params},
    json::{self, Duplicate, FieldError, ValueKind},
    reading::{self, Object, Unclear},
};

/// One tool, resource, template or prompt.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name, URI or URI template.
    pub key: String,
    /// Where that stands in `raw`.
    pub key_span: Span,
    /// The item as the server wrote it.
    pub raw: Bytes,
    /// For a tool: the parameters to mirror into headers, or why its annotations break the rules.
    pub mirrored: Result<Vec<MirroredParam>, MirrorError>,
    /// For a tool: what it says of the page that shows it.
    pub ui: Option<Box<Ui>>,
}

impl Item {
    /// Reads an item as a server wrote it.
    pub(super) fn read(list: List, raw: Bytes) -> Result<Self, ItemError> {
        reading::check(Object::Item(list.method()), &raw).map_err(ItemError::Unclear)?;
        shape::check(list, &raw)?;
        let missing = ItemError::Missing(None, list.key());
        let [key_span] = json::fields(&raw, [list.key()])?;
        let key_span = key_span.ok_or(missing)?;
        let key = json::text(key_span.of(&raw))
            .ok_or(ItemError::KeyNoText(list.key()))?
            .into_owned();
        let mut mirrored = Ok(Vec::new());
        if list == List::Tools
            && let Some(schema) = json::field(&raw, "inputSchema").ok().flatten()
        {
            mirrored = mirrored_params(schema.of(&raw));
        }
        let ui = (list == List::Tools).then(|| Ui::of(&raw)).flatten();
        Ok(Self {
            key,
            key_span,
            raw,
            mirrored,
            ui,
        })
    }

    /// Whether it is meant for models.
    pub fn is_for_model(&self) -> bool {
        self.ui.as_ref().is_none_or(|ui| ui.for_model)
    }

    /// Whether it is meant for pages.
    pub fn is_for_app(&self) -> bool {
        self.ui.as_ref().is_none_or(|ui| ui.for_app)
    }
}

/// Items of a list that are left out: all are counted, the first are named.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// How many there are.
    pub count: usize,
    /// The first of them: what each is called, as far as that can be read, and why.
    pub named: Vec<(String, String)>,
}

impl LeftOut {
    pub(super) fn note(&mut self, name: String, why: String) {
        self.count += 1;
        if self.named.len() < limits::LEFT_OUT_NAMED {
            self.named.push((name, why));
        }
    }
}

/// What is wrong with an item, so that it is left out. Where it says what it is
/// called, that is told with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// Nothing can be read from it.
    #[error("it is no object")]
    NoObject,
    /// Readers could disagree about it.
    #[error("it has {0}")]
    Unclear(#[source] Unclear),
    /// Its name or address is empty.
    #[error("its {0:?} is empty")]
    EmptyKey(&'static str),
    /// Its name or address stands for no text.
    #[error("its {0:?} is no string")]
    KeyNoText(&'static str),
    /// To some readers its name or address ends earlier, and names another.
    #[error("{0:?}: its {1:?} has U+0000 in it")]
    NulInKey(String, &'static str),
    /// A field is there twice.
    #[error("{}: {}", who(.0.as_deref()), .1)]
    Twice(Option<String>, #[source] Duplicate),
    /// A field is not there that every reader needs.
    #[error("{} has no {:?}", who(.0.as_deref()), .1)]
    Missing(Option<String>, &'static str),
    /// A field is of another kind than readers take.
    #[error("{} has a {:?} that is no {}", who(.0.as_deref()), .1, shape::word(*.2))]
    WrongKind(Option<String>, &'static str, ValueKind),
}

impl From<FieldError> for ItemError {
    fn from(fault: FieldError) -> Self {
        match fault {
            FieldError::NotAnObject => Self::NoObject,
            FieldError::Duplicate(twice) => Self::Twice(None, twice),
        }
    }
}

fn who(item: Option<&str>) -> String {
    item.map_or_else(|| "it".to_owned(), |name| format!("{name:?}"))
}
