//! Everything that a page tells the reader to type is typed here, in a home of
//! its own, and what the page shows is what appears.
//!
//! A page is one sitting: its blocks run in order. In a block marked `console`
//! a line that begins with `$ ` is typed, and the lines below it are what
//! appears (`...` stands for any lines). `console background` goes on until the
//! page ends; `console exit=N` ends with N. A block with `file=PATH` is a file
//! that the reader writes. `SWITCHBOARD_WRITE_DOCS=1` writes what appears into
//! the pages instead of comparing it.
#![allow(
    clippy::unwrap_used,
    reason = "this is test code; the lint knows only test functions"
)]

#[path = "support/pages.rs"]
mod pages;

use pages::Page;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_readme() {
    Page::read(&root().join("README.md")).run();
}

/// One test for each page, so that they run side by side and fail by name.
macro_rules! pages {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            Page::read(&root().join("docs/guide").join($file)).run();
        })*

        #[test]
        fn no_page_is_left_out() {
            let tested = [$($file),*];
            let folder = std::fs::read_dir(root().join("docs/guide")).unwrap();
            for entry in folder {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(tested.contains(&name.as_str()), "docs/guide/{name} has no test");
            }
        }
    };
}

pages! {
    the_list_of_pages: "README.md",
    first_steps: "first-steps.md",
    servers_and_scopes: "servers-and-scopes.md",
    permissions_and_policy: "permissions-and-policy.md",
    signing_in: "signing-in.md",
    the_gateway: "gateway.md",
    the_library: "library.md",
    writing_tools: "writing-tools.md",
    troubleshooting: "troubleshooting.md",
}
