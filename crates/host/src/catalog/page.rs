//! One page of a list, and what of it is left out.

use super::{Item, ItemError, List};
use crate::{limits, upstream::Connection};
use bytes::Bytes;
use switchboard_wire::{
    Method, Span,
    json::{self, Duplicate, ValueKind},
};

/// One page of a list, as a server sent it.
#[derive(Debug)]
pub struct Page {
    /// Where the items stand in the result.
    pub array: Span,
    /// Each item and where it stands in the result, or what is wrong with it.
    pub items: Vec<(Span, Result<Item, ItemError>)>,
}

/// Why a result is no page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The list is there twice.
    #[error("the result of {} {}", .0.as_str(), .1)]
    Twice(Method, #[source] Duplicate),
    /// There is no list in it.
    #[error("the result of {} has no {:?}", .0.as_str(), .1)]
    NoList(Method, &'static str),
    /// What stands in its place is no list.
    #[error("the result of {} has a {:?} that is no array", .0.as_str(), .1)]
    NoArray(Method, &'static str),
}

impl Page {
    /// Reads a result; an error if it holds no list.
    pub fn read(list: List, body: &Bytes) -> Result<Self, PageError> {
        let method = list.method();
        let field = method.list_field().unwrap_or_default();
        let found = json::field(body, field).map_err(|twice| PageError::Twice(method, twice))?;
        let array = found.ok_or(PageError::NoList(method, field))?;
        if ValueKind::of(array.of(body)) != Some(ValueKind::Array) {
            return Err(PageError::NoArray(method, field));
        }
        let items = json::elements(array.of(body)).map(|span| {
            let span = span.shifted(array.start);
            (span, Item::read(list, body.slice(span.start..span.end)))
        });
        Ok(Self {
            array,
            items: items.collect(),
        })
    }

    /// Says which items are left out, in the log and to whoever looks after the
    /// server.
    pub fn tell(&self, list: List, connection: &Connection) {
        let faults = self
            .items
            .iter()
            .filter_map(|(_, item)| item.as_ref().err());
        let faults: Vec<&ItemError> = faults.collect();
        let server = connection.server_name();
        for fault in faults.iter().take(limits::LEFT_OUT_NAMED) {
            tracing::warn!(%server, list = list.method().as_str(), %fault, "an item is left out");
        }
        if faults.is_empty() {
            return;
        }
        let first = faults.iter().take(limits::LEFT_OUT_NAMED);
        let named: Vec<String> = first.map(ToString::to_string).collect();
        let text = format!(
            "items of {} that are left out: {} ({}{})",
            list.method().as_str(),
            faults.len(),
            named.join("; "),
            if faults.len() > named.len() {
                "; …"
            } else {
                ""
            }
        );
        connection.remarks().set(list.method().as_str(), Some(text));
    }
}

/// What an item that cannot be used is called, as far as it says so.
pub(super) fn called(list: List, raw: &[u8]) -> String {
    let is_key =
        |member: &json::Member| json::text(member.key.of(raw)).as_deref() == Some(list.key());
    let named = json::members(raw).find(is_key);
    let text = named.and_then(|member| json::text(member.value.of(raw)));
    text.unwrap_or_default()
        .chars()
        .take(limits::LEFT_OUT_NAME_CHARS)
        .collect()
}
