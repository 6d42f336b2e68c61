//! One request in the making: who asked, where its messages go, and how to ask
//! back. Everything that tools need in order not to know the era.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use crate::asks::{Ask, input_requests};
use crate::lock;
use crate::log_level::LogLevel;
use crate::outlet::Outlet;
use crate::rpc::{RpcError, notification};
use crate::seal;
use crate::server::Server;
use crate::session::Session;
use crate::tasks::TASKS_EXTENSION;

/// Why a handler ended without a result of its own.
pub(crate) enum Stop {
    /// A protocol error.
    Error(RpcError),
    /// An InputRequiredResult (modern): come back with the answers.
    Input(Value),
    /// The tool ran and failed; the model is to see why.
    Failed(String),
}

impl From<RpcError> for Stop {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// Who sent the request.
pub(crate) enum Client {
    Legacy(Arc<Session>),
    Modern {
        capabilities: Value,
        log_level: Option<LogLevel>,
        rounds: Box<Rounds>,
    },
}

/// The rounds of a multi round-trip request so far.
#[derive(Default)]
pub(crate) struct Rounds {
    /// What the state is sealed for: method, name and arguments.
    binding: String,
    /// Answers of earlier rounds, from an intact `requestState`.
    earlier: Option<Map<String, Value>>,
    /// Answers that came with this request.
    responses: Map<String, Value>,
    /// All answers that the handler has used in this run.
    used: Mutex<Map<String, Value>>,
}

/// Whether a question travels with a `requestState`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    None,
    Sealed,
}

impl Rounds {
    /// Reads `inputResponses` and `requestState`.
    pub(crate) fn read(method: &str, params: &Value) -> Result<Self, RpcError> {
        let target = params.get("name").or_else(|| params.get("uri"));
        let binding = format!(
            "{method} {} {}",
            target.unwrap_or(&Value::Null),
            params.get("arguments").unwrap_or(&Value::Null),
        );
        let responses = match params.get("inputResponses") {
            None => Map::new(),
            Some(Value::Object(responses)) => responses.clone(),
            Some(_) => return Err(RpcError::invalid_params("inputResponses must be an object")),
        };
        let earlier = match params.get("requestState") {
            None => None,
            Some(Value::String(state)) => Some(seal::open(&binding, state)?),
            Some(_) => return Err(RpcError::invalid_params("requestState must be a string")),
        };
        Ok(Self {
            binding,
            earlier,
            responses,
            used: Mutex::default(),
        })
    }

    fn gather(&self, asks: &[Ask], state: State) -> Result<Map<String, Value>, Stop> {
        let mut answers = Map::new();
        let earlier = self.earlier.as_ref();
        // Answers to a sealed question count only together with the seal.
        let trusted = state == State::None || earlier.is_some();
        for ask in asks {
            let known = earlier.and_then(|earlier| earlier.get(&ask.key));
            let given = self.responses.get(&ask.key).filter(|_| trusted);
            match known.or(given) {
                None => {}
                Some(answer @ Value::Object(_)) => {
                    answers.insert(ask.key.clone(), answer.clone());
                }
                Some(_) => {
                    let message = format!("inputResponses.{} must be an object", ask.key);
                    return Err(RpcError::invalid_params(message).into());
                }
            }
        }
        let mut used = lock(&self.used);
        used.extend(answers.clone());
        if answers.len() == asks.len() {
            return Ok(answers);
        }
        // Without a state nothing carries the answers we do have, so all of
        // the questions go out again.
        let open = asks
            .iter()
            .filter(|ask| state == State::None || !answers.contains_key(&ask.key));
        let mut result = json!({
            "resultType": "input_required",
            "inputRequests": input_requests(open),
        });
        if state == State::Sealed {
            result["requestState"] = seal::seal(&self.binding, &used).into();
        }
        Err(Stop::Input(result))
    }
}

/// A request being answered.
pub(crate) struct Exchange {
    pub(crate) server: Arc<Server>,
    pub(crate) client: Client,
    pub(crate) outlet: Outlet,
    pub(crate) progress_token: Option<Value>,
}

impl Exchange {
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        match &self.client {
            Client::Legacy(session) => Some(session),
            Client::Modern { .. } => None,
        }
    }

    pub(crate) fn capabilities(&self) -> &Value {
        match &self.client {
            Client::Legacy(session) => &session.capabilities,
            Client::Modern { capabilities, .. } => capabilities,
        }
    }

    /// Whether the client of this request takes part in the tasks extension.
    pub(crate) fn takes_tasks(&self) -> bool {
        self.session().is_none() && self.capabilities()["extensions"][TASKS_EXTENSION].is_object()
    }

    /// Asks the client: in the legacy era by requests of our own, all at once;
    /// in the modern era by ending this request with an InputRequiredResult.
    pub(crate) async fn gather(
        &self,
        asks: &[Ask],
        state: State,
    ) -> Result<Map<String, Value>, Stop> {
        let undeclared = asks.iter().find(|ask| !ask.allowed_by(self.capabilities()));
        let session = match &self.client {
            Client::Modern { rounds, .. } => {
                if let Some(ask) = undeclared {
                    return Err(RpcError::missing_capability(ask.required()).into());
                }
                return rounds.gather(asks, state);
            }
            Client::Legacy(session) => session,
        };
        if let Some(ask) = undeclared {
            let message = format!("The client does not support {}", ask.method);
            return Err(Stop::Failed(message));
        }
        let answers = asks.iter().map(|ask| session.ask(&self.outlet, ask));
        let answers = join_all(answers).await;
        asks.iter()
            .zip(answers)
            .map(|(ask, answer)| match answer {
                Ok(answer) => Ok((ask.key.clone(), answer)),
                Err(error) => Err(Stop::Failed(format!(
                    "{} failed: {} ({})",
                    ask.method, error.message, error.code
                ))),
            })
            .collect()
    }

    /// Reports progress, if the client asked to hear of it.
    pub(crate) async fn progress(&self, progress: u32, total: u32, message: &str) {
        if let Some(token) = &self.progress_token {
            let params = json!({
                "progressToken": token,
                "progress": progress,
                "total": total,
                "message": message,
            });
            let message = notification("notifications/progress", params);
            self.outlet.send(message).await;
        }
    }

    /// Sends a log message, if the client wants this level.
    pub(crate) async fn log(&self, level: LogLevel, text: &str) {
        let wanted = match &self.client {
            Client::Legacy(session) => Some(session.log_level()),
            Client::Modern { log_level, .. } => *log_level,
        };
        if wanted.is_some_and(|wanted| level >= wanted) {
            let params = json!({
                "level": level.as_str(),
                "logger": "conformance-server",
                "data": text,
            });
            let message = notification("notifications/message", params);
            self.outlet.send(message).await;
        }
    }
}
