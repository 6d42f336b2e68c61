//! `update`: there is none, and this says what there is instead.

use crate::{
    failure::{Code, Failure},
    show::{out, safe},
};
use switchboard::VERSION;

/// Says how Switchboard is updated.
pub fn run() -> Result<Code, Failure> {
    let program = std::env::current_exe().map(|path| path.display().to_string());
    out::line(&format!(
        "Switchboard {VERSION}, {}",
        safe::line(&program.unwrap_or_default())
    ))?;
    out::line(
        "It does not update itself: it fetches nothing that you did not ask for. Update it the way it was installed:",
    )?;
    out::line("  from its source     git pull, then cargo install --path crates/cli")?;
    out::line("  from a package      with whatever installed the package")?;
    out::line(
        "Then: switchboard restart. Settings, tokens, sign-ins and approvals stay as they are.",
    )?;
    Ok(Code::Done)
}
