//! Entries with a command that somebody wants to add over the API. They are kept (`kept.rs`:
//! also for the next gateway), shown as `approve` shows what a repository brings, and written
//! only when somebody says yes who came in by a single-use code: never by one request with a
//! token alone. A code is printed by `up`, or given to whoever holds the control token, and
//! both are on record.

mod kept;

use super::{
    Api,
    answer::No,
    asking::{Ask, Who},
    now,
    questions::tell,
    servers::{look, no_home},
    settings::{change, conflict},
};
use crate::{
    limits,
    pipeline::{Config, Look},
};
use kept::Kept;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_api::{
    questions::{Answered, Change, Kind, Question},
    settings::Edit,
};
use switchboard_config::{
    Entry, Places,
    approval::{
        Prompt, Store, digest_of,
        shown::{self, Secrets},
    },
    edit::{Plan, Target},
};
use switchboard_local::random;
use switchboard_record::audit::Record;
use switchboard_tasks as tasks;

/// Something that somebody wants to add.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    kept: Kept,
    /// What a yes to it is a yes to: the entry, and the program that it would run.
    digest: String,
    /// As `approve` shows it: without what looks like a secret, and with it.
    lines: [Vec<String>; 2],
    answered: Option<Answered>,
}

/// All that wait, and those that were answered of late.
#[derive(Debug, Default)]
pub(crate) struct Proposals(Mutex<Vec<Proposal>>);

impl Proposal {
    pub(super) fn new(edit: Edit, entry: &Entry, look: &Look, places: &Places, by: &str) -> Self {
        let kept = Kept {
            id: random::id().unwrap_or_default(),
            at: now(),
            by: by.to_owned(),
            project: places.project().to_owned(),
            edit,
        };
        Self::of(kept, entry, look, places)
    }

    /// What was kept, as it would be now.
    fn of(kept: Kept, entry: &Entry, look: &Look, places: &Places) -> Self {
        let prompt = Prompt::of(entry, places);
        let store = Store::default();
        let lines = |secrets| shown::lines(look, entry, &prompt, &store, secrets);
        Self {
            digest: digest(&kept.edit, &prompt),
            kept,
            lines: [Secrets::Hidden, Secrets::Shown].map(lines),
            answered: None,
        }
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    fn question(&self, secrets: Secrets) -> Question {
        let Kept {
            id, at, by, edit, ..
        } = &self.kept;
        let entry = edit.entry.as_ref().map(|entry| secrets.of(entry));
        let answered = self.answered.clone();
        let lines = match secrets {
            Secrets::Hidden => &self.lines[0],
            Secrets::Shown => &self.lines[1],
        };
        let warnings = lines
            .iter()
            .filter_map(|line| line.strip_prefix(shown::WARNING));
        Question {
            id: id.clone(),
            kind: Kind::Proposal,
            status: match answered {
                Some(_) => "answered".to_owned(),
                None => "open".to_owned(),
            },
            at: *at,
            server: Some(edit.name.clone()),
            title: format!("{by} wants to add the server {:?}", edit.name),
            text: Some(lines.join("\n")),
            changes: vec![Change {
                of: edit.name.clone(),
                after: entry.as_ref().map(Value::to_string),
                warnings: warnings.map(str::to_owned).collect(),
                ..Change::default()
            }],
            about: entry,
            answers: vec!["approve".to_owned(), "reject".to_owned()],
            answered,
            ..Question::default()
        }
    }
}

/// Where it goes, what it says, and which program that is now.
fn digest(edit: &Edit, prompt: &Prompt) -> String {
    let scope = edit.scope.as_deref().unwrap_or("user");
    digest_of([scope.as_bytes(), prompt.binding.hash().as_bytes()].into_iter())
}

/// Keeps a proposal; the id of its question.
pub(super) fn keep(api: &Arc<Api>, ask: &Ask, proposal: Proposal) -> Result<String, No> {
    let id = proposal.kept.id.clone();
    let question = proposal.question(Secrets::Hidden);
    let folder = api.proposals_folder();
    {
        let mut all = api.proposals.0.lock();
        for gone in all.extract_if(.., |one| one.kept.is_old()) {
            gone.kept.forget(folder.as_deref());
        }
        if all.iter().filter(|one| one.answered.is_none()).count() >= limits::API_PROPOSALS {
            return Err(No::too_many("too many entries wait for approval already"));
        }
        if all.len() >= limits::API_PROPOSALS * 2 {
            let oldest = all.iter().position(|one| one.answered.is_some());
            all.remove(oldest.unwrap_or(0));
        }
        proposal
            .kept
            .write(folder.as_deref())
            .map_err(|fault| No::broken(&fault))?;
        all.push(proposal);
    }
    let record = Record::new("propose").with("server", question.server.as_deref());
    api.record(ask, record.with("question", id.as_str()));
    tell(api, question);
    Ok(id)
}

/// Takes up what waited when the last gateway here ended.
pub(super) fn recall(api: &Arc<Api>) {
    let Some((folder, places)) = api.proposals_folder().zip(api.options.places()) else {
        return;
    };
    let api = api.clone();
    tasks::blocking(move || {
        let kept = kept::read(&folder);
        if kept.is_empty() {
            return;
        }
        let look = Config::look(&api.options);
        for one in kept {
            let is_ours = one.project == places.project();
            let entry = one.edit.entry.as_ref().filter(|_| is_ours);
            let entry = entry.and_then(|entry| change::parsed(&one.edit.name, entry).ok());
            let Some(entry) = entry else { continue };
            let proposal = Proposal::of(one, &entry, &look, &places);
            let question = proposal.question(Secrets::Hidden);
            api.proposals.0.lock().push(proposal);
            tell(&api, question);
        }
    });
}

impl Api {
    /// Where they are kept.
    fn proposals_folder(&self) -> Option<PathBuf> {
        let dirs = self.options.dirs().ok()?;
        Some(dirs.state.join("proposals"))
    }
}

/// All that wait, as questions; with those that were answered, if they are wanted too.
/// Nobody below a viewer sees any.
pub(super) fn all(api: &Api, answered: bool) -> Vec<Question> {
    let all = api.proposals.0.lock();
    let wanted = all.iter().filter(|one| answered || one.answered.is_none());
    wanted.map(|one| one.question(Secrets::Hidden)).collect()
}

/// How many wait.
pub(super) fn waiting(api: &Api) -> usize {
    let all = api.proposals.0.lock();
    all.iter().filter(|one| one.answered.is_none()).count()
}

/// The question of this id.
pub(super) fn find(api: &Api, id: &str) -> Option<Question> {
    shown(api, id, Secrets::Hidden)
}

/// The same with what looks like a secret.
pub(super) fn whole(api: &Api, id: &str) -> Option<Question> {
    shown(api, id, Secrets::Shown)
}

fn shown(api: &Api, id: &str, secrets: Secrets) -> Option<Question> {
    let all = api.proposals.0.lock();
    let found = all.iter().find(|one| one.kept.id == id);
    found.map(|one| one.question(secrets))
}

/// Says yes or no to the proposal of this id. The first answer counts.
pub(super) async fn answer(
    api: &Arc<Api>,
    ask: &Ask,
    id: &str,
    action: &str,
) -> Result<Question, No> {
    let proposal = {
        let all = api.proposals.0.lock();
        let found = all.iter().find(|one| one.kept.id == id).cloned();
        found.ok_or_else(|| No::not_found("there is no such question"))?
    };
    let yes = match action {
        "approve" => true,
        "reject" => false,
        _ => return Err(No::invalid("answers are approve and reject").field("/action")),
    };
    if ask.who.role < switchboard_api::sessions::Role::Admin {
        return Err(No::not_allowed("this wants the role admin"));
    }
    if yes {
        ask.who.must_approve(api)?;
    }
    if proposal.answered.is_some() {
        return Err(No::conflict("it was answered already"));
    }
    let places = api.options.places().ok_or_else(no_home)?;
    let look = look(api, &ask.who).await?;
    if yes {
        // All that was looked at then is looked at again: policy, the program, the entry.
        let written = proposal.kept.edit.entry.clone().unwrap_or_default();
        let entry = change::parsed(&proposal.kept.edit.name, &written)?;
        change::permitted(&look, &entry)?;
        if digest(&proposal.kept.edit, &Prompt::of(&entry, &places)) != proposal.digest {
            return Err(No::conflict(
                "what it would run is not what was shown: propose it anew",
            ));
        }
    }
    let folder = api.proposals_folder();
    let question = claim(api, ask, id, action, folder.as_deref())?;
    if yes && let Err(no) = write(&proposal, &places) {
        // It waits again: nothing came of it.
        let mut all = api.proposals.0.lock();
        if let Some(one) = all.iter_mut().find(|one| one.kept.id == id) {
            one.answered = None;
            if let Err(fault) = one.kept.write(folder.as_deref()) {
                tracing::warn!(%fault, "a proposal waits only for as long as this gateway runs");
            }
        }
        return Err(no);
    }
    let event = if yes { "approve" } else { "reject" };
    let record = Record::new(event).with("server", proposal.kept.edit.name.as_str());
    let record = record
        .with("question", id)
        .with("proposedBy", proposal.kept.by.as_str());
    api.record(ask, record.plain("digest", proposal.digest.as_str()));
    if yes {
        api.read_again()?;
    }
    tell(api, question.clone());
    Ok(question)
}

/// Takes a proposal for whoever answers it: from here on nobody else does, here or at another
/// gateway of the same user.
fn claim(
    api: &Api,
    ask: &Ask,
    id: &str,
    action: &str,
    folder: Option<&Path>,
) -> Result<Question, No> {
    let mut all = api.proposals.0.lock();
    let found = all.iter_mut().find(|one| one.kept.id == id);
    let one = found.ok_or_else(|| No::gone("it is over"))?;
    if one.answered.is_some() {
        return Err(No::conflict("it was answered already"));
    }
    let is_first = one.kept.forget(folder);
    one.answered = Some(Answered {
        action: action.to_owned(),
        by: ask.who.recorded(),
        at: now(),
    });
    if !is_first {
        return Err(No::conflict("it was answered at another gateway"));
    }
    Ok(one.question(Secrets::Hidden))
}

fn write(proposal: &Proposal, places: &Places) -> Result<(), No> {
    let edit = &proposal.kept.edit;
    let path = change::path(edit, places)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let entry = edit.entry.clone().unwrap_or_default();
    let plan = Plan::of(&Target::private(&places.settings())).map_err(|fault| conflict(&fault))?;
    let plan = plan
        .put(&path, &edit.name, &entry, true)
        .map_err(|fault| conflict(&fault))?;
    plan.write().map_err(|fault| conflict(&fault))
}

impl Who {
    /// Refuses whoever may not approve what is to be run, and says why.
    pub(super) fn must_approve(&self, api: &Api) -> Result<(), No> {
        if self.may_approve(api) {
            return Ok(());
        }
        let why = match () {
            () if !api.may.edit => "this gateway was started with --no-api-edit",
            () if api.may.open => "this gateway lets everybody in (--no-auth)",
            () => "this wants a session that a single-use code opened",
        };
        Err(No::not_allowed(why).hint("switchboard console prints an address with a code"))
    }
}
