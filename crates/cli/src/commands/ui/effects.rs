//! What the screen wants done: requests to its gateway, commands, pages to open.

use super::{beside, child, link::Line, newest::Newest};
use crate::context::Context;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use switchboard::{
    api::{Client, ClientError},
    auth::browser,
    local::private,
    tasks,
};
use switchboard_api::Refused;
use switchboard_screen::{Ask, Effect, Message};
use tokio::{process::Command, sync::mpsc, task::JoinHandle};
use tokio_util::task::AbortOnDropHandle;

/// Does what the screen wants, beside it.
pub struct Effects {
    tell: mpsc::Sender<Message>,
    line: Line,
    /// The program, and what every command of it is told besides.
    program: PathBuf,
    global: Vec<String>,
    /// Where it was started.
    directory: PathBuf,
    /// Which answers are still worth knowing.
    newest: Arc<Newest>,
    /// Calls that a page waits for.
    calls: Tasks,
    /// Commands that run.
    runs: Tasks,
}

/// What runs, each by its number. There are few at a time.
#[derive(Default)]
struct Tasks(Vec<(u64, AbortOnDropHandle<()>)>);

impl Tasks {
    fn add(&mut self, number: u64, task: JoinHandle<()>) {
        self.0.retain(|(_, task)| !task.is_finished());
        self.0.push((number, AbortOnDropHandle::new(task)));
    }

    /// Ends one; whether there was one.
    fn end(&mut self, number: u64) -> bool {
        let before = self.0.len();
        self.0.retain(|(it, _)| *it != number);
        self.0.len() < before
    }
}

impl Effects {
    pub fn new(context: &Context, tell: mpsc::Sender<Message>, line: Line) -> Self {
        let global = &context.global;
        let mut words = Vec::new();
        for config in &global.mcp_config {
            words.extend(["--mcp-config".to_owned(), config.clone()]);
        }
        if global.strict_mcp_config {
            words.push("--strict-mcp-config".to_owned());
        }
        let directory = context.options.directory.display().to_string();
        words.extend(["-C".to_owned(), directory]);
        let program = context.options.own_program.clone();
        Self {
            tell,
            line,
            program: program.unwrap_or_else(|| "switchboard".into()),
            global: words,
            directory: context.options.directory.clone(),
            newest: Arc::default(),
            calls: Tasks::default(),
            runs: Tasks::default(),
        }
    }

    /// Begins something; what becomes of it is told.
    pub fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Ask(ask) => self.ask(ask, Duration::ZERO),
            Effect::Later(wait, ask) => self.ask(ask, wait),
            Effect::Abandon(page) => {
                self.calls.end(page);
            }
            Effect::Run { run, words } => {
                let command = self.command(&words);
                let task = child::run(command, run, self.tell.clone());
                self.runs.add(run, beside(tasks::Kind::Background, task));
            }
            Effect::Kill(run) => {
                if self.runs.end(run) {
                    self.say(Message::Ended { run, code: None });
                }
            }
            Effect::Examine => {
                let command = self.command(&["doctor".to_owned(), "--json".to_owned()]);
                let tell = self.tell.clone();
                beside(tasks::Kind::Background, async move {
                    let found = child::examined(command).await;
                    let found = match found {
                        Ok(found) => Message::Examined {
                            found,
                            at: u64::try_from(chrono::Utc::now().timestamp_millis()).unwrap_or(0),
                        },
                        Err(why) => Message::NotExamined {
                            why: format!("doctor said nothing: {why}"),
                        },
                    };
                    let _ = tell.send(found).await;
                });
            }
            Effect::Open(page) => self.open(page),
            // These are the terminal's.
            Effect::RunOnTerminal(_)
            | Effect::Copy(_)
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Quit => {}
        }
    }

    /// The program with a command that was typed.
    pub fn command(&self, words: &[String]) -> Command {
        child::command(&self.program, &self.global, words)
    }

    /// Somebody had the terminal: anything may have changed.
    pub fn look_again(&mut self) {
        for ask in [Ask::State, Ask::Tools, Ask::Questions] {
            self.ask(ask, Duration::ZERO);
        }
    }

    fn say(&self, message: Message) {
        let tell = self.tell.clone();
        beside(tasks::Kind::Background, async move {
            let _ = tell.send(message).await;
        });
    }

    fn ask(&mut self, ask: Ask, wait: Duration) {
        let page = match &ask {
            Ask::Call { page, .. } => Some(*page),
            _ => None,
        };
        let (tell, line) = (self.tell.clone(), self.line.clone());
        let (directory, newest) = (self.directory.clone(), self.newest.clone());
        let task = beside(tasks::Kind::Background, async move {
            tokio::time::sleep(wait).await;
            let client = line.lock().clone();
            let request = ask.request();
            let is_read = request.verb == "GET" && !matches!(ask, Ask::Export { .. });
            let number = is_read.then(|| newest.begin(&request.path));
            let answer = match client {
                Some(client) => answer(&client, &ask, &directory).await,
                None => Err(gone("no gateway is there to be asked")),
            };
            if number.is_some_and(|number| !newest.end(&request.path, number)) {
                return;
            }
            let ask = Box::new(ask);
            let _ = tell.send(Message::Answered { ask, answer }).await;
        });
        // Only a call is given up with its page; everything else is soon answered.
        if let Some(page) = page {
            self.calls.add(page, task);
        }
    }

    fn open(&self, page: String) {
        let tell = self.tell.clone();
        beside(tasks::Kind::Background, async move {
            let opened = match page.parse() {
                Ok(url) => browser::system()(url)
                    .await
                    .map_err(|error| error.to_string()),
                Err(_) => Err("this is no address".to_owned()),
            };
            if let Err(why) = opened {
                let text = format!("no browser: {why}; open the address yourself");
                let _ = tell.send(Message::Told(text)).await;
            }
        });
    }
}

/// Asks a gateway, and what it says.
async fn answer(client: &Client, ask: &Ask, directory: &Path) -> Result<Vec<u8>, Refused> {
    let request = ask.request();
    if let Ask::Export { file, .. } = ask {
        save(client, &request.path, &directory.join(file)).await?;
        return Ok(Vec::new());
    }
    let body = request.body.unwrap_or_default();
    let asked = client.text(request.verb, &request.path, body, ask.is_call());
    let text = asked.await.map_err(refused)?;
    Ok(text.into())
}

/// Writes what may be long into a new file: nothing that is there is written over.
async fn save(client: &Client, path: &str, file: &Path) -> Result<(), Refused> {
    let failed = |error: io::Error| gone(&error.to_string());
    let mut pieces = client.pieces(path).await.map_err(refused)?;
    let mut new = private::New::begin(file).map_err(failed)?;
    while let Some(piece) = pieces.next().await.map_err(refused)? {
        new.add(&piece).map_err(failed)?;
    }
    new.place().map_err(failed)
}

fn refused(error: ClientError) -> Refused {
    match error {
        ClientError::Refused(_, refused) => *refused,
        error => gone(&error.to_string()),
    }
}

fn gone(why: &str) -> Refused {
    Refused {
        error: why.to_owned(),
        code: "unavailable".to_owned(),
        ..Refused::default()
    }
}
