//! Pages that lie on top of a view: one server, a form, a result, a question.

use crate::{ask::Ask, form::Form, input::Input};
use serde_json::Value;
use switchboard_api::{
    calls::{self, Make},
    servers::Detail,
};

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// A number of its own: answers find it by that.
    pub id: u64,
    /// How many lines are above what is seen.
    pub scroll: usize,
    /// What is on it.
    pub kind: Kind,
}

/// What is on a page.
#[derive(Clone, Debug)]
pub enum Kind {
    /// One server.
    Server(Box<ServerPage>),
    /// A form.
    Form(Box<FormPage>),
    /// A call that was made here.
    Run(Box<RunPage>),
    /// A call with both its sides.
    Call(Box<CallPage>),
    /// A question, by its id.
    Question(String),
    /// Something that wants a yes.
    Confirm(Confirm),
    /// What a command wrote.
    Output(OutputPage),
    /// Where to sign in.
    SignIn(SignInPage),
    /// What would be approved.
    Approve(Box<ApprovePage>),
    /// Which rule a tool is to have: its canonical name.
    Rule(String),
    /// A text.
    Text {
        /// What it is.
        title: String,
        /// Its lines.
        lines: Vec<String>,
    },
    /// Which keys there are.
    Keys,
}

impl Kind {
    /// Whether it is a question, or the form of one.
    pub fn is_about(&self, question: &str) -> bool {
        match self {
            Self::Question(id) => id == question,
            Self::Form(form) => matches!(&form.purpose, Purpose::Answer(id) if id == question),
            _ => false,
        }
    }
}

/// The tabs of a server's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// State, handshake, capabilities, who shares it.
    #[default]
    Overview,
    /// Its tools.
    Tools,
    /// Its resources.
    Resources,
    /// Its prompts.
    Prompts,
    /// What it wrote to its stderr.
    Stderr,
    /// Why it is there, or is not.
    Explain,
}

impl Tab {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Overview,
        Self::Tools,
        Self::Resources,
        Self::Prompts,
        Self::Stderr,
        Self::Explain,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
            Self::Stderr => "stderr",
            Self::Explain => "explain",
        }
    }

    /// What a server has to be asked for it.
    pub fn asks(self, segment: &str, ask: &mut dyn FnMut(Ask)) {
        let segment = segment.to_owned();
        match self {
            Self::Overview => ask(Ask::Server(segment)),
            Self::Tools => ask(Ask::Listed(segment, "tools")),
            Self::Resources => {
                ask(Ask::Listed(segment.clone(), "resources"));
                ask(Ask::Listed(segment, "templates"));
            }
            Self::Prompts => ask(Ask::Listed(segment, "prompts")),
            Self::Stderr => ask(Ask::Stderr(segment)),
            Self::Explain => ask(Ask::Explain(segment)),
        }
    }

    /// Whether it is a list that one goes through.
    pub fn is_list(self) -> bool {
        matches!(self, Self::Tools | Self::Resources | Self::Prompts)
    }
}

/// One server.
#[derive(Clone, Debug, Default)]
pub struct ServerPage {
    /// Its name.
    pub name: String,
    /// Its name in paths.
    pub segment: String,
    /// Which tab is open.
    pub tab: Tab,
    /// Which item of a list one is on.
    pub at: usize,
    /// What is known of it.
    pub detail: Option<Detail>,
    /// What it lists, for the tab that is open.
    pub items: Option<Vec<Value>>,
    /// Its templates, which stand below its resources.
    pub templates: Option<Vec<Value>>,
    /// How many it lists, where it was asked here: resources, templates, prompts.
    pub counts: [Option<usize>; 3],
    /// Its stderr.
    pub stderr: Option<Vec<String>>,
    /// Whether the end of that is kept in sight.
    pub follows: bool,
    /// Why it is there.
    pub explained: Option<Vec<String>>,
}

impl ServerPage {
    /// The lists that are counted.
    pub const COUNTED: [&'static str; 3] = ["resources", "templates", "prompts"];

    /// What the open list has, once it is known.
    pub fn rows(&self) -> Option<Vec<&Value>> {
        let items = self.items.as_ref().filter(|_| self.tab.is_list())?;
        let is_both = self.tab == Tab::Resources;
        let below = self.templates.iter().flatten().filter(|_| is_both);
        Some(items.iter().chain(below).collect())
    }
}

/// A form, and what it is for.
#[derive(Clone, Debug)]
pub struct FormPage {
    /// What it is called.
    pub title: String,
    /// What is written above it.
    pub text: String,
    /// The schema that it is made of.
    pub schema: Value,
    /// The form, once its fields are known.
    pub form: Option<Form>,
    /// What is done with it.
    pub purpose: Purpose,
}

/// What a form is for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// A tool's arguments.
    Call {
        /// The server.
        server: String,
        /// The tool, by its server's own name.
        tool: String,
        /// The name that `switchboard call` takes.
        canonical: String,
    },
    /// A prompt's arguments.
    Prompt {
        /// The server.
        server: String,
        /// The prompt.
        prompt: String,
    },
    /// The answer to a question.
    Answer(String),
}

/// A call that was made here.
#[derive(Clone, Debug)]
pub struct RunPage {
    /// What was called.
    pub title: String,
    /// As it was made, for making it again.
    pub make: Make,
    /// The same on a command line.
    pub command: String,
    /// Its number, once the gateway has said it.
    pub call: Option<u64>,
    /// Whether it is to be cancelled as soon as its number is known.
    pub is_given_up: bool,
    /// What its server said about how far it is.
    pub progress: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Whether the result is shown as it came.
    pub raw: bool,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// With this.
    Made(Box<calls::Made>),
    /// It was never made.
    Refused(String),
    /// Nobody waits for it any more.
    Abandoned,
}

/// A call with both its sides.
#[derive(Clone, Debug, Default)]
pub struct CallPage {
    /// Its number.
    pub call: u64,
    /// What is known of it.
    pub detail: Option<calls::Detail>,
    /// Why nothing is.
    pub missing: Option<String>,
    /// Whether messages are shown as they were.
    pub raw: bool,
    /// What became of making it again.
    pub replayed: Option<calls::Replayed>,
}

/// Something that wants a yes.
#[derive(Clone, Debug)]
pub struct Confirm {
    /// The question.
    pub title: String,
    /// What exactly would be done.
    pub lines: Vec<String>,
    /// What is asked for then.
    pub asks: Vec<Ask>,
}

/// What a command wrote.
#[derive(Clone, Debug, Default)]
pub struct OutputPage {
    /// Which run it is.
    pub run: u64,
    /// The command.
    pub command: String,
    /// What it wrote.
    pub lines: Vec<String>,
    /// Whether it has ended, and how.
    pub ended: Option<Option<i32>>,
    /// Whether the end is kept in sight.
    pub follows: bool,
}

/// Where to sign in.
#[derive(Clone, Debug, Default)]
pub struct SignInPage {
    /// The server's name.
    pub name: String,
    /// The server's segment.
    pub segment: String,
    /// The page.
    pub url: String,
    /// Where the browser ended, pasted by hand.
    pub pasted: Input,
}

/// What would be approved.
#[derive(Clone, Debug, Default)]
pub struct ApprovePage {
    /// The server's name.
    pub name: String,
    /// The server's segment.
    pub segment: String,
    /// What is known of it.
    pub detail: Option<Detail>,
}
