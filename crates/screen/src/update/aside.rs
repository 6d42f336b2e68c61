//! Calls whose page was left while they ran: they go on, and their page is found again.

use super::limits;
use crate::{
    model::{Model, is_of},
    page::Kind,
};
use switchboard_api::questions::Question;

/// All pages go, since a view is opened; those of calls that run are kept aside.
pub(super) fn leave(model: &mut Model) {
    let view = model.view;
    for page in std::mem::take(&mut model.pages) {
        let runs = matches!(&page.kind, Kind::Run(run) if run.outcome.is_none());
        if !runs {
            continue;
        }
        if model.aside.len() >= limits::ASIDE {
            model.aside.remove(0);
        }
        model.aside.push((view, page));
    }
}

/// Back to the page that was left last.
pub(super) fn back(model: &mut Model) {
    if let Some(at) = model.aside.len().checked_sub(1) {
        bring(model, at);
    }
}

/// What a call asked is answered: whoever is nowhere else now looks at what becomes of it.
pub(super) fn answered(model: &mut Model, question: &Question) {
    let asked = |kind: &Kind| matches!(kind, Kind::Run(run) if is_of(question, run));
    let at = model.aside.iter().rposition(|(_, page)| asked(&page.kind));
    if let Some(at) = at.filter(|_| model.pages.is_empty()) {
        bring(model, at);
    }
}

fn bring(model: &mut Model, at: usize) {
    let (view, page) = model.aside.remove(at);
    model.view = view;
    model.settle(view);
    model.pages.push(page);
}

/// A call has ended whose page was left: it is said where its answer is.
pub(super) fn ended(model: &mut Model, page: u64) {
    let left = model.aside.iter().find(|(_, it)| it.id == page);
    if let Some((_, Kind::Run(run))) = left.map(|(view, it)| (view, &it.kind)) {
        let title = run.title.clone();
        model.tell(format_args!("{title} has ended: Esc goes back to it"));
    }
}
