//! What a browser is shown: files that hold no data. They come from whoever assembled the
//! gateway; what they show is asked for under `/api/`, with a token.

use bytes::Bytes;
use std::{fmt, sync::Arc};

/// Files by their paths.
pub trait Pages: Send + Sync {
    /// The file at a path; gzipped only for whoever takes that.
    fn find(&self, path: &str, takes_gzip: bool) -> Option<Page>;
}

/// A file.
#[derive(Clone, Debug)]
pub struct Page {
    /// What kind it is.
    pub content_type: &'static str,
    /// By what a browser knows it again, in quotes.
    pub tag: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// Whether they are gzipped.
    pub gzipped: bool,
    /// What a page may do (`Content-Security-Policy`).
    pub policy: String,
}

/// Files that a gateway and whoever made it share.
#[derive(Clone)]
pub struct SharedPages(pub Arc<dyn Pages>);

impl fmt::Debug for SharedPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedPages")
    }
}
