//! Finding tools that are not in a model's context.
//!
//! BM25 over names, descriptions, search hints and argument names. Hundreds to
//! a few thousand short texts are ranked by a small inverted index; a search
//! engine would be larger than all of them.

use crate::{limits, tool::ModelTool};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

mod defer;
pub use defer::{Deferral, Mode, Plan, UnknownMode, plan};

/// The name of the tool that searches.
pub const NAME: &str = "ToolSearch";

/// How much a word counts, by where it stands.
const NAME_WEIGHT: f32 = 4.0;
const HINT_WEIGHT: f32 = 3.0;
const ARGUMENT_WEIGHT: f32 = 1.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
/// BM25's usual constants: how soon repetition stops counting, and how much length does.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// What an equal beginning counts, beside an equal word.
const PREFIX_SHARE: f32 = 0.5;

/// An index over tools. Made anew when the tools change; that takes a few milliseconds.
#[derive(Debug, Default)]
pub struct Index {
    tools: Vec<Entry>,
    /// For each word, sorted: which tools have it, and how much.
    words: Vec<(String, Vec<(u32, f32)>)>,
    average: f32,
}

#[derive(Debug)]
struct Entry {
    name: String,
    /// The name with `-` and `_` alike, and without case.
    folded: String,
    length: f32,
}

/// What a query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Query<'a> {
    /// `select:name1,name2`: these tools.
    Select(Vec<&'a str>),
    /// Words; those with a `+` must be in the name.
    Words {
        required: Vec<String>,
        ranked: Vec<String>,
    },
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Positions in the tools that the index was made from, best first.
    pub tools: Vec<usize>,
    /// Names that were selected and do not exist.
    pub missing: Vec<String>,
}

impl Index {
    /// An index over these tools; positions in results are positions in this slice.
    pub fn new(tools: &[ModelTool]) -> Self {
        let mut words: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        let mut entries = Vec::with_capacity(tools.len());
        let mut total = 0.0;
        for (position, tool) in tools.iter().enumerate() {
            let mut weights: HashMap<String, f32> = HashMap::new();
            let mut length = 0.0;
            let mut add = |text: &str, weight: f32| {
                for word in words_of(text).take(limits::INDEXED_WORDS) {
                    *weights.entry(word).or_default() += weight;
                    length += 1.0;
                }
            };
            add(&tool.name, NAME_WEIGHT);
            add(&tool.tool, NAME_WEIGHT);
            tool.title.iter().for_each(|title| add(title, NAME_WEIGHT));
            tool.search_hint
                .iter()
                .for_each(|hint| add(hint, HINT_WEIGHT));
            add(&tool.description, DESCRIPTION_WEIGHT);
            tool.argument_names()
                .for_each(|name| add(name, ARGUMENT_WEIGHT));
            for (word, weight) in weights {
                words
                    .entry(word)
                    .or_default()
                    .push((position as u32, weight));
            }
            total += length;
            entries.push(Entry {
                name: tool.name.clone(),
                folded: fold(&tool.name),
                length,
            });
        }
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_by(|a, b| a.0.cmp(&b.0));
        Self {
            average: (total / tools.len().max(1) as f32).max(1.0),
            tools: entries,
            words,
        }
    }

    /// The tools that answer a query, at most `max`.
    pub fn search(&self, query: &str, max: usize) -> Found {
        let query: String = query.chars().take(limits::QUERY_CHARS).collect();
        match Query::parse(&query) {
            Query::Select(names) => self.select(&names),
            Query::Words { required, ranked } => Found {
                tools: self.rank(&required, &ranked, max.clamp(1, limits::FOUND_TOOLS.1)),
                missing: Vec::new(),
            },
        }
    }

    /// Tools by name; `-` and `_` are alike, and so is case, where that tells only one.
    fn select(&self, names: &[&str]) -> Found {
        let mut found = Found::default();
        for name in names.iter().take(limits::FOUND_TOOLS.1) {
            let exact = self.tools.iter().position(|tool| tool.name == *name);
            let alike = || {
                let folded = fold(name);
                let mut alike = (0..self.tools.len()).filter(|at| self.tools[*at].folded == folded);
                alike.next().filter(|_| alike.next().is_none())
            };
            match exact.or_else(alike) {
                Some(at) if found.tools.contains(&at) => {}
                Some(at) => found.tools.push(at),
                None => found.missing.push((*name).to_owned()),
            }
        }
        found
    }

    fn rank(&self, required: &[String], ranked: &[String], max: usize) -> Vec<usize> {
        let mut scores = vec![0.0_f32; self.tools.len()];
        for word in required.iter().chain(ranked) {
            self.score(word, &mut scores);
        }
        let in_name = |at: usize| {
            required
                .iter()
                .all(|word| self.tools[at].folded.contains(word.as_str()))
        };
        let wanted = |at: &usize| (scores[*at] > 0.0 || !required.is_empty()) && in_name(*at);
        let mut order: Vec<usize> = (0..scores.len()).filter(wanted).collect();
        // Equal scores by name, so that the same query has the same answer.
        order.sort_by(|a, b| {
            scores[*b]
                .total_cmp(&scores[*a])
                .then_with(|| self.tools[*a].name.cmp(&self.tools[*b].name))
        });
        order.truncate(max);
        order
    }

    /// Adds what one word of the query is worth to each tool that has it, or a word that begins with it.
    fn score(&self, word: &str, scores: &mut [f32]) {
        let from = self
            .words
            .partition_point(|(other, _)| other.as_str() < word);
        let alike = self.words[from..]
            .iter()
            .take_while(|(other, _)| other.starts_with(word));
        for (other, tools) in alike {
            let exact = other == word;
            if !exact && word.chars().count() < 3 {
                continue;
            }
            let (n, df) = (self.tools.len() as f32, tools.len() as f32);
            let rarity = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            let share = if exact { 1.0 } else { PREFIX_SHARE };
            for (at, weight) in tools {
                let length = self.tools[*at as usize].length / self.average;
                let saturated = weight * (K1 + 1.0) / (weight + K1 * (1.0 - B + B * length));
                scores[*at as usize] += share * rarity * saturated;
            }
        }
    }
}

impl<'a> Query<'a> {
    fn parse(text: &'a str) -> Self {
        if let Some(names) = text.trim().strip_prefix("select:") {
            return Self::Select(
                names
                    .split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .collect(),
            );
        }
        let (mut required, mut ranked) = (Vec::new(), Vec::new());
        for part in text.split_whitespace() {
            match part.strip_prefix('+') {
                Some(part) if !part.is_empty() => required.push(fold(part)),
                _ => ranked.extend(words_of(part)),
            }
        }
        Self::Words { required, ranked }
    }
}

fn fold(text: &str) -> String {
    text.replace('-', "_").to_lowercase()
}

/// The words of a text: `getHTTPUser_by-id2` has get, http, user, by, id, 2.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut last = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let digit = c.is_ascii_digit();
        let hump = c.is_uppercase()
            && (last.is_lowercase()
                || (last.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase())));
        if !word.is_empty() && (!c.is_alphanumeric() || hump || digit != last.is_ascii_digit()) {
            words.push(stem(std::mem::take(&mut word)));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        last = c;
    }
    if !word.is_empty() {
        words.push(stem(word));
    }
    words.into_iter()
}

/// Plurals are found by their singular. More would find too much.
fn stem(word: String) -> String {
    match word.as_str() {
        w if w.len() > 4 && w.ends_with("ies") => format!("{}y", &w[..w.len() - 3]),
        w if w.len() > 3 && w.ends_with('s') && !w.ends_with("ss") && !w.ends_with("us") => {
            w[..w.len() - 1].to_owned()
        }
        _ => word,
    }
}

/// The definition of the tool that searches.
pub fn definition() -> Value {
    json!({
        "name": NAME,
        "description":
            "Finds tools that are available but not loaded, and returns their definitions, after which they can be \
             called. Query forms: \"select:name1,name2\" for tools by name; \"words to rank by\" for a search over names, \
             descriptions and arguments; \"+word other words\" where the name must contain the first.",
        "inputSchema": input_schema(),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

/// What a tool that searches takes.
pub fn input_schema() -> Value {
    let (usual, most) = limits::FOUND_TOOLS;
    json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "What to look for" },
            "max_results": {
                "type": "integer", "minimum": 1, "maximum": most, "default": usual,
                "description": "How many tools at most (not for select)",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default)]
    max_results: Option<usize>,
}

/// The call does not say what it should. The text is for the model.
#[derive(Debug, thiserror::Error)]
#[error("The arguments of {NAME} are wrong: {0}")]
pub struct WrongArguments(#[from] serde_json::Error);

/// Runs the tool.
pub fn run(index: &Index, arguments: &[u8]) -> Result<Found, WrongArguments> {
    let Arguments { query, max_results } = serde_json::from_slice(arguments)?;
    Ok(index.search(&query, max_results.unwrap_or(limits::FOUND_TOOLS.0)))
}

impl Found {
    /// The answer as text: one definition a line. `tools` are those that the index was made from.
    pub fn to_text(&self, tools: &[ModelTool]) -> String {
        self.lines(|at| Some(tools.get(at)?.to_anthropic(false).to_string()))
    }

    /// The same where `definition` gives each tool's by its place in the index.
    pub fn lines(&self, definition: impl Fn(usize) -> Option<String>) -> String {
        let found = self.tools.iter().filter_map(|at| definition(*at));
        let mut lines: Vec<String> = found.collect();
        if lines.is_empty() {
            lines.push("No tool was found. Try other words, or fewer.".to_owned());
        }
        if !self.missing.is_empty() {
            lines.push(format!(
                "There is no tool named {}.",
                self.missing.join(", ")
            ));
        }
        lines.join("\n")
    }

    /// The answer as content blocks of the Claude API, for tools that were given with `defer_loading`.
    pub fn to_claude(&self, tools: &[ModelTool]) -> Vec<Value> {
        if self.tools.is_empty() {
            return vec![json!({ "type": "text", "text": self.to_text(tools) })];
        }
        let found = self.tools.iter().filter_map(|at| tools.get(*at));
        found
            .map(|tool| json!({ "type": "tool_reference", "tool_name": tool.name }))
            .collect()
    }
}

#[cfg(test)]
mod tests;
