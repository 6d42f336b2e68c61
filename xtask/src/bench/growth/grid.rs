//! A grid measured: every line in every cell, in turn, and again.

use super::lines::Grid;
use super::plot::Plot;
use crate::bench::measure::{Cell, Load, Sample, measure};
use crate::bench::report::{median, range, ratios_of};
use crate::bench::subjects::Programs;
use crate::table::Table;
use anyhow::Result;
use std::path::Path;

/// How much of everything.
#[derive(Clone, Copy)]
pub struct Amount {
    /// How often each cell is measured.
    pub rounds: usize,
    /// How long each measurement takes.
    pub seconds: f64,
}

/// A grid with what was measured.
pub struct Measured {
    grid: Grid,
    /// By cell and line; a round each.
    samples: Vec<Vec<Vec<Sample>>>,
    /// What could not be measured, and why.
    pub broken: Vec<String>,
}

impl Measured {
    /// Measures. Every measurement starts its subject anew.
    pub fn of(grid: Grid, amount: Amount, programs: &Programs, scratch: &Path) -> Self {
        let nothing = vec![vec![Vec::new(); grid.lines.len()]; grid.cells.len()];
        let mut measured = Self {
            samples: nothing,
            broken: Vec::new(),
            grid,
        };
        for at in 0..measured.grid.cells.len() {
            for round in 1..=amount.rounds {
                for line in 0..measured.grid.lines.len() {
                    measured.one(at, line, round, amount, programs, scratch);
                }
            }
        }
        measured
    }

    fn one(
        &mut self,
        at: usize,
        line: usize,
        round: usize,
        amount: Amount,
        programs: &Programs,
        scratch: &Path,
    ) {
        let (cell, its) = (self.grid.cells[at], &self.grid.lines[line]);
        let name = format!("{cell} {}", its.name);
        if self.broken.iter().any(|broken| broken.starts_with(&name)) {
            return;
        }
        let load = Load {
            cell,
            era: its.era.to_owned(),
            seconds: amount.seconds,
            asks: Vec::new(),
            counts: None,
        };
        let done = its
            .subject
            .start(programs, scratch)
            .and_then(|running| measure(programs, &running, &load));
        match done {
            Ok(sample) => {
                eprintln!("{name}, round {round}: {sample}");
                self.samples[at][line].push(sample);
            }
            Err(error) => {
                eprintln!("{name}, round {round}: FAILED: {error:#}");
                self.broken.push(format!("{name}: {error:#}"));
            }
        }
    }

    /// What was measured of a line in a cell.
    pub fn samples(&self, cell: Cell, line: usize) -> &[Sample] {
        let at = self.grid.cells.iter().position(|it| *it == cell);
        at.map_or(&[], |at| &self.samples[at][line])
    }

    /// This figure of a line, divided by that of another in the same round.
    pub fn ratios(
        &self,
        cell: Cell,
        line: usize,
        other: usize,
        figure: fn(&Sample) -> Option<f64>,
    ) -> Vec<f64> {
        ratios_of(self.samples(cell, line), self.samples(cell, other), figure)
    }

    /// The table of everything.
    pub fn table(&self) -> String {
        let mut table = Table::new([
            "result × clients",
            "subject",
            "CPU µs/call",
            "(min–max)",
            "÷",
            "(min–max)",
            "p50 µs",
            "p99 µs",
            "p99 ÷",
            "calls/s",
            "peak PSS MiB",
        ]);
        let show = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
        };
        for (at, &cell) in self.grid.cells.iter().enumerate() {
            for (number, line) in self.grid.lines.iter().enumerate() {
                let samples = &self.samples[at][number];
                let other = self.grid.reference[number];
                let values = |of: fn(&Sample) -> Option<f64>| -> Vec<f64> {
                    samples.iter().filter_map(of).collect()
                };
                let cpu = values(|sample| sample.cpu_us);
                let ratios = self.ratios(cell, number, other, |sample| sample.cpu_us);
                let late = self.ratios(cell, number, other, |sample| Some(sample.p99_us));
                table.row([
                    cell.to_string(),
                    line.name.clone(),
                    show(median(&cpu), 1),
                    range(&cpu, 1),
                    show(median(&ratios), 2),
                    range(&ratios, 2),
                    show(median(&values(|sample| Some(sample.p50_us))), 0),
                    show(median(&values(|sample| Some(sample.p99_us))), 0),
                    show(median(&late), 2),
                    show(median(&values(|sample| Some(sample.per_second))), 0),
                    show(median(&values(|sample| sample.pss_mib)), 1),
                ]);
            }
        }
        table.render()
    }

    /// CPU of a call over what grows, a curve for each line.
    pub fn plot(&self, title: &str, x: &str, of: fn(&Cell) -> Option<f64>) -> Plot {
        let mut plot = Plot::new(title, x, "CPU µs per call");
        for (number, line) in self.grid.lines.iter().enumerate() {
            let cells = self.grid.cells.iter().enumerate();
            let points = cells.filter_map(|(at, cell)| {
                let samples = self.samples[at][number].iter();
                let cpu: Vec<f64> = samples.filter_map(|sample| sample.cpu_us).collect();
                Some((of(cell)?, median(&cpu)?))
            });
            plot.curve(&line.name, points.collect());
        }
        plot
    }

    /// The tick marks of a plot's axis.
    pub fn ticks(&self, of: fn(&Cell) -> Option<(f64, String)>) -> Vec<(f64, String)> {
        let mut ticks: Vec<_> = self.grid.cells.iter().filter_map(of).collect();
        ticks.dedup_by(|one, other| one.0 == other.0);
        ticks
    }

    /// Nothing, or what is missing.
    pub fn whole(&self) -> Result<()> {
        anyhow::ensure!(
            self.broken.is_empty(),
            "bench: no figures for: {}",
            self.broken.join("; ")
        );
        Ok(())
    }
}
