//! Changes to a text that keep the rest of it as it is.

use super::{EditError, unreadable};
use crate::read::dialect;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use std::path::Path;

pub(super) fn put(
    text: Option<&str>,
    file: &Path,
    path: &[&str],
    name: &str,
    value: &Value,
    replace: bool,
) -> Result<String, EditError> {
    let (bom, root) = parse(text, file)?;
    let object = reach(&root, file, path)?;
    match object.get(name) {
        Some(_) if !replace => {
            return Err(EditError::Exists {
                name: name.to_owned(),
                file: file.to_owned(),
            });
        }
        Some(property) => property.set_value(input(value)),
        None => {
            object.append(name, input(value));
        }
    }
    finish(bom, &root, file)
}

pub(super) fn remove(
    text: Option<&str>,
    file: &Path,
    path: &[&str],
    name: &str,
) -> Result<String, EditError> {
    let missing = || EditError::Missing {
        name: name.to_owned(),
        file: file.to_owned(),
    };
    let (bom, root) = parse(Some(text.ok_or_else(missing)?), file)?;
    let mut object = root.object_value().ok_or_else(missing)?;
    for key in path {
        object = object.object_value(key).ok_or_else(missing)?;
    }
    object.get(name).ok_or_else(missing)?.remove();
    finish(bom, &root, file)
}

pub(super) fn mark(
    text: Option<&str>,
    file: &Path,
    path: &[&str],
    name: &str,
    present: bool,
) -> Result<(String, bool), EditError> {
    let (bom, root) = parse(text, file)?;
    let Some((key, above)) = path.split_last() else {
        return finish(bom, &root, file).map(|text| (text, false));
    };
    let object = reach(&root, file, above)?;
    let list = object
        .array_value_or_create(key)
        .ok_or_else(|| unreadable(file, 0, format!("`{key}` must be a list")))?;
    let is_name = |value: Option<String>| value.as_deref() == Some(name);
    let found = list.elements().into_iter().find(|element| {
        is_name(
            element
                .as_string_lit()
                .and_then(|text| text.decoded_value().ok()),
        )
    });
    let changed = found.is_some() != present;
    match found {
        Some(element) if !present => element.remove(),
        None if present => {
            list.append(name.into());
        }
        _ => return Ok((text.unwrap_or("{}\n").to_owned(), false)),
    }
    finish(bom, &root, file).map(|text| (text, changed))
}

fn parse<'a>(text: Option<&'a str>, file: &Path) -> Result<(&'a str, CstRootNode), EditError> {
    let text = text.unwrap_or("{}\n");
    let (bom, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (&text[..text.len() - rest.len()], rest),
        None => ("", text),
    };
    if text.trim().is_empty() {
        return Err(unreadable(file, 1, "the file is empty".to_owned()));
    }
    let root = CstRootNode::parse(text, &dialect()).map_err(|error| {
        let line = crate::position::Lines::new(text)
            .position(error.range().start)
            .0;
        let problem = error.kind().to_string();
        unreadable(
            file,
            line,
            format!("not JSON: {}", problem.trim_end_matches('.')),
        )
    })?;
    Ok((bom, root))
}

/// The object at this path; objects on the way are made, other things are not touched.
fn reach(root: &CstRootNode, file: &Path, path: &[&str]) -> Result<CstObject, EditError> {
    let wrong = |what: &str| unreadable(file, 0, format!("{what} must be an object"));
    let mut object = root
        .object_value_or_create()
        .ok_or_else(|| wrong("the whole file"))?;
    for key in path {
        object = object
            .object_value_or_create(key)
            .ok_or_else(|| wrong(&format!("{key:?}")))?;
    }
    Ok(object)
}

/// The new text, once it is certain that it can be read again.
fn finish(bom: &str, root: &CstRootNode, file: &Path) -> Result<String, EditError> {
    let text = format!("{bom}{root}");
    parse(Some(&text), file)?;
    Ok(text)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(object) => {
            let pairs = object
                .iter()
                .map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(pairs.collect())
        }
    }
}
