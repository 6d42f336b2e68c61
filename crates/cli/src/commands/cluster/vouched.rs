//! What `cluster apply` says beside settings and tokens: which entries of repositories may
//! run at all replicas, and what definitions of servers are to be.

use super::difference::without;
use crate::{
    context::{Context, Say},
    failure::{Code, Failure},
    show::{diff, safe},
};
use clap::Args;
use serde_json::Value;
use switchboard::{
    Look,
    cluster::{
        Statement,
        apply::{self, Approval},
    },
    config::approval::Binding,
    host::pins::{Keeping, Pinning, Pins, SignedPins},
    local::secret,
    pin_key,
};

/// What is approved and pinned, and what is not any more.
#[derive(Debug, Args)]
pub struct VouchOptions {
    /// Approve this server of the project in this directory for all replicas, bound to what it
    /// would run, as switchboard approve does for one. Repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "back")]
    approve: Vec<String>,
    /// Approve the server of this name for all replicas no more. Repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "back")]
    disapprove: Vec<String>,
    /// Hold this server at all replicas to the tools, prompts and instructions that are pinned of
    /// it here. Repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "back")]
    pin: Vec<String>,
    /// Hold the server of this name to them no more. Repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "back")]
    unpin: Vec<String>,
}

impl VouchOptions {
    /// Whether nothing of it is asked for.
    pub(super) fn is_empty(&self) -> bool {
        let all = [&self.approve, &self.disapprove, &self.pin, &self.unpin];
        all.into_iter().all(Vec::is_empty)
    }

    /// What would hold then.
    pub(super) fn change(
        &self,
        context: &Context,
        statement: &mut Statement,
    ) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        for name in &self.disapprove {
            let many = statement.approvals.len();
            statement.approvals.retain(|known| known.name != *name);
            if statement.approvals.len() == many {
                let text = format!("--disapprove: no server {name:?} is approved");
                return Err(Failure::usage(text));
            }
        }
        for name in &self.unpin {
            let many = statement.pins.len();
            statement.pins.retain(|key, _| !is_of(key, name));
            if statement.pins.len() == many {
                let text = format!("--unpin: no server {name:?} is pinned");
                return Err(Failure::usage(text));
            }
        }
        let look = context.look(Say::Nothing);
        for name in &self.approve {
            let approval = approval(context, &look, name)?;
            let is_same = |known: &Approval| {
                (&known.name, &known.directory) == (&approval.name, &approval.directory)
            };
            statement.approvals.retain(|known| !is_same(known));
            statement.approvals.push(approval);
        }
        for name in &self.pin {
            let (key, pins) = pinned(context, &look, name)?;
            statement.pins.insert(key, pins);
        }
        Ok(())
    }
}

/// Whether this is what the server of a name is pinned under.
fn is_of(key: &str, name: &str) -> bool {
    key == name || key.starts_with(&format!("{name} in "))
}

/// A yes to what the server of a project would run, here and now.
fn approval(context: &Context, look: &Look, name: &str) -> Result<Approval, Failure> {
    let places = context.places()?;
    let mut inside = look
        .servers
        .iter()
        .filter(|server| server.entry.inside && server.entry.name == name);
    let Some(server) = inside.next() else {
        let text = format!("--approve: no project here has a server {name:?}");
        return Err(Failure::usage(text).hint(
            "be in the directory of the project, which is where the replicas have it; what \
             settings name that are applied needs no approval",
        ));
    };
    if inside.next().is_some() {
        let text = format!("--approve: several files here have a server {name:?}");
        return Err(Failure::usage(text).hint("be in the directory of the one that is meant"));
    }
    let binding = Binding::of(&server.entry, &places);
    if let Some(why) = binding.obstacle() {
        return Err(Failure::new(Code::NotPermitted, why)
            .hint("what cannot be bound cannot be approved; nothing was applied"));
    }
    Ok(apply::approval(&binding))
}

/// What is pinned of a server here, and under what.
fn pinned(context: &Context, look: &Look, name: &str) -> Result<(String, SignedPins), Failure> {
    let pins = Pins::open(context.places()?.data.join("pins"));
    let found = look.find(name);
    let key = found.map_or_else(|| name.to_owned(), |server| pin_key(&server.entry));
    let faulty = |fault| {
        let text = format!("--pin: what is pinned of {name:?} cannot be read: {fault}");
        Failure::new(Code::Configuration, text)
    };
    let keeping = Keeping {
        key: key.clone(),
        pinning: Pinning::Hold,
    };
    let news = pins.news(name, &keeping).map_err(faulty)?;
    if !news.is_empty() {
        let text = format!("--pin: {}", news.sentences().join("; "));
        let hint = "nobody can sign what waits to be looked at: switchboard approve NAME first";
        return Err(Failure::new(Code::NotPermitted, text).hint(hint));
    }
    match pins.to_sign(&key).map_err(faulty)? {
        Some(signed) if signed.count() > 0 => Ok((key, signed)),
        _ => {
            let text = format!("--pin: nothing of a server {name:?} is pinned here");
            let hint = "switchboard tools meets the servers that are configured here, and pins \
                        what they list";
            Err(Failure::usage(text).hint(hint))
        }
    }
}

/// What changes of it.
pub(super) fn difference(before: &Statement, after: &Statement) -> Vec<String> {
    let mut lines = Vec::new();
    let place = |of: &Approval| (of.name.clone(), of.directory.clone());
    let mut places: Vec<_> = before.approvals.iter().chain(&after.approvals).collect();
    places.sort_by_key(|approval| place(approval));
    places.dedup_by_key(|approval| place(approval));
    for one in places {
        let of = |statement: &Statement| {
            let mut all = statement.approvals.iter();
            all.find(|it| place(it) == place(one)).map(text)
        };
        changed(&approved(one), of(before), of(after), &mut lines);
    }
    let mut keys: Vec<&String> = before.pins.keys().chain(after.pins.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let of = |statement: &Statement| statement.pins.get(key).map(SignedPins::text);
        changed(
            &format!("pins of {}", safe::line(key)),
            of(before),
            of(after),
            &mut lines,
        );
    }
    lines
}

/// Adds what became of one thing, where it is not what it was.
pub(super) fn changed(
    what: &str,
    before: Option<String>,
    after: Option<String>,
    lines: &mut Vec<String>,
) {
    if before == after {
        return;
    }
    let word = match (&before, &after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    };
    lines.push(format!("{what} ({word}):"));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    lines.extend(diff::lines_as(&before, &after, without));
}

/// What an approval is called.
pub(super) fn approved(approval: &Approval) -> String {
    let (name, directory) = (&approval.name, &approval.directory);
    format!(
        "approval of {} in {}",
        safe::line(name),
        safe::line(directory)
    )
}

/// What an approval is bound to.
pub(super) fn text(approval: &Approval) -> String {
    let entry = serde_json::to_string_pretty(&approval.entry).unwrap_or_default();
    let mut text = format!("{entry}\n");
    if let Some(program) = &approval.program {
        text.push_str(&format!("runs {program}\n"));
    }
    for (path, content) in &approval.contents {
        text.push_str(&format!("with {path} {content}\n"));
    }
    text
}

/// An entry without its secrets.
pub(super) fn redacted(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(all) => {
            let all = all.iter();
            let all = all.map(|(name, value)| (name.clone(), redacted(name, value)));
            Value::Object(all.collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(|it| redacted(name, it)).collect()),
        Value::String(text) if !text.starts_with("${") => {
            Value::String(secret::kept_value(name, text).into_owned())
        }
        other => other.clone(),
    }
}
