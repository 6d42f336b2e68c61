//! A program as a tool.

use super::{
    argv::{self, Element, ElementError},
    manifest::{Output, Stdin, ToolManifest, properties},
    workplace::{ProtectedCwd, Workplace},
};
use crate::{
    answer::{Check, Failure, SchemaError},
    limits,
    process::{Done, Ending, Job, run},
    text,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use switchboard_process::{Inherit, ServerCommand, Table};
use tokio_util::sync::CancellationToken;

/// A program, and how its arguments and its output are treated.
#[derive(Debug)]
pub(super) struct Command {
    program: PathBuf,
    arguments: Vec<Element>,
    stdin: Stdin,
    output: Output,
    output_check: Option<Check>,
    cwd: PathBuf,
    env: Vec<String>,
    inherit: Inherit,
    timeout: Duration,
    keep: usize,
}

/// What is wrong with a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("`command` names no program")]
    NoProgram,
    #[error("the program itself cannot come from an argument")]
    ProgramOfValues,
    #[error(transparent)]
    Element(#[from] ElementError),
    #[error("`command` uses {{{0}}}, which `inputSchema` does not have")]
    Argument(String),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Cwd(#[from] ProtectedCwd),
}

impl Command {
    pub(super) fn new(
        manifest: &ToolManifest,
        folder: &Path,
        workplace: &Workplace,
    ) -> Result<Self, CommandError> {
        let (program, arguments) = manifest
            .command
            .split_first()
            .ok_or(CommandError::NoProgram)?;
        let program = match Element::parse(program)? {
            element if element.names().next().is_some() => {
                return Err(CommandError::ProgramOfValues);
            }
            _ if program.is_empty() => return Err(CommandError::NoProgram),
            // A path is relative to the manifest; a name is found on PATH.
            _ if program.contains('/') => folder.join(program),
            _ => PathBuf::from(program),
        };
        let arguments: Vec<Element> = arguments
            .iter()
            .map(|argument| Element::parse(argument))
            .collect::<Result<_, _>>()?;
        let known = properties(&manifest.input_schema);
        for name in arguments.iter().flat_map(Element::names) {
            if !known.contains(&name) {
                return Err(CommandError::Argument(name.to_owned()));
            }
        }
        let output_check = manifest
            .output_schema
            .as_ref()
            .map(Check::new)
            .transpose()?;
        let timeout = manifest
            .timeout_ms
            .map_or(limits::COMMAND_TIME, Duration::from_millis);
        let keep = manifest.max_output_bytes.unwrap_or(limits::OUTPUT_BYTES);
        Ok(Self {
            program,
            arguments,
            stdin: manifest.stdin,
            output: match output_check {
                Some(_) => Output::Json,
                None => manifest.output,
            },
            output_check,
            cwd: workplace.directory(folder, manifest.cwd.as_deref())?,
            env: manifest.env.clone(),
            inherit: Inherit::whole(),
            timeout: timeout.min(limits::COMMAND_TIME_MAX),
            keep: keep.min(limits::OUTPUT_BYTES_MAX),
        })
    }

    /// None of our variables reach it, but for the usual few and the way to a
    /// network.
    pub(super) fn without_variables(&mut self) {
        self.env.clear();
        self.inherit.table = Table::Network;
    }

    /// Runs it with these arguments, which fit the schema.
    pub(super) async fn run(
        &self,
        arguments: JsonObject,
        cancel: CancellationToken,
        over: CancellationToken,
    ) -> Result<CallToolResult, Failure> {
        let args = argv::fill(&self.arguments, &arguments)?;
        let allowed = self.env.iter();
        // tidy: the variables that the manifest lets its program have.
        let env = allowed.filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        let command = ServerCommand {
            program: self.program.clone().into_os_string(),
            args: args.into_iter().map(Into::into).collect(),
            env: env.collect(),
            cwd: Some(self.cwd.clone()),
            inherit: self.inherit.clone(),
            ..ServerCommand::default()
        };
        let stdin = match self.stdin {
            Stdin::None => Vec::new(),
            Stdin::Json => format!("{}\n", Value::Object(arguments)).into_bytes(),
        };
        let job = Job {
            command,
            stdin,
            timeout: self.timeout,
            keep: self.keep,
            cancel,
            over,
        };
        let done = run(job).await?;
        match done.ending {
            Ending::Exited(exit) if exit.is_success() => self.answer(&done),
            Ending::Exited(exit) => Err(failed(format!("the program {exit}"), &done)),
            Ending::TimedOut => {
                let why = format!(
                    "the program was stopped after {} ms",
                    self.timeout.as_millis()
                );
                Err(failed(why, &done))
            }
            Ending::Cancelled => Err(Failure::new("cancelled")),
        }
    }

    fn answer(&self, done: &Done) -> Result<CallToolResult, Failure> {
        if self.output == Output::Text {
            let text = done.stdout.text(false);
            return Ok(CallToolResult::success(vec![ContentBlock::text(text)]));
        }
        let bytes = done.stdout.whole().ok_or_else(|| {
            Failure::new(format!(
                "the program printed too much ({} bytes)",
                done.stdout.total()
            ))
        })?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|fault| failed(format!("the program printed no JSON: {fault}"), done))?;
        if !value.is_object() {
            return Err(Failure::new("the program printed JSON that is no object"));
        }
        match self.output_check.as_ref().map(|check| check.faults(&value)) {
            Some(faults) if !faults.is_empty() => Err(Failure::new(format!(
                "the program printed what does not fit its outputSchema: {faults}"
            ))),
            _ => Ok(CallToolResult::structured(value)),
        }
    }
}

/// A failure with the last words of the program.
fn failed(why: String, done: &Done) -> Failure {
    let last = |text: String| {
        let text = text.trim();
        let start = text
            .char_indices()
            .rev()
            .nth(1999)
            .map_or(0, |(index, _)| index);
        text[start..].to_owned()
    };
    let words = match last(done.stderr.text(false)) {
        words if words.is_empty() => last(done.stdout.text(false)),
        words => words,
    };
    match words.is_empty() {
        true => Failure::new(why),
        false => Failure::new(format!("{why}: {}", text::lines(&words))),
    }
}
