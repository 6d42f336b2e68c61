//! Forms: the fields that a gateway makes of a schema, with what was filled in so far.
//!
//! A field that nobody touched is not sent, unless it must be there and has a default; so the
//! server's own defaults hold.

mod below;
mod value;

use crate::{input::Input, key::Key, limits};
use serde_json::Value;
use switchboard_api::tools::{Fault, Field};

/// A form.
#[derive(Clone, Debug)]
pub struct Form {
    /// The whole.
    root: Node,
    /// Which row is being filled in.
    pub at: usize,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// A field with what is in it.
#[derive(Clone, Debug)]
struct Node {
    field: Field,
    held: Held,
}

/// What is in a field.
#[derive(Clone, Debug)]
enum Held {
    /// Text, a number or JSON; nothing until somebody types.
    Text(Option<Input>),
    /// One of some values.
    OneOf(Vec<Value>, Option<usize>),
    /// The members of an object.
    Members(Vec<Node>),
    /// The items of an array.
    Items(Vec<Node>),
    /// One of several ways, and the fields of it.
    Way(usize, Box<Node>),
}

/// A line of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How far it is indented.
    pub depth: usize,
    /// What it is called.
    pub label: String,
    /// What it takes: `string`, `integer`, …
    pub kind: String,
    /// Whether it must be there.
    pub required: bool,
    /// What is in it, as it is shown; none where nothing is.
    pub shown: Option<String>,
    /// What would be taken where nothing is given.
    pub default: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What is wrong with it.
    pub fault: Option<String>,
    /// Columns before the cursor, where it is typed into.
    pub cursor: Option<String>,
}

impl Form {
    /// An empty form of these fields.
    pub fn new(root: Field) -> Self {
        Self {
            root: Node::new(root, 0),
            at: 0,
            faults: Vec::new(),
        }
    }

    /// Its lines.
    pub fn rows(&self) -> Vec<Row> {
        let paths = self.paths();
        paths.iter().filter_map(|path| self.row(path)).collect()
    }

    fn row(&self, path: &[usize]) -> Option<Row> {
        let node = self.root.at(path)?;
        let field = &node.field;
        let fault = self
            .faults
            .iter()
            .find(|fault| fault.path == self.pointer(path));
        Some(Row {
            depth: path.len().saturating_sub(1),
            label: node.label(path),
            kind: node.kind(),
            required: field.required,
            shown: node.shown(),
            default: field.default.as_ref().map(ToString::to_string),
            description: field.description.clone(),
            fault: fault.map(|fault| fault.error.clone()),
            cursor: node.cursor(),
        })
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.paths().len()
    }

    /// Whether there is nothing to fill in.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each line's place: which member of which. The whole has a line only where it is not
    /// an object.
    fn paths(&self) -> Vec<Vec<usize>> {
        let mut paths = Vec::new();
        let mut open = vec![Vec::new()];
        while let Some(path) = open.pop() {
            let Some(node) = self.root.at(&path) else {
                continue;
            };
            if !(path.is_empty() && matches!(node.held, Held::Members(_))) {
                paths.push(path.clone());
            }
            if paths.len() >= limits::FORM_ITEMS {
                break;
            }
            for index in (0..node.below()).rev() {
                let mut below = path.clone();
                below.push(index);
                open.push(below);
            }
        }
        paths
    }

    /// Where a line's value goes, as a JSON pointer: items know their place only here.
    fn pointer(&self, path: &[usize]) -> String {
        let mut pointer = String::new();
        let mut node = &self.root;
        for index in path {
            let Some(below) = node.at(&[*index]) else {
                break;
            };
            match node.held {
                Held::Items(_) => pointer.push_str(&format!("/{index}")),
                Held::Members(_) => {
                    let key = below.field.key.replace('~', "~0").replace('/', "~1");
                    pointer.push_str(&format!("/{key}"));
                }
                _ => {}
            }
            node = below;
        }
        pointer
    }

    /// Moves to another line.
    pub fn step(&mut self, by: isize) {
        let last = self.len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(by).min(last);
    }

    /// Moves to the first line that something is wrong with.
    pub fn go_to_fault(&mut self) {
        if let Some(at) = self.rows().iter().position(|row| row.fault.is_some()) {
            self.at = at;
        }
    }

    /// Whether the key changed what is in the line.
    pub fn key(&mut self, key: Key) -> bool {
        let Some(path) = self.paths().get(self.at).cloned() else {
            return false;
        };
        // An item is taken away as a whole.
        if key == Key::Ctrl('x')
            && let Some((index, above)) = path.split_last()
            && let Some(node) = self.root.at_mut(above)
            && let Held::Items(items) = &mut node.held
        {
            items.remove(*index);
            self.step(0);
            return true;
        }
        let pointer = self.pointer(&path);
        let Some(node) = self.root.at_mut(&path) else {
            return false;
        };
        let before = node.below();
        if node.key(key, path.len()) {
            // Whether it is right now is seen when the form is sent.
            self.faults.retain(|fault| fault.path != pointer);
            if matches!(node.held, Held::Items(_)) && node.below() > before {
                self.go_into(path, before);
            }
            return true;
        }
        match key {
            Key::Char(_) => self.type_below(path, key),
            _ => false,
        }
    }

    /// Puts pasted text into the line.
    pub fn paste(&mut self, text: &str) {
        let Some(path) = self.paths().get(self.at).cloned() else {
            return;
        };
        let mut text = text.chars();
        let takes = |form: &Self, path: &[usize]| {
            let node = form.root.at(path);
            node.is_some_and(|node| matches!(node.held, Held::Text(_)))
        };
        let mut path = path;
        if !takes(self, &path) {
            let first = text.next().map(Key::Char);
            if !first.is_some_and(|first| self.type_below(path.clone(), first)) {
                return;
            }
            path = self.paths().get(self.at).cloned().unwrap_or_default();
        }
        if let Some(node) = self.root.at_mut(&path)
            && let Held::Text(input) = &mut node.held
        {
            input.get_or_insert_default().insert(text.as_str());
            let pointer = self.pointer(&path);
            self.faults.retain(|fault| fault.path != pointer);
        }
    }

    /// What was filled in, or what is wrong with it.
    pub fn value(&self) -> Result<Value, Vec<Fault>> {
        value::of(&self.root)
    }
}

impl Node {
    fn new(field: Field, depth: usize) -> Self {
        let first = |text: &str| Some(Input::with(text));
        let taken = field.required.then_some(field.default.as_ref()).flatten();
        let held = match field.kind.as_str() {
            "object" if depth < limits::FORM_DEPTH => {
                let members = field.fields.iter().take(limits::FORM_ITEMS);
                Held::Members(
                    members
                        .map(|field| Self::new(field.clone(), depth + 1))
                        .collect(),
                )
            }
            "array" if depth < limits::FORM_DEPTH && field.item.is_some() => {
                Held::Items(Vec::new())
            }
            "choice" if depth < limits::FORM_DEPTH && !field.options.is_empty() => {
                Held::Way(0, Box::new(Self::new(field.options[0].clone(), depth + 1)))
            }
            "boolean" => one_of(vec![Value::Bool(true), Value::Bool(false)], taken),
            "null" => Held::OneOf(vec![Value::Null], field.required.then_some(0)),
            "enum" => one_of(field.values.clone(), taken),
            _ => Held::Text(match taken {
                Some(Value::String(text)) if field.kind == "string" => first(text),
                Some(value) => first(&value.to_string()),
                None => None,
            }),
        };
        Self { field, held }
    }

    /// How many nodes are directly below.
    fn below(&self) -> usize {
        match &self.held {
            Held::Members(nodes) | Held::Items(nodes) => nodes.len(),
            Held::Way(..) => 1,
            _ => 0,
        }
    }

    fn at(&self, path: &[usize]) -> Option<&Self> {
        let mut node = self;
        for index in path {
            node = match &node.held {
                Held::Members(nodes) | Held::Items(nodes) => nodes.get(*index)?,
                Held::Way(_, node) if *index == 0 => node,
                _ => return None,
            };
        }
        Some(node)
    }

    fn at_mut(&mut self, path: &[usize]) -> Option<&mut Self> {
        let mut node = self;
        for index in path {
            node = match &mut node.held {
                Held::Members(nodes) | Held::Items(nodes) => nodes.get_mut(*index)?,
                Held::Way(_, node) if *index == 0 => node,
                _ => return None,
            };
        }
        Some(node)
    }

    fn label(&self, path: &[usize]) -> String {
        let field = &self.field;
        match (field.label.as_str(), field.key.as_str()) {
            ("", "") => path
                .last()
                .map_or("value".into(), |index| format!("{}", index + 1)),
            ("", key) => key.to_owned(),
            (label, _) => label.to_owned(),
        }
    }

    fn kind(&self) -> String {
        let field = &self.field;
        match (&self.held, &field.format) {
            (Held::Text(_), _) if matches!(field.kind.as_str(), "object" | "array" | "choice") => {
                "JSON".into()
            }
            (Held::OneOf(values, _), _) if field.kind == "enum" => self.choices(values),
            (_, Some(format)) => format.clone(),
            (_, None) if field.kind == "json" => "JSON".into(),
            _ => field.kind.clone(),
        }
    }

    /// What can be chosen.
    fn choices(&self, values: &[Value]) -> String {
        let named = |(at, value): (usize, &Value)| {
            let label = self.field.labels.get(at).cloned();
            label.unwrap_or_else(|| match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            })
        };
        let names: Vec<String> = values.iter().enumerate().map(named).collect();
        names.join(" | ")
    }

    fn shown(&self) -> Option<String> {
        match &self.held {
            Held::Text(None) => None,
            Held::Text(Some(input)) if self.is_secret() => {
                Some("•".repeat(input.text().chars().count()))
            }
            Held::Text(Some(input)) if input.is_empty() => Some("\"\"".into()),
            Held::Text(Some(input)) => Some(input.text()),
            Held::OneOf(values, at) => at.and_then(|at| {
                let named = self.field.labels.get(at).cloned();
                named.or_else(|| {
                    values.get(at).map(|value| match value {
                        Value::String(text) => text.clone(),
                        value => value.to_string(),
                    })
                })
            }),
            Held::Members(_) => Some(String::new()),
            Held::Items(items) => Some(match items.len() {
                0 => "none".into(),
                count => format!("{count}"),
            }),
            Held::Way(at, node) => {
                let count = self.field.options.len();
                let label = if node.field.label.is_empty() {
                    node.kind()
                } else {
                    node.field.label.clone()
                };
                Some(format!("{label} ({} of {count})", at + 1))
            }
        }
    }

    fn is_secret(&self) -> bool {
        self.field.format.as_deref() == Some("password")
    }

    fn cursor(&self) -> Option<String> {
        match &self.held {
            Held::Text(Some(input)) if self.is_secret() => {
                Some("•".repeat(input.before().chars().count()))
            }
            Held::Text(Some(input)) => Some(input.before()),
            Held::Text(None) => Some(String::new()),
            _ => None,
        }
    }

    fn key(&mut self, key: Key, depth: usize) -> bool {
        match &mut self.held {
            Held::Text(input) => match (key, input.as_mut()) {
                // What was emptied is an empty text; once more, and it is not there.
                (Key::Backspace, Some(typed)) if typed.is_empty() => *input = None,
                (Key::Ctrl('d'), _) => *input = None,
                (_, Some(typed)) => return typed.key(key),
                (Key::Char(_), None) => {
                    input.get_or_insert_default().key(key);
                }
                (_, None) => return false,
            },
            Held::OneOf(values, at) => {
                let named = |value: &Value| match value {
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                };
                let names: Vec<String> = match self.field.labels.is_empty() {
                    true => values.iter().map(named).collect(),
                    false => self.field.labels.clone(),
                };
                return choose(&names, at, key);
            }
            Held::Items(items) => match (key, self.field.item.as_deref()) {
                (Key::Char(' ' | '+') | Key::Right, Some(item))
                    if items.len() < limits::FORM_ITEMS =>
                {
                    items.push(Self::new(item.clone(), depth + 1));
                }
                (Key::Backspace | Key::Delete | Key::Left, _) if !items.is_empty() => {
                    items.pop();
                }
                _ => return false,
            },
            Held::Way(at, node) => {
                let count = self.field.options.len();
                *at = match key {
                    Key::Char(' ') | Key::Right => (*at + 1) % count,
                    Key::Left => (*at + count - 1) % count,
                    _ => return false,
                };
                **node = Self::new(self.field.options[*at].clone(), depth + 1);
            }
            Held::Members(_) => return false,
        }
        true
    }
}

fn one_of(values: Vec<Value>, taken: Option<&Value>) -> Held {
    let at = values.iter().position(|value| Some(value) == taken);
    Held::OneOf(values, at)
}

/// Goes to the next of some values, to the next that begins with what was typed, or to none
/// of them.
fn choose(names: &[String], at: &mut Option<usize>, key: Key) -> bool {
    let count = names.len();
    if let Key::Char(typed) = key
        && typed != ' '
    {
        let begins = |index: &usize| {
            let first = names.get(*index).and_then(|name| name.chars().next());
            first.is_some_and(|first| first.to_lowercase().eq(typed.to_lowercase()))
        };
        let from = at.map_or(0, |at| at + 1);
        let found = (from..count).chain(0..from.min(count)).find(begins);
        *at = found.or(*at);
        return found.is_some();
    }
    *at = match (key, *at) {
        (Key::Char(' ') | Key::Right, None) if count > 0 => Some(0),
        (Key::Char(' ') | Key::Right, Some(now)) => Some(now + 1).filter(|next| *next < count),
        (Key::Left, None) => count.checked_sub(1),
        (Key::Left, Some(now)) => now.checked_sub(1),
        (Key::Backspace | Key::Delete | Key::Ctrl('d'), Some(_)) => None,
        _ => return false,
    };
    true
}

#[cfg(test)]
mod tests;
