//! `stats --bill`: what lists of tools cost a model, and what of that is for nothing.

use super::Options;
use crate::{
    commands::traffic,
    context::Context,
    failure::{Code, Failure},
    life, limits,
    near::{did_you_mean, near},
    show::{out, safe, term},
    trusting,
};
use switchboard::{
    api::{
        Client,
        types::{
            insight::{Bill, List},
            settings::Written,
            tools::Rule,
        },
    },
    limits::API_RULES,
};

pub fn run(context: &Context, json: bool) -> Result<Code, Failure> {
    let gateway = Client::find(&context.options).map_err(|fault| traffic::failed(&fault))?;
    let bill = life::short(async |_| gateway.get::<Bill>("bill").await)?;
    let bill = bill.map_err(|fault| traffic::failed(&fault))?;
    match json {
        true => traffic::json(&bill)?,
        false => {
            let lists = bill.lists.iter().map(|list| text(list, bill.days));
            let lists: Vec<String> = lists.collect();
            out::line(&lists.join("\n\n"))?;
        }
    }
    Ok(Code::Done)
}

/// Hides what nobody called, after a yes to the difference.
pub fn hide(context: &Context, principal: &str, options: &Options) -> Result<Code, Failure> {
    let gateway = Client::find(&context.options).map_err(|fault| traffic::failed(&fault))?;
    let bill = life::short(async |_| gateway.get::<Bill>("bill").await)?;
    let bill = bill.map_err(|fault| traffic::failed(&fault))?;
    let list = bill.lists.iter().find(|list| list.principal == principal);
    let list = list.ok_or_else(|| {
        let names = bill.lists.iter().map(|list| list.principal.as_str());
        let hint = did_you_mean(&near(principal, names));
        let hint = hint.unwrap_or_else(|| "see switchboard stats --bill".to_owned());
        Failure::usage(format!("nobody of the name {principal:?} was here")).hint(hint)
    })?;
    if list.unused.is_empty() {
        out::line("Each of its tools was called.")?;
        return Ok(Code::Done);
    }
    let tools = list.unused.iter().take(API_RULES);
    let mut rule = Rule {
        tools: tools.clone().map(|unused| unused.tool.clone()).collect(),
        decision: "hide".to_owned(),
        confirm: None,
    };
    let mut write = |confirm: Option<String>| -> Result<Written, Failure> {
        rule.confirm = confirm;
        let written = life::short(async |_| gateway.post("tools/rules", &rule).await)?;
        written.map_err(|fault| traffic::failed(&fault))
    };
    let shown = write(None)?;
    if !options.json {
        for line in &shown.difference {
            out::line(&safe::line(line))?;
        }
    }
    if !options.yes {
        may_write(&shown.file)?;
    }
    let written = write(Some(shown.digest))?;
    if options.json {
        traffic::json(&written)?;
        return Ok(Code::Done);
    }
    let saved: usize = tools.map(|unused| unused.tokens).sum();
    out::line(&format!(
        "Wrote {}: about {saved} tokens less in every session.",
        safe::line(&written.file)
    ))?;
    Ok(Code::Done)
}

/// Asks whether it is meant.
fn may_write(file: &str) -> Result<(), Failure> {
    let file = safe::line(file);
    if !term::can_ask() {
        let failure = Failure::new(Code::NotPermitted, format!("nothing was written to {file}"));
        return Err(failure.hint("--yes writes it without asking"));
    }
    match trusting::ask(&format!("Write this to {file}? [y/N] "))? {
        true => Ok(()),
        false => Err(Failure::new(Code::NotPermitted, "nothing was written")),
    }
}

fn text(list: &List, days: u32) -> String {
    let days = match days {
        1 => "today".to_owned(),
        days => format!("in {days} days"),
    };
    let mut lines = vec![format!(
        "{}: {} tools cost about {} tokens in every session",
        safe::line(&list.principal),
        list.tools,
        list.tokens
    )];
    if list.unused.is_empty() {
        return lines.remove(0);
    }
    lines.push(format!(
        "  {} of them nobody called {days}: about {} tokens",
        list.unused.len(),
        list.unused_tokens
    ));
    for unused in list.unused.iter().take(limits::BILL_SHOWN) {
        lines.push(format!(
            "  {:>7}  {}",
            unused.tokens,
            safe::line(&unused.tool)
        ));
    }
    if list.unused.len() > limits::BILL_SHOWN {
        let more = list.unused.len() - limits::BILL_SHOWN;
        lines.push(format!("           and {more} more"));
    }
    if let Some(defer) = &list.defer {
        lines.push(format!(
            "  to have them searched for instead of listed: {}",
            safe::line(defer)
        ));
    }
    if let Some(hide) = &list.hide {
        lines.push(format!("  to hide them: {}", safe::line(hide)));
    }
    lines.join("\n")
}
