//! The built-in servers through the program.

mod faces;
mod flows;
mod inspector;
mod listening;
mod protected;
mod protected_run;
mod protected_ways;
mod stdio;
