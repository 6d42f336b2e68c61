//! Secrets that were not shown, put back where what was shown in their place was left as it
//! was: never is the word for them sent. Where it cannot be told which is meant, or the word
//! stands where none was, somebody has to say it anew.

use super::super::answer::No;
use crate::limits;
use serde_json::{Map, Value};
use switchboard_local::secret;

/// A value, and how many secrets were put back.
pub(super) type Whole = (Value, usize);

/// What something that was shown is to be: places that were left alone have what they had.
pub(super) fn changed(given: Value, shown: &Value, whole: &Value) -> Result<Whole, No> {
    let mut put = Putting::default();
    let value = put.place(given, Some((shown, whole)))?;
    Ok((value, put.back))
}

/// What was filled into a form: what a schema offers and did not show is what it offers.
pub(super) fn filled(given: Value, shown: &Value, whole: &Value) -> Result<Whole, No> {
    let mut put = Putting::default();
    let roots = (shown, whole);
    let value = put.field(given, &[roots], roots)?;
    Ok((value, put.back))
}

/// What was shown, and what it stands for.
type Pair<'a> = (&'a Value, &'a Value);

#[derive(Default)]
struct Putting {
    back: usize,
    /// Where it is, as a JSON pointer.
    at: Vec<String>,
}

impl Putting {
    /// A value at the place of another.
    fn place(&mut self, given: Value, of: Option<Pair<'_>>) -> Result<Value, No> {
        if let Some((shown, whole)) = of
            && given == *shown
        {
            self.back += usize::from(shown != whole);
            return Ok(whole.clone());
        }
        match given {
            Value::Object(members) => {
                let of =
                    of.and_then(|(shown, whole)| Some((shown.as_object()?, whole.as_object()?)));
                let at = |key: &str| {
                    of.and_then(|(shown, whole)| Some((shown.get(key)?, whole.get(key)?)))
                };
                self.members(members, |put, key, value| put.place(value, at(key)))
            }
            Value::Array(items) => {
                // Where some came or went nobody can tell which is which.
                let of = of.and_then(|(shown, whole)| Some((shown.as_array()?, whole.as_array()?)));
                let of = of.filter(|(shown, whole)| {
                    shown.len() == items.len() && whole.len() == items.len()
                });
                let at = |index: usize| of.map(|(shown, whole)| (&shown[index], &whole[index]));
                self.items(items, |put, index, value| put.place(value, at(index)))
            }
            other => self.plain(other),
        }
    }

    /// A value of which these schemas speak.
    fn field(&mut self, given: Value, schemas: &[Pair<'_>], roots: Pair<'_>) -> Result<Value, No> {
        let schemas = alternatives(schemas, roots);
        let mut offered: Vec<&Value> = Vec::new();
        for (shown, whole) in schemas.iter().flat_map(|schema| offers(*schema)) {
            if *shown == given && !offered.contains(&whole) {
                offered.push(whole);
            }
        }
        match offered.as_slice() {
            [] => {}
            [whole] => {
                self.back += usize::from(**whole != given);
                return Ok((*whole).clone());
            }
            _ => return Err(self.unclear()),
        }
        match given {
            Value::Object(members) => self.members(members, |put, key, value| {
                let below: Vec<Pair<'_>> = schemas
                    .iter()
                    .filter_map(|(shown, whole)| {
                        let (shown, whole) = (&shown["properties"], &whole["properties"]);
                        Some((shown.get(key)?, whole.get(key)?))
                    })
                    .collect();
                put.field(value, &below, roots)
            }),
            Value::Array(items) => {
                let below: Vec<Pair<'_>> = schemas
                    .iter()
                    .filter_map(|(shown, whole)| Some((shown.get("items")?, whole.get("items")?)))
                    .collect();
                self.items(items, |put, _, value| put.field(value, &below, roots))
            }
            other => self.plain(other),
        }
    }

    fn members(
        &mut self,
        members: Map<String, Value>,
        mut put: impl FnMut(&mut Self, &str, Value) -> Result<Value, No>,
    ) -> Result<Value, No> {
        let mut made = Map::new();
        for (key, value) in members {
            self.at.push(key.replace('~', "~0").replace('/', "~1"));
            if key.contains(secret::HIDDEN) {
                return Err(self.unclear());
            }
            let value = put(self, &key, value)?;
            self.at.pop();
            made.insert(key, value);
        }
        Ok(Value::Object(made))
    }

    fn items(
        &mut self,
        items: Vec<Value>,
        mut put: impl FnMut(&mut Self, usize, Value) -> Result<Value, No>,
    ) -> Result<Value, No> {
        let mut made = Vec::with_capacity(items.len());
        for (index, value) in items.into_iter().enumerate() {
            self.at.push(index.to_string());
            made.push(put(self, index, value)?);
            self.at.pop();
        }
        Ok(Value::Array(made))
    }

    /// A value that was never shown.
    fn plain(&self, given: Value) -> Result<Value, No> {
        match has_mark(&given) {
            true => Err(self.unclear()),
            false => Ok(given),
        }
    }

    fn unclear(&self) -> No {
        let text = format!(
            "{} stands here for something that was not shown, and it cannot be told for what",
            secret::HIDDEN
        );
        let at: String = self.at.iter().map(|step| format!("/{step}")).collect();
        No::invalid(text)
            .field(format!("/content{at}"))
            .hint("write it whole, or leave all of it as it was shown")
    }
}

fn has_mark(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.contains(secret::HIDDEN))
}

/// The schemas that speak of the same value as these: what they refer to, and each of what
/// they let one choose from.
fn alternatives<'a>(schemas: &[Pair<'a>], roots: Pair<'a>) -> Vec<Pair<'a>> {
    let mut all: Vec<Pair<'a>> = schemas.to_vec();
    let mut at = 0;
    while at < all.len() && all.len() < limits::FORM_ALTERNATIVES {
        let (shown, whole) = all[at];
        at += 1;
        let referred = whole["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
        all.extend(referred.and_then(|to| Some((roots.0.pointer(to)?, roots.1.pointer(to)?))));
        for key in ["allOf", "anyOf", "oneOf"] {
            let (shown, whole) = (shown[key].as_array(), whole[key].as_array());
            all.extend(shown.into_iter().flatten().zip(whole.into_iter().flatten()));
        }
    }
    all
}

/// What a schema offers.
fn offers<'a>((shown, whole): Pair<'a>) -> impl Iterator<Item = Pair<'a>> {
    let one = ["default", "const"].into_iter();
    let one = one.filter_map(move |key| Some((shown.get(key)?, whole.get(key)?)));
    let many = ["enum", "examples"].into_iter().flat_map(move |key| {
        let (shown, whole) = (shown[key].as_array(), whole[key].as_array());
        shown.into_iter().flatten().zip(whole.into_iter().flatten())
    });
    one.chain(many)
}

#[cfg(test)]
mod tests;
