//! How messages get in and out: standard streams and HTTP.

pub mod http;
pub mod stdio;
