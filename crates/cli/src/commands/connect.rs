//! `connect` and `disconnect`: our entry in other clients' files, and the way back.
//!
//! | module | what |
//! |---|---|
//! | `plan` | what would be written for a client; shown, then written |
//! | `take_over` | which servers of its own come to us |
//! | `back` | `disconnect` |

mod back;
mod plan;
mod take_over;

use crate::{
    args::Command,
    commands::import::{self, is_ours},
    context::Context,
    failure::{Advice, Code, Failure},
    show::{out, safe, term},
    trusting,
};
pub use back::{DisconnectOptions, run as disconnect};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
pub use plan::{ARGUMENTS, Plan, Wanted, difference, program};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use switchboard::config::{
    Fault, Places,
    clients::{Client, Homes},
    connect::Records,
    import::{Found, find, in_file},
};

const EXAMPLES: &str = "Examples:
  switchboard connect                          the clients on this machine, and which are connected
  switchboard connect cursor                   shows what would change in Cursor's file, and asks
  switchboard connect codex gemini --yes       writes without asking
  switchboard connect cursor --take-over       moves Cursor's own servers here, too
  switchboard disconnect cursor                puts everything back";

/// Options of `connect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Whose file is written (without it: shows which clients are on this machine); all for
    /// every client that is
    #[arg(value_name = "CLIENT", value_parser = which(), hide_possible_values = true)]
    pub clients: Vec<Which>,
    /// Take over the servers that the client has, so that nothing runs twice
    #[arg(long)]
    pub take_over: bool,
    /// Write without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Only show what would be written
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// One client, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every client that is on this machine.
    All,
    /// This one.
    One(Client),
}

/// The names of clients, so that shells can complete them.
pub fn which() -> impl TypedValueParser<Value = Which> {
    let names = Client::all().map(Client::as_str).chain(["all"]);
    PossibleValuesParser::new(names).map(|name| Client::parse(&name).map_or(Which::All, Which::One))
}

/// What the commands work with.
pub struct Ground<'a> {
    context: &'a Context,
    homes: Homes,
    places: Places,
    records: Records,
}

impl<'a> Ground<'a> {
    /// As it is now.
    pub fn new(context: &'a Context) -> Result<Self, Failure> {
        Ok(Self {
            context,
            homes: import::homes(context)?,
            places: context.places()?,
            records: Records::within(&context.dirs()?.state),
        })
    }

    /// A path as people write it.
    fn shown(&self, file: &Path) -> String {
        let home = self.places.home.as_deref();
        let short = home.and_then(|home| file.strip_prefix(home).ok());
        safe::line(&match short {
            Some(rest) => format!("~/{}", rest.display()),
            None => file.display().to_string(),
        })
    }

    fn is_here(&self, client: Client) -> bool {
        client.is_here(&self.homes, &self.places.path)
    }

    /// The clients that are meant, each once.
    fn meant(&self, which: &[Which], all: impl Fn(&Standing) -> bool) -> Vec<Client> {
        let mut meant: Vec<Client> = Vec::new();
        for which in which {
            let some = match which {
                Which::One(client) => vec![*client],
                Which::All => {
                    let here = Standing::of_all(self).into_iter().filter(&all);
                    let here = here.map(|standing| standing.client);
                    here.collect::<Vec<_>>()
                }
            };
            for client in some {
                if !meant.contains(&client) {
                    meant.push(client);
                }
            }
        }
        meant
    }
}

/// How a client stands to us.
pub struct Standing {
    client: Client,
    /// Whether it has an entry that leads to us; or why nobody can tell.
    connected: Result<bool, Box<Fault>>,
    /// Servers of its own that are on.
    own: Vec<String>,
}

impl Standing {
    fn of(ground: &Ground<'_>, client: Client) -> Self {
        let ours = |found: &Found| is_ours(found, ground.context);
        let files = client.connected_by(&ground.homes);
        let each = files
            .iter()
            .map(|file| in_file(client, file, &ground.homes));
        let each = each.map(|found| Ok(found?.iter().any(ours)));
        let each: Result<Vec<bool>, Box<Fault>> = each.collect();
        let connected = each.map(|each| each.into_iter().all(|is| is));
        let mut faults = Vec::new();
        let all = find(client, &ground.homes, &mut faults);
        let own = all.iter().filter(|found| {
            let is_on = found.entry["disabled"] != true && found.left_out.is_none();
            !found.workspace && is_on && !ours(found)
        });
        Self {
            client,
            connected,
            own: own.map(|found| found.written_name.clone()).collect(),
        }
    }

    /// Those of all clients that are on this machine.
    fn of_all(ground: &Ground<'_>) -> Vec<Self> {
        let here = Client::all().filter(|client| ground.is_here(*client));
        here.map(|client| Self::of(ground, client)).collect()
    }

    fn word(&self) -> &str {
        match &self.connected {
            Ok(true) => "connected",
            Ok(false) => "not connected",
            Err(_) => "unreadable",
        }
    }

    fn as_json(&self, ground: &Ground<'_>) -> Value {
        json!({
            "client": self.client.as_str(),
            "title": self.client.title(),
            "file": self.client.file(&ground.homes).path.display().to_string(),
            "state": self.word(),
            "reason": self.connected.as_ref().err().map(|fault| fault.reason()),
            "servers": self.own,
        })
    }
}

/// The files that these commands write for the clients that are named, by which it is
/// seen whether they did anything.
pub fn written(context: &Context, command: &Command) -> Vec<PathBuf> {
    let which = match command {
        Command::Connect(with) => &with.own.clients,
        Command::Disconnect(with) => &with.own.clients,
        _ => return Vec::new(),
    };
    let Ok(ground) = Ground::new(context) else {
        return Vec::new();
    };
    let clients: Vec<Client> = match which.is_empty() {
        true => Client::all().collect(),
        false => ground.meant(which, |_| true),
    };
    let files = clients.iter().map(|client| ground.records.file(*client));
    files.collect()
}

/// Connects, or shows what could be.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let ground = Ground::new(context)?;
    let clients = match options.clients.as_slice() {
        [] => match choose(&ground, options)? {
            Some(clients) => clients,
            None => return Ok(Code::Done),
        },
        which => ground.meant(which, |_| true),
    };
    let asks = !options.yes && !options.dry_run && !options.json && term::can_ask();
    let mut rows = Vec::new();
    let mut unasked = false;
    for client in clients {
        let wanted = take_over::wanted(&ground, client, options.take_over, asks)?;
        let plan = Plan::new(&ground, client, wanted)?;
        if !options.json {
            plan.show(&ground)?;
        }
        let is_wanted = match plan.is_none() || options.dry_run {
            true => false,
            false => is_wanted(options.yes, asks, &mut unasked)?,
        };
        if is_wanted {
            plan.write(&ground)?;
        }
        match options.json {
            true => rows.push(plan.as_json(is_wanted)),
            false => plan.tell(&ground, is_wanted)?,
        }
    }
    if options.json {
        out::json_list(&rows)?;
    }
    if unasked {
        return Err(nobody());
    }
    Ok(Code::Done)
}

/// Whether what was shown is to be written: by an option, or by whoever is asked. Where
/// there is nobody, that is noted.
fn is_wanted(yes: bool, asks: bool, unasked: &mut bool) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if asks {
        return trusting::ask("Write this? [y/N] ");
    }
    *unasked = true;
    Ok(false)
}

/// Said where there was something to write, and nobody to ask.
fn nobody() -> Failure {
    Failure::usage("nothing was written: nobody is here to be asked")
        .hint("--yes writes without asking, --dry-run only shows what would be written")
}

/// Shows the clients of this machine; on a terminal, asks which of them are meant.
fn choose(ground: &Ground<'_>, options: &Options) -> Result<Option<Vec<Client>>, Failure> {
    let all = Standing::of_all(ground);
    if options.json {
        let rows: Vec<Value> = all
            .iter()
            .map(|standing| standing.as_json(ground))
            .collect();
        out::json_list(&rows)?;
        return Ok(None);
    }
    if all.is_empty() {
        out::line(
            "No client that we know is on this machine. switchboard connect CLIENT connects one all the same.",
        )?;
        return Ok(None);
    }
    let paint = term::stdout();
    for standing in &all {
        let (client, word) = (standing.client.as_str(), standing.word());
        let word = format!("{word:<13}");
        let word = match standing.connected {
            Ok(true) => paint.green(&word),
            Ok(false) => word,
            Err(_) => paint.yellow(&word),
        };
        let file = ground.shown(&standing.client.file(&ground.homes).path);
        let own = match standing.own.len() {
            0 => String::new(),
            1 => ", 1 server of its own".to_owned(),
            count => format!(", {count} servers of its own"),
        };
        out::line(&format!("{client:<18} {word}  {file}{own}"))?;
        if let Err(why) = &standing.connected {
            out::line(&format!("{:<18} {}", "", safe::line(&why.reason())))?;
        }
    }
    let open = |standing: &&Standing| standing.connected == Ok(false);
    if !all.iter().any(|standing| open(&standing)) {
        return Ok(None);
    }
    if !term::can_ask() || !paint.terminal {
        out::line(
            "\nswitchboard connect CLIENT writes our entry into its file, after showing the difference.",
        )?;
        return Ok(None);
    }
    let answer = trusting::ask_line("Connect which? Names, all, or nothing: ")?;
    let mut chosen = Vec::new();
    for word in answer.split([' ', ',']).filter(|word| !word.is_empty()) {
        if word == "all" {
            chosen.extend(all.iter().filter(open).map(|standing| standing.client));
            continue;
        }
        let client = import::client(word)
            .map_err(|advice: Advice| Failure::usage(format!("{word:?} is no client: {advice}")))?;
        chosen.push(client);
    }
    Ok(Some(chosen))
}
