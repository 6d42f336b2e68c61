//! `logs`: what gateways log and servers write to stderr, together in the order of
//! time, or of one server alone.

mod show;
mod source;

use super::audit::since;
use crate::{
    context::{Context, Say, warn},
    failure::{Code, Failure},
    life, limits,
    near::{did_you_mean, near},
};
use chrono::{DateTime, Utc};
use clap::Args;
use show::Shown;
use source::{Entry, Source, Whose};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    path::{Path, PathBuf},
};
use switchboard::{
    Dirs,
    api::types::insight::Log,
    logs,
    process::put_aside,
    record::log_files::{self, Rotation},
};

/// Options of `logs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Only what this server has written to stderr
    pub server: Option<String>,
    /// Go on with what is written from now on, until you press Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
    /// Only since then: a time such as 2026-01-31T12:00:00Z or 2026-01-31, or how long ago, such as
    /// 90s, 15m, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<DateTime<Utc>>,
    /// Print a JSON object for each line
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard logs --since 15m
  switchboard logs --follow
  switchboard logs github --json";

/// Shows it, with what a terminal would obey written out.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let mut all = All {
        logs: logs::folder(&context.dirs()?),
        names: BTreeMap::new(),
        open: BTreeSet::new(),
        sources: Vec::new(),
        since: options.since,
    };
    let mut shown = Shown::new(options);
    match &options.server {
        Some(name) => all.one(context, name, options.follow)?,
        None => all.everybody(context)?,
    }
    shown.widen(&all.sources);
    if options.follow {
        all.merge(&mut shown, Source::next)?;
        follow(&mut all, &mut shown, options.server.is_none())?;
    }
    // Nothing comes any more: what nobody has ended is shown as it is.
    all.merge(&mut shown, Source::last)?;
    shown.flush()?;
    Ok(Code::Done)
}

/// Shows what comes, until somebody has seen enough.
fn follow(all: &mut All, shown: &mut Shown, everybody: bool) -> Result<(), Failure> {
    let followed = life::short(async |stop| {
        let stopped = stop.cancelled();
        tokio::pin!(stopped);
        loop {
            shown.flush()?;
            if shown.is_over() {
                return Ok::<(), Failure>(());
            }
            tokio::select! {
                () = &mut stopped => return Ok(()),
                () = tokio::time::sleep(limits::LOG_LOOK) => {}
            }
            if everybody {
                all.servers()?;
                shown.widen(&all.sources);
            }
            for source in &mut all.sources {
                source.turn()?;
            }
            all.merge(shown, Source::next)?;
        }
    });
    followed?
}

/// All logs that are shown.
struct All {
    /// Where those of servers are.
    logs: PathBuf,
    /// Servers by the file that they have there.
    names: BTreeMap<PathBuf, String>,
    /// The files whose logs are open.
    open: BTreeSet<PathBuf>,
    sources: Vec<Source>,
    since: Option<DateTime<Utc>>,
}

impl All {
    /// The log of one server.
    fn one(&mut self, context: &Context, name: &str, follow: bool) -> Result<(), Failure> {
        let path = logs::file(&self.logs, name);
        let is_kept = path.exists() || put_aside(&path).exists();
        if !is_kept {
            known(context, name)?;
        }
        if !is_kept && !follow {
            warn(&format!(
                "nothing that {name} wrote to stderr is kept: it has written nothing since it was first started, or is no program on this machine",
            ));
        }
        self.server(&path, name.to_owned())
    }

    /// The logs of gateways and of every server.
    fn everybody(&mut self, context: &Context) -> Result<(), Failure> {
        for server in &context.look(Say::Nothing).servers {
            let name = server.entry.name.clone();
            self.names.insert(logs::file(&self.logs, &name), name);
        }
        for path in gateways(context, &context.dirs()?) {
            let aside = (1..=Rotation::default().kept).rev();
            let aside: Vec<PathBuf> = aside.map(|n| log_files::aside(&path, n)).collect();
            self.sources
                .push(Source::open(Whose::Gateway, &path, &aside, self.since)?);
        }
        self.servers()?;
        if self.sources.iter().all(Source::is_empty) && self.since.is_none() {
            warn("nothing is kept yet: no gateway has run, and no server has written to stderr");
        }
        Ok(())
    }

    /// Opens the logs of servers that are not open yet.
    fn servers(&mut self) -> Result<(), Failure> {
        let Ok(files) = std::fs::read_dir(&self.logs) else {
            return Ok(());
        };
        let mut paths: Vec<PathBuf> = files
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|ends| ends == "log"))
            .filter(|path| !self.open.contains(path))
            .collect();
        paths.sort();
        for path in paths {
            let name = self.names.get(&path).cloned().or_else(|| {
                let name = path.file_stem()?;
                Some(name.to_string_lossy().into_owned())
            });
            self.server(&path, name.unwrap_or_default())?;
        }
        Ok(())
    }

    fn server(&mut self, path: &Path, name: String) -> Result<(), Failure> {
        let aside = [put_aside(path)];
        let source = Source::open(Whose::Server(name), path, &aside, self.since)?;
        self.sources.push(source);
        self.open.insert(path.to_owned());
        Ok(())
    }

    /// Shows all that there is by now, in the order of time.
    fn merge(
        &mut self,
        shown: &mut Shown,
        next_of: fn(&mut Source) -> Result<Option<Entry>, Failure>,
    ) -> Result<(), Failure> {
        let mut waiting = Vec::new();
        let mut order = BinaryHeap::new();
        for (at, source) in self.sources.iter_mut().enumerate() {
            let next = next_of(source)?;
            order.extend(next.as_ref().map(|entry| Reverse((entry.time, at))));
            waiting.push(next);
        }
        while let Some(Reverse((_, at))) = order.pop() {
            let source = &mut self.sources[at];
            let next = next_of(source)?;
            order.extend(next.as_ref().map(|entry| Reverse((entry.time, at))));
            if let Some(entry) = std::mem::replace(&mut waiting[at], next) {
                shown.entry(&source.whose, &entry)?;
            }
            if shown.is_over() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Where gateways log: to the file that is kept of all of them, and where those that
/// run were told to.
fn gateways(context: &Context, dirs: &Dirs) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::from([logs::gateways(dirs)]);
    for gateway in context.options.gateways() {
        // One that does not say has its log in the file of all.
        let answer = gateway.get::<Log>("log", switchboard::limits::PROMPT);
        files.extend(answer.ok().and_then(|log| log.file).map(PathBuf::from));
    }
    files
}

/// Whether there is such a server at all.
fn known(context: &Context, name: &str) -> Result<(), Failure> {
    let mut loaded = context.look(Say::Problems);
    loaded.bring_along();
    let names: Vec<&str> = loaded
        .servers
        .iter()
        .map(|server| server.entry.name.as_str())
        .collect();
    if names.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(&near(name, names));
    let hint = hint.unwrap_or_else(|| "see switchboard list".to_owned());
    Err(Failure::usage(format!("there is no server {name:?}")).hint(hint))
}
