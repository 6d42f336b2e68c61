//! How a tool answers, and how it says no: the four patterns of servers as
//! they are really written, all of them results with `isError`.
//!
//! | what is wrong | the text |
//! |---|---|
//! | no such tool | `{"error":"Unknown tool: …"}` |
//! | no arguments, where some are required | `{"error":"No arguments provided"}` |
//! | arguments that do not fit the schema | `Validation error: …` |
//! | the tool failed | `{"error":"…"}`, with a `hint` where one helps |

use jsonschema::Validator;
use rmcp::{
    ErrorData, RoleServer,
    handler::server::tool::{IntoCallToolResult, ToolCallContext, ToolRouter},
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{collections::HashMap, fmt, sync::Arc};
use switchboard_tasks as tasks;
use tokio::sync::Semaphore;

/// Why a tool could not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// The same failure, with what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The answer of the fourth pattern.
    pub(crate) fn answer(&self) -> CallToolResult {
        let mut body = json!({ "error": self.message });
        if let Some(hint) = &self.hint {
            body["hint"] = hint.as_str().into();
        }
        error_text(body.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl IntoCallToolResult for Failure {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Ok(self.answer().into())
    }
}

/// The answer of the first pattern.
pub(crate) fn unknown_tool(name: &str) -> CallToolResult {
    let name = crate::text::cut(&crate::text::line(name), 200);
    Failure::new(format!("Unknown tool: {name}")).answer()
}

fn error_text(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// What a tool's arguments must look like.
#[derive(Debug)]
pub struct Check {
    validator: Validator,
    needs_arguments: bool,
}

/// A schema that is none, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

impl Check {
    /// Prepares a schema. Nothing is ever fetched, and patterns run in linear time.
    pub fn new(schema: &JsonObject) -> Result<Self, SchemaError> {
        let required = schema.get("required").and_then(Value::as_array);
        let validator = jsonschema::options()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&Value::Object(schema.clone()))
            .map_err(|fault| SchemaError(crate::text::cut(&fault.to_string(), 300)))?;
        Ok(Self {
            validator,
            needs_arguments: required.is_some_and(|names| !names.is_empty()),
        })
    }

    /// The answer of the second or third pattern, if there is something wrong.
    pub(crate) fn refuse(&self, arguments: Option<&JsonObject>) -> Option<CallToolResult> {
        let empty = JsonObject::new();
        let arguments = match arguments {
            Some(arguments) => arguments,
            None if self.needs_arguments => {
                return Some(Failure::new("No arguments provided").answer());
            }
            None => &empty,
        };
        let faults = self.faults(&Value::Object(arguments.clone()));
        (!faults.is_empty()).then(|| validation_error(&faults))
    }

    /// What does not fit, in words that name the places; empty if all does.
    pub fn faults(&self, value: &Value) -> String {
        let faults: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(5)
            .map(|fault| {
                let place = fault.instance_path().to_string();
                let message = crate::text::cut(&crate::text::line(&fault.to_string()), 300);
                match place.trim_start_matches('/') {
                    "" => message,
                    place => format!("{}: {message}", crate::text::line(place)),
                }
            })
            .collect();
        faults.join("; ")
    }
}

/// The answer of the third pattern.
pub(crate) fn validation_error(faults: &str) -> CallToolResult {
    error_text(format!("Validation error: {faults}"))
}

/// A schema without formats that only Rust knows (`uint64`): validators of
/// other languages complain about them each time.
pub fn plain_schema(schema: &JsonObject) -> JsonObject {
    let mut schema = schema.clone();
    let mut open: Vec<&mut Value> = schema.values_mut().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                let format = object.get("format").and_then(Value::as_str);
                if format.is_some_and(|name| name.starts_with("uint") || name.starts_with("int")) {
                    object.shift_remove("format");
                }
                open.extend(object.values_mut());
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            _ => {}
        }
    }
    schema
}

/// A schema in which nothing has a list of types: what may be null as well is either of
/// two (`nullable`), or simply the other.
fn one_type_each(schema: &JsonObject, nullable: bool) -> JsonObject {
    let mut schema = schema.clone();
    let mut open: Vec<&mut Value> = schema.values_mut().collect();
    while let Some(value) = open.pop() {
        if let Value::Object(object) = value {
            let types = object.get("type").and_then(Value::as_array);
            let types = types.filter(|types| types.len() == 2);
            let other = types.and_then(|types| types.iter().find(|one| *one != "null").cloned());
            if let Some(other) = other {
                match nullable {
                    false => drop(object.insert("type".into(), other)),
                    true => {
                        object.shift_remove("type");
                        let either = json!([{ "type": other }, { "type": "null" }]);
                        object.insert("anyOf".into(), either);
                    }
                }
                if !nullable && object.get("default").is_some_and(Value::is_null) {
                    object.shift_remove("default");
                }
            }
        }
        match value {
            Value::Object(object) => open.extend(object.values_mut()),
            Value::Array(items) => open.extend(items.iter_mut()),
            _ => {}
        }
    }
    schema
}

/// The tools of one server, with the checks of their arguments.
pub(crate) struct Toolset<S> {
    router: ToolRouter<S>,
    checks: HashMap<String, Check>,
}

impl<S: Send + Sync + 'static> Toolset<S> {
    pub(crate) fn new(mut router: ToolRouter<S>) -> Self {
        let mut checks = HashMap::new();
        for route in router.map.values_mut() {
            let tool = &mut route.attr;
            tool.input_schema = Arc::new(plain_schema(&tool.input_schema));
            let output = tool.output_schema.as_deref();
            tool.output_schema = output.map(plain_schema).map(Arc::new);
        }
        // Arguments are checked against what is accepted: that an optional one may be
        // null is not told, since many clients know only one type at a time.
        for tool in router.list_all() {
            match Check::new(&tool.input_schema) {
                Ok(check) => drop(checks.insert(tool.name.to_string(), check)),
                // Its arguments are still read into their type.
                Err(fault) => tracing::error!(tool = %tool.name, %fault, "a schema cannot be used"),
            }
        }
        for route in router.map.values_mut() {
            let tool = &mut route.attr;
            tool.input_schema = Arc::new(one_type_each(&tool.input_schema, false));
            let output = tool.output_schema.as_deref();
            let output = output.map(|schema| one_type_each(schema, true));
            tool.output_schema = output.map(Arc::new);
        }
        Self { router, checks }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Tool> {
        self.router.get(name).cloned()
    }

    /// Those of the tools that `keep` lets through.
    pub(crate) fn list(&self, keep: impl Fn(&Tool) -> bool) -> ListToolsResult {
        let tools = self.router.list_all().into_iter().filter(keep).collect();
        ListToolsResult::with_all_items(tools)
    }

    /// Calls a tool. Whatever goes wrong is a result.
    pub(crate) async fn call(
        &self,
        server: &S,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let name = request.name.to_string();
        if !self.router.has_route(&name) {
            return unknown_tool(&name).into();
        }
        if let Some(refusal) = self
            .checks
            .get(&name)
            .and_then(|check| check.refuse(request.arguments.as_ref()))
        {
            return refusal.into();
        }
        let call = self
            .router
            .call(ToolCallContext::new(server, request, context));
        match guarded(&name, call).await {
            Ok(Ok(CallToolResponse::Complete(result))) => reworded(result).into(),
            Ok(Ok(response)) => response,
            Ok(Err(fault)) => Failure::new(fault.message.into_owned()).answer().into(),
            Err(failure) => failure.answer().into(),
        }
    }
}

/// The methods of a handler whose tools are those of one [`Toolset`].
macro_rules! answers_with {
    ($tools:ident) => {
        async fn call_tool(
            &self,
            request: rmcp::model::CallToolRequestParams,
            context: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::CallToolResponse, rmcp::ErrorData> {
            Ok($tools.call(self, request, context).await)
        }

        async fn list_tools(
            &self,
            _: Option<rmcp::model::PaginatedRequestParams>,
            _: rmcp::service::RequestContext<rmcp::RoleServer>,
        ) -> Result<rmcp::model::ListToolsResult, rmcp::ErrorData> {
            Ok($tools.list(|_| true))
        }

        fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
            $tools.get(name)
        }
    };
}
pub(crate) use answers_with;

/// Waits for a tool. One that panics has failed: a client that waits must hear
/// something.
pub(crate) async fn guarded<T>(name: &str, call: impl Future<Output = T>) -> Result<T, Failure> {
    let called = tasks::caught(tasks::Kind::Builtin, call).await;
    called.map_err(|_| {
        tracing::error!(tool = name, "a built-in tool panicked");
        Failure::new(format!(
            "{name} failed inside; this is a bug in Switchboard"
        ))
    })
}

/// rmcp has words of its own for arguments that do not fit their type.
fn reworded(result: CallToolResult) -> CallToolResult {
    let text = match result.content.first() {
        Some(ContentBlock::Text(text)) if result.is_error == Some(true) => &text.text,
        _ => return result,
    };
    match text.strip_prefix("failed to deserialize parameters: ") {
        Some(faults) => validation_error(faults),
        None => result,
    }
}

/// Runs work that waits for the disk on a thread where it may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    static AT_ONCE: Semaphore = Semaphore::const_new(crate::limits::DISK_AT_ONCE);
    // Never closed, so there is always a turn.
    let _turn = AT_ONCE.acquire().await;
    match tasks::blocking(work).await {
        Ok(result) => result,
        Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        Err(_) => Err(Failure::new("Switchboard is shutting down")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tool_that_panics_has_failed_and_says_so() {
        let panicking = async { panic!("a fault of ours") };
        let failure = guarded::<()>("say", panicking).await.unwrap_err();
        let said = failure.to_string();
        assert!(said.contains("say failed inside"), "{said}");
        let also = guarded("say", blocking::<()>(|| panic!("on a thread")));
        assert!(also.await.is_err(), "wherever it happens");
    }
}
