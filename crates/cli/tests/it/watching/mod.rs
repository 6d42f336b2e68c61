//! What is seen of what passes through.

mod metrics;
mod prometheus;
mod traces;
