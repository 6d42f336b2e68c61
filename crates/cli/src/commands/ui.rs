//! `ui`, and the program without a command on a terminal: the screen. What it shows and what
//! keys do is `switchboard-screen`; here it gets a terminal, a gateway and a clock. `up` opens
//! it too, over itself.
//!
//! | module | what |
//! |---|---|
//! | `terminal` | the terminal: taken, drawn on, and always given back |
//! | `hangup` | whether it is still there |
//! | `stopping` | what stops us, and lets us go on |
//! | `keyboard` | keys beside the lines of a command, for one that opens the screen |
//! | `quiet` | what would be written to stderr meanwhile |
//! | `link` | the gateway: one that runs, or one inside this process |
//! | `effects` | what the screen wants done |
//! | `child` | commands that are typed on it |

mod child;
mod effects;
mod hangup;
mod keyboard;
mod link;
mod newest;
mod quiet;
mod stopping;
mod terminal;

use crate::{
    args::Cli,
    context::Context,
    failure::{Code, Failure},
    life, limits,
    show::{live, term},
};
use clap::{Args, CommandFactory};
use effects::Effects;
use std::{io::IsTerminal, pin::Pin, time::Instant};
use switchboard::{api::Client, tasks};
use switchboard_screen::{Effect, Message, Model, Painter, update, words::Verb};
use terminal::{Happened, Terminal};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub use keyboard::Keyboard;

/// Gives the terminal back as it was. Also for whoever ends the process.
pub fn restore() {
    terminal::restore();
    keyboard::restore();
}

/// Options of `ui`.
#[derive(Debug, Args)]
pub struct Options {
    /// What to open, such as servers/github
    #[arg(value_name = "PLACE")]
    pub place: Option<String>,
}

/// Whether there is a terminal to draw on, and somebody at it.
pub fn is_possible() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !dumb
}

/// Shows the screen until it is left.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    if !is_possible() {
        let failure = Failure::usage("the screen wants a terminal, for keys and for drawing");
        return Err(failure.hint("the same is to be had by commands: switchboard --help"));
    }
    let source = link::Source::choose(context)?;
    life::screen(async |stop| {
        let model = Model {
            wanted: options.place.clone(),
            ..model()
        };
        open(context, source, model, stop).await
    })?
}

/// Shows the screen over a gateway of this very process, until it is left. Commands that
/// have had the terminal leave below the lines of it what they wrote.
pub async fn over(
    context: &Context,
    client: &Client,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let model = Model {
        over_up: true,
        ..model()
    };
    let source = link::Source::Own(client.clone());
    open(context, source, model, stop.clone()).await?;
    Ok(())
}

async fn open(
    context: &Context,
    source: link::Source,
    model: Model,
    stop: CancellationToken,
) -> Result<Code, Failure> {
    let (tell, told) = mpsc::channel(limits::SCREEN_MESSAGES);
    let ending = CancellationToken::new();
    let host = source.begin(context, &tell, &ending)?;
    let mut screen = Screen {
        model,
        painter: Painter::default(),
        effects: Effects::new(context, tell, host.line()),
        interrupts: signal(SignalKind::interrupt()).map_err(lost)?,
        stop,
    };
    let shown = screen.show(told).await;
    // The terminal is given back by now; what was started ends.
    ending.cancel();
    drop(screen);
    host.end().await;
    shown
}

fn model() -> Model {
    let offset = chrono::Local::now().offset().local_minus_utc();
    Model {
        colour: term::stdout().symbols(),
        ahead: i64::from(offset) * 1000,
        verbs: verbs(),
        ..Model::default()
    }
}

/// The program's commands, for completion.
fn verbs() -> Vec<Verb> {
    let command = Cli::command();
    let each = command.get_subcommands().filter(|it| !it.is_hide_set());
    each.map(|it| Verb {
        name: it.get_name().to_owned(),
        about: it.get_about().map(ToString::to_string).unwrap_or_default(),
        options: it
            .get_arguments()
            .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
            .collect(),
    })
    .collect()
}

struct Screen {
    model: Model,
    painter: Painter,
    effects: Effects,
    interrupts: Signal,
    stop: CancellationToken,
}

impl Screen {
    async fn show(&mut self, mut told: mpsc::Receiver<Message>) -> Result<Code, Failure> {
        let mut terminal = Terminal::take(self.model.over_up).map_err(lost)?;
        let size = terminal.size().map_err(lost)?;
        self.happens(Message::Resized(size.0, size.1), &mut terminal)
            .await?;
        loop {
            let wait = self.painter.wait(Instant::now());
            let pause = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(Code::Interrupted),
                _ = self.interrupts.recv() => return Ok(Code::Interrupted),
                happened = terminal.next() => match happened.map_err(lost)? {
                    Happened::Told(message) => message,
                    Happened::Stopped => {
                        terminal.take_again().map_err(lost)?;
                        self.resumed(&terminal)?;
                        continue;
                    }
                    Happened::Nothing => continue,
                },
                () = pause => {
                    if let Some(frame) = self.painter.frame(&self.model, Instant::now()) {
                        terminal.draw(&frame).map_err(lost)?;
                    }
                    continue;
                }
                Some(message) = told.recv() => message,
            };
            if !self.happens(message, &mut terminal).await? {
                return Ok(Code::Done);
            }
        }
    }

    /// Something happened; whether the screen goes on.
    async fn happens(
        &mut self,
        message: Message,
        terminal: &mut Terminal,
    ) -> Result<bool, Failure> {
        self.painter.touch();
        #[cfg(debug_assertions)]
        if matches!(message, Message::Key(_)) && panics_for_a_test() {
            panic!("on purpose");
        }
        for effect in update(&mut self.model, message) {
            match effect {
                Effect::Quit => return Ok(false),
                Effect::Redraw => self.painter.forget(),
                Effect::Suspend => {
                    terminal.suspend().map_err(lost)?;
                    self.resumed(terminal)?;
                }
                Effect::Copy(text) => terminal.copy(&text).map_err(lost)?,
                Effect::RunOnTerminal(words) => {
                    let command = self.effects.command(&words);
                    // A Ctrl-C meanwhile is not meant for us.
                    let _lent = life::lent();
                    live::begin_anew();
                    tokio::select! {
                        lent = terminal.lend(command) => lent.map_err(lost)?,
                        () = self.stop.cancelled() => return Ok(false),
                    }
                    self.interrupts = signal(SignalKind::interrupt()).map_err(lost)?;
                    self.effects.look_again();
                    self.resumed(terminal)?;
                }
                effect => self.effects.carry_out(effect),
            }
        }
        Ok(true)
    }

    /// The terminal is ours again, and may have another size.
    fn resumed(&mut self, terminal: &Terminal) -> Result<(), Failure> {
        self.model.size = terminal.size().map_err(lost)?;
        self.painter.forget();
        Ok(())
    }
}

/// Starts something beside the screen. It is boxed: whatever runs a task is made anew for
/// every kind of future, and would be larger than most of these are.
fn beside(kind: tasks::Kind, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
    tasks::spawn(kind, work)
}

/// Starts a thread. What it does is boxed for the same reason.
fn thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
}

/// Whether a test wants to see what is left of the terminal then.
#[cfg(debug_assertions)]
fn panics_for_a_test() -> bool {
    std::env::var_os("SWITCHBOARD_TEST_PANIC").is_some_and(|what| what == "screen")
}

fn lost(error: std::io::Error) -> Failure {
    Failure::new(Code::Answered, format!("the terminal is gone: {error}"))
}
