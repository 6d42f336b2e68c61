//! Servers that are somewhere else: addresses, headers, TLS, IDEs.

use http::{HeaderMap, HeaderName, HeaderValue};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_config::{
    Entry, Fault,
    expand::{Expanded, Lookup},
};
use switchboard_host::{Ide, IdeCarrier, Remote};
use switchboard_transport::{
    dial::{Address, Refuses, TlsFiles, Via},
    http::Authorize,
};

/// A server at an address with one of these schemes.
pub(super) fn remote(
    entry: &Expanded,
    directory: &Path,
    schemes: &[&str],
    authorize: Option<Arc<dyn Authorize>>,
) -> Result<Remote, Vec<Fault>> {
    let mut faults = Vec::new();
    let address = match Address::parse(entry.url.as_deref().unwrap_or_default(), schemes) {
        Ok(address) => Some(address),
        Err(problem) => {
            faults.push(wrong_address(entry, &problem.to_string(), schemes));
            None
        }
    };
    let mut headers = headers(entry, &mut faults);
    match address {
        Some(address) if faults.is_empty() => {
            address.authorize(&mut headers);
            let via = Via {
                tls: tls(entry, directory),
                socket: address.socket,
                public_only: entry.public_only,
                refuses: refuses(entry),
            };
            Ok(Remote {
                url: address.url,
                headers,
                via,
                authorize,
            })
        }
        _ => Err(faults),
    }
}

/// Where the rules forbid that its name leads.
fn refuses(entry: &Entry) -> Option<Refuses> {
    let denied = entry.denied_addresses.clone()?;
    let url = entry.url.clone()?;
    let by = format!("{url} {denied:?}");
    Some(Refuses::new(by, move |address| {
        denied.refuse(&url, address)
    }))
}

fn wrong_address(entry: &Entry, problem: &str, schemes: &[&str]) -> Fault {
    let mut fault = entry.fault("url", problem);
    let secure = schemes.last().copied().unwrap_or("https");
    fault.hint = Some(format!("write it like {secure}://example.com/mcp"));
    fault
}

fn headers(entry: &Entry, faults: &mut Vec<Fault>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &entry.headers {
        let field = format!("headers.{name}");
        let Ok(key) = name.parse::<HeaderName>() else {
            faults.push(entry.fault(&field, "is no possible name of a header"));
            continue;
        };
        // Headers often hold secrets, so the value is not repeated.
        match value.parse::<HeaderValue>() {
            Ok(mut value) => {
                value.set_sensitive(true);
                headers.append(key, value);
            }
            Err(_) => faults.push(entry.fault(
                &field,
                "has a value that no header can have (a line break?)",
            )),
        }
    }
    headers
}

fn tls(entry: &Entry, directory: &Path) -> TlsFiles {
    let file = |path: &Option<String>| path.as_ref().map(|path| directory.join(path));
    TlsFiles {
        ca: file(&entry.tls.ca),
        cert: file(&entry.tls.cert),
        key: file(&entry.tls.key),
    }
}

/// An IDE on this machine.
pub(super) fn ide(
    entry: &Expanded,
    carrier: IdeCarrier,
    directory: &Path,
    lookup: Lookup<'_>,
) -> Result<Ide, Vec<Fault>> {
    let schemes: &[&str] = match carrier {
        IdeCarrier::Sse => &["http", "https"],
        IdeCarrier::Ws => &["ws", "wss"],
    };
    let address = match &entry.url {
        None => None,
        Some(url) => {
            let address = Address::parse(url, schemes)
                .map_err(|problem| vec![wrong_address(entry, &problem.to_string(), schemes)])?;
            let host = address.url.host().unwrap_or_default();
            if !["localhost", "127.0.0.1", "[::1]"].contains(&host) {
                // Its token must not go anywhere else.
                return Err(vec![
                    entry.fault("url", "an IDE is on this machine: write 127.0.0.1"),
                ]);
            }
            Some(address.url)
        }
    };
    let home = || {
        lookup("HOME")
            .or_else(|| lookup("USERPROFILE"))
            .map(PathBuf::from)
    };
    let locks = match entry.lock_folder.as_deref() {
        Some(folder) => match folder.strip_prefix("~/") {
            Some(rest) => home().map(|home| home.join(rest)),
            None => Some(directory.join(folder)),
        },
        None => lookup("CLAUDE_CONFIG_DIR")
            .map(PathBuf::from)
            .or_else(|| home().map(|home| home.join(".claude")))
            .map(|folder| folder.join("ide")),
    };
    let locks =
        locks.ok_or_else(|| vec![entry.fault("lockFolder", "is not known: HOME is not set")])?;
    let workspace = match &entry.cwd {
        Some(cwd) => directory.join(cwd),
        None => directory.to_owned(),
    };
    Ok(Ide {
        carrier,
        locks,
        workspace,
        address,
        token: entry.auth_token.clone(),
    })
}
