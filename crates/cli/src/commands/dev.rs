//! `dev`: a server that starts again when its sources change, while its clients stay.

use super::{alone::Alone, listen::Listen};
use crate::{
    context::{Context, warn},
    failure::{Code, Failure},
    show::{live, safe},
};
use clap::Args;
use std::path::{Path, PathBuf};
use switchboard::{
    develop::{News, Sources, follow},
    library,
    local::secret,
    tasks,
};

/// Options of `dev`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// A folder or file to watch; repeatable (default: the working directory)
    #[arg(long, value_name = "PATH")]
    pub watch: Vec<PathBuf>,
    /// Names, or paths below what is watched, that do not count; * stands for anything; repeatable
    #[arg(long, value_name = "GLOB")]
    pub ignore: Vec<String>,
    #[command(flatten)]
    pub listen: Listen,
    /// The server: a command with its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    pub command: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  switchboard dev -- node server.js
  switchboard dev --watch src --ignore '*.log' -- uv run server.py
  switchboard add my-server -- switchboard dev --watch ~/my-server/src -- node ~/my-server/build/index.js

Clients stay connected. What they have asked when the server ends is told so; when it is there
again they hear that its lists have changed. While it does not start they are shown what it
listed last, and calls say what it wrote to stderr. .git, target, node_modules, __pycache__
and the like are not watched. What it lists may change as it likes: whoever edits it expects
that, so nothing of it is pinned here, and nothing waits for approval.";

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let [program, args @ ..] = options.command.as_slice() else {
        return Err(Failure::usage("the server is missing").hint("write its command behind --"));
    };
    let sources = sources(&context.options.directory, options)?;
    let name = Path::new(program).file_stem().unwrap_or_default();
    let mut spec = library::command(&name.to_string_lossy(), program, args);
    spec.timeouts.idle = None;
    let alone = Alone {
        spec,
        doors: options.listen.doors(context)?,
        keeps_lists: true,
    };
    alone.serve(|host, stop| {
        let following = follow(host.clone(), sources, stop.clone(), tell);
        tasks::spawn(tasks::Kind::Upkeep, following);
    })
}

fn sources(here: &Path, options: &Options) -> Result<Sources, Failure> {
    let mut roots: Vec<PathBuf> = options.watch.iter().map(|path| here.join(path)).collect();
    if let Some(missing) = roots.iter().find(|root| !root.exists()) {
        let text = format!("--watch {}: there is no such thing", missing.display());
        return Err(Failure::usage(text).hint("name a folder or a file that is there"));
    }
    if roots.is_empty() {
        roots.push(here.to_owned());
    }
    Ok(Sources {
        roots,
        ignored: options.ignore.clone(),
    })
}

/// Tells whoever writes the server what becomes of it. stdout is the protocol's.
fn tell(news: &News) {
    match news {
        News::TooMany => warn("there are more files than are watched; say --watch or --ignore"),
        News::Changed(file) => say(&format!("{} has changed", file.display())),
        News::Works => say("the server is there"),
        News::Fails(why) => say(&format!("the server cannot be used: {why}")),
    }
}

fn say(text: &str) {
    let text = secret::text(text);
    live::stderr_line(&format!("dev: {}", safe::lines(&text)));
}
