//! What a server asks for, and what we ask ourselves, as questions on a
//! terminal: field by field, each checked before the next. The fields are those
//! that the screen and the page in a browser draw.

mod line;

use super::pages;
use crate::{
    limits,
    show::{safe, term},
};
use serde_json::{Map, Value};
use std::io::{BufRead, Write};
use switchboard::{
    agent::Form,
    api::types::tools::Field,
    host::{Consent, Relayed, Verdict},
    model::form::{fields, shown},
};

/// What came of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Filled in.
    Accepted(Map<String, Value>),
    /// The page was visited, says whoever was asked.
    Visited,
    /// The person says no.
    Declined,
    /// The person went away.
    Cancelled,
}

/// Asks for the fields of a form.
pub fn fill(server: &str, params: &Value, input: &mut dyn BufRead, out: &mut dyn Write) -> Filled {
    if Form::of(params).is_none() {
        return Filled::Cancelled;
    }
    if let Some(asked) = Relayed::of(params) {
        return by_rule(&asked, input, out);
    }
    let message = params["message"].as_str().unwrap_or_default();
    let paint = term::stderr();
    let _ = writeln!(
        out,
        "{} {}",
        paint.bold(&format!("server {} asks:", safe::line(server))),
        safe::lines(message)
    );
    let _ = writeln!(
        out,
        "{}",
        paint.dim(
            "an empty line takes the default or leaves the field out; ! declines; Ctrl-D gives up"
        )
    );
    let mut root = fields(&params["requestedSchema"]);
    if root.kind != "object" {
        // What cannot be drawn is filled in as a whole.
        root.required = true;
        root.key = "answer".to_owned();
        return match ask(&root, input, out) {
            Ok(Some(Value::Object(content))) => Filled::Accepted(content),
            Ok(_) => Filled::Cancelled,
            Err(end) => end,
        };
    }
    let mut content = Map::new();
    for field in root.fields.iter().take(limits::FORM_FIELDS) {
        match ask(field, input, out) {
            Ok(Some(value)) => {
                content.insert(field.key.clone(), value);
            }
            Ok(None) => {}
            Err(end) => return end,
        }
    }
    Filled::Accepted(content)
}

/// Asks for one field; nothing where it is left out.
pub fn ask(
    field: &Field,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Option<Value>, Filled> {
    let paint = term::stderr();
    let title = match field.label.as_str() {
        "" => &field.key,
        label => label,
    };
    let about = field.description.as_deref().map(safe::line);
    let needed = if field.required { ", needed" } else { "" };
    let _ = writeln!(
        out,
        "{} {}{}",
        paint.bold(&safe::line(title)),
        paint.dim(&format!("({}{needed})", line::kind(field))),
        about.map(|about| format!(" – {about}")).unwrap_or_default()
    );
    for (at, label) in line::named(field).iter().enumerate() {
        let _ = writeln!(out, "  {}. {}", at + 1, safe::line(label));
    }
    let default = field.default.as_ref();
    for _ in 0..limits::FIELD_TRIES {
        let hint = default
            .map(|value| format!(" [{}]", safe::line(&shown(value))))
            .unwrap_or_default();
        let _ = write!(out, "  {}{hint}: ", safe::line(&field.key));
        let _ = out.flush();
        let typed = read(input)?;
        let problem = match (typed.trim(), default) {
            ("!", _) => return Err(Filled::Declined),
            ("", Some(default)) => return Ok(Some(default.clone())),
            ("", None) if !field.required => return Ok(None),
            ("", None) => "an answer is needed here".to_owned(),
            (text, _) => match line::value(field, text) {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => problem.to_string(),
            },
        };
        let _ = writeln!(out, "  {}", paint.red(&problem));
    }
    Err(Filled::Cancelled)
}

/// A page that the server wants to be visited. It is shown, never opened.
pub fn visit(server: &str, params: &Value, input: &mut dyn BufRead, out: &mut dyn Write) -> Filled {
    let url = params["url"].as_str().unwrap_or_default();
    let message = params["message"].as_str().unwrap_or_default();
    let paint = term::stderr();
    let _ = writeln!(
        out,
        "{} {}\n  {}",
        paint.bold(&format!(
            "server {} wants you to visit:",
            safe::line(server)
        )),
        safe::lines(message),
        safe::line(url)
    );
    let _ = write!(
        out,
        "Look at the address before you open it. Done? [y/N, ! declines] "
    );
    let _ = out.flush();
    match read(input) {
        Err(end) => end,
        Ok(line) => match line.trim() {
            "y" | "Y" | "yes" => Filled::Visited,
            "!" => Filled::Declined,
            _ => Filled::Cancelled,
        },
    }
}

/// Whether a call may go ahead.
pub fn consent(consent: &Consent, input: &mut dyn BufRead, out: &mut dyn Write) -> Verdict {
    let paint = term::stderr();
    let _ = writeln!(
        out,
        "{} {}",
        paint.bold("Allow this call?"),
        safe::line(&consent.canonical)
    );
    let mut rows = vec![("because", consent.reason.clone())];
    if !consent.hints.is_empty() {
        rows.push(("it says", consent.hints.join(", ")));
    }
    for (label, text) in rows {
        let _ = writeln!(out, "  {label:<9} {}", safe::line(&text));
    }
    if let Some(arguments) = &consent.arguments
        && !pages::show(arguments, input, out)
    {
        return Verdict::No;
    }
    verdict(consent.may_remember, input, out)
}

/// The same where the gateway's rules want to know, and not a server: which rule that is
/// stands in the gateway's settings.
fn by_rule(asked: &Relayed, input: &mut dyn BufRead, out: &mut dyn Write) -> Filled {
    let who = term::stderr().bold("a rule of the gateway asks:");
    let _ = writeln!(out, "{who} {}", safe::lines(&asked.text));
    let _ = writeln!(
        out,
        "{}",
        term::stderr().dim("switchboard explain NAME says which rule that is")
    );
    let answer = verdict(asked.may_remember, input, out).to_result();
    match &answer["content"] {
        Value::Object(content) => Filled::Accepted(content.clone()),
        _ => Filled::Declined,
    }
}

/// Yes or no, in one word.
fn verdict(may_remember: bool, input: &mut dyn BufRead, out: &mut dyn Write) -> Verdict {
    let choices = if may_remember {
        "[y = yes, a = always, N = no, never]"
    } else {
        "[y/N]"
    };
    let _ = write!(out, "{choices} ");
    let _ = out.flush();
    let line = read(input).unwrap_or_default();
    let said = line.trim().to_ascii_lowercase();
    match (said.as_str(), may_remember) {
        ("y" | "yes" | "yes, this time", _) => Verdict::Once,
        ("a" | "always" | "yes, from now on", true) => Verdict::Always,
        ("never" | "no, never", true) => Verdict::Never,
        _ => Verdict::No,
    }
}

fn read(input: &mut dyn BufRead) -> Result<String, Filled> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) | Err(_) => Err(Filled::Cancelled),
        Ok(_) => Ok(line),
    }
}

#[cfg(test)]
mod tests;
