//! Checks values against schemas.
//!
//! Schemas are a server's text, so they are treated as hostile: nothing is ever
//! fetched, patterns run in linear time, size and shape are capped, and a
//! validation ends after 100 ms wherever it is. It runs on a thread of its own,
//! with a large stack, that can be abandoned.

mod chain;
mod compile;
mod deadline;
mod words;

use super::{Invalid, Issue, Verdict};
use crate::limits;
use compile::Compiled;
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::sync::{Semaphore, oneshot};

/// Checks values; keeps compiled schemas.
#[derive(Debug)]
pub struct Validators {
    kept: Arc<Mutex<Kept>>,
    at_once: Arc<Semaphore>,
    /// How long one check may take.
    limit: Duration,
}

impl Default for Validators {
    fn default() -> Self {
        Self::new(limits::VALIDATION)
    }
}

impl Validators {
    /// Validators whose checks may take this long.
    pub fn new(limit: Duration) -> Self {
        Self {
            kept: Arc::default(),
            at_once: Arc::new(Semaphore::new(limits::VALIDATIONS_AT_ONCE)),
            limit,
        }
    }

    /// Checks a value, without ever taking longer than a validation may.
    /// Both are the texts that were received.
    pub async fn check(&self, schema: &[u8], value: &[u8]) -> Verdict {
        let deadline = Instant::now() + self.limit;
        for (what, size, limit) in [
            ("schema", schema.len(), limits::SCHEMA_BYTES),
            ("value", value.len(), limits::CHECKED_BYTES),
        ] {
            if size > limit {
                return Verdict::Unchecked(format!(
                    "the {what} has {size} bytes, and the limit is {limit}"
                ));
            }
        }
        let until = tokio::time::Instant::from_std(deadline);
        let Ok(Ok(permit)) =
            tokio::time::timeout_at(until, self.at_once.clone().acquire_owned()).await
        else {
            return late();
        };
        let (reply, verdict) = oneshot::channel();
        let (kept, (schema, value)) = (self.kept.clone(), (schema.to_vec(), value.to_vec()));
        let spawned = thread::Builder::new()
            .name("validation".to_owned())
            .stack_size(limits::VALIDATION_STACK)
            .spawn(move || {
                let verdict = check_here(&kept, &schema, &value, deadline);
                // Given back before the answer, so that whoever waits for it finds it free.
                drop(permit);
                // Nobody waits any more: it was abandoned.
                let _ = reply.send(verdict);
            });
        if let Err(fault) = spawned {
            return Verdict::Unchecked(format!("no thread for the check: {fault}"));
        }
        match tokio::time::timeout_at(until, verdict).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_)) => Verdict::Unchecked("the check broke off".to_owned()),
            Err(_) => late(),
        }
    }

    /// Patterns of a schema that no check looks at, the first few: those that only an engine
    /// could run which may take for ever. Known once something was checked with it.
    pub fn left_out(&self, schema: &[u8]) -> Vec<String> {
        let found = self.kept.lock().get(&Sha256::digest(schema).into());
        match found.as_deref() {
            Some(Ok(compiled)) => compiled.left_out().to_vec(),
            _ => Vec::new(),
        }
    }

    /// How many compiled schemas are kept.
    pub fn kept(&self) -> usize {
        self.kept.lock().compiled.len()
    }
}

/// Where a schema breaks the rules of the newest dialect, if it does.
pub(crate) fn dialect_fault(schema: &Value) -> Option<String> {
    let fault = jsonschema::draft202012::meta::validate(schema).err()?;
    Some(fault.instance_path().to_string())
}

fn late() -> Verdict {
    Verdict::Unchecked("the check took too long".to_owned())
}

/// The check itself, on a thread with enough stack.
fn check_here(kept: &Mutex<Kept>, schema: &[u8], value: &[u8], deadline: Instant) -> Verdict {
    // The parser's own limit of depth keeps the recursion over the value short.
    let value: Value = match serde_json::from_slice(value) {
        Ok(value) => value,
        Err(fault) => return Verdict::Unchecked(format!("the value cannot be read: {fault}")),
    };
    let key: Key = Sha256::digest(schema).into();
    let found = kept.lock().get(&key);
    let compiled = match found {
        Some(compiled) => compiled,
        None => {
            // What ran out of time is not kept: the machine may only have been busy.
            let Some(compiled) = deadline::within(deadline, || Compiled::new(schema)) else {
                return late();
            };
            let compiled = Arc::new(compiled);
            kept.lock().put(key, compiled.clone());
            compiled
        }
    };
    match compiled.as_ref() {
        Err(reason) => Verdict::Unchecked(format!("the schema cannot be used: {reason}")),
        Ok(compiled) => deadline::within(deadline, || compiled.check(&value)).unwrap_or_else(late),
    }
}

/// Why no value can be checked with a schema.
#[derive(Debug, thiserror::Error)]
enum SchemaError {
    #[error(transparent)]
    Unreadable(#[from] serde_json::Error),
    #[error("it is neither an object nor a boolean")]
    NoSchema,
    #[error("it has more than {} subschemas", limits::SCHEMA_NODES)]
    TooManyParts,
    #[error("a part of it has an \"$id\" of its own")]
    OwnId,
    #[error("it refers to itself in a circle")]
    Circle,
    #[error(
        "more than {} subschemas lead from one to the next",
        limits::SCHEMA_CHAIN
    )]
    TooLongAWay,
    #[error("it refers to {0:?}, which is not fetched")]
    Elsewhere(String),
    #[error("it refers to {0:?}, which it does not have")]
    Dangling(String),
    #[error("an \"allOf\" is no list")]
    AllOfNoList,
    #[error("it has too many \"patternProperties\"")]
    TooManyNamePatterns,
    #[error("it has more than {} patterns", limits::SCHEMA_PATTERNS)]
    TooManyPatterns,
    /// What the crate that checks says of it.
    #[error("{0}")]
    Unusable(String),
}

type Key = [u8; 32];

/// Compiled schemas by the hash of their text; the one that was used longest ago goes first.
#[derive(Debug, Default)]
struct Kept {
    compiled: HashMap<Key, (u64, Arc<Result<Compiled, SchemaError>>)>,
    clock: u64,
}

impl Kept {
    fn get(&mut self, key: &Key) -> Option<Arc<Result<Compiled, SchemaError>>> {
        self.clock += 1;
        let clock = self.clock;
        self.compiled.get_mut(key).map(|(used, compiled)| {
            *used = clock;
            compiled.clone()
        })
    }

    fn put(&mut self, key: Key, compiled: Arc<Result<Compiled, SchemaError>>) {
        if self.compiled.len() >= limits::SCHEMAS_KEPT
            && let Some(oldest) = self
                .compiled
                .iter()
                .min_by_key(|(_, (used, _))| *used)
                .map(|(key, _)| *key)
        {
            self.compiled.remove(&oldest);
        }
        self.clock += 1;
        self.compiled.insert(key, (self.clock, compiled));
    }
}

#[cfg(test)]
mod tests;
