//! `GET audit`: the record of calls and changes, newest first.

use super::super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
};
use crate::{limits, watching::audit_folder};
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc};
use switchboard_api::settings::Audit;
use switchboard_record::audit::{Keep, read, redact_record};
use switchboard_tasks as tasks;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let dirs = api.options.dirs().map_err(|fault| No::broken(&fault))?;
    let keep = Keep::within(audit_folder(&dirs));
    if !keep.folder.exists() {
        return Reply::json(&Audit::default());
    }
    let filter = ask.word("filter").unwrap_or_default();
    let before = ask.number("before")?;
    let most = ask.number("limit")?.unwrap_or(limits::API_PAGE as u64);
    let most = usize::try_from(most)
        .unwrap_or(usize::MAX)
        .clamp(1, limits::API_LIST);
    let found = tasks::blocking(move || newest(&keep, &filter, before, most)).await;
    let found = found.map_err(|fault| No::broken(&fault))?;
    Reply::json(&found.map_err(|fault| No::broken(&fault))?)
}

/// The newest records that have every word of the filter in them; `name=value` looks at
/// one field.
fn newest(keep: &Keep, filter: &str, before: Option<u64>, most: usize) -> std::io::Result<Audit> {
    let mut found: VecDeque<Value> = VecDeque::new();
    let mut more = false;
    read(keep, |line| {
        let Ok(mut record) = serde_json::from_slice::<Value>(line) else {
            return true;
        };
        let is_old = before.is_none_or(|before| record["n"].as_u64().is_some_and(|n| n < before));
        if is_old && wanted(&record, filter) {
            redact_record(&mut record);
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
    filter
        .split_whitespace()
        .all(|word| match word.split_once('=') {
            Some((key, value)) => match &record[key] {
                Value::String(said) => said == value,
                Value::Null => false,
                other => {
                    *other == *value || serde_json::to_string(other).is_ok_and(|said| said == value)
                }
            },
            None => record.to_string().contains(word),
        })
}
