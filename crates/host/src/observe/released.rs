//! What people do with what is held at a breakpoint.

use crate::desk::Point;

/// What became of what was held at a breakpoint.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// What was held.
    pub point: Point,
    /// What was said about it.
    pub how: Released,
    /// Who said it.
    pub by: Option<&'a str>,
}

/// What a person says about what is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// It goes on as it is.
    AsItIs,
    /// It goes on as something else.
    Changed,
    /// It does not go on.
    Refused,
}

/// What a person has changed at a breakpoint.
#[derive(Clone, Copy, Debug)]
pub enum Edited<'a> {
    /// It leaves with these arguments.
    Arguments(&'a [u8]),
    /// Its client gets another answer than its server's.
    Answer,
}
