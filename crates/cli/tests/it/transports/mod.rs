//! Every transport on either side.

mod edges;
mod pairs;
mod reach;
mod third_party;
