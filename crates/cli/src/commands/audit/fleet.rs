//! The same of all replicas of a cluster.

use super::{Options, Shown};
use crate::{
    commands::cluster::Shared,
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe},
};
use serde_json::{Value, json};
use switchboard::cluster::{Checked, Recorded};

/// Shows what was asked for.
pub fn search(context: &Context, shared: &Shared, options: &Options) -> Result<Code, Failure> {
    let (store, key) = shared.opens(context);
    life::short(async |_| {
        let recorded = Recorded::open(&store, &key).await?;
        let mut shown = Shown::new(options);
        let read = recorded.read(|replica, line| shown.take(Some(replica), line));
        read.await?;
        shown.end()
    })?
}

/// Checks all chains.
pub fn check(context: &Context, shared: &Shared, as_json: bool) -> Result<Code, Failure> {
    let (store, key) = shared.opens(context);
    let found = life::short(async |_| {
        let recorded = Recorded::open(&store, &key).await?;
        recorded.verify().await
    });
    let all = found??;
    let is_whole = all.iter().all(Checked::is_whole);
    if as_json {
        let chains: Vec<Value> = all.iter().map(as_value).collect();
        out::line(&json!({"whole": is_whole, "chains": chains}).to_string())?;
    } else {
        for one in &all {
            tell(one)?;
        }
        if all.is_empty() {
            out::line("No replica has recorded anything.")?;
        }
    }
    Ok(if is_whole { Code::Done } else { Code::Answered })
}

fn as_value(one: &Checked) -> Value {
    let verified = &one.verified;
    let problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
    json!({"chain": one.chain, "replica": one.replica, "whole": one.is_whole(),
        "records": verified.records, "first": first(one), "last": verified.last, "begunAnew": one.was_left,
        "foreign": one.foreign, "problems": problems, "problemCount": verified.problem_count})
}

fn tell(one: &Checked) -> Result<(), Failure> {
    let verified = &one.verified;
    let whose = one.replica.as_deref();
    let whose = whose.map_or_else(|| "nobody of this cluster".to_owned(), str::to_owned);
    for problem in &verified.problems {
        out::line(&safe::line(&problem.to_string()))?;
    }
    if one.was_left {
        out::line(&safe::line(&format!(
            "{}: the machine's own record was not this any more when it was next looked at: records were cut off or altered there, and all that it had then is in another chain",
            one.chain
        )))?;
    }
    if one.foreign > 0 {
        out::line(&safe::line(&format!(
            "{}: {} pieces were not written by a replica of this cluster",
            one.chain, one.foreign
        )))?;
    }
    let word = match (one.is_whole(), first(one)) {
        (false, _) => "NOT whole".to_owned(),
        (true, 0 | 1) => "whole".to_owned(),
        // Nothing here can tell who took the others away.
        (true, first) => format!(
            "whole from number {first} on; those before are not here: they were older than a week or too many, or somebody took them away"
        ),
    };
    out::line(&safe::line(&format!(
        "{} (last written by {whose}): {} records, {word}.",
        one.chain, verified.records
    )))
}

/// The number of the first record that is there.
fn first(one: &Checked) -> u64 {
    let verified = &one.verified;
    (verified.last + 1).saturating_sub(verified.records)
}
