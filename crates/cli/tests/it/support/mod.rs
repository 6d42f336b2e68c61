//! What tests of the running program need beyond the testkit's world.

pub mod account;
pub mod bad;
pub mod crossing;
pub mod dialogue;
pub mod evil;
pub mod mask;
pub mod pages;
pub mod rig;
pub mod screen;
pub mod scripted;
pub mod snapshots;
pub mod tap;
pub mod tty;
pub mod wire;
