//! `logs`: what a server has written to stderr.

use crate::{
    context::{Context, Say, warn},
    failure::{Code, Failure},
    life, limits,
    near::{did_you_mean, near},
    show::{out, safe},
};
use clap::Args;
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
};
use switchboard::{logs, process::put_aside};

/// Options of `logs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The server
    pub name: String,
    /// Go on with what it writes from now on, until you press Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard logs github
  switchboard logs github --follow";

/// Shows it, with what a terminal would obey written out.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let dirs = context.dirs()?;
    let path = logs::file(&logs::folder(&dirs), &options.name);
    let mut shown = Shown::default();
    // First, so that what is put aside meanwhile is not missed.
    let mut file = open(&path)?;
    let older = open(&put_aside(&path))?;
    if file.is_none() && older.is_none() {
        known(context, &options.name)?;
        if !options.follow {
            warn(&format!(
                "nothing that {} wrote to stderr is kept: it has written nothing since it was first started, or is no program on this machine",
                options.name
            ));
        }
    }
    for file in [&older, &file].into_iter().flatten() {
        shown.rest_of(file)?;
    }
    if options.follow {
        let followed = life::short(async |stop| {
            let stopped = stop.cancelled();
            tokio::pin!(stopped);
            loop {
                tokio::select! {
                    () = &mut stopped => return Ok::<(), Failure>(()),
                    () = tokio::time::sleep(limits::LOG_LOOK) => {}
                }
                file = shown.more(&path, file.take())?;
            }
        });
        followed??;
    }
    shown.end()?;
    Ok(Code::Done)
}

fn open(path: &Path) -> Result<Option<File>, Failure> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// Whether there is such a server at all.
fn known(context: &Context, name: &str) -> Result<(), Failure> {
    let loaded = context.look(Say::Problems);
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

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let text = format!("{} cannot be read: {error}", path.display());
    Failure::new(Code::Configuration, text)
}

/// Shows lines as they become whole.
#[derive(Default)]
struct Shown {
    line: Vec<u8>,
}

impl Shown {
    /// Shows what has not been read of a file.
    fn rest_of(&mut self, mut file: &File) -> Result<(), Failure> {
        let mut chunk = vec![0; limits::LOG_CHUNK];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => self.add(&chunk[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let text = format!("the file cannot be read: {error}");
                    return Err(Failure::new(Code::Configuration, text));
                }
            }
        }
    }

    /// Shows what has come since, and gives the file to go on with: another one
    /// if the last was put aside.
    fn more(&mut self, path: &Path, file: Option<File>) -> Result<Option<File>, Failure> {
        if let Some(file) = &file {
            self.rest_of(file)?;
        }
        let is_the_same = |file: &File| {
            let (now, then) = (std::fs::metadata(path).ok()?, file.metadata().ok()?);
            Some((now.dev(), now.ino()) == (then.dev(), then.ino()))
        };
        match &file {
            Some(same) if is_the_same(same) != Some(false) => Ok(file),
            _ => {
                let next = open(path)?;
                if let Some(next) = &next {
                    self.rest_of(next)?;
                }
                Ok(next)
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") || self.line.len() > limits::LOG_LINE {
                self.end()?;
            }
        }
        Ok(())
    }

    /// Shows the line as far as it is known.
    fn end(&mut self) -> Result<(), Failure> {
        if self.line.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&self.line);
        out::line(&safe::line(text.trim_end_matches(['\r', '\n'])))?;
        self.line.clear();
        Ok(())
    }
}
