//! What a person sees: commands, terminals, documentation.

mod call;
mod docs;
mod forms;
mod newcomer;
mod reading;
mod reference;
mod screens;
mod up;
mod up_live;
