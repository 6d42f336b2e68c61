//! What waits for a person: `GET questions?all=true`, `GET questions/{id}`,
//! `POST questions/{id}` with an [`Answer`], `POST questions/{id}/reveal`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What kind of question it is, which says what answers it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "QuestionKind")]
pub enum Kind {
    /// May this call be made? `allow`, `allow-always`, `deny`, `deny-always`.
    #[default]
    Permission,
    /// A server's form: `accept` with content, `decline`, `cancel`.
    Form,
    /// A page to visit: `accept`, `decline`, `cancel`.
    Page,
    /// A model's answer is wanted: `accept` with the answer as content, `decline`.
    Sampling,
    /// Somebody has to sign in: `accept` begins it and answers with the address, `decline`.
    SignIn,
    /// A server that a repository brings: `approve`, `reject`.
    Approval,
    /// Definitions that changed: `approve`, `reject`.
    Changed,
    /// An entry that somebody wants to add over the API: `approve`, `reject`.
    Proposal,
    /// A call or an answer at a breakpoint: `release`, `edit` with what it is to be as
    /// content, `refuse`.
    Held,
}

/// One question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Question {
    /// Its id: random, so that nobody guesses another's.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// `open`, `answered`, `timed-out`, `withdrawn`.
    pub status: String,
    /// When it was asked, in milliseconds since 1970.
    pub at: u64,
    /// When it is given up, where it is.
    pub until: Option<u64>,
    /// Whose call waits for it, where one does.
    pub principal: Option<String>,
    /// What its client calls itself.
    pub client: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The tool, or what else it is about.
    pub name: Option<String>,
    /// The call that waits.
    pub call: Option<u64>,
    /// In one line.
    pub title: String,
    /// What the server wrote, or what a person has to know. Of a server, so never to be trusted.
    pub text: Option<String>,
    /// The form's schema.
    pub schema: Option<Value>,
    /// The page to visit.
    pub url: Option<String>,
    /// What is asked about: arguments, a sampling request, an entry, a result; without secrets.
    pub about: Option<Value>,
    /// What is held at a breakpoint: `call` (its arguments), `result`, `error`.
    pub point: Option<String>,
    /// What was, and what is: for changed definitions, entries and approvals.
    pub changes: Vec<Change>,
    /// The answers that it takes.
    pub answers: Vec<String>,
    /// Whether the client was asked as well.
    pub also_client: bool,
    /// What was answered.
    pub answered: Option<Answered>,
    /// Whether something of it is left out here: `GET questions/{id}` has all of it.
    pub partial: bool,
}

/// What was, and what is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Change {
    /// Of what: a tool's name, a field, a file.
    pub of: String,
    /// Where in it, as a JSON pointer.
    pub path: String,
    /// What was; hidden characters made visible.
    pub before: Option<String>,
    /// What is.
    pub after: Option<String>,
    /// Why a person should look twice: hidden characters, words that tell a model what to do.
    pub warnings: Vec<String>,
}

/// An answer, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Answered {
    /// What was answered.
    pub action: String,
    /// `client`, or who: a principal, `control`.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// `POST questions/{id}`. The first answer counts; another gets 409 with `code` `conflict`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "QuestionAnswer")]
pub struct Answer {
    /// One of the question's `answers`.
    pub action: String,
    /// What was filled in, the model's answer, or what is held as it is to be. What was not
    /// shown because it is a secret is left as it is shown: it is put back.
    pub content: Option<Value>,
    /// Which of the changes, where not all.
    pub only: Vec<String>,
}

impl Answer {
    /// Whether it lasts longer than the question: a rule that is kept, something that is
    /// trusted from now on or never.
    pub fn lasts(&self) -> bool {
        matches!(
            self.action.as_str(),
            "allow-always" | "deny-always" | "approve" | "reject"
        )
    }
}

/// The answer to an [`Answer`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Taken {
    /// The question as it is now.
    pub question: Question,
    /// A page to open next: where to sign in.
    pub open: Option<String>,
}

/// `GET questions`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Questions {
    /// Open ones first, oldest first.
    pub questions: Vec<Question>,
    /// How many wait.
    pub waiting: usize,
}

crate::fill::fields! {
    Question {
        id, kind, status, at, until, principal, client, server, name, call, title, text, schema,
        url, about, point, changes, answers, also_client, answered, partial,
    }
    Change { of, path, before, after, warnings }
    Answered { action, by, at }
    Taken { question, open }
    Questions { questions, waiting }
}

crate::fill::words!(Kind);
