//! Files as resources: every file below the roots by its `file:///` address;
//! the list shows those at the top.

use super::{
    path,
    protected::Guard,
    read::{looks_binary, open_file},
    roots::{Last, Place, Roots},
    walk::{Kind, inside},
};
use crate::{
    answer::{Failure, blocking},
    limits,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompleteResult, CompletionInfo, ListResourceTemplatesResult,
        ListResourcesResult, ReadResourceResult, Reference, Resource, ResourceContents,
        ResourceTemplate,
    },
};
use serde_json::json;
use std::{io::Read, os::unix::ffi::OsStrExt, sync::Arc};

/// What every file's address looks like.
const TEMPLATE: &str = "file:///{+path}";

pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "file")
        .with_title("A file")
        .with_description("A file in one of the allowed directories, by its absolute path.");
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// The files at the top of the roots, page by page.
pub(super) async fn list(
    roots: Arc<Roots>,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let start: usize = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| ErrorData::invalid_params("no such page", None))?,
    };
    let work = move || {
        let mut files = Vec::new();
        for root in roots.places() {
            let inside = inside(&root)?.entries.into_iter();
            let at_top = inside.filter(|entry| {
                entry.kind == Kind::File && !entry.name.as_bytes().starts_with(b".")
            });
            files.extend(at_top.map(|entry| root.join(&entry.name)));
        }
        let page: Vec<Resource> = files
            .iter()
            .skip(start)
            .take(limits::RESOURCE_PAGE)
            .map(resource)
            .collect();
        let end = start + page.len();
        let mut result = ListResourcesResult::with_all_items(page);
        result.next_cursor = (end < files.len()).then(|| end.to_string());
        Ok(result)
    };
    let failed = |failure: Failure| ErrorData::internal_error(failure.to_string(), None);
    blocking(work).await.map_err(failed)
}

fn resource(place: &Place) -> Resource {
    let mut resource = Resource::new(place.address(), path::name(&place.name()));
    if let Some(media_type) = path::media_type(&place.path()) {
        resource = resource.with_mime_type(media_type);
    }
    match place.try_stat() {
        Ok(Some(stat)) => resource.with_size(u64::try_from(stat.st_size).unwrap_or(0)),
        _ => resource,
    }
}

/// A file's content. What is outside the roots and what does not exist look alike.
pub(super) async fn read(roots: Arc<Roots>, uri: String) -> Result<ReadResourceResult, ErrorData> {
    let address = uri.clone();
    let read = blocking(move || {
        let place = locate(&roots, &uri)?;
        let (file, size) = open_file(&place)?;
        if size > limits::RESOURCE_BYTES {
            return Err(Failure::new("the file is too large to be read as a whole")
                .hint("use the tool read, which reads a part"));
        }
        let mut bytes = Vec::new();
        file.take(limits::RESOURCE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|fault| super::roots::explain(&place.shown(), &fault))?;
        let media_type = path::media_type(&place.path());
        let is_text = !looks_binary(&bytes[..bytes.len().min(8192)]);
        let contents = match String::from_utf8(bytes) {
            Ok(text) if is_text => {
                ResourceContents::text(text, uri).with_mime_type(media_type.unwrap_or("text/plain"))
            }
            Ok(text) => blob(text.as_bytes(), uri, media_type),
            Err(fault) => blob(fault.as_bytes(), uri, media_type),
        };
        Ok(ReadResourceResult::new(vec![contents]))
    });
    read.await.map_err(|failure| {
        ErrorData::resource_not_found(failure.to_string(), Some(json!({ "uri": address })))
    })
}

fn blob(bytes: &[u8], uri: String, media_type: Option<&str>) -> ResourceContents {
    ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri)
        .with_mime_type(media_type.unwrap_or("application/octet-stream"))
}

/// The place of a resource; only whole addresses are resources.
fn locate(roots: &Arc<Roots>, uri: &str) -> Result<Place, Failure> {
    locate_by(roots, &roots.guard(), uri)
}

/// The same for one of several.
pub(super) fn locate_by(
    roots: &Arc<Roots>,
    guard: &Arc<Guard>,
    uri: &str,
) -> Result<Place, Failure> {
    if !uri.starts_with("file:///") {
        return Err(Failure::new("no such resource").hint("resources here begin with file:///"));
    }
    roots.locate_by(guard, uri, Last::Followed)
}

/// Completes a path: for the template, and for the prompts' argument.
pub(super) async fn complete(roots: Arc<Roots>, request: CompleteRequestParams) -> CompleteResult {
    let is_template = match &request.r#ref {
        Reference::Resource(reference) => reference.uri == TEMPLATE,
        _ => false,
    };
    if request.argument.name != "path" {
        return CompleteResult::default();
    }
    let typed = request.argument.value;
    let work = move || {
        // The template's slash stands before the path already.
        let (lead, whole) = match is_template {
            true if !typed.starts_with('/') => ("/", format!("/{typed}")),
            _ => ("", typed),
        };
        let (above, beginning) = match whole.rsplit_once('/') {
            Some((above, beginning)) => (format!("{above}/"), beginning.to_owned()),
            None => (String::new(), whole.clone()),
        };
        let start = if above.is_empty() { "." } else { &above };
        let place = roots.locate(start, Last::Followed)?;
        let inside = inside(&place)?.entries.into_iter();
        let values = inside.filter_map(|entry| {
            let name = entry.name.to_str()?;
            let end = if entry.kind == Kind::Directory {
                "/"
            } else {
                ""
            };
            let is_it = name.starts_with(&beginning) && !name.chars().any(crate::text::is_hostile);
            let whole = format!("{above}{name}{end}");
            is_it.then(|| whole.strip_prefix(lead).unwrap_or(&whole).to_owned())
        });
        Ok(values.take(CompletionInfo::MAX_VALUES).collect::<Vec<_>>())
    };
    let values = blocking(work).await.unwrap_or_default();
    CompletionInfo::new(values).map_or_else(|_| CompleteResult::default(), CompleteResult::new)
}
