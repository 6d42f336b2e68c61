//! What the screen knows: plain data. [`crate::update`] changes it, [`crate::view`] shows it.

mod lists;

pub use lists::{ClientRow, List};

use crate::{
    input::Input,
    message::Link,
    page::{Kind as PageKind, Page, RunPage},
    words::Verb,
};
use std::fmt;
use switchboard_api::{
    calls::Call,
    fill::{Fill, Members, Place},
    questions::{Kind, Question},
    settings::Token,
    state::{Document, Server},
    tools::Tool,
};

/// All that the screen knows.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Columns and rows.
    pub size: (u16, u16),
    /// Whether there are colours.
    pub colour: bool,
    /// Milliseconds that this place's clocks are ahead of UTC.
    pub ahead: i64,
    /// The program's commands, for completion.
    pub verbs: Vec<Verb>,
    /// Whether it lies over `up`, which is there again when it is left.
    pub over_up: bool,

    /// Which gateway is looked at.
    pub link: Link,
    /// What it says about itself, its servers and clients.
    pub state: Document,
    /// Whether that was read.
    pub known: bool,
    /// All tools of all servers.
    pub tools: Vec<Tool>,
    /// Calls, newest first.
    pub calls: Vec<Call>,
    /// Whether the list of calls is being read, and whether it is to be read again then.
    pub reading_calls: (bool, bool),
    /// What waits for a person.
    pub questions: Vec<Question>,
    /// Who may come in.
    pub tokens: Vec<Token>,
    /// What `doctor` found.
    pub doctor: Doctor,
    /// When it had looked, in milliseconds since 1970.
    pub examined: Option<u64>,
    /// Whether it looks now.
    pub examining: bool,

    /// Which view is open.
    pub view: View,
    /// Where one is in each of them.
    pub lists: [List; 6],
    /// Pages on top of it, the last one in front.
    pub pages: Vec<Page>,
    /// Pages of calls that were left for a view while they ran, with the view that they lay
    /// on, the newest last.
    pub aside: Vec<(View, Page)>,
    /// The line at the bottom that is typed into.
    pub prompt: Option<Prompt>,
    /// What is said at the bottom.
    pub told: Option<Told>,
    /// Commands that were typed, the newest last.
    pub history: Vec<String>,
    /// What was asked to be opened at the start, until it is there.
    pub wanted: Option<String>,
    /// The last number that was given to a page or a command.
    pub last: u64,
}

/// The views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All that is configured.
    #[default]
    Servers,
    /// All tools of all servers.
    Tools,
    /// Calls.
    Traffic,
    /// What waits for a person.
    Inbox,
    /// Who is connected, and who may be.
    Clients,
    /// What is wrong, and what to do.
    Doctor,
}

impl View {
    /// All of them, in the order of their keys.
    pub const ALL: [Self; 6] = [
        Self::Servers,
        Self::Tools,
        Self::Traffic,
        Self::Inbox,
        Self::Clients,
        Self::Doctor,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Servers => "Servers",
            Self::Tools => "Tools",
            Self::Traffic => "Traffic",
            Self::Inbox => "Inbox",
            Self::Clients => "Clients",
            Self::Doctor => "Doctor",
        }
    }
}

/// A line that is typed into.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What for.
    pub what: Asked,
    /// The line.
    pub input: Input,
    /// Words that could stand at the cursor.
    pub offered: Vec<String>,
    /// Which line of the history is shown, counted from the newest.
    pub back: Option<usize>,
}

/// What a line is typed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A command.
    Command,
    /// A filter of what is shown.
    Filter,
    /// The name of a new token.
    Token,
    /// The file that calls are saved to.
    File,
}

/// Something that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What.
    pub text: String,
    /// Whether something went wrong.
    pub bad: bool,
}

/// What `doctor` found.
#[derive(Clone, Debug, Default)]
pub enum Doctor {
    /// It has not looked yet.
    #[default]
    Unasked,
    /// What it found.
    Found(Vec<Finding>),
    /// Why it found nothing.
    Failed(String),
}

/// One finding, as `doctor --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at: `configuration`, `servers`, …
    pub area: String,
    /// `ok`, `warning`, `problem`.
    pub level: String,
    /// What exactly.
    pub what: String,
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: Option<String>,
}

impl Fill for Finding {
    fn place(&mut self) -> Place<'_> {
        Place::Members(self)
    }
}

impl Members for Finding {
    fn member(&mut self, name: &str) -> Option<&mut dyn Fill> {
        Some(match name {
            "area" => &mut self.area,
            "level" => &mut self.level,
            "what" => &mut self.what,
            "found" => &mut self.found,
            "advice" => &mut self.advice,
            _ => return None,
        })
    }
}

impl Finding {
    /// The command in its advice.
    pub fn command(&self) -> Option<&str> {
        let advice = self.advice.as_deref()?;
        let from = advice.find("switchboard ")? + "switchboard ".len();
        let rest = &advice[from..];
        let end = rest.find(['\n', '`', ',', ';', '(', ')']);
        let command = rest[..end.unwrap_or(rest.len())].trim();
        (!command.is_empty()).then_some(command)
    }
}

impl Model {
    /// A number for a page or a command.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Says something at the bottom.
    #[inline(never)]
    pub fn tell(&mut self, text: fmt::Arguments<'_>) {
        let text = fmt::format(text);
        self.told = Some(Told { text, bad: false });
    }

    /// Says that something went wrong.
    #[inline(never)]
    pub fn fail(&mut self, text: fmt::Arguments<'_>) {
        self.tell(text);
        if let Some(told) = &mut self.told {
            told.bad = true;
        }
    }

    /// The page in front.
    pub fn page(&self) -> Option<&Page> {
        self.pages.last()
    }

    /// All pages, also those that were left.
    pub fn all_pages_mut(&mut self) -> impl Iterator<Item = &mut Page> {
        let aside = self.aside.iter_mut().map(|(_, page)| page);
        self.pages.iter_mut().chain(aside)
    }

    /// Whether the page in front asks for a yes to what stands on it: that has to be read to
    /// its end first.
    pub fn wants_yes(&self) -> bool {
        match self.page().map(|page| &page.kind) {
            Some(PageKind::Approve(_) | PageKind::Confirm(_)) => true,
            Some(PageKind::Question(id)) => self.question(id).is_some_and(|it| !takes_form(it)),
            _ => false,
        }
    }

    /// A question by its id.
    pub fn question(&self, id: &str) -> Option<&Question> {
        self.questions.iter().find(|it| it.id == id)
    }

    /// The question that a call waits for.
    pub fn asked_by(&self, run: &RunPage) -> Option<&Question> {
        let waits = |it: &&Question| it.status == "open" && is_of(it, run);
        self.questions.iter().find(waits)
    }

    /// The list of the open view.
    pub fn list(&self) -> &List {
        &self.lists[self.view as usize]
    }

    /// The same, to be changed.
    pub fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.view as usize]
    }

    /// A server by its name or segment.
    pub fn server(&self, name: &str) -> Option<&Server> {
        let named = |server: &&Server| server.name == name || server.segment == name;
        let found = self.state.servers.iter().filter(named);
        // One that another takes the place of is meant last.
        found.min_by_key(|server| server.state.word == "shadowed")
    }

    /// How many questions wait.
    pub fn waiting(&self) -> usize {
        let open = self.questions.iter().filter(|it| it.status == "open");
        open.count().max(self.state.waiting)
    }

    /// Whether the gateway that was looked at is gone: what is known of it is of before.
    pub fn is_lost(&self) -> bool {
        matches!(self.link, Link::Lost { .. })
    }

    /// A time as this place's clocks have it.
    pub fn clock(&self, at: u64) -> impl fmt::Display + use<> {
        let local = i64::try_from(at).unwrap_or(0).saturating_add(self.ahead);
        let seconds = local.div_euclid(1000).rem_euclid(86_400);
        let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
        fmt::from_fn(move |f| write!(f, "{hours:02}:{minutes:02}:{:02}", seconds % 60))
    }
}

/// Whether a question is answered by filling something in.
pub fn takes_form(question: &Question) -> bool {
    matches!(question.kind, Kind::Form | Kind::Sampling)
}

/// Whether a question is what a call waits for. Where the call's number is not known, it is its
/// server that asks.
pub fn is_of(question: &Question, run: &RunPage) -> bool {
    match (question.call, run.call) {
        (Some(asks), Some(runs)) => asks == runs,
        _ => {
            let asks = matches!(question.kind, Kind::Form | Kind::Page | Kind::Sampling);
            let same = question.server.as_ref() == Some(&run.make.server);
            asks && same && run.outcome.is_none()
        }
    }
}

/// Whether the sign-in of a server is no good: then nothing may say that all is well.
pub fn is_void(server: &Server) -> bool {
    matches!(
        server.sign_in.word.as_str(),
        "wanted" | "expired" | "refused"
    )
}

/// The state in a word. One that is reached without a good sign-in is not called connected.
pub fn state_word(server: &Server) -> &str {
    match server.state.word.as_str() {
        "connected" if is_void(server) => "reached",
        "pending" => "to approve",
        "" => "unknown",
        word => word,
    }
}

/// All three in one word, where there is no room for three columns: the worst of them.
pub fn in_a_word(server: &Server) -> &str {
    match state_word(server) {
        "reached" => "sign-in",
        "connected" if server.usable.word == "no" => "unusable",
        word => word,
    }
}
