//! Asking whether the folder that we are in is trusted: once, and only where
//! somebody is there to answer.

use crate::{
    context::{Context, Say},
    failure::{Code, Failure},
    show::{live, safe, term},
};
use std::io::{BufRead, Write};
use switchboard::{
    Config,
    config::trust::{FoldersError, Store},
};

/// What is configured, once the user has been asked about the folder if that
/// matters and nobody has said anything about it. Both answers are kept.
pub fn asked(context: &Context, config: Config) -> Result<Config, Failure> {
    let loaded = config.read();
    if !loaded.folder_is_open() || !term::can_ask() || !term::stdout().terminal {
        return Ok(config);
    }
    let folder = loaded.folder.to_trust();
    live::stderr_line(&format!(
        "Do you trust all that is in {}?\nServers of yours that start there may run programs and read settings that they \
         find in it. If you say no,\nthey start in an empty directory. (switchboard trust and untrust change it later.)",
        safe::line(&folder.display().to_string())
    ));
    let yes = ask("Trust it? [y/N] ")?;
    let places = context.places()?;
    Store::say(&places, folder, yes).map_err(|error| failed(&error))?;
    if !yes {
        return Ok(config);
    }
    // All that hung on it is decided anew.
    Ok(context.look(Say::Nothing).lawful()?)
}

/// The failure that a record is which cannot be read or kept.
pub fn failed(error: &FoldersError) -> Failure {
    Failure::new(Code::Configuration, error.to_string()).hint(error.hint())
}

/// A question to a person, whose answer is no unless it is yes.
pub fn ask(question: &str) -> Result<bool, Failure> {
    let answer = ask_line(question)?.to_lowercase();
    Ok(answer == "y" || answer == "yes")
}

/// A question to a person, and the line that is the answer.
pub fn ask_line(question: &str) -> Result<String, Failure> {
    let unanswered = |error: std::io::Error| {
        Failure::new(
            Code::Interrupted,
            format!("no answer could be read: {error}"),
        )
    };
    let mut stderr = std::io::stderr();
    write!(stderr, "{question}")
        .and_then(|()| stderr.flush())
        .map_err(unanswered)?;
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(unanswered)?;
    Ok(answer.trim().to_owned())
}
