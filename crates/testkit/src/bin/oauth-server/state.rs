//! All that the server remembers.

use crate::{Call, jwt::Key, knobs};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

pub struct World {
    state: Mutex<State>,
    pub idp_key: Key,
    pub other_key: Key,
    pub workload_key: Key,
}

#[derive(Default)]
pub struct State {
    pub knobs: Value,
    pub counters: BTreeMap<String, u64>,
    pub log: Vec<Value>,
    pub clients: HashMap<String, Client>,
    pub codes: HashMap<String, Code>,
    pub refresh: HashMap<String, Refresh>,
    pub access: HashMap<String, Access>,
    pub families: HashSet<String>,
    pub used_ids: HashSet<String>,
    pub nonce: u64,
}

#[derive(Clone)]
pub struct Client {
    pub secret: Option<String>,
    pub redirects: Vec<String>,
    pub tenant: String,
    /// How it said that it would prove itself.
    pub method: String,
}

#[derive(Clone)]
pub struct Code {
    pub tenant: String,
    pub client: String,
    pub redirect: String,
    pub challenge: String,
    pub resource: Option<String>,
    pub scope: String,
    pub nonce: Option<String>,
}

#[derive(Clone)]
pub struct Refresh {
    pub tenant: String,
    pub family: String,
    pub client: String,
    pub resource: Option<String>,
    pub scope: String,
    pub jkt: Option<String>,
    /// What it was exchanged for, and whether that was used since.
    pub successor: Option<String>,
    pub used: bool,
}

#[derive(Clone)]
pub struct Access {
    pub tenant: String,
    pub resource: Option<String>,
    pub scope: String,
    pub expires_ms: u128,
    pub family: String,
    pub jkt: Option<String>,
}

impl World {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            state: Mutex::new(State {
                knobs: knobs::defaults(),
                ..State::default()
            }),
            idp_key: Key::new("idp-1")?,
            other_key: Key::new("other")?,
            workload_key: Key::new("workload")?,
        })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn control(&self, body: &[u8]) -> Value {
        let mut state = self.state();
        let changes: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
        let defaults = knobs::defaults();
        for (name, value) in changes {
            if name == "reset" {
                let clients = std::mem::take(&mut state.clients);
                *state = State {
                    knobs: knobs::defaults(),
                    clients,
                    ..State::default()
                };
            } else if name == "expire" {
                // All access tokens end now.
                state.access.clear();
            } else if value.is_null() {
                state.knobs[&name] = defaults[&name].clone();
            } else {
                state.knobs[&name] = value;
            }
        }
        state.knobs.clone()
    }

    pub fn knob(&self, name: &str) -> Value {
        self.state().knobs[name].clone()
    }

    pub fn is(&self, name: &str) -> bool {
        self.knob(name) == true
    }

    pub fn says(&self, name: &str, value: &str) -> bool {
        self.knob(name) == value
    }

    pub fn count(&self, what: &str) {
        *self.state().counters.entry(what.into()).or_default() += 1;
    }

    pub fn counters(&self) -> Value {
        json!(self.state().counters)
    }

    pub fn log(&self) -> Value {
        json!(self.state().log)
    }

    pub fn record(&self, call: &Call) {
        let headers: Vec<String> = call
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or_default()))
            .collect();
        let entry = json!({
            "headers": headers,
            "method": call.method.as_str(),
            "path": call.path,
            "query": call.query,
            "authorization": call.header("authorization"),
            "dpop": call.header("dpop"),
            "body": String::from_utf8_lossy(&call.body),
        });
        let mut state = self.state();
        if state.log.len() < 5000 {
            state.log.push(entry);
        }
    }

    /// Which fault the token endpoint shows now, if any; counts it down.
    pub fn take_fault(&self) -> Option<String> {
        let mut state = self.state();
        let fault = state.knobs["fault"].as_str()?.to_owned();
        match state.knobs["fault_times"].as_i64().unwrap_or(-1) {
            0 => return None,
            left if left > 0 => state.knobs["fault_times"] = json!(left - 1),
            _ => {}
        }
        Some(fault)
    }
}

pub fn now_ms() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis())
}

pub fn now() -> u64 {
    u64::try_from(now_ms() / 1000).unwrap_or(0)
}

/// A random name with a readable beginning, so that tests can find it in a log.
pub fn random(prefix: &str) -> String {
    let mut bytes = [0; 18];
    let _ = getrandom::fill(&mut bytes);
    format!("{prefix}-{}", URL_SAFE_NO_PAD.encode(bytes))
}
