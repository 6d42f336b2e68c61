//! What a server lists: tools, resources, templates and prompts, each item as
//! the bytes the server sent.

mod annotations;
mod app;
mod fetch;
mod fresh;
mod item;
mod kept;
mod listing;
mod merge;
mod names;
mod owned;
mod page;
mod part;
mod shape;
pub mod task;
mod uri;

pub use annotations::Annotations;
pub use app::{Pages, Ui, is_page};
pub use fresh::Freshness;
pub(crate) use fresh::Said;
pub use item::{Item, ItemError, LeftOut};
pub use kept::{Catalog, list_counts};
pub(crate) use kept::{changes, count_known, moves, note_change, note_move};
pub use listing::Listing;
pub(crate) use merge::Merging;
pub use merge::{Merged, MergedItem};
pub use owned::Catalogs;
pub use page::{Page, PageError};
pub(crate) use part::Made;
pub use uri::{Destination, UriRoutes, qualify, split_qualified};

use switchboard_wire::Method;

/// The four lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl List {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The method that asks for it.
    pub const fn method(self) -> Method {
        match self {
            Self::Tools => Method::ToolsList,
            Self::Resources => Method::ResourcesList,
            Self::Templates => Method::ResourceTemplatesList,
            Self::Prompts => Method::PromptsList,
        }
    }

    /// The list that this method asks for.
    pub fn of(method: Method) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    /// The lists that a `list_changed` notification makes stale.
    pub const fn changed_by(method: Method) -> &'static [Self] {
        match method {
            Method::ToolsListChanged => &[Self::Tools],
            Method::ResourcesListChanged => &[Self::Resources, Self::Templates],
            Method::PromptsListChanged => &[Self::Prompts],
            _ => &[],
        }
    }

    /// The notification that says it has changed.
    pub const fn change(self) -> Method {
        match self {
            Self::Tools => Method::ToolsListChanged,
            Self::Resources | Self::Templates => Method::ResourcesListChanged,
            Self::Prompts => Method::PromptsListChanged,
        }
    }

    /// What names an item.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}
