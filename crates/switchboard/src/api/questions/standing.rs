//! What servers wait for before anybody can use them: a sign-in, an approval of an entry
//! that a repository brings, an approval of definitions that are not what they were.
//!
//! Each has an id that is made of what is shown: an entry or a definition that changes
//! meanwhile has another, so that what is approved is what was seen.

use super::{
    super::{
        Api,
        answer::No,
        asking::{Ask, Who},
        calls::shortly,
        now, without,
    },
    is_trust, record, unknown,
};
use crate::{
    limits,
    permissions::pin_key,
    roster::Status,
    wants_sign_in::{can_sign_in, needs_auth},
};
use parking_lot::Mutex;
use serde_json::json;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use switchboard_api::{
    questions::{Answer, Answered, Change, Kind, Question, Taken},
    sessions::Role,
};
use switchboard_config::{
    Standing as Stands,
    approval::{Binding, Decision, Difference, Prompt, Store, digest_of},
    redacted,
};
use switchboard_host::{
    Server,
    pins::{Change as Changed, News, Pins},
};
use switchboard_local::visible;
use switchboard_tasks as tasks;

/// What is known of these questions besides what they are made of.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Those that were there when it was looked last, by id.
    open: Mutex<HashMap<String, Question>>,
    /// Those that were answered, newest last.
    closed: Mutex<VecDeque<Question>>,
}

impl Standing {
    /// How many wait, as far as somebody has looked.
    pub(super) fn waiting(&self) -> usize {
        self.open.lock().len()
    }

    /// Those that were answered, newest first.
    pub(super) fn closed(&self) -> Vec<Question> {
        self.closed.lock().iter().rev().cloned().collect()
    }

    fn answered(&self, id: &str) -> Option<Question> {
        let closed = self.closed.lock();
        closed.iter().find(|question| question.id == id).cloned()
    }

    /// Notes that one is answered; whether this answer is the first.
    fn close(&self, question: &Question) -> bool {
        let mut closed = self.closed.lock();
        if closed.iter().any(|other| other.id == question.id) {
            return false;
        }
        if closed.len() >= limits::STANDING_CLOSED {
            closed.pop_front();
        }
        closed.push_back(question.clone());
        self.open.lock().remove(&question.id);
        true
    }

    /// It was not done after all.
    fn reopen(&self, id: &str) {
        self.closed.lock().retain(|question| question.id != id);
    }
}

/// What a yes does.
#[derive(Clone)]
enum Act {
    SignIn(Arc<Server>),
    Approve(Box<Binding>, String),
    Pin(Arc<Server>, Box<News>),
}

/// All of them.
pub(super) async fn all(api: &Arc<Api>, who: &Who) -> Result<Vec<Question>, No> {
    Ok(since(api, look(api, who).await?))
}

/// These, with when each was seen first.
fn since(api: &Api, found: Vec<(Question, Act)>) -> Vec<Question> {
    let questions = found.into_iter().map(|(question, _)| question);
    let known = api.standing.open.lock();
    let since = |mut question: Question| {
        if let Some(known) = known.get(&question.id) {
            question.at = known.at;
        }
        question
    };
    questions.map(since).collect()
}

/// One of them, also one that was answered.
pub(super) async fn find(api: &Arc<Api>, who: &Who, id: &str) -> Result<Option<Question>, No> {
    let mut all = all(api, who).await?.into_iter();
    let found = all.find(|question| question.id == id);
    Ok(found.or_else(|| api.standing.answered(id)))
}

/// What is new since it was looked last, and what is not there any more.
pub(super) async fn changes(api: &Arc<Api>) -> Vec<Question> {
    // One task asks this, again and again: it needs no turn.
    let asked = api.clone();
    let found = tasks::blocking(move || found(&asked)).await;
    let now = since(api, found.unwrap_or_default());
    let mut open = api.standing.open.lock();
    let is_there = |id: &str| now.iter().any(|question| question.id == id);
    let gone: Vec<String> = open.keys().filter(|id| !is_there(id)).cloned().collect();
    let mut changes = Vec::new();
    for id in gone {
        if let Some(question) = open.remove(&id) {
            changes.push(Question {
                status: "withdrawn".to_owned(),
                ..question
            });
        }
    }
    for question in now {
        if !open.contains_key(&question.id) {
            open.insert(question.id.clone(), question.clone());
            changes.push(question);
        }
    }
    changes
}

/// Answers one.
pub(super) async fn answer(
    api: &Arc<Api>,
    ask: &Ask,
    id: &str,
    said: &Answer,
) -> Result<Taken, No> {
    if ask.who.role < Role::Operator {
        return Err(unknown());
    }
    let found = look(api, &ask.who).await?;
    let found = found.into_iter().find(|(one, _)| one.id == id);
    let Some((question, act)) = found else {
        return Err(match api.standing.answered(id) {
            Some(over) => answered_already(&over),
            None => unknown().hint("what is asked about may have changed since: switchboard inbox"),
        });
    };
    if is_trust(question.kind) && ask.who.role < Role::Admin {
        return Err(No::not_allowed("to approve wants the role admin"));
    }
    super::fits(&question, said)?;
    if question.kind == Kind::Approval && said.action == "approve" {
        ask.who.must_approve(api)?;
    }
    let by = ask.who.recorded();
    let closed = Question {
        status: "answered".to_owned(),
        answered: Some(Answered {
            action: said.action.clone(),
            by: by.clone(),
            at: now(),
        }),
        ..question
    };
    if !api.standing.close(&closed) {
        let over = api.standing.answered(id).unwrap_or(closed);
        return Err(answered_already(&over));
    }
    let done = act_on(api, ask, act, &said.action).await;
    match done {
        Ok(open) => {
            record(api, &closed, &by);
            super::tell(api, closed.clone());
            Ok(Taken {
                question: closed,
                open,
            })
        }
        Err(no) => {
            api.standing.reopen(id);
            Err(no)
        }
    }
}

fn answered_already(over: &Question) -> No {
    let answered = over.answered.clone().unwrap_or_default();
    let Answered { action, by, .. } = answered;
    No::conflict(format!("it was answered already: {action} by {by}"))
}

/// Does what was answered; a page to open next, where there is one.
async fn act_on(api: &Arc<Api>, ask: &Ask, act: Act, action: &str) -> Result<Option<String>, No> {
    match act {
        Act::SignIn(server) => {
            if action != "accept" {
                return Ok(None);
            }
            let stand_in = server.spec.stand_in.clone();
            let stand_in = stand_in.ok_or_else(|| No::unavailable("nobody can sign in to it"))?;
            let sign_in = (stand_in.begin)().await;
            let page = sign_in.page.clone();
            // It goes on by itself; who began it need not wait.
            tasks::spawn(tasks::Kind::SignIn, async move {
                let _ = sign_in.done.await;
            });
            Ok(page)
        }
        Act::Approve(binding, key) => {
            decide(api, ask, *binding, key, action == "approve").await?;
            Ok(None)
        }
        Act::Pin(server, news) => {
            if action == "approve" {
                let approved = api.host.approve(&server, &news);
                approved.map_err(|fault| No::broken(&fault))?;
            }
            Ok(None)
        }
    }
}

/// Keeps a decision about an entry, and reads the configuration again.
async fn decide(
    api: &Arc<Api>,
    ask: &Ask,
    binding: Binding,
    key: String,
    yes: bool,
) -> Result<(), No> {
    if let Some(why) = binding.obstacle().filter(|_| yes) {
        return Err(No::conflict(why));
    }
    let places = api.options.places();
    let places = places.ok_or_else(|| No::unavailable("there is nowhere to keep an approval"))?;
    let asked = api.clone();
    let decided = shortly(&api.looks, &ask.who, move || {
        if yes {
            // Another server than the one whose tools were pinned.
            let pins = Pins::open(places.data.join("pins"));
            pins.forget(&key).map_err(|fault| No::broken(&fault))?;
        }
        let store = Store::decide(&places.approvals(), &[(binding, yes)]);
        store.map_err(|fault| No::broken(&fault))?;
        if let Err(fault) = (asked.reload)() {
            tracing::warn!(%fault, "an approval counts when the configuration can be read again");
        }
        Ok(())
    });
    decided.await?
}

/// All of them, with what a yes does.
async fn look(api: &Arc<Api>, who: &Who) -> Result<Vec<(Question, Act)>, No> {
    let asked = api.clone();
    shortly(&api.looks, who, move || found(&asked)).await
}

fn found(api: &Arc<Api>) -> Vec<(Question, Act)> {
    let mut found = sign_ins(api);
    found.extend(entries(api));
    found.extend(definitions(api));
    found.truncate(limits::STANDING_OPEN);
    let mut closed = api.standing.closed.lock();
    // What was answered is on its way; a sign-in that nobody made is asked for again.
    let then = now().saturating_sub(limits::SIGN_IN_AGAIN_MS);
    closed.retain(|other| {
        let at = other.answered.as_ref().map_or(0, |answered| answered.at);
        other.kind != Kind::SignIn || at > then
    });
    found.retain(|(question, _)| !closed.iter().any(|other| other.id == question.id));
    found
}

/// An id that is made of what is shown, and that nobody guesses.
fn id_of(api: &Api, kind: &str, name: &str, digest: &str) -> String {
    let parts = [api.instance.as_str(), kind, name, digest];
    let digest = digest_of(parts.iter().map(|part| part.as_bytes()));
    digest.chars().take(20).collect()
}

fn open(id: String, kind: Kind, server: &str, title: &str) -> Question {
    let answers: &[&str] = match kind {
        Kind::SignIn => &["accept", "decline"],
        _ => &["approve", "reject"],
    };
    Question {
        id,
        kind,
        status: "open".to_owned(),
        at: now(),
        server: Some(server.to_owned()),
        title: visible::line(title),
        answers: answers.iter().map(|word| (*word).to_owned()).collect(),
        ..Question::default()
    }
}

fn sign_ins(api: &Api) -> Vec<(Question, Act)> {
    let servers = api.host.servers();
    let wanting = servers.iter().filter(|server| {
        needs_auth(server) && can_sign_in(server) && server.spec.stand_in.is_some()
    });
    let each = wanting.map(|server| {
        let name = server.name();
        let id = id_of(api, "sign-in", name, &server.spec.identity);
        let title = format!("Sign in to {name:?}");
        (
            open(id, Kind::SignIn, name, &title),
            Act::SignIn(server.clone()),
        )
    });
    each.collect()
}

/// Entries that a repository brings.
fn entries(api: &Api) -> Vec<(Question, Act)> {
    let Some(places) = api.options.places() else {
        return Vec::new();
    };
    let members = api.members.borrow().clone();
    let waiting = members.into_iter().filter(|member| {
        member.entry.inside && matches!(member.status, Status::Unused(Stands::PendingApproval))
    });
    let mut store = None;
    let each = waiting.map(|member| {
        let entry = &member.entry;
        let prompt = Prompt::of(entry, &places);
        let store =
            store.get_or_insert_with(|| Store::read(&places.approvals()).unwrap_or_default());
        let decision = store.decision(&prompt.binding);
        let digest = prompt.binding.hash();
        let id = id_of(api, "approval", &entry.name, &digest);
        let title = format!("Approve the server {:?} of {}?", entry.name, prompt.place);
        let program = prompt.binding.program.as_ref();
        let mut question = open(id, Kind::Approval, &entry.name, &title);
        question.text = Some(prompt.warnings.join("\n")).filter(|text| !text.is_empty());
        question.about = Some(json!({
            "digest": digest,
            "from": prompt.place,
            "runs": prompt.argv,
            "program": program.map(|program| program.display().to_string()),
            "connects": prompt.url,
            "alsoRuns": prompt.helpers,
            "worksIn": prompt.cwd,
            "variables": prompt.variables,
            "headers": prompt.headers,
            "reads": prompt.reads.iter().map(|read| {
                format!("{} for {}, which goes to {}", read.variable, read.field, read.to)
            }).collect::<Vec<_>>(),
            "manifests": prompt.manifests.iter().map(|one| &one.text).collect::<Vec<_>>(),
            "entry": entry.written,
            "fromTheRepository": prompt.from_the_repository,
            "warnings": prompt.warnings,
        }));
        if let Decision::Changed(differences) = decision {
            question.changes = differences.iter().map(since_approved).collect();
        }
        let key = pin_key(entry);
        (question, Act::Approve(Box::new(prompt.binding), key))
    });
    each.collect()
}

/// What is different from what was approved, without secrets.
fn since_approved(difference: &Difference) -> Change {
    let shown = |value: &Option<serde_json::Value>| {
        let value = value.as_ref()?;
        Some(visible::line(&redacted(value).to_string()))
    };
    Change {
        of: visible::line(&difference.field),
        before: shown(&difference.before),
        after: shown(&difference.after),
        ..Change::default()
    }
}

/// Definitions that are not what they were.
fn definitions(api: &Api) -> Vec<(Question, Act)> {
    let servers = api.host.servers();
    let each = servers.iter().filter_map(|server| {
        let news = api.host.guard().news(server).ok()?;
        if news.waiting.is_empty() {
            return None;
        }
        let name = server.name();
        let all = || news.waiting.iter().chain(&news.told);
        let parts: Vec<String> = all().map(Changed::digest).collect();
        let parts = parts.iter().map(String::as_bytes);
        let digest = digest_of(std::iter::once(name.as_bytes()).chain(parts));
        let id = id_of(api, "changed", name, &digest);
        // What was never there before has not changed.
        let title = match all().all(Changed::is_new) {
            true => format!("Approve what {name:?} lists?"),
            false => format!("Approve what {name:?} has changed?"),
        };
        let mut question = open(id, Kind::Changed, name, &title);
        question.about = Some(json!({ "digest": digest }));
        question.text = Some(news.sentences().join("\n"));
        question.changes = all().map(change).collect();
        Some((question, Act::Pin(server.clone(), Box::new(news))))
    });
    each.collect()
}

fn change(changed: &Changed) -> Change {
    let (before, after) = changed.texts();
    Change {
        of: visible::line(&changed.called()),
        path: String::new(),
        after: after
            .or_else(|| Some(changed.diff()))
            .map(|text| without::judged(&text)),
        before: before.map(|text| without::judged(&text)),
        warnings: vec![changed.why.to_owned()],
    }
}
