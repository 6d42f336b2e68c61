//! The table, and its place in the docs.

use super::Options;
use super::measure::{Cell, Sample};
use super::subjects::Subject;
use crate::table::Table;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

const BEGIN: &str = "<!-- bench: begin (written by `cargo xtask bench --write`) -->";
const END: &str = "<!-- bench: end -->";

/// All samples, by cell and subject.
pub struct Results {
    samples: BTreeMap<(Cell, Subject), Vec<Sample>>,
    nginx: Option<String>,
    conditions: String,
}

impl Results {
    /// Nothing measured yet.
    pub fn new(nginx: Option<String>, options: &Options) -> Self {
        let conditions = format!(
            "{} round(s) of {} s a cell, {} clients; {} processors ({}); client, subject and upstream on one machine.",
            options.rounds(),
            options.seconds(),
            options.era,
            std::thread::available_parallelism().map_or(1, usize::from),
            processor()
        );
        Self {
            samples: BTreeMap::new(),
            nginx,
            conditions,
        }
    }

    /// Adds one round's sample.
    pub fn add(&mut self, cell: Cell, subject: Subject, sample: Sample) {
        self.samples
            .entry((cell, subject))
            .or_default()
            .push(sample);
    }

    /// The table, with what one has to know to read it.
    pub fn render(&self) -> String {
        let mut table = Table::new([
            "result × clients",
            "subject",
            "CPU µs/call",
            "(min–max)",
            "÷ nginx",
            "p50 µs",
            "p99 µs",
            "calls/s",
            "peak RSS MiB",
            "peak PSS MiB",
        ]);
        for (&(cell, subject), samples) in &self.samples {
            let nginx = self
                .samples
                .get(&(cell, Subject::Nginx))
                .and_then(|samples| median(samples, |sample| sample.cpu_us));
            let cpu = median(samples, |sample| sample.cpu_us);
            let ratio = cpu.zip(nginx).map(|(cpu, nginx)| cpu / nginx);
            let show = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
            };
            table.row([
                cell.to_string(),
                subject.name().into(),
                show(cpu, 1),
                range(samples),
                show(ratio, 2),
                show(median(samples, |sample| Some(sample.p50_us)), 0),
                show(median(samples, |sample| Some(sample.p99_us)), 0),
                show(median(samples, |sample| Some(sample.per_second)), 0),
                show(median(samples, |sample| sample.rss_mib), 1),
                show(median(samples, |sample| sample.pss_mib), 1),
            ]);
        }
        let nginx = self.nginx.as_deref().unwrap_or("nginx was not installed");
        format!("{}\n{} {nginx}.\n", table.render(), self.conditions)
    }
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = samples.iter().filter_map(of).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

fn range(samples: &[Sample]) -> String {
    let values = || samples.iter().filter_map(|sample| sample.cpu_us);
    match (
        values().min_by(f64::total_cmp),
        values().max_by(f64::total_cmp),
    ) {
        (Some(least), Some(most)) => format!("{least:.1}–{most:.1}"),
        _ => "–".into(),
    }
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = line.and_then(|line| line.split_once(':'));
    name.map_or_else(
        || std::env::consts::ARCH.into(),
        |(_, name)| name.trim().into(),
    )
}

/// Replaces what stands between the two markers, which the page has to have.
pub fn write(page: &Path, table: &str) -> Result<()> {
    let text = match std::fs::read_to_string(page) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("# Performance\n\n{BEGIN}\n{END}\n")
        }
        Err(error) => return Err(error).with_context(|| format!("reading {}", page.display())),
    };
    let text = replaced(&text, table)
        .with_context(|| format!("{} has no lines '{BEGIN}' and '{END}'", page.display()))?;
    std::fs::write(page, text).with_context(|| format!("writing {}", page.display()))
}

fn replaced(text: &str, table: &str) -> Option<String> {
    let from = text.find(BEGIN)? + BEGIN.len();
    let to = from + text[from..].find(END)?;
    Some(format!("{}\n{table}{}", &text[..from], &text[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_around_the_table_stays() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}\nnew\n{END}\nafter\n");
        assert_eq!(replaced(&page, "new\n").as_deref(), Some(&*expected));
        assert_eq!(replaced("no markers", "new\n"), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_middle() {
        let sample = |cpu| Sample {
            cpu_us: Some(cpu),
            ..Sample::default()
        };
        let samples = [sample(1.0), sample(9.0), sample(3.0), sample(5.0)];
        assert_eq!(median(&samples, |sample| sample.cpu_us), Some(4.0));
        assert_eq!(median(&samples[..3], |sample| sample.cpu_us), Some(3.0));
        assert_eq!(range(&samples), "1.0–9.0");
        assert_eq!(median(&[], |sample| sample.cpu_us), None);
    }
}
