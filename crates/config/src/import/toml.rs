//! TOML as the values that it says.

use serde_json::{Value, json};

/// TOML as JSON; where it is wrong, and why.
pub(super) fn read(text: &str) -> Result<Value, (usize, String)> {
    let document = text.parse::<toml_edit::DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, format!("not TOML: {}", error.message()))
    })?;
    Ok(table(document.as_table()))
}

fn table(table: &dyn toml_edit::TableLike) -> Value {
    let pairs = table
        .iter()
        .filter_map(|(key, item)| Some((key.to_owned(), item_value(item)?)));
    Value::Object(pairs.collect())
}

fn item_value(item: &toml_edit::Item) -> Option<Value> {
    match item {
        toml_edit::Item::None => None,
        toml_edit::Item::Value(value) => Some(plain(value)),
        toml_edit::Item::Table(inner) => Some(table(inner)),
        toml_edit::Item::ArrayOfTables(tables) => {
            Some(tables.iter().map(|inner| table(inner)).collect())
        }
    }
}

fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => json!(*number.value()),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(plain).collect(),
        toml_edit::Value::InlineTable(inner) => table(inner),
    }
}
