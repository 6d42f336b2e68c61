//! Prompts about files. They carry the file itself, so that the model need not
//! ask for it.

use super::{resources, roots::Roots};
use rmcp::{
    ErrorData,
    model::{
        ContentBlock, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument,
        PromptMessage, Role,
    },
};
use std::sync::Arc;

struct Known {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    request: &'static str,
}

const ALL: [Known; 2] = [
    Known {
        name: "explain-file",
        title: "Explain a file",
        description: "Asks what a file does and how its parts fit together.",
        request: "Explain this file: what it is for, how its parts fit together, and what a newcomer should know \
                  before changing it.",
    },
    Known {
        name: "review-file",
        title: "Review a file",
        description: "Asks for the faults of a file, the gravest first.",
        request: "Review this file. Name its faults, the gravest first, each with the line and a way to mend it.",
    },
];

pub(super) fn list() -> Vec<Prompt> {
    let path = PromptArgument::new("path")
        .with_title("File")
        .with_description("The file: a path or a file:/// address.")
        .with_required(true);
    let prompt = |known: &Known| {
        Prompt::new(
            known.name,
            Some(known.description),
            Some(vec![path.clone()]),
        )
        .with_title(known.title)
    };
    ALL.iter().map(prompt).collect()
}

pub(super) async fn get(
    roots: Arc<Roots>,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let wrong = |message: String| ErrorData::invalid_params(message, None);
    let known = ALL
        .iter()
        .find(|known| known.name == request.name)
        .ok_or_else(|| {
            wrong(format!(
                "Unknown prompt: {}",
                crate::text::line(&request.name)
            ))
        })?;
    let arguments = request.arguments.unwrap_or_default();
    let path = arguments
        .get("path")
        .and_then(|path| path.as_str())
        .ok_or_else(|| wrong("the argument `path` is missing".to_owned()))?;
    let place = roots
        .locate(path, super::roots::Last::Followed)
        .map_err(|failure| wrong(failure.to_string()))?;
    let read = resources::read(roots, place.address())
        .await
        .map_err(|fault| wrong(fault.message.into_owned()))?;
    let mut messages = vec![PromptMessage::new_text(Role::User, known.request)];
    let contents = read.contents.into_iter();
    messages.extend(
        contents.map(|contents| PromptMessage::new(Role::User, ContentBlock::resource(contents))),
    );
    Ok(GetPromptResult::new(messages).with_description(known.description))
}
