//! `cargo xtask bench --table`: the figures that are promised, with their limits, in one run.

use super::grid::{Amount, Measured};
use super::lines::{Grid, cells};
use super::servers::{self, Ask, Widths};
use super::sessions;
use crate::bench::measure::{Cell, Sample};
use crate::bench::report::{median, range};
use crate::bench::subjects::{Programs, Subject};
use crate::table::Table;
use anyhow::Result;
use std::path::Path;

const MIB: u64 = 1 << 20;
const CLIENTS: [u64; 3] = [1, 16, 256];
/// Servers with 50 tools each: one, as many as fill a page, and many.
const WIDTHS: [usize; 3] = [1, 20, 1000];
/// How often memory is looked at, in gateways started for it.
const LOOKS: usize = 3;

/// One line of the table.
struct Row {
    figure: String,
    /// At most; none where nothing is promised.
    limit: Option<f64>,
    values: Vec<f64>,
    digits: usize,
    unit: &'static str,
}

/// All lines, as far as they were measured.
pub struct Figures {
    rows: Vec<Row>,
    /// What could not be measured.
    pub broken: Vec<String>,
}

impl Figures {
    /// Measures everything, one part after the other; a part that fails is missing.
    pub fn of(amount: Amount, programs: &Programs, scratch: &Path) -> Self {
        let mut figures = Self {
            rows: Vec::new(),
            broken: Vec::new(),
        };
        figures.beside_nginx(amount, programs, scratch);
        if let Err(error) = figures.wide(amount, programs, scratch) {
            figures.broken.push(format!("many servers: {error:#}"));
        }
        for _ in 0..LOOKS {
            match sessions::memory(programs, scratch) {
                Ok(memory) => {
                    figures.add("memory, idle", 16.0, memory.idle_mib, " MiB");
                    figures.add("memory, a session", 2.0, memory.session_kib, " KiB");
                }
                Err(error) => figures.broken.push(format!("sessions: {error:#}")),
            }
        }
        figures.watching(amount, programs, scratch);
        figures
    }

    fn beside_nginx(&mut self, amount: Amount, programs: &Programs, scratch: &Path) {
        let mut subjects = vec![Subject::Nginx, Subject::Stdio, Subject::Http];
        subjects.extend(
            programs
                .agentgateway
                .is_some()
                .then_some(Subject::Agentgateway),
        );
        let grid = Grid::of(cells(&[200, MIB], &CLIENTS), &subjects);
        let measured = Measured::of(grid, amount, programs, scratch);
        let limits: [(usize, &str, [f64; 3]); 2] = [
            (1, "HTTP → stdio", [1.1, 1.0, 1.1]),
            (2, "HTTP → HTTP", [1.4, 1.3, 1.4]),
        ];
        let cpu: fn(&Sample) -> Option<f64> = |sample| sample.cpu_us;
        let late: fn(&Sample) -> Option<f64> = |sample| Some(sample.p99_us);
        for (bytes, size) in [(200, "a small call"), (MIB, "a result of 1 MiB")] {
            for (line, way, small) in &limits {
                for (at, &clients) in CLIENTS.iter().enumerate() {
                    let cell = Cell { bytes, clients };
                    let limit = if bytes == 200 { small[at] } else { 1.3 };
                    self.rows.push(Row {
                        figure: format!("CPU ÷ nginx, {size}, {way}, {clients} client(s)"),
                        limit: Some(limit),
                        values: measured.ratios(cell, *line, 0, cpu),
                        digits: 2,
                        unit: "",
                    });
                }
            }
        }
        let most = CLIENTS[2];
        for (bytes, size) in [(200, "a small call"), (MIB, "a result of 1 MiB")] {
            for (line, way, _) in &limits {
                let cell = Cell {
                    bytes,
                    clients: most,
                };
                self.rows.push(Row {
                    figure: format!("p99 ÷ nginx, {size}, {way}, {most} clients"),
                    limit: Some(1.3),
                    values: measured.ratios(cell, *line, 0, late),
                    digits: 2,
                    unit: "",
                });
            }
        }
        for (line, way, _) in &limits {
            let cell = Cell {
                bytes: MIB,
                clients: most,
            };
            let samples = measured.samples(cell, *line).iter();
            self.rows.push(Row {
                figure: format!("memory, {most} clients × 1 MiB, {way}"),
                limit: Some(64.0),
                values: samples.filter_map(|sample| sample.pss_mib).collect(),
                digits: 1,
                unit: " MiB",
            });
        }
        if subjects.len() > 3 {
            for &clients in &CLIENTS {
                let cell = Cell {
                    bytes: 200,
                    clients,
                };
                self.rows.push(Row {
                    figure: format!("agentgateway: CPU ÷ nginx, a small call, {clients} client(s)"),
                    limit: None,
                    values: measured.ratios(cell, 3, 0, cpu),
                    digits: 2,
                    unit: "",
                });
            }
        }
        println!("\n{}", measured.table());
        self.broken.extend(measured.broken);
    }

    fn wide(&mut self, amount: Amount, programs: &Programs, scratch: &Path) -> Result<()> {
        let widths = Widths::of(&WIDTHS, false, amount, programs, scratch)?;
        println!("\n{}", widths.table());
        let [one, full, many] = &widths.wide[..] else {
            anyhow::bail!("not all widths were measured");
        };
        let each = |wide: &servers::Wide| -> Vec<f64> {
            let pages = wide.cpu(Ask::Page).into_iter();
            pages.map(|page| page / wide.on_page()).collect()
        };
        let ratio = |many: &[f64], few: &[f64]| -> Vec<f64> {
            many.iter().zip(few).map(|(many, few)| many / few).collect()
        };
        for (figure, limit, values) in [
            (
                "a page, for each tool on it: of 50,000 tools ÷ of 50",
                1.2,
                ratio(&each(many), &each(one)),
            ),
            (
                "a page of 1,000 tools: of 50,000 ÷ of 1,000",
                1.2,
                ratio(&many.cpu(Ask::Page), &full.cpu(Ask::Page)),
            ),
            (
                "a call: among 1,000 servers ÷ with one",
                1.1,
                ratio(&many.cpu(Ask::Call), &one.cpu(Ask::Call)),
            ),
        ] {
            self.rows.push(Row {
                figure: figure.into(),
                limit: Some(limit),
                values,
                digits: 2,
                unit: "",
            });
        }
        let (mut lists, mut memory) = (vec![many.first_list], vec![many.pss_mib]);
        drop(widths);
        let upstream = servers::servers(programs, scratch)?;
        while lists.len() < amount.rounds {
            let (running, took) = servers::first_list(WIDTHS[2], &upstream, programs, scratch)?;
            servers::quiet(&running)?;
            lists.push(took);
            memory.push(running.pss_kib()? / 1024.0);
            eprintln!("first complete list of {} servers: {took:.2} s", WIDTHS[2]);
        }
        self.rows.push(Row {
            figure: "first complete list of 1,000 HTTP servers, from the program's start".into(),
            limit: Some(3.0),
            values: lists,
            digits: 2,
            unit: " s",
        });
        self.rows.push(Row {
            figure: "memory, 1,000 servers with 50,000 tools".into(),
            limit: Some(100.0),
            values: memory,
            digits: 1,
            unit: " MiB",
        });
        Ok(())
    }

    fn watching(&mut self, amount: Amount, programs: &Programs, scratch: &Path) {
        let subjects = [Subject::Unwatched, Subject::Stdio, Subject::Audited];
        let grid = Grid::of(cells(&[200], &[1, 16]), &subjects);
        // The differences are small: more rounds.
        let amount = Amount {
            rounds: amount.rounds + amount.rounds / 2,
            ..amount
        };
        let measured = Measured::of(grid, amount, programs, scratch);
        println!("\n{}", measured.table());
        for (line, what, limit) in [(1, "metrics", 1.03), (2, "metrics and audit", 1.10)] {
            for clients in [1, 16] {
                let cell = Cell {
                    bytes: 200,
                    clients,
                };
                self.rows.push(Row {
                    figure: format!("CPU with {what} ÷ without, {clients} client(s)"),
                    limit: Some(limit),
                    values: measured.ratios(cell, line, 0, |sample| sample.cpu_us),
                    digits: 3,
                    unit: "",
                });
            }
        }
        self.broken.extend(measured.broken);
    }

    fn add(&mut self, figure: &str, limit: f64, value: f64, unit: &'static str) {
        match self.rows.iter_mut().find(|row| row.figure == figure) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row {
                figure: figure.into(),
                limit: Some(limit),
                values: vec![value],
                digits: 2,
                unit,
            }),
        }
    }

    /// The table, and how many of its limits are met.
    pub fn table(&self) -> String {
        let mut table = Table::new(["figure", "measured", "(min–max)", "at most", "met"]);
        let (mut met, mut all) = (0, 0);
        for row in &self.rows {
            all += usize::from(row.limit.is_some());
            met += usize::from(row.is_met() == Some(true));
            let digits = row.digits;
            table.row([
                row.figure.clone(),
                median(&row.values).map_or_else(
                    || "–".into(),
                    |value| format!("{value:.digits$}{}", row.unit),
                ),
                range(&row.values, digits),
                row.limit
                    .map_or_else(|| "–".into(), |limit| format!("{limit}{}", row.unit)),
                row.verdict().into(),
            ]);
        }
        format!("{}\n{met} of {all} limits are met.\n", table.render())
    }
}

impl Row {
    /// Whether the median is within the limit; none where there is neither.
    fn is_met(&self) -> Option<bool> {
        Some(median(&self.values)? <= self.limit?)
    }

    fn verdict(&self) -> &'static str {
        match (self.limit, self.is_met()) {
            (None, _) => "",
            (_, Some(true)) => "yes",
            (_, Some(false)) => "**no**",
            (_, None) => "not measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_held_to_its_limit() {
        let row = |limit, values: &[f64]| Row {
            figure: "f".into(),
            limit,
            values: values.to_vec(),
            digits: 2,
            unit: "",
        };
        assert_eq!(row(Some(1.1), &[1.0, 1.1, 9.0]).verdict(), "yes");
        assert_eq!(row(Some(1.1), &[1.2, 1.0, 1.3]).verdict(), "**no**");
        assert_eq!(row(Some(1.1), &[]).verdict(), "not measured");
        assert_eq!(row(None, &[1.0]).verdict(), "");
        let figures = Figures {
            rows: vec![
                row(Some(1.1), &[1.0]),
                row(Some(1.1), &[2.0]),
                row(None, &[1.0]),
            ],
            broken: Vec::new(),
        };
        assert!(figures.table().contains("1 of 2 limits are met"));
    }
}
