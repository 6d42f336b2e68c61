//! Parameters that a tool's schema asks to be mirrored into HTTP headers
//! (2026-07-28): checked where they came with the request, made where they must
//! go out with it.

use crate::{
    call::Permitted,
    catalog::{List, Listing},
    error::CallError,
    upstream::{Connection, Target},
};
use bytes::Bytes;
use std::sync::Arc;
use switchboard_wire::{
    Era, Method, Named, code,
    header::{self, MirroredParam},
};

/// Whether a call has such headers, or could have to get some.
pub(crate) fn concerns(connection: &Connection, call: &Permitted) -> bool {
    let is_modern = connection.revision().era() == Era::Modern;
    let outward = is_modern && matches!(call.server.spec.target, Target::Http { .. });
    call.message().method() == Method::ToolsCall && (outward || call.admitted.headers.is_some())
}

/// Refuses a method that we do not know and that no header can say: its readers take
/// off white space, and what they see beyond ASCII is up to them. Known before it is
/// sent, since nothing is wrong with the connection.
pub(crate) fn can_be_said(connection: &Connection, call: &Permitted) -> Result<(), CallError> {
    if call.message().method() != Method::Other
        || !connection.is_http()
        || connection.revision().era() != Era::Modern
    {
        return Ok(());
    }
    let name = call.message().method_name();
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let text =
        format!("the method name {name:?} cannot be sent in a header, as its server needs it");
    Err(CallError::refused(code::INVALID_REQUEST, text))
}

/// Checks a call's `Mcp-Param-*` headers against its arguments, and sets those
/// that the server must get. Headers that no schema asks for are passed on.
pub(crate) async fn headers(
    connection: &Arc<Connection>,
    call: &mut Permitted,
) -> Result<(), CallError> {
    let Named::Tool(name) = call.named.clone() else {
        return Ok(());
    };
    let catalog = connection.catalog();
    let listing = catalog.get(List::Tools, connection).await?;
    let mismatch = match check_given(&listing, &name, call) {
        Ok(()) => return make(listing, &name, call),
        Err(mismatch) => mismatch,
    };
    // The client may have read a newer list than we have.
    let newer = catalog.renewed(List::Tools, &listing, connection).await?;
    if definition(&newer, &name) == definition(&listing, &name) {
        return Err(mismatch);
    }
    check_given(&newer, &name, call)?;
    make(newer, &name, call)
}

/// Makes the headers anew from the list as it is now, after the server refused
/// those we had made. What the client sent was right by the list of its time.
pub(crate) async fn made_anew(
    connection: &Arc<Connection>,
    call: &mut Permitted,
) -> Result<(), CallError> {
    let (Some(stale), Named::Tool(name)) = (call.listing.take(), call.named.clone()) else {
        return Ok(());
    };
    let catalog = connection.catalog();
    let newer = catalog.renewed(List::Tools, &stale, connection).await?;
    make(newer, &name, call)
}

fn definition<'a>(listing: &'a Listing, name: &str) -> Option<&'a Bytes> {
    listing.find(name).map(|tool| &tool.raw)
}

/// The parameters that a tool wants mirrored; nothing where there is no such tool.
fn mirrored<'a>(listing: &'a Listing, name: &str) -> Result<&'a [MirroredParam], CallError> {
    let Some(tool) = listing.find(name) else {
        return Ok(&[]);
    };
    tool.mirrored.as_deref().map_err(|why| {
        CallError::refused(
            code::INVALID_PARAMS,
            format!("tool {name:?} cannot be called over HTTP: {why}"),
        )
    })
}

/// The text that a header repeats, if there is anything to repeat. An argument
/// that two readers could take for different ones is a mismatch of its own.
fn repeated(call: &Permitted, param: &MirroredParam) -> Result<Option<String>, CallError> {
    let arguments = call.arguments().unwrap_or(b"{}");
    header::mirrored_value(arguments, &param.path).map_err(|unclear| {
        mismatch(&format!(
            "Mcp-Param-{} cannot repeat an argument that {unclear}",
            param.header
        ))
    })
}

/// Checks the headers that the client sent, where it could send any.
fn check_given(listing: &Listing, name: &str, call: &Permitted) -> Result<(), CallError> {
    let Some(given) = &call.admitted.headers else {
        return Ok(());
    };
    for param in mirrored(listing, name)? {
        let value = repeated(call, param)?;
        let header = given
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&param.header));
        let header = header.map(|(_, value)| value.as_str());
        check(&param.header, header, value.as_deref())?;
    }
    Ok(())
}

/// Sets what the server gets: what the list asks for, and the client's own
/// headers that it does not speak of.
fn make(listing: Arc<Listing>, name: &str, call: &mut Permitted) -> Result<(), CallError> {
    let params = mirrored(&listing, name)?;
    let unasked = |(given, _): &&(String, String)| {
        let asked = |param: &MirroredParam| param.header.eq_ignore_ascii_case(given);
        !params.iter().any(asked)
    };
    let mut out: Vec<(String, String)> = Vec::new();
    for param in params {
        if let Some(value) = repeated(call, param)? {
            out.push((param.header.clone(), value));
        }
    }
    let given = call.admitted.headers.iter().flatten();
    out.extend(given.filter(unasked).cloned().map(plain));
    call.mirrored = out;
    call.listing = Some(listing);
    Ok(())
}

/// A header as its text: the link writes it in the form that headers need.
fn plain((name, value): (String, String)) -> (String, String) {
    match header::decode(value.as_bytes()).map(std::borrow::Cow::into_owned) {
        Some(text) => (name, text),
        None => (name, value),
    }
}

fn mismatch(text: &str) -> CallError {
    CallError::refused(code::HEADER_MISMATCH, format!("Header mismatch: {text}"))
}

fn check(name: &str, header: Option<&str>, body: Option<&str>) -> Result<(), CallError> {
    let mismatch = |text: String| Err(mismatch(&text));
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
