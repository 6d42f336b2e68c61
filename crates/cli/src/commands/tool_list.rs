//! `--tools`: what clients are shown of the tools, by token if need be.

use crate::failure::Advice;
use clap::Args;
use std::fmt::Write;
use switchboard::gateway::{ToolList, ToolLists};

/// What clients are shown.
#[derive(Clone, Debug, Default, Args)]
pub struct ToolOptions {
    /// What clients of all servers as one are shown of the tools: all (the default), search (tools
    /// to search and to call them with), or auto (search, once all definitions together would take a
    /// tenth of a model's context); TOKEN=MODE for one token; repeatable
    #[arg(long, value_name = "[TOKEN=]MODE", value_parser = choice)]
    pub tools: Vec<Choice>,
}

/// One of these.
#[derive(Clone, Debug)]
pub struct Choice {
    token: Option<String>,
    list: ToolList,
}

fn choice(text: &str) -> Result<Choice, Advice> {
    let (token, mode) = match text.rsplit_once('=') {
        Some((token, mode)) => (Some(token.to_owned()), mode),
        None => (None, text),
    };
    let list = match mode {
        "all" => ToolList::All,
        "search" => ToolList::Search,
        "auto" => ToolList::Auto,
        _ => {
            return Err(Advice::from(
                "write all, search or auto, or TOKEN=MODE for one token",
            ));
        }
    };
    Ok(Choice { token, list })
}

impl ToolOptions {
    /// What that means for each principal; the last word counts.
    pub fn lists(&self) -> ToolLists {
        let mut lists = ToolLists::default();
        for Choice { token, list } in &self.tools {
            match token {
                Some(token) => {
                    lists.by_token.insert(token.clone(), *list);
                }
                None => lists.usual = *list,
            }
        }
        lists
    }

    /// As they were said.
    pub fn words(&self) -> Vec<String> {
        let word = |choice: &Choice| {
            let mode = format!("{:?}", choice.list).to_lowercase();
            match &choice.token {
                Some(token) => format!("{token}={mode}"),
                None => mode,
            }
        };
        self.tools.iter().map(word).collect()
    }

    /// What these words say; what cannot be read is left out.
    pub fn of_words(words: &[String]) -> Self {
        let tools = words.iter().filter_map(|word| choice(word).ok());
        Self {
            tools: tools.collect(),
        }
    }

    /// The same as a word, to tell whether two gateways show the same.
    pub fn word(&self) -> String {
        let lists = self.lists();
        let mut word = match lists.usual {
            ToolList::All => String::new(),
            usual => format!(" {usual:?}"),
        };
        let mut by_token: Vec<_> = lists.by_token.iter().collect();
        by_token.sort_by_key(|(token, _)| token.as_str());
        for (token, list) in by_token {
            let _ = write!(word, " {token}={list:?}");
        }
        word
    }
}
