//! The page in a browser, as the gateway serves it.

use crate::{Options, api::Frames};
use std::sync::Arc;
use switchboard_console::Assets;
use switchboard_gateway::{Page, Pages, SharedPages};

/// Where the page's files are read from while somebody works on them.
const FOLDER: &str = "SWITCHBOARD_CONSOLE_DIR";

/// The tag of what is served once.
const NEVER_AGAIN: &str = "\"once\"";

/// The page's files: those inside the program, unless a folder is named. A shipped program
/// takes none: whoever sets our variables would get what a person sees.
pub(crate) fn pages(options: &Options, frames: Arc<Frames>) -> Option<SharedPages> {
    let folder = options.variables.get(FOLDER);
    let folder = folder.filter(|folder| cfg!(debug_assertions) && !folder.is_empty());
    let assets = match folder {
        Some(folder) => Assets::of_folder(folder),
        None => Assets::inside(),
    };
    Some(SharedPages(Arc::new(Served { assets, frames })))
}

/// The page's files, and pages of servers that a frame of it shows.
struct Served {
    assets: Assets,
    frames: Arc<Frames>,
}

impl Pages for Served {
    fn find(&self, path: &str, takes_gzip: bool) -> Option<Page> {
        if let Some(frame) = self.frames.take(path) {
            return Some(Page {
                content_type: "text/html; charset=utf-8",
                tag: NEVER_AGAIN.to_owned(),
                bytes: frame.html.into(),
                gzipped: false,
                policy: frame.policy,
            });
        }
        let asset = self.assets.find(path, takes_gzip)?;
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
