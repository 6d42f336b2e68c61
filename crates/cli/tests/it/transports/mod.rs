//! Every transport on either side.

mod door_http2;
mod door_tls;
mod edges;
mod pairs;
mod reach;
mod third_party;
