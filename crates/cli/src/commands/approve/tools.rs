//! Tools, prompts and instructions that are not what they were: all of one server's
//! are shown as differences, and one yes is for all of them.

use super::{
    answer::{Answer, Subject},
    show,
};
use crate::{
    commands::tools::{one, unreachable},
    context::{Context, warn},
    failure::{Code, Failure},
    life, recording,
    show::{out, safe, term},
};
use std::sync::Arc;
use switchboard::{
    Caller, Governed, Look,
    config::approval::digest_of,
    host::{
        Server,
        catalog::List,
        pins::{Change, Kind, News},
    },
    record::audit::Record,
};

/// Sees what a server has now, shows what is not what it was, and approves that.
/// Whether there was anything to approve.
pub(super) fn approve(
    context: &Context,
    look: &Look,
    name: &str,
    answer: &Answer,
) -> Result<bool, Failure> {
    let governed = context.as_served(look)?;
    let server = one(&governed, name)?;
    let known = news(&governed, &server)?;
    // A gateway that runs it has seen what it has; starting another copy could show
    // something else.
    let runs = |server: &Server| {
        let gateways = context.options.gateways();
        gateways
            .iter()
            .any(|gateway| gateway.find(&server.spec).is_some())
    };
    let news = if !known.is_empty() && runs(&server) {
        known
    } else {
        match met(&governed, &server) {
            Ok(now) => now,
            Err(failure) if known.is_empty() || failure.code() == Code::Interrupted => {
                return Err(failure);
            }
            Err(failure) => {
                warn(&format!(
                    "{}; this is what it had when it was last met",
                    failure.text()
                ));
                known
            }
        }
    };
    decide(&governed, &server, &news, answer)
}

/// The same for every server of which something is noted; none is started.
pub(super) fn approve_all(
    context: &Context,
    look: &Look,
    answer: &Answer,
) -> Result<bool, Failure> {
    let governed = context.as_served(look)?;
    let mut any = false;
    for server in governed.host().servers().iter() {
        let news = news(&governed, server)?;
        any |= decide(&governed, server, &news, answer)?;
    }
    Ok(any)
}

fn news(governed: &Governed, server: &Server) -> Result<News, Failure> {
    governed.host().guard().news(server).map_err(|fault| {
        Failure::new(Code::Configuration, fault.to_string())
            .hint("nothing was approved; put that right and try again")
    })
}

/// Asks the server what it has now.
fn met(governed: &Governed, server: &Arc<Server>) -> Result<News, Failure> {
    life::short(async |stop| {
        let found = tokio::select! {
            found = look(governed, server) => found,
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        governed.close().await;
        found
    })??;
    news(governed, server)
}

async fn look(governed: &Governed, server: &Arc<Server>) -> Result<(), Failure> {
    let caller = Caller::new(governed.host().clone());
    let failed = |fault| unreachable(server, &fault);
    let met = caller.meet(server).await.map_err(failed)?;
    for list in [List::Tools, List::Prompts] {
        met.listing(list).await.map_err(failed)?;
    }
    Ok(())
}

/// Shows all of it, asks once, and keeps the answer.
fn decide(
    governed: &Governed,
    server: &Server,
    news: &News,
    answer: &Answer,
) -> Result<bool, Failure> {
    if news.is_empty() {
        return Ok(false);
    }
    let name = server.name();
    for (changes, held) in [(&news.waiting, true), (&news.told, false)] {
        for change in changes {
            show_one(name, change, held)?;
        }
    }
    let all = || news.waiting.iter().chain(&news.told);
    let parts: Vec<String> = all().map(Change::digest).collect();
    let parts = parts.iter().map(String::as_bytes);
    let digest = digest_of(std::iter::once(name.as_bytes()).chain(parts));
    show::digest(&digest)?;
    let subject = Subject {
        what: name,
        argument: name,
        digest: &digest,
    };
    if !answer.is_yes(&subject)? {
        return Ok(true);
    }
    let kept = governed.host().guard().approve(server, news);
    kept.map_err(|fault| {
        Failure::new(Code::Configuration, fault.to_string())
            .hint("nothing was approved; put that right and try again")
    })?;
    let approved: Vec<String> = all().map(called).collect();
    recording::done(
        Record::new("pins.approve")
            .with("server", &**name)
            .with("what", approved)
            .plain("digest", digest.as_str()),
    );
    for change in all() {
        out::line(&format!(
            "Approved {} of {}",
            called(change),
            safe::line(name)
        ))?;
    }
    Ok(true)
}

fn show_one(server: &str, change: &Change, held: bool) -> Result<(), Failure> {
    let paint = term::stdout();
    let state = if held { "waits" } else { "is in use" };
    let heading = format!("{} of {}", called(change), safe::line(server));
    let whose: Vec<String> = change.whose.iter().map(|name| safe::line(name)).collect();
    let whose = match whose.is_empty() {
        true => String::new(),
        false => format!(", as {} sees it", whose.join(", ")),
    };
    let about = format!("({}; it {state}{whose})", change.why);
    out::line(&format!("{} {about}", paint.bold(&heading)))?;
    for line in change.diff().lines() {
        out::line(&format!("  {line}"))?;
    }
    Ok(())
}

fn called(change: &Change) -> String {
    let name = safe::line(&change.name);
    match change.kind {
        Kind::Tools => name,
        Kind::Prompts => format!("prompt {name}"),
        Kind::Instructions => "the instructions".to_owned(),
    }
}
