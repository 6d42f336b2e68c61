//! Fetching one server's lists, page by page and guarded.

use super::{
    List, Listing,
    page::{Page, called},
};
use crate::{error::CallError, exchange::Outcome, limits, upstream::Connection};
use std::{collections::HashSet, sync::Arc};
use switchboard_wire::{
    Era, Kind, Message, code, json,
    reading::{self, Object},
};
use tokio::time::{Instant, timeout};

/// Asks for every page. A list that does not end is an error, never a part of a list.
pub(super) async fn fetch(list: List, connection: &Arc<Connection>) -> Result<Listing, CallError> {
    let capability = list.method().needs_capability().unwrap_or_default();
    if !connection
        .hello()
        .is_some_and(|hello| hello.declares(capability))
    {
        return Ok(Listing::default());
    }
    connection.remarks().set(list.method().as_str(), None);
    let server = connection.server_name().to_string();
    let too_long = |reason: String| CallError::Unreadable {
        server: server.clone(),
        reason,
    };
    let pages = async {
        let mut listing = Listing::default();
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for page in 0.. {
            if page == limits::LIST_PAGES {
                return Err(too_long(format!(
                    "{} has more than {page} pages",
                    list.method().as_str()
                )));
            }
            let message = ask(list, connection, cursor.as_deref()).await?;
            if message.kind() == Kind::Error {
                // A server may declare resources and still have no templates.
                if message.error_code() == Some(code::METHOD_NOT_FOUND) && page == 0 {
                    return Ok(listing);
                }
                let said = message.error_text().unwrap_or_default();
                let reason = format!("{} fails: {said}", list.method().as_str());
                return Err(CallError::Unreadable {
                    server: server.clone(),
                    reason,
                });
            }
            cursor = add_page(list, &message, &mut listing, connection)?;
            if listing.items.len() > limits::LIST_ITEMS {
                let text = format!(
                    "{} has more than {} items",
                    list.method().as_str(),
                    limits::LIST_ITEMS
                );
                return Err(too_long(text));
            }
            match &cursor {
                None => break,
                Some(cursor) if !seen.insert(cursor.clone()) => {
                    return Err(too_long(format!(
                        "{} repeats the cursor {cursor:.40?}",
                        list.method().as_str()
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(listing)
    };
    match timeout(limits::LIST_FETCH, pages).await {
        Ok(result) => result,
        Err(_) => Err(CallError::TimedOut {
            server: connection.server_name().to_string(),
            allowed: limits::LIST_FETCH,
        }),
    }
}

async fn ask(
    list: List,
    connection: &Arc<Connection>,
    cursor: Option<&str>,
) -> Result<Message, CallError> {
    let cursor = cursor.map(|cursor| format!("\"cursor\":{}", json::quote(cursor)));
    let meta = (connection.revision().era() == Era::Modern)
        .then(|| format!("\"_meta\":{}", connection.own_meta()));
    let params: Vec<String> = cursor.into_iter().chain(meta).collect();
    let params = format!("{{{}}}", params.join(","));
    match connection
        .ask(list.method(), &params, limits::LIST_FETCH)?
        .outcome()
        .await
    {
        Outcome::Reply(reply) => Ok(reply.message),
        Outcome::Failed(fault) => Err(fault),
        Outcome::Begun(_) => Err(CallError::broke_off()),
    }
}

/// Adds one page's items and returns the next cursor. A bad item is left out and named.
fn add_page(
    list: List,
    message: &Message,
    listing: &mut Listing,
    connection: &Connection,
) -> Result<Option<String>, CallError> {
    let body = message.body_bytes();
    let field = list.method().list_field().unwrap_or_default();
    reading::read(Object::Page(list.method()), &body).map_err(|unclear| CallError::Unreadable {
        server: connection.server_name().to_string(),
        reason: format!("the answer to {} has {unclear}", list.method().as_str()),
    })?;
    let mut cursor = None;
    let first = listing.items.is_empty();
    listing.said = listing
        .said
        .and(&body, connection.revision().era(), Instant::now());
    let page = Page::read(list, &body).map_err(|fault| {
        let reason = fault.to_string();
        connection
            .remarks()
            .set(list.method().as_str(), Some(reason.clone()));
        let server = connection.server_name().to_string();
        CallError::Unreadable { server, reason }
    })?;
    page.tell(list, connection);
    for (span, item) in page.items {
        match item {
            Ok(item) => listing.push(item),
            Err(fault) => {
                let name = called(list, span.of(&body));
                listing.left_out.note(name, fault.to_string());
            }
        }
    }
    for member in json::members(&body) {
        let key = json::text(member.key.of(&body)).unwrap_or_default();
        let value = member.value;
        match key.as_ref() {
            "nextCursor" => cursor = json::text(value.of(&body)).map(String::from),
            name if name == field => {}
            _ if first => listing
                .extra
                .push((key.into_owned(), body.slice(value.start..value.end))),
            _ => {}
        }
    }
    if cursor
        .as_ref()
        .is_some_and(|cursor| cursor.len() > limits::CURSOR_BYTES)
    {
        let reason = format!(
            "{} has a cursor of {} bytes",
            list.method().as_str(),
            cursor.unwrap_or_default().len()
        );
        return Err(CallError::Unreadable {
            server: connection.server_name().to_string(),
            reason,
        });
    }
    Ok(cursor)
}
