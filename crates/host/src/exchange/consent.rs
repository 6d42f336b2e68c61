//! A call that waits for somebody's yes.
//!
//! The question is asked like a server's own: as an elicitation to the client
//! that called, on the stream of its call, or to the operator. The call leaves
//! only after a yes.

use super::{Answer, Exchange, Inbox, Input, Stage};
use crate::{
    call::Permitted,
    catalog::List,
    client::Client,
    error::CallError,
    limits,
    permission::{self, Guard},
    upstream::Connection,
};
use serde_json::{Value, json};
use std::{future::pending, sync::Arc, time::Duration};
use switchboard_local::visible;
use switchboard_wire::{Id, Message, Method, json as raw_json, reading::ambiguous_key};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What somebody is asked to allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The server's configured name.
    pub server: String,
    /// `tool`, `prompt` or `resource`.
    pub kind: &'static str,
    /// The server's own name for it.
    pub tool: String,
    /// Its canonical name, as rules are written; a resource's URI.
    pub canonical: String,
    /// Why there is a question, for whoever wrote the rules.
    pub reason: String,
    /// What the tool says of itself, in words.
    pub hints: Vec<&'static str>,
    /// The arguments, all of them, as they would be sent. Whoever shows them
    /// escapes what a terminal would obey.
    pub arguments: Option<String>,
    /// Whether the answer can hold for later calls too.
    pub may_remember: bool,
}

/// What somebody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, this time.
    Once,
    /// Yes, until this program ends.
    Session,
    /// Yes, from now on.
    Always,
    /// No, this time.
    No,
    /// No, from now on.
    Never,
}

/// The words for verdicts in the form that a client shows.
const WORDS: [(&str, Verdict); 5] = [
    ("yes, this time", Verdict::Once),
    ("yes, until Switchboard ends", Verdict::Session),
    ("yes, from now on", Verdict::Always),
    ("no", Verdict::No),
    ("no, never", Verdict::Never),
];

impl Verdict {
    /// Whether the call may go ahead.
    pub fn allows(self) -> bool {
        matches!(self, Self::Once | Self::Session | Self::Always)
    }

    /// The result of the elicitation that says this.
    pub fn to_result(self) -> Value {
        let word = WORDS.iter().find(|(_, verdict)| *verdict == self);
        json!({ "action": "accept", "content": { "answer": word.map_or("no", |(word, _)| word) } })
    }

    /// What an answer says. Anything but a clear yes is a no.
    fn of(message: &Message, may_remember: bool) -> Self {
        // One that says two things says nothing clear.
        if ambiguous_key(message.body()).is_some() {
            return Self::No;
        }
        let result: Value = serde_json::from_slice(message.body()).unwrap_or_default();
        if result["action"] != "accept" {
            return Self::No;
        }
        let said = result["content"]["answer"].as_str().unwrap_or_default();
        let verdict = WORDS.iter().find(|(word, _)| *word == said);
        match verdict.map_or(Self::No, |(_, verdict)| *verdict) {
            Self::Session | Self::Always if !may_remember => Self::Once,
            Self::Never if !may_remember => Self::No,
            verdict => verdict,
        }
    }
}

/// A question of ours as whoever it was relayed to has it: a gateway's rule asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relayed {
    /// The question in words.
    pub text: String,
    /// Whether the answer can hold for later calls too.
    pub may_remember: bool,
}

/// How a question of ours begins.
const OURS: &str = "[switchboard] ";

impl Relayed {
    /// What these parameters of an elicitation ask, where they are ours: by their words
    /// and by the answers that they offer. Whoever else asks so gets an answer, and allows
    /// nothing by it.
    pub fn of(params: &Value) -> Option<Self> {
        let text = params["message"].as_str()?.strip_prefix(OURS)?;
        let offered = params["requestedSchema"]["properties"]["answer"]["enum"].as_array()?;
        let known = |word: &Value| WORDS.iter().any(|(known, _)| word == known);
        let is_ours = offered.len() > 1 && offered.iter().all(known);
        is_ours.then(|| Self {
            text: text.to_owned(),
            may_remember: offered.len() == WORDS.len(),
        })
    }
}

impl Consent {
    /// The question in words, without the arguments.
    pub fn title(&self) -> String {
        let brief = Self {
            arguments: None,
            hints: Vec::new(),
            ..self.clone()
        };
        let text = brief.text();
        let whole = text.strip_prefix(OURS).map(str::to_owned);
        whole.unwrap_or(text)
    }

    /// The question in words.
    pub fn text(&self) -> String {
        // A name has only letters, digits, - and _; an address can hold anything,
        // such as what looks like the rest of this question.
        let what = match self.kind {
            "resource" => format!("{:?}", self.canonical),
            _ => self.canonical.clone(),
        };
        let mut text = format!(
            "{OURS}Allow the {} {what} of server {:?}?",
            self.kind, self.server
        );
        if !self.hints.is_empty() {
            text.push_str(&format!(" It says of itself: {}.", self.hints.join(", ")));
        }
        if let Some(arguments) = &self.arguments {
            text.push_str(&format!(" Arguments: {arguments}"));
        }
        visible::line(&text)
    }

    /// The parameters of the elicitation.
    fn params(&self) -> Value {
        let keep =
            |verdict: &Verdict| self.may_remember || matches!(verdict, Verdict::Once | Verdict::No);
        let words: Vec<&str> = WORDS
            .iter()
            .filter(|(_, verdict)| keep(verdict))
            .map(|(word, _)| *word)
            .collect();
        json!({
            "message": self.text(),
            "requestedSchema": {
                "type": "object",
                "properties": { "answer": { "type": "string", "title": "Answer", "enum": words } },
                "required": ["answer"],
            },
        })
    }
}

/// A request that may be sent once somebody says yes.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) permitted: Box<Permitted>,
    pub(crate) consent: Arc<Consent>,
    pub(crate) guard: Arc<Guard>,
    /// What a remembered answer is bound to.
    pub(crate) definition: Option<String>,
}

/// The same while somebody thinks about it.
#[derive(Debug)]
pub(super) struct Gate {
    asked: Asked,
    /// Where the question to the client is.
    inbox: Arc<Inbox>,
    verdict: oneshot::Receiver<Said>,
    /// What was answered, as soon as it is known.
    said: Option<Said>,
    /// The state of the rules that the question still stands by, where somebody besides
    /// the client is asked.
    version: Option<u64>,
    /// Takes the question back when the call is given up.
    _withdrawn: DropGuard,
}

/// What was answered, or why nobody did.
pub(super) type Said = Result<Verdict, Arc<str>>;

/// Whether the client can be asked: by a form, since that is what the question is.
pub(crate) fn can_be_asked(client: &Client) -> bool {
    if client.decides {
        return true;
    }
    let capabilities = &client.capabilities;
    let Ok(Some(span)) = raw_json::field(capabilities, "elicitation") else {
        return false;
    };
    let modes = span.of(capabilities);
    let mut names = raw_json::members(modes)
        .filter_map(|member| raw_json::text(member.key.of(modes)))
        .peekable();
    modes.starts_with(b"{") && (names.peek().is_none() || names.any(|name| name == "form"))
}

impl Exchange {
    /// A request in flight that has not left yet: its first event is the question.
    pub(crate) fn asking(connection: Arc<Connection>, asked: Asked) -> Self {
        let (say, verdict) = oneshot::channel();
        let withdrawn = CancellationToken::new();
        let consent = asked.consent.clone();
        let message = Message::request(
            &Id::number(0),
            Method::ElicitationCreate,
            &consent.params().to_string(),
        );
        let may_remember = consent.may_remember;
        let server = asked.permitted.server.name().clone();
        let input = Input::new(message, server, withdrawn.clone(), move |_, answer| {
            let _ = say.send(match &answer {
                Answer::Response(message) => Ok(Verdict::of(message, may_remember)),
                Answer::Refused(error) => Err((*error.message).into()),
            });
        })
        .about(consent);
        let inbox = Arc::new(Inbox::new());
        inbox.input(input);
        let gate = Box::new(Gate {
            version: None,
            asked,
            inbox,
            verdict,
            said: None,
            _withdrawn: withdrawn.drop_guard(),
        });
        Self::at(Stage::Asking(gate), connection, limits::CONSENT)
    }
}

impl Gate {
    /// Waits for the answer; after a yes also until it is known what the tool is now.
    /// May be given up and begun again.
    pub(super) async fn verdict(&mut self, connection: &Arc<Connection>) -> Said {
        let said = match self.said.clone() {
            Some(said) => said,
            None => tokio::select! {
                biased;
                said = &mut self.verdict => said.unwrap_or(Ok(Verdict::No)),
                why = overruled(&self.asked, &mut self.version) => Err(why),
            },
        };
        self.said = Some(said.clone());
        let allows = said.as_ref().is_ok_and(|verdict| verdict.allows());
        if allows && self.asked.definition.is_some() {
            let listed = Box::pin(connection.catalog().get(List::Tools, connection));
            if let Err(fault) = listed.await {
                tracing::debug!(%fault, "decided without a new list of tools");
            }
        }
        said
    }

    /// Where the client is asked.
    pub(super) fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Somebody besides the client is asked: a rule that forbids it takes the question
    /// back from both.
    pub(super) fn is_at_desk(&mut self) {
        self.version = Some(self.asked.permitted.standing().version());
    }

    /// What waited.
    pub(super) fn into_permitted(self) -> Permitted {
        *self.asked.permitted
    }

    /// Goes ahead, or ends.
    pub(super) fn settle(
        &self,
        connection: &Arc<Connection>,
        said: &Said,
    ) -> Result<Exchange, CallError> {
        let verdict = match said {
            Ok(verdict) => *verdict,
            Err(why) => {
                self.still_allowed()?;
                return Err(refused(&self.asked.consent, why));
            }
        };
        if !verdict.allows() {
            self.keep(verdict);
            return Err(refused(&self.asked.consent, "the answer was no"));
        }
        self.still_allowed()?;
        self.keep(verdict);
        connection.start(&self.asked.permitted)
    }

    /// Decides once more: a person may take long to answer, and a rule may have come
    /// meanwhile, or the tool have become another than the one that was shown.
    fn still_allowed(&self) -> Result<(), CallError> {
        let Asked {
            permitted,
            consent,
            guard,
            definition,
        } = &self.asked;
        permitted.still_allowed()?;
        let (client, server) = (permitted.client(), &permitted.server);
        let now = guard.definition(client, server, &consent.tool);
        if definition.is_some() && now != *definition {
            let why = "its definition has changed since somebody was asked; call it again";
            return Err(refused(consent, why));
        }
        Ok(())
    }

    fn keep(&self, verdict: Verdict) {
        if matches!(verdict, Verdict::Once | Verdict::No) {
            return;
        }
        let asked = &self.asked;
        let kept = asked.guard.remember(permission::Answer {
            principal: &asked.permitted.client().principal,
            server: &asked.consent.server,
            tool: &asked.consent.tool,
            definition: asked.definition.as_deref(),
            allow: verdict.allows(),
            lasting: verdict != Verdict::Session,
        });
        if let Err(fault) = kept {
            tracing::warn!(%fault, "the answer holds until this program ends: it cannot be kept");
        }
    }

    /// The end when nobody answers.
    pub(super) fn timed_out(&self, allowed: Duration) -> CallError {
        refused(
            &self.asked.consent,
            &format!("nobody answered within {} s", allowed.as_secs()),
        )
    }
}

/// Waits until a rule forbids what somebody is asked about: the question is void.
async fn overruled(asked: &Asked, version: &mut Option<u64>) -> Arc<str> {
    let Some(version) = version else {
        return pending().await;
    };
    loop {
        asked.guard.outdates(*version).await;
        *version = asked.guard.version();
        if asked.permitted.still_allowed().is_err() {
            return "a rule that came meanwhile forbids it".into();
        }
    }
}

fn refused(consent: &Consent, why: &str) -> CallError {
    CallError::NotAllowed {
        what: format!(
            "{} {:?} of server {:?}",
            consent.kind, consent.tool, consent.server
        ),
        reason: why.to_owned(),
    }
}
