//! A server that answers from a cassette: lists, calls, what it says meanwhile and what it
//! asks, as they were recorded.

mod hello;
mod link;

use super::{Cassette, asked::Index};
use link::Played;
use std::{path::Path, sync::Arc};
use switchboard_host::{Isolation, ServerSpec, Target};

/// What becomes of a request that was not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unrecorded {
    /// An error says which recorded one is closest, and where it differs.
    #[default]
    Refused,
    /// The closest one of the same method answers.
    Closest,
}

/// How a cassette is played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Playing {
    /// What becomes of a request that was not recorded.
    pub unrecorded: Unrecorded,
    /// Whether everything takes as long as it took.
    pub in_time: bool,
}

/// What a link answers from.
struct Tape {
    cassette: Cassette,
    index: Index,
    playing: Playing,
}

/// The server `name` of a cassette, to be served. Each session is played from the beginning.
pub fn server(
    file: &Path,
    cassette: Cassette,
    name: &str,
    playing: Playing,
) -> Result<ServerSpec, super::CassetteError> {
    let cassette = cassette.of(name);
    let index = Index::of(&cassette).map_err(|(line, what)| super::CassetteError::Line {
        file: file.to_owned(),
        line,
        what: what.into(),
    })?;
    let tape = Arc::new(Tape {
        cassette,
        index,
        playing,
    });
    let target = Target::Linked(Arc::new(move |end| {
        Played::begin(tape.clone(), end);
        Ok(())
    }));
    let mut spec = ServerSpec::new(name, target);
    spec.isolation = Isolation::Session;
    Ok(spec)
}
