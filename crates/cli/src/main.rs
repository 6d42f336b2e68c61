//! The `switchboard` program.
//!
//! Reads its arguments, goes under a keeper if it will start servers, runs one
//! command and ends with its exit code. stdout carries a command's result (or
//! the protocol); everything else goes to stderr.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(unreachable_pub, reason = "a program has no outside")]
#![cfg_attr(
    not(feature = "screen"),
    allow(dead_code, reason = "some of it is the screen's")
)]

mod args;
mod commands;
mod connectors;
mod context;
mod failure;
mod life;
mod limits;
mod logging;
mod near;
mod recording;
mod show;
mod strays;
mod told;
mod trusting;

use args::Command;
use context::Context;
use failure::{Code, Failure};
use std::panic::AssertUnwindSafe;
use switchboard::record::log_files::rotated;

fn main() {
    life::stand_guard();
    let cli = args::parse();
    // Before any thread: from here on there are two processes, and this is the
    // one that works.
    if cli.starts_servers() {
        life::keep();
    } else {
        life::hide();
    }
    switchboard::process::descriptors::raise();
    let json = cli.command.wants_json();
    life::end(code_of(json, || run(cli)));
}

/// How the program ends. A fault of ours, which has been told on stderr by
/// then, ends it like an error of a server's, not as scripts know nothing of;
/// and what was started ends with it.
fn code_of(json: bool, work: impl FnOnce() -> Result<Code, Failure>) -> Code {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            failure.show(json);
            failure.code
        }
        Err(_) => Code::Answered,
    }
}

fn run(cli: args::Cli) -> Result<Code, Failure> {
    let context = Context::new(cli.global)?;
    let filter = context.global.log.clone();
    let filter = filter.unwrap_or_else(|| cli.command.default_log().into());
    let file = context.global.log_file.as_deref();
    if let Some(file) = file {
        // Whoever is written about does not write it.
        let file = context.options.directory.join(file);
        context.options.in_use.add_own(rotated(&file));
    }
    let kept = cli.command.keeps_log().then(|| context.dirs().ok());
    let kept = kept
        .flatten()
        .map(|dirs| switchboard::logs::gateways(&dirs));
    logging::init(filter, file, kept.as_deref()).map_err(|error| {
        let file = file.unwrap_or(std::path::Path::new("stderr"));
        let text = format!("the log {} cannot be written: {error}", file.display());
        Failure::new(Code::Configuration, text)
    })?;
    let recording = recording::begin(&context, &cli.command);
    let ran = command(&context, cli.command);
    if let Some(recording) = recording {
        recording.end(&context, ran.is_ok());
    }
    context.late.finish();
    ran
}

fn command(context: &Context, command: Command) -> Result<Code, Failure> {
    match command {
        Command::Serve(with) => commands::serve::run(context, &with.own),
        Command::Up(with) => commands::up::run(context, &with.own),
        Command::Ui(with) => commands::ui::run(context, &with.own),
        Command::Status(with) => commands::status::run(context, &with.own),
        Command::Stats(with) => commands::stats::run(context, &with.own),
        Command::Traffic(with) => commands::traffic::run(context, &with.own),
        Command::Console(with) => commands::console::run(context, &with.own),
        Command::Stop(with) => commands::status::stop(context, &with.own),
        Command::Restart(with) => commands::status::restart(context, &with.own),
        Command::Service(with) => commands::service::run(context, &with.own),
        Command::Update(_) => commands::update::run(),
        Command::Login(with) => commands::login::run(context, &with.own),
        Command::Logout(with) => commands::login::logout(context, &with.own),
        Command::Doctor(with) => commands::doctor::run(context, &with.own),
        Command::List(with) => commands::list::run(context, &with.own),
        Command::Tools(with) => commands::tools::run(context, &with.own),
        Command::Call(with) => commands::call::run(context, &with.own),
        Command::Add(with) => commands::add::run(context, &with.own),
        Command::AddJson(with) => commands::add::run_json(context, &with.own),
        Command::Import(with) => commands::import::run(context, &with.own),
        Command::Connect(with) => commands::connect::run(context, &with.own),
        Command::Disconnect(with) => commands::connect::disconnect(context, &with.own),
        Command::Remove(with) => commands::remove::run(context, &with.own),
        Command::Get(with) => commands::get::run(context, &with.own),
        Command::Enable(with) => commands::switch::run(context, &with.own, true),
        Command::Disable(with) => commands::switch::run(context, &with.own, false),
        Command::Reconnect(with) => commands::reconnect::run(context, &with.own),
        Command::Approve(with) => commands::approve::run(context, &with.own),
        Command::Reject(with) => commands::approve::reject(context, &with.own),
        Command::ResetProjectChoices(_) => commands::approve::reset(context),
        Command::Trust(with) => commands::trust::run(context, &with.own),
        Command::Untrust(with) => commands::trust::revoke(context, &with.own),
        Command::Explain(with) => commands::explain::run(context, &with.own),
        Command::Logs(with) => commands::logs::run(context, &with.own),
        Command::Log(with) => commands::log::run(context, &with.own),
        Command::Audit(with) => commands::audit::run(context, &with.own),
        Command::Inbox(with) => commands::inbox::run(context, &with.own),
        Command::Answer(with) => commands::answer::run(context, &with.own),
        Command::Token(with) => commands::token::run(context, &with.own),
        #[cfg(feature = "cluster")]
        Command::Cluster(with) => commands::cluster::run(context, &with.own),
        #[cfg(feature = "cluster")]
        Command::Worker(with) => commands::worker::run(context, &with.own),
        Command::Resources(with) => commands::resources::run(context, &with.own),
        Command::Read(with) => commands::resources::read(context, &with.own),
        Command::Prompts(with) => commands::prompts::run(context, &with.own),
        Command::Prompt(with) => commands::prompts::get(context, &with.own),
        Command::Builtin(with) => commands::builtin::run(context, &with.own),
        Command::Replay(with) => commands::replay::run(context, &with.own),
        Command::Verify(with) => commands::verify::run(context, &with.own),
        Command::Dev(with) => commands::dev::run(context, &with.own),
        Command::Completions(with) => commands::generate::completions(with.own.shell),
        Command::Man(_) => commands::generate::man(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_a_code() {
        assert_eq!(code_of(false, || Ok(Code::Done)), Code::Done);
        assert_eq!(code_of(false, || Err(Failure::usage("no"))), Code::Usage);
        assert_eq!(code_of(false, || panic!("a fault of ours")), Code::Answered);
    }
}
