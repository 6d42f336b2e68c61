//! `cluster apply`, `cluster history` and `cluster show`: what holds for all replicas.

use super::{
    Shared,
    difference::{difference, without},
    status::age,
    told,
    vouched::{self, VouchOptions},
};
use crate::{
    context::{Context, warn},
    failure::{Code, Failure},
    life, limits,
    show::{out, safe, term},
    trusting,
};
use clap::Args;
use serde::Serialize;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use switchboard::{
    cluster::{
        self, ApplyKey, ApplyKeys, Signed, Statement,
        apply::{self, Book, Document, Holding, TokenDigest},
    },
    tokens::{self, TokenFile},
};

/// Options of `cluster apply`.
#[derive(Debug, Args)]
pub struct ApplyOptions {
    /// Settings for all replicas, in the form of settings.json, in place of all that were applied
    /// before; without any those stay
    #[arg(value_name = "FILE", conflicts_with = "back")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    shared: Shared,
    /// The file with the key to sign with; switchboard cluster ca makes one (apply.key)
    #[arg(long, value_name = "FILE")]
    sign_with: PathBuf,
    /// The file with the keys of others who may apply something, whose versions count as well
    #[arg(long, value_name = "FILE")]
    cluster_apply_keys: Option<PathBuf>,
    /// Go back to what this version was, as a new one
    #[arg(long = "version", id = "back", value_name = "VERSION")]
    back: Option<u64>,
    /// Let in whoever shows the token in this file, at all replicas; only its digest is kept.
    /// Repeatable
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "back")]
    token: Vec<TokenFile>,
    /// Let in nobody any more by the token of this name. Repeatable
    #[arg(long, value_name = "NAME", conflicts_with = "back")]
    revoke: Vec<String>,
    #[command(flatten)]
    vouched: VouchOptions,
    /// What it is about, for the history
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Apply it without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `cluster history`.
#[derive(Debug, Args)]
pub struct HistoryOptions {
    #[command(flatten)]
    shared: Shared,
    /// The file with the keys of those who may apply something (apply.pub)
    #[arg(long, value_name = "FILE")]
    cluster_apply_keys: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `cluster show`.
#[derive(Debug, Args)]
pub struct ShowOptions {
    /// Which version (default: the one that holds)
    #[arg(value_name = "VERSION")]
    version: Option<u64>,
    #[command(flatten)]
    shared: Shared,
    /// The file with the keys of those who may apply something (apply.pub)
    #[arg(long, value_name = "FILE")]
    cluster_apply_keys: PathBuf,
    /// Show values that look like secrets as well
    #[arg(long)]
    reveal: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What there is.
struct Found {
    now: Holding,
    all: Vec<Signed>,
    next: u64,
}

async fn look(
    context: &Context,
    shared: &Shared,
    signers: ApplyKeys,
) -> Result<(Book, Found), Failure> {
    let (store, key) = shared.opens(context);
    let book = Book::open(&store, &key, signers).await?;
    let stored = |fault| Failure::from(cluster::ClusterError::Store(fault));
    let now = book.now().await.map_err(stored)?;
    let all = book.all().await.map_err(stored)?;
    let next = book.next(&now, &all);
    Ok((book, Found { now, all, next }))
}

/// Applies something.
pub fn apply(context: &Context, options: &ApplyOptions) -> Result<Code, Failure> {
    let here = |path: &PathBuf| context.options.directory.join(path);
    let key = cluster::apply_key(&here(&options.sign_with))?;
    let more = options.cluster_apply_keys.as_ref().map(here);
    let more = more.as_deref().map(cluster::apply_keys).transpose()?;
    let signers = match more {
        Some(more) => key.public().and(more),
        None => key.public(),
    };
    let found = life::short(async |_| {
        let (_, found) = look(context, &options.shared, signers.clone()).await?;
        Ok::<_, Failure>(found)
    })??;
    if let Some(why) = found.now.refused() {
        warn(&format!(
            "what was applied last does not count here, and is left out: {why}"
        ));
    }
    let empty = Statement::default();
    let before = found.now.signed().or(found.all.first());
    let before = before.map_or(&empty, |signed| &signed.statement);
    let statement = wanted(context, options, before, &found)?;
    let difference = difference(before, &statement);
    if difference.is_empty() && found.now.signed().is_some() {
        told::again(context, &options.shared, &key, &signers, before)?;
        return unchanged(options, before);
    }
    if !options.json {
        for line in &difference {
            out::line(line)?;
        }
    }
    may_apply(options, statement.version)?;
    put(context, options, &key, &signers, &found, &statement)?;
    if options.json {
        return told(&statement, true, difference);
    }
    out::line(&format!(
        "Version {} holds for all replicas that follow it; switchboard cluster status shows which run it.",
        statement.version
    ))?;
    Ok(Code::Done)
}

/// What would hold.
fn wanted(
    context: &Context,
    options: &ApplyOptions,
    before: &Statement,
    found: &Found,
) -> Result<Statement, Failure> {
    let mut statement = Statement {
        version: found.next,
        at: apply::now(),
        note: safe::cut(options.note.as_deref().unwrap_or_default(), limits::NOTE),
        ..before.clone()
    };
    if let Some(back) = options.back {
        let earlier = version(&found.all, back)?;
        statement.documents.clone_from(&earlier.documents);
        statement.tokens.clone_from(&earlier.tokens);
        statement.approvals.clone_from(&earlier.approvals);
        statement.pins.clone_from(&earlier.pins);
    } else if options.files.is_empty()
        && options.token.is_empty()
        && options.revoke.is_empty()
        && options.vouched.is_empty()
    {
        let failure = Failure::usage("there is nothing to apply");
        return Err(failure.hint(
            "name a file with settings, a --token, a server to --approve or --pin, or a --version",
        ));
    }
    options.vouched.change(context, &mut statement)?;
    if !options.files.is_empty() {
        let read = options.files.iter().map(|file| document(context, file));
        statement.documents = read.collect::<Result<_, _>>()?;
    }
    for name in &options.revoke {
        let many = statement.tokens.len();
        statement.tokens.retain(|token| token.name != *name);
        if statement.tokens.len() == many {
            return Err(Failure::usage(format!(
                "--revoke: there is no token {name:?}"
            )));
        }
    }
    let given = tokens::from_files(&context.options.directory, &options.token);
    let given = given.map_err(|error| {
        let hint = error.hint();
        Failure::new(Code::Configuration, error.to_string()).hint(hint)
    })?;
    for token in given {
        if !tokens::is_name(&token.name) {
            let text = format!("--token: {:?} is no name for a token", token.name);
            return Err(Failure::usage(text).hint("name it: --token NAME=FILE"));
        }
        statement.tokens.retain(|known| known.name != *token.name);
        statement.tokens.push(TokenDigest {
            name: token.name.to_string(),
            sha256: tokens::digest(&token.secret),
        });
    }
    // Nothing is signed that no replica could use.
    let faults = apply::faults(&statement);
    if !faults.is_empty() {
        let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
        return Err(Failure::new(Code::Configuration, texts.join("\n")));
    }
    Ok(statement)
}

fn version(all: &[Signed], wanted: u64) -> Result<&Statement, Failure> {
    let mut all = all.iter().map(|signed| &signed.statement);
    all.find(|statement| statement.version == wanted)
        .ok_or_else(|| {
            Failure::usage(format!("there is no version {wanted}"))
                .hint("switchboard cluster history shows those that are kept and count")
        })
}

fn document(context: &Context, file: &Path) -> Result<Document, Failure> {
    let path = context.options.directory.join(file);
    let mut text = String::new();
    let opened = File::open(&path);
    let read = opened.and_then(|file| file.take(limits::APPLIED).read_to_string(&mut text));
    read.map_err(|error| {
        let text = format!("{}: cannot be read: {error}", path.display());
        Failure::new(Code::Configuration, text)
    })?;
    let name = path.file_name().unwrap_or_default();
    Ok(Document {
        name: name.to_string_lossy().into_owned(),
        text,
    })
}

fn unchanged(options: &ApplyOptions, holds: &Statement) -> Result<Code, Failure> {
    if options.json {
        return told(holds, false, Vec::new());
    }
    out::line(&format!(
        "Nothing changes: that is version {}, which holds.",
        holds.version
    ))?;
    Ok(Code::Done)
}

/// Asks whether it is meant.
fn may_apply(options: &ApplyOptions, version: u64) -> Result<(), Failure> {
    if options.yes {
        return Ok(());
    }
    let nothing = || Failure::new(Code::NotPermitted, "nothing was applied");
    if options.json || !term::can_ask() {
        return Err(nothing().hint("--yes applies it without asking"));
    }
    let question = format!("Apply this to all replicas, as version {version}? [y/N] ");
    match trusting::ask(&question)? {
        true => Ok(()),
        false => Err(nothing()),
    }
}

/// Puts it there, if what holds is still what was shown.
fn put(
    context: &Context,
    options: &ApplyOptions,
    key: &ApplyKey,
    signers: &ApplyKeys,
    shown: &Found,
    statement: &Statement,
) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(Code::Unreachable, format!("nothing was applied: {error}"))
    };
    life::short(async |_| {
        let (book, now) = look(context, &options.shared, signers.clone()).await?;
        if now.now.signed() != shown.now.signed() {
            let text = "somebody else has applied something meanwhile";
            return Err(failed(&text).hint("look at what changes now, and apply it again"));
        }
        let put = book.put(&now.now, statement, key).await;
        put.map_err(|error| failed(&error))?;
        told::to_workers(&book, statement, key).await
    })?
}

#[derive(Debug, Serialize)]
struct Told<'a> {
    version: u64,
    applied: bool,
    documents: Vec<&'a str>,
    tokens: Vec<&'a str>,
    approvals: Vec<&'a str>,
    pins: Vec<&'a str>,
    difference: Vec<String>,
}

fn told(statement: &Statement, applied: bool, difference: Vec<String>) -> Result<Code, Failure> {
    let told = Told {
        version: statement.version,
        applied,
        documents: names(statement),
        tokens: token_names(statement),
        approvals: approved_names(statement),
        pins: pinned_keys(statement),
        difference,
    };
    out::json(&serde_json::to_vec(&told).unwrap_or_default())?;
    Ok(Code::Done)
}

fn names(statement: &Statement) -> Vec<&str> {
    let documents = statement.documents.iter();
    documents.map(|document| &*document.name).collect()
}

fn token_names(statement: &Statement) -> Vec<&str> {
    statement.tokens.iter().map(|token| &*token.name).collect()
}

fn approved_names(statement: &Statement) -> Vec<&str> {
    let approvals = statement.approvals.iter();
    approvals.map(|approval| &*approval.name).collect()
}

fn pinned_keys(statement: &Statement) -> Vec<&str> {
    statement.pins.keys().map(String::as_str).collect()
}

/// A version as `cluster history --json` shows it. The names are what scripts rely on.
#[derive(Debug, Serialize)]
struct Row<'a> {
    version: u64,
    at: u64,
    signer: &'a str,
    note: &'a str,
    documents: Vec<&'a str>,
    tokens: Vec<&'a str>,
    approvals: Vec<&'a str>,
    pins: Vec<&'a str>,
    holds: bool,
}

fn read(context: &Context, shared: &Shared, keys: &Path) -> Result<Found, Failure> {
    let signers = cluster::apply_keys(&context.options.directory.join(keys))?;
    let found = life::short(async |_| {
        let (_, found) = look(context, shared, signers).await?;
        Ok::<_, Failure>(found)
    })??;
    if let Some(why) = found.now.refused() {
        warn(&format!("what was applied last does not count: {why}"));
    }
    Ok(found)
}

/// Shows all versions that are kept.
pub fn history(context: &Context, options: &HistoryOptions) -> Result<Code, Failure> {
    let found = read(context, &options.shared, &options.cluster_apply_keys)?;
    let holds = found.now.signed().map(|signed| signed.statement.version);
    let rows: Vec<Row<'_>> = found
        .all
        .iter()
        .map(|signed| Row {
            version: signed.statement.version,
            at: signed.statement.at,
            signer: &signed.signer,
            note: &signed.statement.note,
            documents: names(&signed.statement),
            tokens: token_names(&signed.statement),
            approvals: approved_names(&signed.statement),
            pins: pinned_keys(&signed.statement),
            holds: holds == Some(signed.statement.version),
        })
        .collect();
    if options.json {
        out::json_list(&rows)?;
        return Ok(Code::Done);
    }
    if rows.is_empty() {
        out::line("Nothing was applied to this cluster.")?;
    }
    for row in rows {
        let holds = if row.holds { ", holds" } else { "" };
        let mut what = row.documents.join(", ");
        for (kind, names) in [
            ("tokens", &row.tokens),
            ("approved", &row.approvals),
            ("pinned", &row.pins),
        ] {
            if !names.is_empty() {
                what = format!("{what}  {kind}: {}", names.join(", "));
            }
        }
        let (version, age, signer) = (row.version, age(row.at), row.signer);
        let line = format!(
            "{version}  {age} ago, signed by {signer}{holds}  {what}  {}",
            row.note
        );
        out::line(safe::line(&line).trim_end())?;
    }
    Ok(Code::Done)
}

/// Shows what one version says.
pub fn show(context: &Context, options: &ShowOptions) -> Result<Code, Failure> {
    let found = read(context, &options.shared, &options.cluster_apply_keys)?;
    let statement = match (options.version, found.now.signed()) {
        (Some(wanted), _) => version(&found.all, wanted)?,
        (None, Some(now)) => &now.statement,
        (None, None) => {
            out::line("Nothing was applied to this cluster.")?;
            return Ok(Code::Done);
        }
    };
    let shown = |line: &str| match options.reveal {
        true => line.to_owned(),
        false => without(line),
    };
    if options.json {
        let mut statement = statement.clone();
        for document in &mut statement.documents {
            let lines: Vec<String> = document.text.lines().map(&shown).collect();
            document.text = lines.join("\n");
        }
        if !options.reveal {
            for approval in &mut statement.approvals {
                approval.entry = vouched::redacted("", &approval.entry);
            }
        }
        out::json(&serde_json::to_vec(&statement).unwrap_or_default())?;
        return Ok(Code::Done);
    }
    out::line(&format!("version {}", statement.version))?;
    for document in &statement.documents {
        out::line(&format!("{}:", safe::line(&document.name)))?;
        for line in document.text.lines() {
            out::line(&safe::line(&shown(line)))?;
        }
    }
    for name in token_names(statement) {
        out::line(&format!("token {}", safe::line(name)))?;
    }
    for approval in &statement.approvals {
        out::line(&format!("{}:", vouched::approved(approval)))?;
        for line in vouched::text(approval).lines() {
            out::line(&safe::line(&shown(line)))?;
        }
    }
    for (key, pins) in &statement.pins {
        out::line(&format!("pins of {}:", safe::line(key)))?;
        for line in pins.text().lines() {
            out::line(line)?;
        }
    }
    Ok(Code::Done)
}
