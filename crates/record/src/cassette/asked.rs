//! Requests as they are compared: without what belongs to one hop or one run. And the
//! recorded one that is closest to what was asked.

use super::{Cassette, Difference, Incomparable, differences, redact};
use crate::limits;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use switchboard_wire::{Era, ErrorObject, Method, code, json as text, meta};

/// What of `_meta` is between two neighbours, or of one run.
const HOP: [&str; 8] = [
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::TRACEPARENT,
    meta::TRACESTATE,
    meta::BAGGAGE,
];

/// The parameters of a request as they are compared. Secrets are cut as they are when
/// something is recorded.
pub(super) fn comparable(params: Option<&Bytes>) -> Result<Value, Incomparable> {
    let Some(params) = params else {
        return Ok(Value::Object(Map::new()));
    };
    let mut value = exact_tree(&redact(params))?;
    if let Some(object) = value.as_object_mut() {
        without_hop(object, &HOP);
    }
    Ok(value)
}

/// A text as a tree, which has a depth.
pub(super) fn tree(raw: &[u8]) -> Result<Value, Incomparable> {
    Ok(serde_json::from_slice(raw)?)
}

/// The same, to be compared: a number with more digits than a reader keeps is the text of
/// them, so that two of which only those differ are not the same.
pub(super) fn exact_tree(raw: &[u8]) -> Result<Value, Incomparable> {
    let mut value = tree(raw)?;
    if !text::is_exact(raw) {
        put_exact(&mut value, raw);
    }
    Ok(value)
}

/// As deep as the tree is, which has a cap.
fn put_exact(value: &mut Value, raw: &[u8]) {
    match value {
        Value::Object(members) => {
            for member in text::members(raw) {
                let key = text::text(member.key.of(raw));
                if let Some(value) = key.and_then(|key| members.get_mut(&*key)) {
                    put_exact(value, member.value.of(raw));
                }
            }
        }
        Value::Array(items) => {
            for (item, span) in items.iter_mut().zip(text::elements(raw)) {
                put_exact(item, span.of(raw));
            }
        }
        Value::Number(_) if !text::is_exact(raw) => {
            *value = format!("{} (a number)", String::from_utf8_lossy(raw)).into();
        }
        _ => {}
    }
}

/// Takes these keys out of an object's `_meta`.
pub(super) fn without_hop(object: &mut Map<String, Value>, keys: &[&str]) {
    let Some(about) = object.get_mut("_meta").and_then(Value::as_object_mut) else {
        return;
    };
    for key in keys {
        about.shift_remove(*key);
    }
    if about.is_empty() {
        object.shift_remove("_meta");
    }
}

/// A request that was recorded at least once.
#[derive(Debug)]
struct Known {
    asked: Value,
    /// The calls, in their order.
    calls: Vec<usize>,
}

/// What was recorded, to be found by what is asked.
#[derive(Debug, Default)]
pub(super) struct Index {
    known: HashMap<(Era, String), Vec<Known>>,
    /// Where in that a request is, by its text in one order: a cassette may have a hundred
    /// thousand of them.
    places: HashMap<(Era, String, String), usize>,
}

/// What was not recorded, with what is closest to it.
#[derive(Debug)]
pub(super) struct Miss {
    /// Why there is no answer.
    pub(super) error: Box<ErrorObject>,
    /// The calls of the closest request.
    pub(super) closest: Option<Vec<usize>>,
}

impl Index {
    /// Of all calls of a cassette. Gives the line of one that cannot be compared.
    pub(super) fn of(cassette: &Cassette) -> Result<Self, (usize, Incomparable)> {
        let mut index = Self::default();
        for (at, recorded) in cassette.calls.iter().enumerate() {
            let call = &recorded.call;
            let asked = comparable(call.params.as_ref());
            let asked = asked.map_err(|fault| (recorded.line, fault))?;
            let place = (call.era, call.method.clone(), in_order(&asked));
            let key = (call.era, call.method.clone());
            let known = index.known.entry(key).or_default();
            let place = *index.places.entry(place).or_insert(known.len());
            match known.get_mut(place) {
                Some(same) => same.calls.push(at),
                None => known.push(Known {
                    asked,
                    calls: vec![at],
                }),
            }
        }
        Ok(index)
    }

    /// The calls that were this request.
    pub(super) fn find(
        &self,
        cassette: &Cassette,
        era: Era,
        method: &str,
        asked: &Value,
    ) -> Result<Vec<usize>, Miss> {
        let known = self.known.get(&(era, method.to_owned()));
        let known = known.map(Vec::as_slice).unwrap_or_default();
        let place = (era, method.to_owned(), in_order(asked));
        let same = self.places.get(&place).and_then(|at| known.get(*at));
        if let Some(same) = same {
            return Ok(same.calls.clone());
        }
        let closest = known
            .iter()
            .take(limits::CASSETTE_CLOSEST)
            .map(|one| (distance(&one.asked, asked), one))
            .min_by_key(|(distance, _)| *distance);
        let Some((_, closest)) = closest else {
            let text = format!("{method} was not recorded");
            let mut methods: Vec<&str> = self
                .known
                .keys()
                .filter(|(of, _)| *of == era)
                .map(|(_, method)| method.as_str())
                .collect();
            methods.sort_unstable();
            let data = json!({"recorded": methods});
            let error = ErrorObject::new(code::METHOD_NOT_FOUND, text).with_data(data);
            return Err(Miss {
                error: Box::new(error),
                closest: None,
            });
        };
        Err(Miss {
            error: Box::new(missed(cassette, method, closest, asked)),
            closest: Some(closest.calls.clone()),
        })
    }
}

/// The text of a value, with the keys of its objects in order. Its depth is that of a tree.
fn in_order(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            let each = members
                .into_iter()
                .map(|(key, value)| format!("{}:{}", text::quote(key), in_order(value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let each: Vec<String> = items.iter().map(in_order).collect();
            format!("[{}]", each.join(","))
        }
        plain => plain.to_string(),
    }
}

/// How much two requests differ. What names a thing counts most.
fn distance(recorded: &Value, asked: &Value) -> (bool, usize) {
    let names_other = ["name", "uri", "ref"]
        .iter()
        .any(|key| recorded.get(key) != asked.get(key));
    (names_other, differences(recorded, asked, &[]).len())
}

fn missed(cassette: &Cassette, method: &str, closest: &Known, asked: &Value) -> ErrorObject {
    let found = differences(&closest.asked, asked, &[]);
    let line = closest
        .calls
        .first()
        .and_then(|at| cassette.calls.get(*at))
        .map_or(0, |one| one.line);
    let paths: Vec<&str> = found.iter().take(3).map(|one| one.path.as_str()).collect();
    let text = format!(
        "this {method} was not recorded; the closest one is on line {line} and differs at {}",
        paths.join(", ")
    );
    ErrorObject::new(code::INVALID_PARAMS, text).with_data(json!({
        "closest": {"line": line, "params": closest.asked},
        "differences": found.iter().map(shown).collect::<Vec<_>>(),
    }))
}

fn shown(difference: &Difference) -> Value {
    json!({
        "path": difference.path,
        "recorded": difference.recorded,
        "asked": difference.actual,
    })
}

/// What a request names: a tool, a prompt, a resource.
pub(super) fn name_of(method: Method, params: &Value) -> Option<&str> {
    let key = match method {
        Method::Complete => {
            return params["ref"]["name"]
                .as_str()
                .or(params["ref"]["uri"].as_str());
        }
        Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => "uri",
        Method::SetLevel => "level",
        _ => "name",
    };
    params.get(key).and_then(Value::as_str)
}
