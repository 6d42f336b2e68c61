//! Values that a server makes up anew each time and gets back: where a page ends, what a
//! call is to go on with, which task it is. What was recorded stands for what is there now.

use serde_json::Value;
use std::collections::HashMap;

/// Where such values stand in results.
const GIVEN: [&str; 6] = [
    "/nextCursor",
    "/requestState",
    "/taskId",
    "/task/taskId",
    "/_meta/io.modelcontextprotocol~1related-task/taskId",
    "/tasks/0/taskId",
];
/// Where they stand in parameters.
const TAKEN: [&str; 4] = [
    "/cursor",
    "/requestState",
    "/taskId",
    "/_meta/io.modelcontextprotocol~1related-task/taskId",
];

/// What stands for what.
#[derive(Debug, Default)]
pub(super) struct Carried(HashMap<String, String>);

impl Carried {
    /// Notes what a server gives now in place of what it gave, and makes the two the same.
    pub(super) fn note(&mut self, recorded: &Value, actual: &mut Value) {
        for place in GIVEN {
            let was = recorded.pointer(place).and_then(Value::as_str);
            let (Some(was), Some(is)) = (was, actual.pointer_mut(place)) else {
                continue;
            };
            if let Some(text) = is.as_str() {
                self.0.insert(was.to_owned(), text.to_owned());
                *is = Value::String(was.to_owned());
            }
        }
    }

    /// Parameters with what is there now.
    pub(super) fn put(&self, params: &mut Value) {
        for place in TAKEN {
            if let Some(value) = params.pointer_mut(place)
                && let Some(now) = value.as_str().and_then(|was| self.0.get(was))
            {
                *value = Value::String(now.clone());
            }
        }
    }
}
