//! `GET export`: calls as a cassette.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
    },
    looks, read_filter, search,
};
use crate::{VERSION, watching::Tapping};
use std::sync::Arc;
use switchboard_gateway::Written;
use switchboard_record::cassette;

/// The calls that match a filter and whose messages are kept, oldest first, without secrets.
pub(super) async fn answer(api: &Arc<Api>, tapping: &Tapping, ask: &Ask) -> Answer {
    let filter = read_filter(&ask.word("filter").unwrap_or_default())?;
    looks(tapping, ask);
    let (tap, host) = (tapping.tap.clone(), api.host.clone());
    let write = move |looking: &search::Looking| {
        let kept = looking.calls(None).filter(|call| call.kept);
        let wanted = kept.filter(|call| looking.wants(call));
        let mut numbers: Vec<u64> = wanted.map(|call| call.id).collect();
        numbers.reverse();
        let is_any = !numbers.is_empty();
        let (sees, is_over) = (looking.sees(), || looking.is_over());
        is_any.then(|| cassette::export(&host, &tap, &numbers, sees, VERSION, &is_over))
    };
    let text = search::look(&api.searches, &tapping.tap, filter, ask, write).await?;
    let text = text.ok_or_else(|| {
        let text = "there is no call that matches and whose messages are kept";
        let hint =
            "they are kept from now on for ten minutes; up --tap keeps them from the beginning";
        No::not_found(text).hint(hint)
    })?;
    Ok(Reply::Page(Written {
        content_type: "application/jsonl",
        text,
    }))
}
