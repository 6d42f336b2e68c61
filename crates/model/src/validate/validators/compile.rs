//! From the text of a schema to something that values can be checked with.

use super::{Invalid, SchemaError, Verdict, chain, deadline, words};
use crate::limits;
use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::{Map, Value, json};

/// A schema that is ready to be used.
#[derive(Debug)]
pub(super) struct Compiled {
    validator: Validator,
    /// The schema, for the words of a fault.
    schema: Value,
    /// Patterns that are not checked, the first few.
    left_out: Vec<String>,
}

impl Compiled {
    /// Compiles the text of a schema, or says why not.
    pub(super) fn new(text: &[u8]) -> Result<Self, SchemaError> {
        let schema: Value = serde_json::from_slice(text)?;
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            return Err(SchemaError::NoSchema);
        }
        chain::check(&schema)?;
        let mut guarded = schema.clone();
        let mut guard = Guard::default();
        guard.prepare(&mut guarded)?;
        let validator = options()
            .build(&guarded)
            .map_err(|fault| SchemaError::Unusable(fault.to_string()))?;
        Ok(Self {
            validator,
            schema,
            left_out: guard.left_out,
        })
    }

    /// Patterns that are not checked.
    pub(super) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Checks a value.
    pub(super) fn check(&self, value: &Value) -> Verdict {
        // Most values are valid, and this is many times faster than collecting faults.
        if self.validator.is_valid(value) {
            return Verdict::Valid;
        }
        let mut faults = self.validator.iter_errors(value);
        let issues: Vec<_> = faults
            .by_ref()
            .take(limits::ISSUES_TOLD)
            .map(|fault| words::issue(&fault, &self.schema))
            .collect();
        Verdict::Invalid(Invalid {
            issues,
            more: faults.next().is_some(),
        })
    }
}

/// Nothing is fetched (the crate is built without a way to), and patterns run in linear time.
fn options<'a>() -> ValidationOptions<'a> {
    jsonschema::options()
        .with_pattern_options(
            PatternOptions::regex()
                .size_limit(limits::PATTERN_BYTES)
                .dfa_size_limit(limits::PATTERN_BYTES),
        )
        .should_validate_formats(false)
        .with_keyword(deadline::KEYWORD, |_, _, _| {
            // It is asked for once for each subschema, so preparing ends in time as well.
            deadline::look();
            Ok(Box::new(deadline::Clock))
        })
}

/// Whether the linear engine can run a pattern. Look-around and back-references need another.
fn is_linear(pattern: &str) -> bool {
    let schema = json!({ "pattern": pattern });
    let options = PatternOptions::regex()
        .size_limit(limits::PATTERN_BYTES)
        .dfa_size_limit(limits::PATTERN_BYTES);
    jsonschema::options()
        .with_pattern_options(options)
        .build(&schema)
        .is_ok()
}

/// Walks a schema before it is compiled: looks at its patterns, and gives each subschema the clock.
#[derive(Default)]
struct Guard {
    patterns: usize,
    /// Those that are not checked, the first few.
    left_out: Vec<String>,
}

impl Guard {
    fn prepare(&mut self, schema: &mut Value) -> Result<(), SchemaError> {
        // A dialect that nobody knows is read as the newest.
        if let Some(members) = schema.as_object_mut()
            && let Some(dialect) = members.get("$schema")
            && !dialect.as_str().is_some_and(is_known_dialect)
        {
            members.remove("$schema");
        }
        self.node(schema)
    }

    fn node(&mut self, schema: &mut Value) -> Result<(), SchemaError> {
        deadline::look();
        // A boolean has no place for the clock, so that a loop over `true` would never look.
        if *schema == Value::Bool(true) {
            *schema = Value::Object(Map::new());
        }
        let Some(members) = schema.as_object_mut() else {
            return Ok(());
        };
        self.patterns(members)?;
        for (key, value) in members.iter_mut() {
            match (key.as_str(), value) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" | "dependencies",
                    Value::Object(named),
                ) => named
                    .values_mut()
                    .filter(|value| !value.is_array())
                    .try_for_each(|schema| self.node(schema))?,
                ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                    list.iter_mut().try_for_each(|schema| self.node(schema))?;
                }
                (
                    "items"
                    | "additionalItems"
                    | "contains"
                    | "additionalProperties"
                    | "propertyNames"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "unevaluatedItems"
                    | "unevaluatedProperties",
                    schema @ (Value::Object(_) | Value::Bool(true)),
                ) => self.node(schema)?,
                _ => {}
            }
        }
        // Keywords of others come last in a subschema, when it may have failed already; `allOf`
        // comes before everything that can multiply the work. At its end, so that no place is renamed.
        let clock = json!({ deadline::KEYWORD: true });
        match members.get_mut("allOf") {
            Some(Value::Array(list)) => list.push(clock),
            Some(_) => return Err(SchemaError::AllOfNoList),
            None => {
                members.insert("allOf".to_owned(), json!([clock]));
            }
        }
        Ok(())
    }

    /// Leaves out patterns that the linear engine cannot run: the rest of the schema still counts.
    fn patterns(&mut self, members: &mut Map<String, Value>) -> Result<(), SchemaError> {
        if let Some(pattern) = members.get("pattern").and_then(Value::as_str) {
            self.patterns += 1;
            if !is_linear(pattern) {
                leave_out(&mut self.left_out, pattern);
                members.remove("pattern");
            }
        }
        if let Some(Value::Object(named)) = members.get_mut("patternProperties") {
            let before = named.len();
            self.patterns += before;
            if before > limits::SCHEMA_NAME_PATTERNS || self.patterns > limits::SCHEMA_PATTERNS {
                return Err(SchemaError::TooManyNamePatterns);
            }
            named.retain(|pattern, _| {
                let stays = is_linear(pattern);
                if !stays {
                    leave_out(&mut self.left_out, pattern);
                }
                stays
            });
            if named.len() < before {
                // What the pattern would have matched must not count as unknown.
                members.remove("additionalProperties");
                members.remove("unevaluatedProperties");
            }
        }
        if self.patterns > limits::SCHEMA_PATTERNS {
            return Err(SchemaError::TooManyPatterns);
        }
        Ok(())
    }
}

/// Notes a pattern that is not checked: a server's text, so no more of it than can be read.
fn leave_out(left_out: &mut Vec<String>, pattern: &str) {
    if left_out.len() < limits::ISSUES_TOLD {
        left_out.push(pattern.chars().take(limits::PATTERN_TOLD).collect());
    }
}

fn is_known_dialect(uri: &str) -> bool {
    let uri = uri.trim_end_matches('#').trim_end_matches('/');
    let plain = uri
        .strip_prefix("https://")
        .or_else(|| uri.strip_prefix("http://"))
        .unwrap_or(uri);
    [
        "json-schema.org/draft-04/schema",
        "json-schema.org/draft-06/schema",
        "json-schema.org/draft-07/schema",
        "json-schema.org/draft/2019-09/schema",
        "json-schema.org/draft/2020-12/schema",
    ]
    .contains(&plain)
}
