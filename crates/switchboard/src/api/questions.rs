//! What waits for a person.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    proposals,
};
use std::sync::Arc;
use switchboard_api::{
    questions::{self, Questions, Taken},
    sessions::Role,
};

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    // Of a question that is another's it is not even said that it is there.
    let sees_all = ask.who.role >= Role::Viewer;
    match (ask.route.verb, ask.route.path) {
        ("GET", "questions") => {
            let answered = ask.word("all").is_some_and(|all| all == "true");
            let questions = match sees_all {
                true => proposals::all(api, answered),
                false => Vec::new(),
            };
            Reply::json(&Questions {
                waiting: questions.iter().filter(|one| one.status == "open").count(),
                questions,
            })
        }
        ("GET", _) => match proposals::find(api, ask.part()).filter(|_| sees_all) {
            Some(question) => Reply::json(&question),
            None => Err(No::not_found("there is no such question")),
        },
        _ => {
            let questions::Answer { action, .. } = ask.body()?;
            if !sees_all {
                return Err(No::not_found("there is no such question"));
            }
            let question = proposals::answer(api, ask, ask.part(), &action).await?;
            Reply::json(&Taken {
                question,
                open: None,
            })
        }
    }
}

/// How many wait.
pub(super) fn waiting(api: &Api) -> usize {
    proposals::waiting(api)
}
