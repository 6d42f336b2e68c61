//! The page in a browser, as the gateway serves it.

use crate::Options;
use std::sync::Arc;
use switchboard_console::Assets;
use switchboard_gateway::{Page, Pages, SharedPages};

/// Where the page's files are read from while somebody works on them.
const FOLDER: &str = "SWITCHBOARD_CONSOLE_DIR";

/// The page's files: those inside the program, unless a folder is named. A shipped program
/// takes none: whoever sets our variables would get what a person sees.
pub(crate) fn pages(options: &Options) -> Option<SharedPages> {
    let folder = options.variables.get(FOLDER);
    let folder = folder.filter(|folder| cfg!(debug_assertions) && !folder.is_empty());
    let assets = match folder {
        Some(folder) => Assets::of_folder(folder),
        None => Assets::inside(),
    };
    Some(SharedPages(Arc::new(Served(assets))))
}

struct Served(Assets);

impl Pages for Served {
    fn find(&self, path: &str, takes_gzip: bool) -> Option<Page> {
        let asset = self.0.find(path, takes_gzip)?;
        Some(Page {
            content_type: asset.kind,
            tag: asset.tag.into_owned(),
            bytes: match asset.bytes {
                std::borrow::Cow::Borrowed(bytes) => bytes::Bytes::from_static(bytes),
                std::borrow::Cow::Owned(bytes) => bytes.into(),
            },
            gzipped: asset.gzipped,
            policy: asset.policy.into_owned(),
        })
    }
}
