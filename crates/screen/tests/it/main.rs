//! The screen as a whole: keys and answers go in, cells come out.

mod acts;
mod random;
mod samples;
mod snapshots;
mod still;
mod views;
