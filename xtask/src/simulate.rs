//! `cargo xtask simulate`: what many replicas and workers would do to each other and to
//! NATS, counted instead of tried. The tables are those of `docs/design/scale.md`; the same
//! seed gives the same ones.

mod adoption;
mod dice;
mod placement;

use crate::paths;
use anyhow::{Context, Result};
use dice::Dice;

/// Where the tables are.
const PAGE: &str = "docs/design/scale.md";
const BEGIN: &str = "<!-- simulate: begin (written by `cargo xtask simulate --write`) -->";
const END: &str = "<!-- simulate: end -->";

/// Options of `cargo xtask simulate`.
#[derive(clap::Args)]
pub struct Options {
    /// What random numbers come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Put the tables into docs/design/scale.md
    #[arg(long)]
    write: bool,
}

/// Simulates, and prints the tables.
pub fn run(options: &Options) -> Result<()> {
    let text = tables(options.seed);
    println!("{text}");
    if options.write {
        let page = paths::root().join(PAGE);
        let old = std::fs::read_to_string(&page).context(PAGE)?;
        let from = old.find(BEGIN).context("no place for the tables")? + BEGIN.len();
        let to = from + old[from..].find(END).context("no end of the tables")?;
        let new = format!("{}\n\n{text}\n{}", &old[..from], &old[to..]);
        std::fs::write(&page, new).context(PAGE)?;
    }
    Ok(())
}

fn tables(seed: u64) -> String {
    format!(
        "Where shared servers are (seed {seed}):\n\n{}\n\
         A replica dies, and clients come back for its sessions (seed {seed}):\n\n{}",
        placement::table(&mut Dice::new(seed)),
        adoption::table(&mut Dice::new(seed)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_tables_which_are_those_of_the_page() -> Result<()> {
        let page = std::fs::read_to_string(paths::root().join(PAGE))?;
        let text = tables(1);
        assert!(page.contains(&text), "cargo xtask simulate --write");
        Ok(())
    }
}
