//! `GET export`: calls as a cassette.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
    },
    looks, read_filter,
};
use crate::{VERSION, watching::Tapping};
use switchboard_gateway::Written;
use switchboard_record::cassette;

/// The calls that match a filter and whose messages are kept, oldest first, without secrets.
pub(super) fn answer(api: &Api, tapping: &Tapping, ask: &Ask) -> Answer {
    let filter = read_filter(&ask.word("filter").unwrap_or_default())?;
    looks(tapping, ask);
    let tap = &tapping.tap;
    let mut numbers: Vec<u64> = tap
        .calls()
        .filter(|call| call.kept && ask.who.may_see(&call.principal))
        .filter(|call| filter.matches(call, &mut |text| tap.says(call.id, text)))
        .map(|call| call.id)
        .collect();
    if numbers.is_empty() {
        let text = "there is no call that matches and whose messages are kept";
        let hint =
            "they are kept from now on for ten minutes; up --tap keeps them from the beginning";
        return Err(No::not_found(text).hint(hint));
    }
    numbers.reverse();
    Ok(Reply::Page(Written {
        content_type: "application/jsonl",
        text: cassette::export(&api.host, tap, &numbers, VERSION),
    }))
}
