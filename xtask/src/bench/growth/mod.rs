//! How what a call costs grows: with clients, sizes, servers, sessions; by transport, era
//! and version of HTTP. Sets can be chosen by name, and `--table` measures what is promised.
//!
//! - `lines.rs`: the sets
//! - `grid.rs`: cells × lines, measured in turn
//! - `servers.rs`, `sessions.rs`: what is no such grid
//! - `figures.rs`: the promised figures with their limits
//! - `plot.rs`: plots

mod figures;
mod grid;
mod lines;
mod plot;
mod servers;
mod sessions;

pub use grid::Amount;
pub use lines::Set;

use super::measure::Cell;
use super::report::{self, Section, median, range};
use super::subjects::Programs;
use crate::paths;
use crate::table::Table;
use anyhow::{Context, Result, ensure};
use figures::Figures;
use grid::Measured;
use plot::Plot;
use servers::Widths;
use std::path::Path;

/// What is measured, and with what.
pub struct Growth<'a> {
    /// The programs.
    pub programs: &'a Programs,
    /// Rounds and seconds.
    pub amount: Amount,
    /// One line about machine and versions.
    pub conditions: &'a str,
    /// Put tables and plots into the docs.
    pub write: bool,
    /// A folder for this run.
    pub scratch: &'a Path,
}

impl Growth<'_> {
    /// The promised figures.
    pub fn table(&self) -> Result<()> {
        let figures = Figures::of(self.amount, self.programs, self.scratch);
        let broken = figures.broken.join("; ");
        self.show(Section::Set("table"), &figures.table())?;
        ensure!(broken.is_empty(), "bench: no figures for: {broken}");
        Ok(())
    }

    /// One set.
    pub fn set(&self, set: Set) -> Result<()> {
        let agentgateway = self.programs.agentgateway.is_some();
        match set.grid(agentgateway) {
            Some(grid) => {
                let measured = Measured::of(grid, self.amount, self.programs, self.scratch);
                let drawn = match plot(set, &measured) {
                    Some(plot) => self.draw(set, &plot)?,
                    None => String::new(),
                };
                let table = format!("{}{drawn}", measured.table());
                self.show(Section::Set(set.name()), &table)?;
                measured.whole()
            }
            None if set == Set::Sessions => self.sessions(),
            None => {
                let widths = [1, 10, 100, 1000];
                let (programs, scratch) = (self.programs, self.scratch);
                let widths = Widths::of(&widths, true, self.amount, programs, scratch)?;
                let drawn = self.draw(set, &widths.plot())?;
                let table = format!("{}{drawn}", widths.table());
                self.show(Section::Set(set.name()), &table)
            }
        }
    }

    fn sessions(&self) -> Result<()> {
        let (mut idle, mut each) = (Vec::new(), Vec::new());
        for _ in 0..self.amount.rounds {
            let memory = sessions::memory(self.programs, self.scratch)?;
            idle.push(memory.idle_mib);
            each.push(memory.session_kib);
        }
        let mut table = Table::new(["memory (PSS)", "measured", "(min–max)"]);
        let show =
            |values: &[f64]| median(values).map_or("–".into(), |value| format!("{value:.2}"));
        table.row(["idle, MiB".into(), show(&idle), range(&idle, 2)]);
        let name = format!("each of {} sessions, KiB", sessions::SESSIONS);
        table.row([name, show(&each), range(&each, 2)]);
        self.show(Section::Set(Set::Sessions.name()), &table.render())
    }

    /// Prints a table, and puts it into the docs where that is wanted.
    fn show(&self, section: Section, table: &str) -> Result<()> {
        let text = format!("{table}\n{}\n", self.conditions);
        println!("\n{text}");
        if self.write {
            let page = paths::root().join("docs/design/performance.md");
            report::write(&page, section, &text)?;
        }
        Ok(())
    }

    /// Writes a plot where that is wanted; what shows it on the page.
    fn draw(&self, set: Set, plot: &Plot) -> Result<String> {
        let Some(svg) = plot.svg().filter(|_| self.write) else {
            return Ok(String::new());
        };
        let name = format!("pictures/bench-{}.svg", set.name());
        let file = paths::root().join("docs").join(&name);
        std::fs::write(&file, svg).with_context(|| format!("writing {}", file.display()))?;
        Ok(format!("\n![{}](../{name})\n", plot.title()))
    }
}

/// The plot of a set that grows along one axis.
fn plot(set: Set, measured: &Measured) -> Option<Plot> {
    match set {
        Set::Clients => {
            let plot = measured.plot(
                "A call of 200 bytes, by how many clients call at once",
                "clients",
                |cell| Some(cell.clients as f64),
            );
            let ticks = |cell: &Cell| Some((cell.clients as f64, cell.clients.to_string()));
            Some(plot.ticks(measured.ticks(ticks)))
        }
        Set::Sizes => {
            let plot = measured.plot(
                "A call of one client, by the size of its result",
                "size of the result",
                |cell| (cell.clients == 1).then_some(cell.bytes as f64),
            );
            let ticks = |cell: &Cell| (cell.clients == 1).then(|| (cell.bytes as f64, cell.size()));
            Some(plot.ticks(measured.ticks(ticks)))
        }
        _ => None,
    }
}
