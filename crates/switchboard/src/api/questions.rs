//! What waits for a person: what calls wait for (`host::desk`), and what servers wait for
//! before anybody can use them (`standing.rs`).

mod given;
mod put_back;
mod short;
mod shown;
mod standing;

pub(super) use standing::Standing;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    breakpoints,
    calls::aside,
    feed::Topic,
    proposals,
};
use crate::limits;
use serde_json::Value;
use std::sync::{Arc, Weak};
use switchboard_api::{
    calls::Waited,
    events::Event,
    questions::{Answer as Said, Kind, Question, Questions, Taken},
    sessions::Role,
};
use switchboard_host::desk::{self, NotTaken, Status};
use switchboard_record::audit::Record;
use switchboard_tasks as tasks;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    breakpoints::looks(api, ask);
    match (ask.route.verb, ask.part()) {
        ("GET", "") => Reply::json(&list(api, ask).await?),
        ("GET", id) => Reply::json(&one(api, ask, id).await?),
        ("POST", id) if ask.route.path.ends_with("/reveal") => reveal(api, ask, id),
        (_, id) => {
            let question = desk_question(api, ask, id);
            // Nothing is read that cannot be an answer to anything.
            let is_proposal = question.is_none() && is_proposal(api, ask, id);
            if question.is_none() && !is_proposal && ask.who.role < Role::Operator {
                return Err(unknown());
            }
            let said: Said = ask.large(&api.readings).await?;
            let taken = match question {
                Some(question) => at_desk(api, ask, &question, &said).await?,
                None if is_proposal => Taken {
                    question: proposals::answer(api, ask, id, &said.action).await?,
                    open: None,
                },
                None => standing::answer(api, ask, id, &said).await?,
            };
            Reply::json(&taken)
        }
    }
}

/// How many wait.
pub(super) fn waiting(api: &Api) -> usize {
    let desk = api.host.desk().questions(false).len();
    desk + api.standing.waiting() + proposals::waiting(api)
}

/// How many of this principal's own wait.
fn waiting_of(api: &Api, principal: &str) -> usize {
    let desk = api.host.desk().questions(false).into_iter();
    let own = desk.filter(|question| *question.principal == *principal);
    own.count()
}

/// Whether this is an entry that somebody wants to add; who may not know of it is told
/// that there is none.
fn is_proposal(api: &Api, ask: &Ask, id: &str) -> bool {
    ask.who.role >= Role::Viewer && proposals::find(api, id).is_some()
}

async fn list(api: &Arc<Api>, ask: &Ask) -> Result<Questions, No> {
    let all = ask.word("all").is_some_and(|all| all == "true");
    let mut desk = api.host.desk().questions(all);
    desk.retain(|question| ask.who.may_see(&question.principal));
    let bytes = desk.iter().map(|question| question.size()).sum();
    let role = ask.who.role;
    let read = move || -> Vec<Question> {
        let each = desk.iter().map(|question| seen_by(role, question));
        each.collect()
    };
    let mut questions = aside(&api.readings, &ask.who, bytes, read).await?;
    if ask.who.role >= Role::Viewer {
        questions.extend(standing::all(api, &ask.who).await?);
        questions.extend(proposals::all(api, all));
        if all {
            questions.extend(api.standing.closed());
        }
    }
    questions.sort_by_key(|question| match question.status.as_str() {
        "open" => (0, question.at),
        _ => (1, u64::MAX - question.at),
    });
    let waiting = questions.iter();
    let waiting = waiting.filter(|question| question.status == "open").count();
    Ok(Questions {
        questions: short::within(questions, limits::API_QUESTIONS_BYTES),
        waiting,
    })
}

/// A question of a call, if whoever asks may know of it.
fn desk_question(api: &Api, ask: &Ask, id: &str) -> Option<Question> {
    let found = api.host.desk().find(id)?;
    let may_see = ask.who.may_see(&found.principal);
    may_see.then(|| seen_by(ask.who.role, &found))
}

/// A question of a call, as far as whoever asks may know of it.
fn seen_by(role: Role, found: &desk::Question) -> Question {
    let question = shown::shown(found);
    match role >= Role::Viewer {
        true => question,
        false => of_its_own(question),
    }
}

/// A question as whoever called sees it: an answer that is held is not for them to read yet.
fn of_its_own(question: Question) -> Question {
    let is_answer = question
        .point
        .as_deref()
        .is_some_and(|point| point != "call");
    match is_answer {
        true => Question {
            about: None,
            ..question
        },
        false => question,
    }
}

async fn one(api: &Arc<Api>, ask: &Ask, id: &str) -> Result<Question, No> {
    if let Some(question) = desk_question(api, ask, id) {
        return Ok(question);
    }
    let found = match ask.who.role >= Role::Viewer {
        true => match proposals::find(api, id) {
            Some(found) => Some(found),
            None => standing::find(api, &ask.who, id).await?,
        },
        false => None,
    };
    found.ok_or_else(unknown)
}

/// One question with what looks like a secret in it: the second act, which is put on record.
fn reveal(api: &Api, ask: &Ask, id: &str) -> Answer {
    let question = match api.host.desk().find(id) {
        Some(found) => shown::whole(&found),
        None => proposals::whole(api, id).ok_or_else(unknown)?,
    };
    let record = Record::new("reveal").plain("question", id);
    let record = record.with("principal", question.principal.clone());
    api.record(ask, record.with("server", question.server.clone()));
    Reply::json(&question)
}

/// A question of a call that is open.
pub(super) fn open_at_desk(api: &Api, id: &str) -> Option<Question> {
    let found = api.host.desk().find(id)?;
    (found.status == Status::Open).then(|| shown::shown(&found))
}

/// Answers what a call waits for.
async fn at_desk(api: &Arc<Api>, ask: &Ask, question: &Question, said: &Said) -> Result<Taken, No> {
    let whose = question.principal.as_deref().unwrap_or_default();
    if !ask.may_for(whose) {
        return Err(No::not_allowed(
            "another principal's question wants the role operator",
        ));
    }
    // Where a person is asked in a client's place, that client is not the person.
    let in_its_place =
        question.kind == Kind::Held || (question.kind == Kind::Permission && !question.also_client);
    if (in_its_place || api.may.open) && ask.who.role < Role::Operator {
        return Err(No::not_allowed(
            "whether a call may be made is not for whoever makes it to say here",
        ));
    }
    let with_secrets = ask.who.role >= Role::Admin || *ask.who.principal == *whose;
    let by = ask.who.recorded();
    take(
        api,
        question,
        said,
        ask.written("content"),
        &by,
        with_secrets,
    )
    .await
}

/// Answers a question of a call: `written` is the text of what it is to be; `by` is who does;
/// `with_secrets`, whether they may change a
/// call that has some which they were not shown.
pub(super) async fn take(
    api: &Arc<Api>,
    question: &Question,
    said: &Said,
    written: Option<&str>,
    by: &str,
    with_secrets: bool,
) -> Result<Taken, No> {
    if question.status == "open" {
        fits(question, said)?;
    }
    let whole = api.host.desk().find(&question.id).ok_or_else(unknown)?;
    let held = whole.held.as_deref();
    let texts = given::Texts {
        held: held.and_then(|held| std::str::from_utf8(&held.text).ok()),
        given: written,
    };
    let given = given::of(question, &shown::whole(&whole), said, texts, with_secrets).await?;
    let taken = api
        .host
        .desk()
        .answer(&question.id, &said.action, by, given);
    match taken {
        Ok(taken) => {
            let taken = shown::shown(&taken);
            record(api, &taken, by);
            let open = question.url.clone();
            Ok(Taken {
                open: open.filter(|_| said.action == "accept"),
                question: taken,
            })
        }
        Err(NotTaken::Unknown) => Err(unknown()),
        Err(NotTaken::Over(over)) => Err(over_already(&shown::shown(&over), over.status)),
    }
}

/// What people were asked about a call.
pub(super) fn of_call(api: &Api, call: u64) -> Vec<Waited> {
    let asked = api.host.desk().of_call(call);
    asked
        .iter()
        .map(|question| shown::waited(question))
        .collect()
}

/// Whether it is one of the answers that the question takes.
fn fits(question: &Question, said: &Said) -> Result<(), No> {
    if question.answers.contains(&said.action) {
        return Ok(());
    }
    let error = format!("it takes {}", question.answers.join(", "));
    Err(No::invalid(error).field("/action"))
}

fn unknown() -> No {
    No::not_found("there is no such question").hint("switchboard inbox")
}

fn over_already(question: &Question, status: Status) -> No {
    No::conflict(match (status, &question.answered) {
        (_, Some(answered)) => {
            format!(
                "it was answered already: {} by {}",
                answered.action, answered.by
            )
        }
        (Status::TimedOut, None) => "nobody answered it in time".to_owned(),
        _ => "nobody waits for it any more".to_owned(),
    })
}

/// Puts on record who answered what.
fn record(api: &Api, question: &Question, by: &str) {
    let answered = question.answered.as_ref();
    let kind = serde_json::to_value(question.kind).unwrap_or(Value::Null);
    api.watching.record(
        Record::new("answer")
            .plain("question", question.id.as_str())
            .plain("call", question.call)
            .with("kind", kind)
            .with("principal", question.principal.clone())
            .with("server", question.server.clone())
            .with("name", question.name.clone())
            .with("answer", answered.map(|answered| answered.action.clone()))
            .with("by", by),
    );
}

/// Tells those who listen what is asked and answered, for as long as the gateway runs.
pub(super) fn follow(api: &Arc<Api>) {
    tasks::spawn(tasks::Kind::Upkeep, told(Arc::downgrade(api)));
}

async fn told(api: Weak<Api>) {
    let Some(mut news) = api.upgrade().map(|api| api.host.desk().news()) else {
        return;
    };
    loop {
        let asked = tokio::select! {
            asked = news.recv() => match asked {
                Ok(asked) => Some(asked),
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => None,
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            },
            () = tokio::time::sleep(limits::STANDING_LOOK) => None,
        };
        let Some(api) = api.upgrade() else { return };
        breakpoints::look_after(&api);
        match asked {
            Some(asked) => {
                if breakpoints::is_held(&asked) {
                    breakpoints::tell(&api);
                }
                let question = shown::shown(&asked);
                if asked.status != Status::Open {
                    by_client(&api, &question);
                }
                tell(&api, question);
            }
            None if api.feed.is_heard(Topic::Questions) || api.out.is_wanted() => {
                for question in standing::changes(&api).await {
                    tell(&api, question);
                }
            }
            None => {}
        }
    }
}

/// What a client answered to a question that others were asked as well is on record, too.
fn by_client(api: &Api, question: &Question) {
    let answered = question.answered.as_ref();
    if answered.is_some_and(|answered| answered.by == "client") {
        record(api, question, "client");
    }
}

/// Tells those who listen, and whoever is told elsewhere, of a question that is new or over.
pub(super) fn tell(api: &Arc<Api>, question: Question) {
    if question.status == "open" {
        api.out.asked(api, &question);
    }
    let question = Box::new(short::short(question));
    let whose: Option<Arc<str>> = question.principal.as_deref().map(Arc::from);
    let own = whose.as_ref().map(|whose| Event::Question {
        question: Box::new(of_its_own((*question).clone())),
        waiting: waiting_of(api, whose),
    });
    let waiting = waiting(api);
    let event = Event::Question { question, waiting };
    api.feed.tell_each(event, whose, own.as_ref());
}

/// The kinds that change what this gateway trusts.
fn is_trust(kind: Kind) -> bool {
    matches!(kind, Kind::Approval | Kind::Changed | Kind::Proposal)
}
