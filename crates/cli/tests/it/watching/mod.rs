//! What is seen of what passes through.

mod logs;
mod metrics;
mod prometheus;
mod traces;
