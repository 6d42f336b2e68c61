//! What a careful program does on its machine, once: nothing here knows of
//! messages, servers or clients, and nothing is asynchronous.
//!
//! | module | what |
//! |---|---|
//! | [`private`] | folders and files that are their owner's alone, written whole or not at all; locks between programs |
//! | [`random`] | random bytes and ids |
//! | [`hex`](hex()), [`spoken`](spoken()) | bytes and durations as text |
//! | [`wildcard`] | patterns with `*` |
//! | [`percent`] | text as it stands in an address |
//! | [`shell`] | words as they are typed into a shell |
//! | [`visible`] | text from elsewhere, so that it can be shown; the one table of hostile characters |
//! | [`secret`] | what looks like a secret, and texts without it |
//! | [`diff`] | two texts, line by line |
//! | [`signals`] | which signals we were told to ignore |
//! | [`yaml`] | YAML as JSON (feature `yaml`) |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod diff;
mod hex;
pub mod limits;
mod mixed;
pub mod percent;
pub mod private;
pub mod random;
pub mod secret;
pub mod shell;
pub mod signals;
mod spoken;
pub mod visible;
pub mod wildcard;
#[cfg(feature = "yaml")]
pub mod yaml;

pub use hex::{hex, hex_of};
pub use mixed::mixed;
pub use spoken::spoken;
