//! A table in somebody else's TOML file: the rest of the text stays as it is.

use super::{EditError, unreadable};
use std::path::Path;
use toml_edit::DocumentMut;

/// Puts a table into the text, in the place of the one that may be there. The
/// new text is taken only if everything else in it still says the same.
pub(super) fn put(text: &str, file: &Path, table: &str, body: &str) -> Result<String, EditError> {
    let before = parse(text, file)?;
    let header = format!("[{table}]");
    let mut kept = String::new();
    let mut at = None;
    let mut ours = false;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        if start.starts_with('[') {
            ours = start.starts_with(&header) || start.starts_with(&format!("[{table}."));
            if ours && at.is_none() {
                at = Some(kept.len());
            }
        }
        if !ours {
            kept.push_str(line);
        }
    }
    let new = format!("{header}\n{body}");
    let after = match at {
        Some(at) => format!("{}{new}{}", &kept[..at], separated(&kept[at..])),
        None if kept.trim().is_empty() => new,
        None => format!("{}\n\n{new}", kept.trim_end()),
    };
    let now = parse(&after, file)?;
    if without(before, table) != without(now, table) {
        let problem = format!("[{table}] is written in a way that we cannot replace");
        return Err(unreadable(file, 0, problem));
    }
    Ok(after)
}

fn separated(rest: &str) -> String {
    if rest.is_empty() || rest.starts_with('\n') {
        rest.to_owned()
    } else {
        format!("\n{rest}")
    }
}

fn parse(text: &str, file: &Path) -> Result<DocumentMut, EditError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = crate::position::Lines::new(text).line(at);
        unreadable(file, line, format!("not TOML: {}", error.message()))
    })
}

/// The document as a value, without the table.
fn without(mut document: DocumentMut, table: &str) -> serde_json::Value {
    if let Some((above, name)) = table.split_once('.') {
        let above_table = document.get_mut(above);
        if let Some(inner) = above_table.and_then(toml_edit::Item::as_table_like_mut) {
            inner.remove(name);
            if inner.is_empty() {
                document.remove(above);
            }
        }
    }
    crate::import::toml_value(&document)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "url = \"http://x/mcp\"\n";

    fn put_ours(text: &str) -> Result<String, EditError> {
        put(text, Path::new("/c.toml"), "mcp_servers.switchboard", BODY)
    }

    #[test]
    fn everything_else_stays() {
        let ours = "[mcp_servers.switchboard]\nurl = \"http://x/mcp\"\n";
        assert_eq!(put_ours("").unwrap(), ours);
        let text = "# mine\nmodel = \"m\" # why\n\n[mcp_servers.a]\ncommand = \"x\"\n";
        let added = put_ours(text).unwrap();
        assert_eq!(added, format!("{text}\n{ours}"));
        assert_eq!(put_ours(&added).unwrap(), added, "a second time");
        let old = "[mcp_servers.switchboard]\nurl = \"old\"\n[mcp_servers.switchboard.http_headers]\na = \"b\"\n\n[z]\nk = 1\n";
        assert_eq!(put_ours(old).unwrap(), format!("{ours}\n[z]\nk = 1\n"));
    }

    #[test]
    fn what_cannot_be_replaced_is_left_alone() {
        for text in [
            "mcp_servers = { switchboard = { url = \"old\" } }\n",
            "[mcp_servers]\nswitchboard.url = \"old\"\n",
            "not toml",
        ] {
            assert!(put_ours(text).is_err(), "{text}");
        }
    }
}
