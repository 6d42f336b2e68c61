//! The shape that an item of a list must have. One of another shape costs
//! clients that read strictly the whole list, so it is left out and named.

use super::{ItemError, List};
use switchboard_wire::json::{self, ValueKind};

/// The fields that clients read, what each must be, and whether it must be there.
/// `null` in the place of one that may be absent is taken for absence.
const fn fields(list: List) -> &'static [(&'static str, ValueKind, bool)] {
    use ValueKind::{Array, Number, Object, String};
    match list {
        List::Tools => &[
            ("name", String, true),
            ("inputSchema", Object, true),
            ("outputSchema", Object, false),
            ("title", String, false),
            ("description", String, false),
            ("annotations", Object, false),
            ("icons", Array, false),
            ("_meta", Object, false),
        ],
        List::Resources => &[
            ("uri", String, true),
            ("name", String, true),
            ("title", String, false),
            ("description", String, false),
            ("mimeType", String, false),
            ("size", Number, false),
            ("annotations", Object, false),
            ("icons", Array, false),
            ("_meta", Object, false),
        ],
        List::Templates => &[
            ("uriTemplate", String, true),
            ("name", String, true),
            ("title", String, false),
            ("description", String, false),
            ("mimeType", String, false),
            ("annotations", Object, false),
            ("icons", Array, false),
            ("_meta", Object, false),
        ],
        List::Prompts => &[
            ("name", String, true),
            ("title", String, false),
            ("description", String, false),
            ("arguments", Array, false),
            ("icons", Array, false),
            ("_meta", Object, false),
        ],
    }
}

/// Says what is wrong with an item, if anything is.
pub(super) fn check(list: List, raw: &[u8]) -> Result<(), ItemError> {
    if ValueKind::of(raw) != Some(ValueKind::Object) {
        return Err(ItemError::NoObject);
    }
    let key = json::field(raw, list.key()).ok().flatten();
    let key = key.and_then(|span| json::text(span.of(raw)));
    if key.as_ref().is_some_and(|key| key.is_empty()) {
        return Err(ItemError::EmptyKey(list.key()));
    }
    // To some readers it ends there, and names another.
    if let Some(key) = key.as_ref().filter(|key| key.contains('\0')) {
        return Err(ItemError::NulInKey(key.to_string(), list.key()));
    }
    let who = || key.as_deref().map(str::to_owned);
    for (field, kind, required) in fields(list) {
        let found = json::field(raw, field).map_err(|twice| ItemError::Twice(who(), twice))?;
        match found.and_then(|span| ValueKind::of(span.of(raw))) {
            None if *required => return Err(ItemError::Missing(who(), field)),
            None => {}
            Some(ValueKind::Null) if !required => {}
            Some(found) if found == *kind => {}
            Some(_) => return Err(ItemError::WrongKind(who(), field, *kind)),
        }
    }
    Ok(())
}

/// The name of a kind of value.
pub(super) const fn word(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Object => "object",
        ValueKind::Array => "array",
        ValueKind::String => "string",
        ValueKind::Number => "number",
        _ => "value of that kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_can_read_passes() {
        for (list, item) in [
            (List::Tools, r#"{"name":"t","inputSchema":{}}"#),
            (
                List::Tools,
                r#"{"name":"t","inputSchema":{},"description":null,"x":1}"#,
            ),
            (List::Resources, r#"{"uri":"a:b","name":"n","size":1.5}"#),
            (List::Templates, r#"{"uriTemplate":"a:{b}","name":"n"}"#),
            (List::Prompts, r#"{"name":"p","arguments":[]}"#),
        ] {
            assert_eq!(check(list, item.as_bytes()), Ok(()), "{item}");
        }
    }

    #[test]
    fn what_they_stumble_over_is_named() {
        for (list, item, named) in [
            (List::Tools, "5", "no object"),
            (
                List::Tools,
                r#"{"name":5,"inputSchema":{}}"#,
                "\"name\" that is no string",
            ),
            (List::Tools, r#"{"name":"","inputSchema":{}}"#, "empty"),
            (
                List::Tools,
                r#"{"name":"t"}"#,
                "\"t\" has no \"inputSchema\"",
            ),
            (
                List::Tools,
                r#"{"name":"t","inputSchema":"{}"}"#,
                "no object",
            ),
            (
                List::Tools,
                r#"{"name":"t","inputSchema":null}"#,
                "no object",
            ),
            (
                List::Tools,
                r#"{"name":"t","inputSchema":{},"title":5}"#,
                "\"title\"",
            ),
            (
                List::Tools,
                r#"{"name":"t","name":"u","inputSchema":{}}"#,
                "name",
            ),
            (List::Resources, r#"{"uri":"a:b"}"#, "\"name\""),
            (List::Prompts, r#"{"name":"p","arguments":{}}"#, "no array"),
        ] {
            let said = check(list, item.as_bytes()).expect_err(item).to_string();
            assert!(said.contains(named), "{item}: {said}");
        }
    }
}
