//! Clients in front of servers: what crosses, what is shared, what is kept apart.

mod accept;
mod aggregate;
mod at_the_door;
mod attached_rules;
mod bridge;
mod consents;
mod everything;
mod freshness;
mod frozen;
mod interview;
mod lossless;
mod no_crossing;
mod one_reading;
mod permissions;
mod plain;
mod principals;
mod project_rules;
mod relay;
mod relay_bridge;
mod relay_cancel;
mod running;
mod serve;
mod sharing;
mod sharing_questions;
