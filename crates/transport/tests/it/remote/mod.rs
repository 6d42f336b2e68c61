//! Links to servers somewhere else, against real sockets: WebSocket, HTTP+SSE,
//! TLS and Unix sockets. Streamable HTTP is `http_client`.

mod ear;
mod sse;
mod tls;
mod ws;
mod ws_frames;
