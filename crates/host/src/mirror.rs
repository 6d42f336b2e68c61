//! Parameters that a tool's schema asks to be mirrored into HTTP headers
//! (2026-07-28): checked where they came with the request, made where they must
//! go out with it.

use crate::{
    call::Permitted,
    catalog::List,
    error::CallError,
    upstream::{Connection, Target},
};
use std::sync::Arc;
use switchboard_wire::{Era, Method, code, header, json};

/// Checks a call's `Mcp-Param-*` headers against its arguments, and sets those
/// that the server must get. Headers that no schema asks for are passed on.
pub(crate) async fn headers(
    connection: &Arc<Connection>,
    call: &mut Permitted,
) -> Result<(), CallError> {
    let era = connection.revision().era();
    let outward = era == Era::Modern && matches!(call.server.spec.target, Target::Http { .. });
    if call.message.method() != Method::ToolsCall || (!outward && call.from_headers.is_none()) {
        return Ok(());
    }
    let Some(name) = &call.name else {
        return Ok(());
    };
    let listing = call
        .server
        .catalog(era)
        .get(List::Tools, connection)
        .await?;
    let Some(tool) = listing.find(name) else {
        call.mirrored = call
            .from_headers
            .take()
            .into_iter()
            .flatten()
            .map(plain)
            .collect();
        return Ok(());
    };
    let params = tool.mirrored.as_deref().map_err(|why| {
        CallError::refused(
            code::INVALID_PARAMS,
            format!("tool {name:?} cannot be called over HTTP: {why}"),
        )
    })?;
    let body = call.message.body();
    let arguments = json::field(body, "arguments")
        .ok()
        .flatten()
        .map_or(&b"{}"[..], |span| span.of(body));
    let mut given = call.from_headers.take();
    let mut out = Vec::new();
    for param in params {
        let value = header::mirrored_value(arguments, &param.path);
        if let Some(given) = &mut given {
            let at = given
                .iter()
                .position(|(name, _)| name.eq_ignore_ascii_case(&param.header));
            let header = at.map(|at| given.swap_remove(at).1);
            check(&param.header, header.as_deref(), value.as_deref())?;
        }
        if let Some(value) = value {
            out.push((param.header.clone(), value));
        }
    }
    out.extend(given.into_iter().flatten().map(plain));
    call.mirrored = out;
    Ok(())
}

/// A header as its text: the link writes it in the form that headers need.
fn plain((name, value): (String, String)) -> (String, String) {
    match header::decode(value.as_bytes()).map(|text| text.into_owned()) {
        Some(text) => (name, text),
        None => (name, value),
    }
}

fn check(name: &str, header: Option<&str>, body: Option<&str>) -> Result<(), CallError> {
    let mismatch = |text: String| {
        Err(CallError::refused(
            code::HEADER_MISMATCH,
            format!("Header mismatch: {text}"),
        ))
    };
    match (header, body) {
        (None, None) => Ok(()),
        (None, Some(_)) => mismatch(format!("Mcp-Param-{name} is missing")),
        (Some(_), None) => mismatch(format!(
            "Mcp-Param-{name} has no counterpart in the arguments"
        )),
        (Some(header), Some(body)) => {
            let Some(value) = header::decode(header.as_bytes()) else {
                return mismatch(format!("Mcp-Param-{name} cannot be decoded"));
            };
            if header::values_agree(&value, body, body.parse::<f64>().is_ok()) {
                Ok(())
            } else {
                mismatch(format!("Mcp-Param-{name} differs from the argument"))
            }
        }
    }
}
