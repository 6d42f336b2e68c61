//! A tool: what it takes, and who answers.

use super::{Answer, Call, IntoAnswer};
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::{fmt, marker::PhantomData};
use switchboard_builtin::{Check, plain_schema};
use switchboard_host::BoxError;

/// What a tool takes: a schema, and how values that fit it are read.
pub trait ToolInput: Send + 'static {
    /// What the handler gets.
    type Arguments: Send + 'static;

    /// The JSON schema of the arguments, which are an object.
    fn schema(&self) -> Value;

    /// Reads arguments that fit the schema.
    ///
    /// # Errors
    /// When they do not fit the type all the same.
    fn read(arguments: Value) -> Result<Self::Arguments, ArgumentsError>;
}

/// Why a call's arguments cannot be taken. The text is for whoever made the call.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    /// They do not fit the schema; all that is wrong, in words.
    #[error("{0}")]
    Schema(String),
    /// They do not fit the type.
    #[error(transparent)]
    Type(#[from] serde_json::Error),
    /// What an input of one's own says of them.
    #[error(transparent)]
    Other(BoxError),
}

/// Arguments of a type; see [`typed`].
pub struct Typed<T>(PhantomData<fn() -> T>);

/// Arguments of a type that derives [`JsonSchema`] and serde's `Deserialize`:
/// its documentation is what models read about each.
pub fn typed<T: JsonSchema + DeserializeOwned + Send + 'static>() -> Typed<T> {
    Typed(PhantomData)
}

impl<T> fmt::Debug for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Typed")
    }
}

impl<T: JsonSchema + DeserializeOwned + Send + 'static> ToolInput for Typed<T> {
    type Arguments = T;

    fn schema(&self) -> Value {
        schema_of::<T>(false)
    }

    fn read(arguments: Value) -> Result<T, ArgumentsError> {
        Ok(serde_json::from_value(arguments)?)
    }
}

/// A JSON schema as it is; the handler gets the arguments as JSON.
impl ToolInput for Value {
    type Arguments = Self;

    fn schema(&self) -> Value {
        self.clone()
    }

    fn read(arguments: Self) -> Result<Self, ArgumentsError> {
        Ok(arguments)
    }
}

/// A tool takes nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoArguments;

impl ToolInput for NoArguments {
    type Arguments = Self;

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    }

    fn read(_: Value) -> Result<Self, ArgumentsError> {
        Ok(Self)
    }
}

/// The schema of a type, without what only Rust knows. A form has everything in
/// its place: clients follow no references there.
pub(super) fn schema_of<T: JsonSchema>(is_form: bool) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = is_form;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let Value::Object(mut schema) = schema.to_value() else {
        return json!({"type": "object"});
    };
    // The type's name says nothing to a client.
    schema.shift_remove("title");
    Value::Object(plain_schema(&schema))
}

/// What answers a call that fits.
type Handler =
    Box<dyn Fn(Value, Call) -> Result<BoxFuture<'static, Answer>, ArgumentsError> + Send + Sync>;

/// A tool, for [`Server::with_tool`](super::Server::with_tool).
pub struct Tool {
    name: String,
    definition: Map<String, Value>,
    handler: Handler,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool; see [`Server::tool`](super::Server::tool).
    pub fn new<I, H, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        input: I,
        handler: H,
    ) -> Self
    where
        I: ToolInput,
        H: Fn(I::Arguments, Call) -> F + Send + Sync + 'static,
        F: Future<Output: IntoAnswer> + Send + 'static,
    {
        let name = name.into();
        let mut definition = Map::new();
        definition.insert("name".into(), name.as_str().into());
        definition.insert("description".into(), description.into().into());
        definition.insert("inputSchema".into(), input.schema());
        let handler: Handler = Box::new(move |arguments, call| {
            let answering = handler(I::read(arguments)?, call);
            Ok(Box::pin(async move { answering.await.into_answer() }))
        });
        Self {
            name,
            definition,
            handler,
        }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.insert("title".into(), title.into().into());
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint("readOnlyHint", true)
    }

    /// One of the hints of `annotations`, such as `destructiveHint`.
    #[must_use]
    pub fn hint(mut self, name: &str, is_so: bool) -> Self {
        let hints = self.definition.entry("annotations");
        hints.or_insert_with(|| json!({}))[name] = is_so.into();
        self
    }

    /// The type of its structured results, which clients are told.
    #[must_use]
    pub fn returns<T: JsonSchema>(mut self) -> Self {
        let schema = schema_of::<T>(false);
        self.definition.insert("outputSchema".into(), schema);
        self
    }

    /// The tool with everything that a call needs, or its name and what is wrong.
    pub(super) fn ready(self) -> Result<Ready, (String, String)> {
        let fault = |problem: String| (self.name.clone(), problem);
        let is_good = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if self.name.is_empty() || self.name.len() > 128 || !self.name.chars().all(is_good) {
            let rule = "a name has up to 128 letters, digits, '_', '-' or '.'";
            return Err(fault(rule.to_owned()));
        }
        for which in ["inputSchema", "outputSchema"] {
            let schema = self.definition.get(which);
            if schema.is_some_and(|schema| schema["type"] != "object") {
                let rule = format!("its {which} must be of the type \"object\"");
                return Err(fault(rule));
            }
        }
        let schema = self.definition["inputSchema"].as_object();
        let check = Check::new(schema.unwrap_or(&Map::new()))
            .map_err(|problem| fault(format!("its inputSchema cannot be used: {problem}")))?;
        Ok(Ready {
            name: self.name,
            definition: Value::Object(self.definition),
            check,
            handler: self.handler,
        })
    }
}

/// A tool that can be called.
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) definition: Value,
    check: Check,
    handler: Handler,
}

impl Ready {
    /// Begins a call, or says what is wrong with its arguments.
    pub(super) fn begin(
        &self,
        arguments: Value,
        call: Call,
    ) -> Result<BoxFuture<'static, Answer>, ArgumentsError> {
        let faults = self.check.faults(&arguments);
        if faults.is_empty() {
            (self.handler)(arguments, call)
        } else {
            Err(ArgumentsError::Schema(faults))
        }
    }
}
