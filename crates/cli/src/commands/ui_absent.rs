//! The screen where the program was built without it (`--no-default-features`): it says so.
//! What is left is what others use of `ui`.

use crate::{
    context::Context,
    failure::{Code, Failure},
};
use clap::Args;
use std::io;
use switchboard::api::Client;
use tokio_util::sync::CancellationToken;

/// Options of `ui`.
#[derive(Debug, Args)]
pub struct Options {
    /// What to open, such as servers/github
    #[arg(value_name = "PLACE")]
    pub place: Option<String>,
}

/// There is nothing to draw with.
pub fn is_possible() -> bool {
    false
}

/// Says that there is no screen.
pub fn run(_: &Context, _: &Options) -> Result<Code, Failure> {
    let failure = Failure::usage("this program was built without the screen");
    Err(failure.hint("the same is to be had by commands: switchboard --help"))
}

/// No terminal was taken.
pub fn restore() {}

/// No keys are read.
pub struct Keyboard(());

impl Keyboard {
    /// There are none.
    pub fn take() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// None ever is.
    pub async fn pressed(&mut self, _: char) {
        std::future::pending().await
    }

    /// Nothing was taken.
    pub fn take_again(&mut self) {}

    /// Nothing was taken.
    pub fn give_back(&mut self) {}
}

/// There is none to show.
pub async fn over(_: &Context, _: &Client, _: &CancellationToken) -> Result<(), Failure> {
    Ok(())
}
