//! `GET audit`: the record of calls and changes, newest first.

use super::super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    calls::until_left,
};
use crate::{limits, watching::audit_folder};
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc};
use switchboard_api::settings::Audit;
use switchboard_record::audit::{Keep, read, redact_record};

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let dirs = api.options.dirs().map_err(|fault| No::broken(&fault))?;
    let keep = Keep::within(audit_folder(&dirs));
    if !keep.folder.exists() {
        return Reply::json(&Audit::default());
    }
    let filter = ask.word("filter").unwrap_or_default();
    if filter.len() > limits::API_FILTER_BYTES {
        let text = format!("a filter has at most {} bytes", limits::API_FILTER_BYTES);
        return Err(No::invalid(text).field("/filter"));
    }
    let before = ask.number("before")?;
    let most = ask.number("limit")?.unwrap_or(limits::API_PAGE as u64);
    let most = usize::try_from(most)
        .unwrap_or(usize::MAX)
        .clamp(1, limits::API_LIST);
    let find = move |is_over: &dyn Fn() -> bool| newest(&keep, &filter, before, most, is_over);
    let found = until_left(&api.searches, &ask.who, find).await?;
    Reply::json(&found.map_err(|fault| No::broken(&fault))?)
}

/// The newest records that have every word of the filter in them; `name=value` looks at
/// one field.
fn newest(
    keep: &Keep,
    filter: &str,
    before: Option<u64>,
    most: usize,
    is_over: &dyn Fn() -> bool,
) -> std::io::Result<Audit> {
    let mut found: VecDeque<Value> = VecDeque::new();
    let mut more = false;
    read(keep, |line| {
        if is_over() {
            return false;
        }
        let Ok(mut record) = serde_json::from_slice::<Value>(line) else {
            return true;
        };
        let is_old = before.is_none_or(|before| record["n"].as_u64().is_some_and(|n| n < before));
        // What is not there with its secrets is not there without them.
        if !is_old || !wanted(&record, filter) {
            return true;
        }
        // What is not shown is not looked for either: it could be guessed, word by word.
        redact_record(&mut record);
        if wanted(&record, filter) {
            found.push_back(record);
            if found.len() > most {
                found.pop_front();
                more = true;
            }
        }
        true
    })?;
    Ok(Audit {
        records: found.into_iter().rev().collect(),
        more,
        kept: true,
    })
}

fn wanted(record: &Value, filter: &str) -> bool {
    let mut whole = None;
    filter
        .split_whitespace()
        .all(|word| match word.split_once('=') {
            Some((key, value)) => match &record[key] {
                Value::String(said) => said == value,
                Value::Null => false,
                other => {
                    let written = other.to_string();
                    *other == *value || written == value
                }
            },
            None => {
                let whole: &mut String = whole.get_or_insert_with(|| record.to_string());
                whole.contains(word)
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_shown_is_not_found() {
        let sum = "0123456789abcdef".repeat(4);
        let mut record = json!({
            "n": 1, "kind": "call", "prev": sum, "argumentsSha256": sum,
            "arguments": {"password": "wanderlust", "text": "plain"},
        });
        redact_record(&mut record);
        assert_eq!(
            (&record["prev"], &record["argumentsSha256"]),
            (&json!(sum), &json!(sum))
        );
        assert!(wanted(&record, "plain kind=call n=1"));
        for hidden in ["wanderlust", "wander", "plain wanderlust", "kind=other"] {
            assert!(!wanted(&record, hidden), "{hidden}");
        }
    }
}
