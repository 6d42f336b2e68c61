//! Where the body of an answer ends, and which of the bytes that came belong to it.

use crate::limits;
use bytes::{Buf, BytesMut};

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// It comes in pieces that say how long they are.
    Chunked(Chunks),
    /// It ends when the connection does.
    UntilClose,
}

/// What is wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not divided as it says it is")]
pub struct Misdivided;

/// Where in such pieces we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    /// Before the length of a piece.
    Size,
    /// Inside one, of which so many bytes are left.
    Data(u64),
    /// Before the line end after one.
    DataEnd,
    /// After the last, where there may be headers: so many bytes of them came.
    Trailer(usize),
    /// After all of it.
    Ended,
}

/// What is at the beginning of the bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// So many bytes of the body.
    Data(usize),
    /// Nothing that can be told before more comes.
    More,
    /// The end of the body.
    End,
}

impl Framing {
    /// Nothing more comes.
    pub(super) const ENDED: Self = Self::Length(0);

    pub(super) const fn chunked() -> Self {
        Self::Chunked(Chunks::Size)
    }

    /// Whether all of it was taken.
    pub(super) fn is_ended(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunks::Ended))
    }

    /// What there is to take; what only divides the body is taken away.
    pub(super) fn next(&mut self, came: &mut BytesMut) -> Result<Next, Misdivided> {
        match self {
            Self::Length(0) => Ok(Next::End),
            _ if came.is_empty() => Ok(Next::More),
            Self::Length(left) => Ok(Next::Data(at_most(*left, came.len()))),
            Self::UntilClose => Ok(Next::Data(came.len())),
            Self::Chunked(chunks) => chunks.next(came),
        }
    }

    /// Notes that so many bytes of it were taken.
    pub(super) fn took(&mut self, bytes: usize) {
        match self {
            Self::Length(left) => *left = left.saturating_sub(bytes as u64),
            Self::Chunked(chunks @ Chunks::Data(_)) => {
                if let Chunks::Data(left) = chunks {
                    *left = left.saturating_sub(bytes as u64);
                    if *left == 0 {
                        *chunks = Chunks::DataEnd;
                    }
                }
            }
            Self::Chunked(_) | Self::UntilClose => {}
        }
    }
}

impl Chunks {
    fn next(&mut self, came: &mut BytesMut) -> Result<Next, Misdivided> {
        loop {
            match self {
                Self::Data(left) if !came.is_empty() => {
                    return Ok(Next::Data(at_most(*left, came.len())));
                }
                Self::Data(_) => return Ok(Next::More),
                Self::DataEnd => {
                    if came.len() < 2 {
                        let fits = came.first().is_none_or(|byte| *byte == b'\r');
                        return fits.then_some(Next::More).ok_or(Misdivided);
                    }
                    if !came.starts_with(b"\r\n") {
                        return Err(Misdivided);
                    }
                    came.advance(2);
                    *self = Self::Size;
                }
                Self::Size => {
                    let Some(line) = line(came)? else {
                        return Ok(Next::More);
                    };
                    let size = size(&came[..line])?;
                    came.advance(line + 2);
                    *self = match size {
                        0 => Self::Trailer(0),
                        size => Self::Data(size),
                    };
                }
                Self::Trailer(seen) => {
                    let Some(line) = line(came)? else {
                        return Ok(Next::More);
                    };
                    *seen += line;
                    if *seen > limits::HTTP_READ_BUFFER {
                        return Err(Misdivided);
                    }
                    came.advance(line + 2);
                    if line == 0 {
                        *self = Self::Ended;
                    }
                }
                Self::Ended => return Ok(Next::End),
            }
        }
    }
}

/// The length of the first line, without its end.
fn line(came: &[u8]) -> Result<Option<usize>, Misdivided> {
    match memchr::memchr(b'\n', came) {
        Some(end) if end > 0 && came[end - 1] == b'\r' => Ok(Some(end - 1)),
        Some(_) => Err(Misdivided),
        None if came.len() > limits::HTTP_LINE => Err(Misdivided),
        None => Ok(None),
    }
}

/// The length that a line gives, before what may be said of the piece besides.
fn size(line: &[u8]) -> Result<u64, Misdivided> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = digits.trim_ascii_end();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number);
    text.and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or(Misdivided)
}

fn at_most(left: u64, came: usize) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(came)
}
