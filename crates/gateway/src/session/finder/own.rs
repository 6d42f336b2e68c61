//! Our own tools: what clients are told of them, and what they take.

use super::wrong;
use serde_json::{Value, json};
use switchboard_host::CallError;
use switchboard_model::{limits::FOUND_TOOLS, search::input_schema};
use switchboard_wire::{json as raw, json::ValueKind};

pub(super) const SEARCH: &str = "search_tools";
pub(super) const CALL: &str = "call_tool";
pub(super) const LIST_RESOURCES: &str = "list_resources";
pub(super) const READ_RESOURCE: &str = "read_resource";
pub(super) const OWN: [&str; 4] = [SEARCH, CALL, LIST_RESOURCES, READ_RESOURCE];

/// Whose they are.
pub(super) const SERVER: &str = "switchboard";

/// What a client is shown in the place of tools that wait to be searched for.
pub(crate) fn definitions() -> [Value; 2] {
    let search = json!({
        "name": SEARCH,
        "description":
            "Finds tools. There are more tools than are listed: search for what you want to do, and call what was \
             found with call_tool. Returns the definitions, one a line. Query forms: \"words to rank by\" for a search \
             over names, descriptions and arguments; \"+word other words\" where the name must contain the first; \
             \"select:name1,name2\" for tools by name.",
        "inputSchema": input_schema(),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let call = json!({
        "name": CALL,
        "description":
            "Calls a tool that search_tools has found, by its name, with arguments as its inputSchema wants them. The \
             result is that tool's own.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The tool's name" },
                "arguments": { "type": "object", "description": "The tool's arguments" },
            },
            "required": ["name"],
            "additionalProperties": false,
        },
    });
    [search, call]
}

/// Tools for clients that have no resources: found by searching, like any other.
pub(super) fn resource_tools() -> [Value; 2] {
    let list = json!({
        "name": LIST_RESOURCES,
        "description": "Lists the resources that MCP servers offer, one a line. Each can be read with read_resource.",
        "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let read = json!({
        "name": READ_RESOURCE,
        "description": "Reads a resource of an MCP server by its URI.",
        "inputSchema": {
            "type": "object",
            "properties": { "uri": { "type": "string", "description": "The resource's URI" } },
            "required": ["uri"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true },
    });
    [list, read]
}

/// The result of a tool that is one text.
pub(super) fn text_result(text: &str) -> String {
    json!({ "content": [{ "type": "text", "text": text }], "resultType": "complete" }).to_string()
}

/// What is to be searched for, and how much of it.
pub(super) fn search_arguments(given: &[u8]) -> Result<(String, usize), CallError> {
    let [query, most] = members(SEARCH, given, ["query", "max_results"])?;
    let query = text(SEARCH, "query", query)?;
    let most = match most {
        Some(number) => serde_json::from_slice(number)
            .map_err(|_| wrong(SEARCH, "\"max_results\" must be a whole number"))?,
        None => FOUND_TOOLS.0,
    };
    Ok((query, most))
}

/// Which tool is to be called, and with what.
pub(super) fn call_arguments(given: &[u8]) -> Result<(String, Vec<u8>), CallError> {
    let [name, arguments] = members(CALL, given, ["name", "arguments"])?;
    let name = text(CALL, "name", name)?;
    let arguments = arguments.unwrap_or(b"{}");
    if ValueKind::of(arguments) != Some(ValueKind::Object) {
        return Err(wrong(CALL, "\"arguments\" must be an object"));
    }
    Ok((name, arguments.to_vec()))
}

/// Which resource is to be read.
pub(super) fn read_arguments(given: &[u8]) -> Result<String, CallError> {
    let [uri] = members(READ_RESOURCE, given, ["uri"])?;
    text(READ_RESOURCE, "uri", uri)
}

/// The members of these names, and no others.
fn members<'a, const N: usize>(
    tool: &str,
    given: &'a [u8],
    names: [&'static str; N],
) -> Result<[Option<&'a [u8]>; N], CallError> {
    if ValueKind::of(given) != Some(ValueKind::Object) {
        return Err(wrong(tool, "they must be an object"));
    }
    let found = raw::fields(given, names).map_err(|fault| wrong(tool, &fault.to_string()))?;
    let odd = raw::members(given).find_map(|member| {
        let key = raw::text(member.key.of(given)).unwrap_or_default();
        (!names.contains(&key.as_ref())).then(|| key.into_owned())
    });
    match odd {
        Some(odd) => Err(wrong(tool, &format!("{odd:.80?} is not one of them"))),
        None => Ok(found.map(|span| span.map(|span| span.of(given)))),
    }
}

fn text(tool: &str, name: &str, value: Option<&[u8]>) -> Result<String, CallError> {
    let value = value.ok_or_else(|| wrong(tool, &format!("{name:?} is missing")))?;
    let text = raw::text(value).ok_or_else(|| wrong(tool, &format!("{name:?} must be a text")))?;
    Ok(text.into_owned())
}
