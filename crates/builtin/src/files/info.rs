//! `info`: what something is.

use super::{
    FilesSession, list, path,
    read::{looks_binary, open_file},
    roots::{Last, Place, Roots},
    walk::Kind,
};
use crate::answer::{Failure, blocking};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use rustix::fs::{FileType, readlinkat};
use serde::{Deserialize, Serialize};
use std::{io::Read, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InfoArguments {
    /// A path (a relative one begins at the first allowed directory) or a file:/// address. A link is described itself.
    path: String,
}

/// What `info` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InfoAnswer {
    /// The path.
    path: String,
    /// The address.
    uri: String,
    /// What it is.
    kind: Kind,
    /// The size in bytes.
    size: u64,
    /// When it was last changed, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    /// The permissions, in octal, such as "644".
    permissions: String,
    /// What kind of content the name of a file promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    /// Whether a file looks binary; missing where it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<bool>,
    /// Where a link points, as it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_target: Option<String>,
    /// Whether what the link points at can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_allowed: Option<bool>,
}

#[tool_router(router = info_router, vis = "pub(super)")]
impl FilesSession {
    #[tool(
        title = "File information",
        description = "Tells what a path is: its kind, size, time, permissions, whether it is binary, where a link \
                       points. Example: {\"path\": \"Cargo.toml\"}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn info(
        &self,
        Parameters(arguments): Parameters<InfoArguments>,
    ) -> Result<Json<InfoAnswer>, Failure> {
        let roots = self.roots();
        blocking(move || {
            let place = roots.locate(&arguments.path, Last::Kept)?;
            let stat = place.stat()?;
            place.without_hard_links(&stat, false)?;
            let kind = Kind::of(FileType::from_raw_mode(stat.st_mode));
            let link = match kind {
                Kind::Link => link_target(&place),
                _ => None,
            };
            let is_file = kind == Kind::File;
            Ok(Json(InfoAnswer {
                path: place.shown(),
                uri: place.address(),
                kind,
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: list::modified(&stat),
                permissions: format!("{:03o}", stat.st_mode & 0o7777),
                mime_type: is_file
                    .then(|| path::media_type(&place.path()).map(str::to_owned))
                    .flatten(),
                binary: is_file.then(|| is_binary(&place)).flatten(),
                link_allowed: link.is_some().then(|| leads_inside(&roots, &place)),
                link_target: link,
            }))
        })
        .await
    }
}

fn link_target(place: &Place) -> Option<String> {
    let (parent, name) = place.open_parent_raw().ok()?;
    let target = readlinkat(&parent, &name, Vec::new()).ok()?;
    let target = Path::new(std::ffi::OsStr::from_bytes(target.to_bytes()));
    Some(path::name(target.as_os_str()))
}

/// Whether what a link points at is there and allowed.
fn leads_inside(roots: &Arc<Roots>, link: &Place) -> bool {
    let target = roots.locate(&link.address(), Last::Followed);
    let stat = target
        .ok()
        .and_then(|target| target.try_stat().ok().flatten());
    stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Symlink)
}

fn is_binary(place: &Place) -> Option<bool> {
    let (file, _) = open_file(place).ok()?;
    let mut beginning = Vec::new();
    file.take(8192).read_to_end(&mut beginning).ok()?;
    Some(looks_binary(&beginning))
}
