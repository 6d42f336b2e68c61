//! `trust` and `untrust`: in which folders the user's servers may be started.

use crate::{
    context::Context,
    failure::{Code, Failure},
    show::{out, safe, term},
    trusting::failed,
};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use switchboard::config::{
    Places,
    trust::{Store, Trust, judge},
};

/// Options of `trust`.
#[derive(Debug, Args)]
pub struct Options {
    /// The folder (default: the repository that we are in, or the directory)
    pub folder: Option<PathBuf>,
    /// Show what was said about folders, and whether this one is trusted
    #[arg(long, conflicts_with = "folder")]
    pub list: bool,
    /// Print JSON
    #[arg(long, requires = "list")]
    pub json: bool,
}

/// Options of `untrust`.
#[derive(Debug, Args)]
pub struct UntrustOptions {
    /// The folder
    pub folder: PathBuf,
}

/// Trusts a folder, and all that lies in it.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let places = context.places()?;
    if options.list {
        return list(&places, options.json);
    }
    let folder = match &options.folder {
        Some(folder) => real(context, folder)?,
        None => match places.tree() {
            Some(tree) => tree.to_owned(),
            None => return Err(nothing_to_trust(&places)),
        },
    };
    Store::say(&places, &folder, true).map_err(|error| failed(&error))?;
    out::line(&format!(
        "Trusted {} and all that lies in it: servers of yours start there when you work there.",
        shown(&folder)
    ))?;
    Ok(Code::Done)
}

/// Takes it back, or says no from the beginning.
pub fn revoke(context: &Context, options: &UntrustOptions) -> Result<Code, Failure> {
    let places = context.places()?;
    let folder = match real(context, &options.folder) {
        Ok(folder) => folder,
        // It may have been removed since.
        Err(failure) => {
            let named = context.options.directory.join(&options.folder);
            let store = Store::of(&places).map_err(|error| failed(&error))?;
            store.get(&named).map(|_| named).ok_or(failure)?
        }
    };
    Store::say(&places, &folder, false).map_err(|error| failed(&error))?;
    out::line(&format!(
        "{} is not trusted: servers of yours start in an empty directory when you work there.",
        shown(&folder)
    ))?;
    Ok(Code::Done)
}

fn real(context: &Context, folder: &Path) -> Result<PathBuf, Failure> {
    let named = context.options.directory.join(folder);
    let wrong = |why: String| {
        Failure::usage(format!("{}: {why}", folder.display())).hint("give a folder that exists")
    };
    let real = named
        .canonicalize()
        .map_err(|error| wrong(error.to_string()))?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(wrong("is not a folder".to_owned()))
    }
}

/// Home would be a large thing to trust by a word that names nothing.
fn nothing_to_trust(places: &Places) -> Failure {
    let directory = shown(&places.directory);
    Failure::usage(format!(
        "{directory} counts as trusted by itself, and all that lies in it is more than a command without a name should trust"
    ))
    .hint(format!(
        "go to a folder in it, or name one: switchboard trust DIR (switchboard trust {directory} is possible)"
    ))
}

fn list(places: &Places, as_json: bool) -> Result<Code, Failure> {
    let store = Store::of(places).map_err(|error| failed(&error))?;
    let (trust, _) = judge(places);
    if as_json {
        let folders: Vec<_> = store
            .all()
            .iter()
            .map(|said| json!({"folder": said.folder, "trusted": said.trusted}))
            .collect();
        let here = json!({
            "folder": places.directory,
            "trusted": matches!(trust, Trust::Trusted(_)),
            "reason": reason(&trust),
        });
        out::line(&json!({"folders": folders, "here": here}).to_string())?;
        return Ok(Code::Done);
    }
    let paint = term::stdout();
    for said in store.all() {
        let word = if said.trusted {
            paint.green("trusted    ")
        } else {
            paint.yellow("not trusted")
        };
        out::line(&format!("{word}  {}", shown(&said.folder)))?;
    }
    let word = match trust {
        Trust::Trusted(_) => "is trusted",
        Trust::Refused(_) | Trust::Open => "is not trusted",
    };
    out::line(&format!(
        "{} {word}: {}",
        shown(&places.directory),
        safe::line(&reason(&trust))
    ))?;
    Ok(Code::Done)
}

fn reason(trust: &Trust) -> String {
    match trust {
        Trust::Trusted(why) => why.clone(),
        Trust::Refused(folder) => format!("you said no to {}", folder.display()),
        Trust::Open => "nobody has said that it is".to_owned(),
    }
}

fn shown(folder: &Path) -> String {
    safe::line(&folder.display().to_string())
}
