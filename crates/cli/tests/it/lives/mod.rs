//! One gateway over many lives: what is kept when it is stopped, killed or replaced.

mod history;
mod many;
mod replacing;
mod sessions;
