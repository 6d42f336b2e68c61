//! `completions` and `man`: made from the same definition as the help.

use crate::{
    args::Cli,
    failure::{Code, Failure},
    show::out,
};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct Options {
    /// Which shell
    pub shell: Shell,
}

/// Prints completions.
pub fn completions(shell: Shell) -> Result<Code, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "switchboard", &mut text);
    out::bytes(&text)?;
    Ok(Code::Done)
}

/// Prints the man page: the program and each of its commands.
pub fn man() -> Result<Code, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Code::Answered, format!("no man page: {error}"));
    let mut text = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(failed)?;
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        clap_mangen::Man::new(sub.clone())
            .render(&mut text)
            .map_err(failed)?;
    }
    out::bytes(&text)?;
    Ok(Code::Done)
}
