//! The page that a gateway shows in a browser. It holds no data: all that it shows comes
//! from `/api/v1`, with a token. This crate is its files (`web/`), which are served as
//! they are, and what a browser is told about them.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod assets;
mod kinds;
pub mod limits;
mod policy;

pub use assets::{Asset, Assets, FILES, File};
