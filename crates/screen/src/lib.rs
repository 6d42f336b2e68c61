//! The terminal screen of Switchboard, without a terminal: what it knows ([`Model`]), what
//! happens to it ([`Message`]), what that changes ([`update`]), what is to be done then
//! ([`Effect`]), and how it looks ([`view`]). No I/O: the program reads keys, asks a gateway
//! under `/api/v1` and writes cells.
//!
//! | module | what |
//! |---|---|
//! | [`model`], [`page`] | what is known, and what lies on top of it |
//! | [`message`], [`ask`], [`key`] | what happens, and what is to be done |
//! | [`update`](mod@update) | the one function that changes anything |
//! | [`view`] | from what is known to cells; every text is made harmless on its way |
//! | [`form`] | fields of a schema, filled in |
//! | [`words`] | the command line: words, completion, matching |
//! | [`painter`] | which cells changed, and when they may be drawn |
//! | [`picture`] | cells as an SVG, for the guide |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod ask;
pub mod form;
pub mod input;
pub mod key;
pub mod limits;
pub mod message;
pub mod model;
pub mod page;
pub mod painter;
pub mod picture;
pub mod text;
pub mod tree;
pub mod update;
pub mod view;
pub mod words;

pub use ask::{Ask, Request};
pub use key::Key;
pub use message::{Effect, Link, Message};
pub use model::{Model, View};
pub use painter::Painter;
pub use update::update;
