//! `stats --bill`: what lists of tools cost a model, and what of that is for nothing.

use crate::{
    commands::traffic,
    context::Context,
    failure::{Code, Failure},
    life, limits,
    show::{out, safe},
};
use switchboard::api::{
    Client,
    types::insight::{Bill, List},
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
    if list.hide.is_some() {
        let text = "  to hide them: \"permissions\": {\"deny\": [\"NAME\", …]} in settings.json";
        lines.push(text.to_owned());
    }
    lines.join("\n")
}
