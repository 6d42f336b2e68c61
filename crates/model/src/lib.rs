//! What a model sees of servers: their tools in a form that model APIs take,
//! finding them, values against schemas, and results in a size that can be read.
//!
//! Nothing here speaks to a server: texts in, texts out.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod form;
pub mod limits;
pub mod search;
pub mod shape;
mod tool;
mod validate;

pub use tool::{
    Acceptable, LeftOut, ModelTool, Renames, acceptable_schema, cost, estimate_tokens, model_tools,
};
pub use validate::{Invalid, Issue, Validators, Verdict};
