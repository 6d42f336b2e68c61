//! Both sides of one call: what crossed between its client and us on the left, between us
//! and its server on the right, and what we changed on the way.

use super::{detail, failed, json, list, not_kept};
use crate::{
    failure::{Code, Failure},
    show::{
        out, safe,
        term::{self, Paint},
    },
};
use clap::Args;
use switchboard::api::{
    Client,
    types::calls::{Crossed, Detail, Edit},
};

/// Options of `traffic show`.
#[derive(Debug, Args)]
pub struct Options {
    /// Its number
    pub id: u64,
    /// Show secrets as they are, which is put on record
    #[arg(long)]
    pub reveal: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Shows one call.
pub async fn run(gateway: &Client, options: &Options) -> Result<Code, Failure> {
    let shown = match options.reveal {
        true => {
            let path = format!("calls/{}/reveal", options.id);
            let nothing = serde_json::json!({});
            let shown = gateway.post(&path, &nothing).await;
            shown.map_err(|fault| failed(&fault))?
        }
        false => detail(gateway, options.id).await?,
    };
    if options.json {
        json(&shown)?;
        return Ok(Code::Done);
    }
    out::line(&text(&shown))?;
    if !shown.call.kept {
        return Err(not_kept(options.id));
    }
    Ok(Code::Done)
}

fn text(shown: &Detail) -> String {
    let paint = term::stdout();
    let mut lines = vec![list::line(&shown.call)];
    if let (Some(decision), Some(rule)) = (&shown.decision, &shown.rule) {
        lines.push(safe::line(&format!("decided: {decision} ({rule})")));
    }
    if let Some(waited) = shown.call.waited {
        lines.push(format!("waited for a person: {}", list::millis(waited)));
    }
    let waited = shown.waited.iter();
    lines.extend(waited.map(|one| safe::line(&one.words())));
    let width = match paint.terminal || term::says_columns() {
        true => term::width(),
        false => 160,
    };
    let half = (width.saturating_sub(3)) / 2;
    if !shown.messages.is_empty() {
        let (left, right) = ("client ↔ switchboard", "switchboard ↔ server");
        lines.push(String::new());
        lines.push(format!("{left:<half$} │ {right}"));
    }
    for (number, message) in shown.messages.iter().enumerate() {
        lines.extend(columns(number, message, half, paint));
    }
    if shown.missing > 0 {
        lines.push(format!("{} messages of it are not kept", shown.missing));
    }
    let cut: u32 = shown.messages.iter().map(|message| message.secrets).sum();
    if cut > 0 {
        lines.push(format!(
            "{cut} secrets are cut; --reveal shows them, which is put on record"
        ));
    }
    lines.join("\n")
}

/// One message, on its side.
fn columns(number: usize, message: &Crossed, half: usize, paint: Paint) -> Vec<String> {
    let (is_left, arrow) = match message.edge.as_str() {
        "from-client" => (true, "→ us"),
        "to-client" => (true, "← us"),
        "to-server" => (false, "us →"),
        _ => (false, "us ←"),
    };
    let method = message.method.as_deref().unwrap_or_default();
    let head = format!(
        "[{number}] +{} {arrow} {} {method} {} B",
        list::millis(message.at),
        message.kind,
        message.bytes
    );
    let mut rows: Vec<(String, Option<&'static str>)> = Vec::new();
    let heads = wrapped(&safe::line(&head), half);
    rows.extend(heads.into_iter().map(|row| (row, None)));
    match &message.text {
        Some(text) => {
            let wrapped = wrapped(&safe::line(text), half);
            rows.extend(wrapped.into_iter().map(|row| (row, None)));
        }
        None => rows.push(("(too large to be kept)".to_owned(), None)),
    }
    for edit in &message.edits {
        let rows_of = wrapped(&safe::line(&edited(edit, message.made_of)), half);
        rows.extend(rows_of.into_iter().map(|row| (row, Some("edit"))));
    }
    let side = |(row, mark): (String, Option<&str>)| {
        let fill = " ".repeat(half.saturating_sub(safe::columns(&row)));
        let row = match mark {
            Some(_) => paint.red(&row),
            None => row,
        };
        match is_left {
            true => format!("{row}{fill} │"),
            false => format!("{} │ {row}", " ".repeat(half)),
        }
    };
    rows.into_iter().map(side).collect()
}

/// What was changed, in words.
fn edited(edit: &Edit, made_of: Option<usize>) -> String {
    let row = edit.row.as_deref().unwrap_or("no row!");
    let path = if edit.path.is_empty() {
        "/"
    } else {
        &edit.path
    };
    let of = made_of.map(|of| format!(" of [{of}]")).unwrap_or_default();
    let what = match (&edit.before, &edit.after) {
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (None, Some(after)) => after.clone(),
        (Some(before), None) => before.clone(),
        (None, None) => String::new(),
    };
    format!("~ {row} {path} {}{of}: {what}", edit.what)
}

fn wrapped(text: &str, room: usize) -> Vec<String> {
    let (mut rows, mut row, mut taken) = (Vec::new(), String::new(), 0);
    for c in text.chars() {
        let width = safe::columns(c.encode_utf8(&mut [0; 4]));
        if taken + width > room {
            rows.push(std::mem::take(&mut row));
            taken = 0;
        }
        row.push(c);
        taken += width;
    }
    rows.push(row);
    rows
}
