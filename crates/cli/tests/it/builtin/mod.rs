//! The built-in servers through the program.

mod faces;
mod inspector;
mod listening;
mod stdio;
