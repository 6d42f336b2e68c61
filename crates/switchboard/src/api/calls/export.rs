//! `GET export`: calls as a cassette.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
    },
    handing::Handing,
    looks, read_filter, search,
};
use crate::{VERSION, watching::Tapping};
use std::sync::Arc;
use switchboard_gateway::Pieces;
use switchboard_record::cassette::Export;

/// The calls that match a filter and whose messages are kept, oldest first, without secrets.
pub(super) async fn answer(api: &Arc<Api>, tapping: &Tapping, ask: &Ask) -> Answer {
    let filter = read_filter(&ask.word("filter").unwrap_or_default())?;
    looks(tapping, ask);
    let (tap, host) = (tapping.tap.clone(), api.host.clone());
    let write = move |looking: &search::Looking, to: &mut Handing| {
        let kept = looking.calls(None).filter(|call| call.kept);
        let wanted = kept.filter(|call| looking.wants(call));
        let mut numbers: Vec<u64> = wanted.map(|call| call.id).collect();
        numbers.reverse();
        if numbers.is_empty() {
            return;
        }
        let export = Export {
            host: &host,
            tap: &tap,
            numbers: &numbers,
            sees: looking.sees(),
            by: VERSION,
        };
        export.write(&mut |line| to.put(&line), &|| looking.is_over());
    };
    let pieces = search::pieces(&api.searches, &tapping.tap, filter, ask, write).await?;
    let pieces = pieces.ok_or_else(|| {
        let text = "there is no call that matches and whose messages are kept";
        let hint =
            "they are kept from now on for ten minutes; up --tap keeps them from the beginning";
        No::not_found(text).hint(hint)
    })?;
    Ok(Reply::Pieces(Pieces {
        content_type: "application/jsonl",
        pieces,
    }))
}
