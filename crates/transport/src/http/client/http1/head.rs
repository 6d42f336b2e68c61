//! The head of an answer: read strictly, since whoever reads it otherwise than its sender
//! takes a part of one answer for another's.

use super::framing::Framing;
use crate::limits;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::mem::MaybeUninit;

/// What is wrong with an answer's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// It is no head of HTTP/1.
    #[error("{0}")]
    NoHttp(#[from] httparse::Error),
    /// It does not end.
    #[error("its head is larger than {} bytes", limits::HTTP_READ_BUFFER)]
    TooLarge,
    /// How long its body is can be read in two ways.
    #[error("it says twice how long it is, and not the same")]
    Lengths,
    /// How long its body is cannot be read at all.
    #[error("how long it is (Content-Length) is no number")]
    Length,
    /// Its body is transferred in a way that was not asked for.
    #[error("it is transferred in a way that nobody asked for")]
    Transfer,
    /// It is about something else than the request.
    #[error("it changes to another protocol")]
    Switching,
}

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// Whether the connection may be used again after the body.
    pub(super) keeps: bool,
}

/// Reads the head at the beginning of `bytes`, if it is there whole, and says how long it
/// is. Heads that only announce another (1xx) are read as any other.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Head, usize)>, HeadError> {
    let mut room = [const { MaybeUninit::uninit() }; limits::HTTP_HEADERS];
    let mut answer = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let read = config.parse_response_with_uninit_headers(&mut answer, bytes, &mut room)?;
    let httparse::Status::Complete(length) = read else {
        return match bytes.len() < limits::HTTP_READ_BUFFER {
            true => Ok(None),
            false => Err(HeadError::TooLarge),
        };
    };
    let status = answer.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(httparse::Error::Status)?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(HeadError::Switching);
    }
    // One copy, of which all values are parts.
    let text = Bytes::copy_from_slice(&bytes[..length]);
    let mut headers = HeaderMap::with_capacity(answer.headers.len());
    for field in answer.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let name = name.map_err(|_| httparse::Error::HeaderName)?;
        let value = HeaderValue::from_maybe_shared(part(&text, bytes, field.value));
        let value = value.map_err(|_| httparse::Error::HeaderValue)?;
        headers.append(name, value);
    }
    let is_newer = answer.version == Some(1);
    let (framing, is_clear) = framing(status, &headers, is_newer)?;
    let says = |word: &str| names(&headers, header::CONNECTION, word);
    let keeps = match is_newer {
        true => !says("close"),
        false => says("keep-alive"),
    };
    let head = Head {
        status,
        headers,
        framing,
        keeps: keeps && is_clear && framing != Framing::UntilClose,
    };
    Ok(Some((head, length)))
}

/// The part of `text`, a copy of `bytes`, that `value` is of `bytes`.
fn part(text: &Bytes, bytes: &[u8], value: &[u8]) -> Bytes {
    let start = value.as_ptr().addr().checked_sub(bytes.as_ptr().addr());
    match start.filter(|start| start + value.len() <= text.len()) {
        Some(start) => text.slice(start..start + value.len()),
        None => Bytes::copy_from_slice(value),
    }
}

/// How the end of the body is known, and whether there is but one way to know it.
fn framing(
    status: StatusCode,
    headers: &HeaderMap,
    is_newer: bool,
) -> Result<(Framing, bool), HeadError> {
    if status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
    {
        return Ok((Framing::ENDED, true));
    }
    let length = length(headers)?;
    let mut transfer = headers.get_all(header::TRANSFER_ENCODING).iter();
    if let Some(coding) = transfer.next() {
        let is_chunked = coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked");
        if !is_newer || !is_chunked || transfer.next().is_some() {
            return Err(HeadError::Transfer);
        }
        return Ok((Framing::chunked(), length.is_none()));
    }
    Ok(match length {
        Some(length) => (Framing::Length(length), true),
        None => (Framing::UntilClose, true),
    })
}

/// How long the body is said to be.
fn length(headers: &HeaderMap) -> Result<Option<u64>, HeadError> {
    let mut found = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        for text in value.as_bytes().split(|byte| *byte == b',') {
            let text = text.trim_ascii();
            let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(text).ok().filter(|_| is_number);
            let number = number.and_then(|text| text.parse::<u64>().ok());
            let number = number.ok_or(HeadError::Length)?;
            if *found.get_or_insert(number) != number {
                return Err(HeadError::Lengths);
            }
        }
    }
    Ok(found)
}

/// Whether a header that is a list names this word.
fn names(headers: &HeaderMap, header: HeaderName, word: &str) -> bool {
    let values = headers.get_all(header);
    let mut words = values
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    words.any(|one| one.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}
