//! Development only: peers that behave and peers that do not, and what tests
//! need to talk to them.
//!
//! Nothing here uses `switchboard-wire`, `-transport` or `-host`: a test that
//! shares code with what it tests can agree with it about a mistake.
//!
//! ```no_run
//! # async fn test() {
//! use switchboard_testkit::{HttpClient, Program, StdioClient, bin, text_of};
//! use serde_json::json;
//!
//! let mut client = StdioClient::new(Program::new(bin("echo-server")).arg("--stdio").spawn());
//! client.initialize("2025-11-25").await;
//! let reply = client.call("echo", json!({"nonce": "n"})).await;
//! assert_eq!(text_of(&reply), "n");
//!
//! let server = Program::new(bin("echo-server")).args(["--http", "0"]).spawn();
//! let mut client = HttpClient::new(&server.url().await).keep_alive();
//! let reply = client.modern("tools/call", json!({"name": "counted", "arguments": {}})).await;
//! assert_eq!(reply.status, 200);
//! # }
//! ```

pub mod browser;
mod channel;
pub mod corpus;
mod event_stream;
pub mod gate;
pub mod headers;
pub mod history;
mod http_client;
mod http_server;
pub mod json;
mod modern;
pub mod nats;
pub mod oauth;
pub mod one_reading;
mod program;
pub mod record;
pub mod serve;
pub mod spray;
pub mod sse;
mod stdio_client;
pub mod tour;
pub mod world;

pub use channel::{Channel, Order, dial_ws};
pub use event_stream::EventStream;
pub use http_client::{HttpClient, Reply, modern_headers, raw_exchange};
pub use http_server::{Heard, HttpServer, Said};
pub use modern::{LEGACY, MODERN, capabilities, initialize_params, with_meta};
pub use program::{DEADLINE, LATE, Launch, PROGRAMS, Program, bin};
pub use stdio_client::{StdioClient, text_of};
