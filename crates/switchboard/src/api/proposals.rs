//! Entries with a command that somebody wants to add over the API. They are kept, shown
//! as `approve` shows what a repository brings, and written only when somebody says yes
//! who came in by a single-use code: whoever reads the control token from its file, as a
//! program that a model drives could, has seen no such code.

use super::{
    Api,
    answer::No,
    asking::{Ask, Who},
    now,
    servers::{look, no_home},
    settings::{change, conflict, may_edit},
};
use crate::{limits, pipeline::Look};
use parking_lot::Mutex;
use std::sync::Arc;
use switchboard_api::{
    events::Event,
    questions::{Answered, Change, Kind, Question},
    settings::Edit,
};
use switchboard_config::{
    Entry, Places,
    approval::{Prompt, Store, digest_of, shown},
    edit::{Plan, Target},
    redacted,
};
use switchboard_local::random;
use switchboard_record::audit::Record;

/// Something that somebody wants to add.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    id: String,
    edit: Edit,
    at: u64,
    /// What a yes to it is a yes to: the entry, and the program that it would run.
    digest: String,
    /// As `approve` shows it.
    lines: Vec<String>,
    by: String,
    answered: Option<Answered>,
}

/// All that wait, and those that were answered of late.
#[derive(Debug, Default)]
pub(crate) struct Proposals(Mutex<Vec<Proposal>>);

impl Proposal {
    pub(super) fn new(edit: Edit, entry: &Entry, look: &Look, places: &Places, by: &str) -> Self {
        let prompt = Prompt::of(entry, places);
        let lines = shown::lines(
            look,
            entry,
            &prompt,
            &Store::default(),
            shown::Secrets::Hidden,
        );
        Self {
            id: random::id().unwrap_or_default(),
            digest: digest(&edit, &prompt),
            edit,
            at: now(),
            lines,
            by: by.to_owned(),
            answered: None,
        }
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    fn question(&self) -> Question {
        let entry = self.edit.entry.as_ref();
        let answered = self.answered.clone();
        Question {
            id: self.id.clone(),
            kind: Kind::Proposal,
            status: if answered.is_some() {
                "answered"
            } else {
                "open"
            }
            .to_owned(),
            at: self.at,
            server: Some(self.edit.name.clone()),
            title: format!("{} wants to add the server {:?}", self.by, self.edit.name),
            text: Some(self.lines.join("\n")),
            about: entry.map(redacted),
            changes: vec![Change {
                of: self.edit.name.clone(),
                after: entry.map(|entry| redacted(entry).to_string()),
                warnings: self
                    .lines
                    .iter()
                    .filter_map(|line| line.strip_prefix(shown::WARNING))
                    .map(str::to_owned)
                    .collect(),
                ..Change::default()
            }],
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
    let id = proposal.id.clone();
    let question = proposal.question();
    {
        let mut all = api.proposals.0.lock();
        let old = now().saturating_sub(limits::API_PROPOSAL_KEPT_MS);
        all.retain(|one| one.at > old);
        if all.iter().filter(|one| one.answered.is_none()).count() >= limits::API_PROPOSALS {
            return Err(No::too_many("too many entries wait for approval already"));
        }
        if all.len() >= limits::API_PROPOSALS * 2 {
            all.remove(0);
        }
        all.push(proposal);
    }
    let record = Record::new("propose").with("server", question.server.as_deref());
    api.record(ask, record.with("question", id.as_str()));
    tell(api, question);
    Ok(id)
}

fn tell(api: &Api, question: Question) {
    let waiting = super::questions::waiting(api);
    let question = Box::new(question);
    api.feed.tell(Event::Question { question, waiting }, None);
}

/// All that wait, as questions; with those that were answered, if they are wanted too.
/// Nobody below a viewer sees any.
pub(super) fn all(api: &Api, answered: bool) -> Vec<Question> {
    let all = api.proposals.0.lock();
    let wanted = all.iter().filter(|one| answered || one.answered.is_none());
    wanted.map(Proposal::question).collect()
}

/// How many wait.
pub(super) fn waiting(api: &Api) -> usize {
    let all = api.proposals.0.lock();
    all.iter().filter(|one| one.answered.is_none()).count()
}

/// The question of this id.
pub(super) fn find(api: &Api, id: &str) -> Option<Question> {
    let all = api.proposals.0.lock();
    all.iter().find(|one| one.id == id).map(Proposal::question)
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
        let found = all.iter().find(|one| one.id == id).cloned();
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
    let look = look(api).await?;
    if yes {
        // All that was looked at then is looked at again: policy, the program, the entry.
        may_edit(api)?;
        let written = proposal.edit.entry.clone().unwrap_or_default();
        let entry = change::parsed(&proposal.edit.name, &written).map_err(No::invalid)?;
        change::permitted(&look, &entry)?;
        if digest(&proposal.edit, &Prompt::of(&entry, &places)) != proposal.digest {
            return Err(No::conflict(
                "what it would run is not what was shown: propose it anew",
            ));
        }
    }
    // From here on nobody else answers it.
    let question = {
        let mut all = api.proposals.0.lock();
        let found = all.iter_mut().find(|one| one.id == id);
        let one = found.ok_or_else(|| No::gone("it is over"))?;
        if one.answered.is_some() {
            return Err(No::conflict("it was answered already"));
        }
        one.answered = Some(Answered {
            action: action.to_owned(),
            by: ask.who.recorded(),
            at: now(),
        });
        one.question()
    };
    if yes && let Err(no) = write(&proposal, &places) {
        // It waits again: nothing came of it.
        let mut all = api.proposals.0.lock();
        if let Some(one) = all.iter_mut().find(|one| one.id == id) {
            one.answered = None;
        }
        return Err(no);
    }
    let event = if yes { "approve" } else { "reject" };
    let record = Record::new(event).with("server", proposal.edit.name.as_str());
    let record = record
        .with("question", id)
        .with("proposedBy", proposal.by.as_str());
    api.record(ask, record.plain("digest", proposal.digest.as_str()));
    if yes {
        api.read_again()?;
    }
    tell(api, question.clone());
    Ok(question)
}

fn write(proposal: &Proposal, places: &Places) -> Result<(), No> {
    let edit = &proposal.edit;
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
