//! Every transport on either side.

mod door_tls;
mod edges;
mod pairs;
mod reach;
mod third_party;
