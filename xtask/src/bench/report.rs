//! The table, and its place in the docs.

use super::Options;
use super::measure::{Cell, Sample};
use super::subjects::Subject;
use crate::table::Table;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// A part of the page that one command writes.
#[derive(Clone, Copy)]
pub enum Section {
    /// The gateway beside no proxy and nginx.
    Alone,
    /// The gateway beside others of its kind.
    Others,
    /// The gateway beside itself, watched in several ways.
    Watching,
    /// The terminal screen.
    Screen,
    /// The page in a browser.
    Console,
    /// How a call grows, or the promised figures.
    Set(&'static str),
}

impl Section {
    fn markers(self) -> (String, String) {
        let (begin, end) = match self {
            Self::Set(name) => {
                let option = match name {
                    "table" => "--table".to_owned(),
                    _ => format!("--set {name}"),
                };
                return (
                    format!(
                        "<!-- {name}: begin (written by `cargo xtask bench {option} --write`) -->"
                    ),
                    format!("<!-- {name}: end -->"),
                );
            }
            Self::Alone => (
                "<!-- bench: begin (written by `cargo xtask bench --write`) -->",
                "<!-- bench: end -->",
            ),
            Self::Others => (
                "<!-- others: begin (written by `cargo xtask bench --others --write`) -->",
                "<!-- others: end -->",
            ),
            Self::Watching => (
                "<!-- watching: begin (written by `cargo xtask bench --watching --write`) -->",
                "<!-- watching: end -->",
            ),
            Self::Screen => (
                "<!-- screen: begin (written by `cargo xtask bench screen --write`) -->",
                "<!-- screen: end -->",
            ),
            Self::Console => (
                "<!-- console: begin (written by `cargo xtask bench console --write`) -->",
                "<!-- console: end -->",
            ),
        };
        (begin.to_owned(), end.to_owned())
    }

    /// What the others' processor time is divided by, and its name.
    fn reference(self) -> (Subject, &'static str) {
        match self {
            Self::Alone | Self::Screen | Self::Console | Self::Set(_) => {
                (Subject::Nginx, "÷ nginx")
            }
            Self::Others => (Subject::Stdio, "÷ Switchboard"),
            Self::Watching => (Subject::Unwatched, "÷ nothing"),
        }
    }
}

/// What one has to know to read a table. `versions` says what the gateway stands beside.
pub fn conditions(options: &Options, versions: &str) -> String {
    let cell = match options.is_grown() {
        true => format!("{} round(s) a cell", options.rounds()),
        false => format!(
            "{} round(s) of {} s a cell, {} clients",
            options.rounds(),
            options.seconds(),
            options.era
        ),
    };
    format!(
        "{cell}; {} processors ({}); client, subject and upstream on one machine. {versions}.",
        std::thread::available_parallelism().map_or(1, usize::from),
        processor()
    )
}

/// All samples, by cell and subject.
pub struct Results {
    samples: BTreeMap<(Cell, Subject), Vec<Sample>>,
    section: Section,
    conditions: String,
}

impl Results {
    /// Nothing measured yet. `versions` says what the gateway stands beside.
    pub fn new(versions: &str, options: &Options) -> Self {
        Self {
            samples: BTreeMap::new(),
            section: options.section(),
            conditions: conditions(options, versions),
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
        let (reference, ratio) = self.section.reference();
        let mut table = Table::new([
            "result × clients",
            "subject",
            "CPU µs/call",
            "(min–max)",
            ratio,
            "(min–max)",
            "p50 µs",
            "p99 µs",
            "calls/s",
            "peak RSS MiB",
            "peak PSS MiB",
        ]);
        for (&(cell, subject), samples) in &self.samples {
            let reference = self.samples.get(&(cell, reference));
            let cpu = values(samples, |sample| sample.cpu_us);
            let ratios = reference.map_or_else(Vec::new, |other| ratios(samples, other));
            let show = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
            };
            let of = |what: fn(&Sample) -> Option<f64>, digits| {
                show(median(&values(samples, what)), digits)
            };
            table.row([
                cell.to_string(),
                subject.name().into(),
                show(median(&cpu), 1),
                range(&cpu, 1),
                show(median(&ratios), 3),
                range(&ratios, 2),
                of(|sample| Some(sample.p50_us), 0),
                of(|sample| Some(sample.p99_us), 0),
                of(|sample| Some(sample.per_second), 0),
                of(|sample| sample.rss_mib, 1),
                of(|sample| sample.pss_mib, 1),
            ]);
        }
        format!("{}\n{}\n", table.render(), self.conditions)
    }
}

fn values(samples: &[Sample], of: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
    samples.iter().filter_map(of).collect()
}

/// What each round took, divided by what its neighbour took: both had the same machine.
fn ratios(samples: &[Sample], others: &[Sample]) -> Vec<f64> {
    ratios_of(samples, others, |sample| sample.cpu_us)
}

/// The same of another figure.
pub fn ratios_of(
    samples: &[Sample],
    others: &[Sample],
    figure: impl Fn(&Sample) -> Option<f64>,
) -> Vec<f64> {
    let pairs = samples.iter().zip(others);
    let ratio = |(one, other): (&Sample, &Sample)| Some(figure(one)? / figure(other)?);
    pairs.filter_map(ratio).collect()
}

/// The middle one.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// The least and the most.
pub fn range(values: &[f64], digits: usize) -> String {
    let least = values.iter().copied().min_by(f64::total_cmp);
    let most = values.iter().copied().max_by(f64::total_cmp);
    match (least, most) {
        (Some(least), Some(most)) => format!("{least:.digits$}–{most:.digits$}"),
        _ => "–".into(),
    }
}

/// The processor's name.
pub fn processor() -> String {
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

/// Replaces what stands between the section's two markers, which the page has to have.
pub fn write(page: &Path, section: Section, table: &str) -> Result<()> {
    let text =
        std::fs::read_to_string(page).with_context(|| format!("reading {}", page.display()))?;
    let text = replaced(&text, section, table).with_context(|| {
        let (begin, end) = section.markers();
        format!("{} has no lines '{begin}' and '{end}'", page.display())
    })?;
    std::fs::write(page, text).with_context(|| format!("writing {}", page.display()))
}

fn replaced(text: &str, section: Section, table: &str) -> Option<String> {
    let (begin, end) = section.markers();
    let from = text.find(&begin)? + begin.len();
    let to = from + text[from..].find(&end)?;
    Some(format!("{}\n\n{table}\n{}", &text[..from], &text[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_around_the_table_stays() {
        let (begin, end) = Section::Others.markers();
        let page = format!("before\n{begin}\nold\n{end}\nafter\n");
        let expected = format!("before\n{begin}\n\nnew\n\n{end}\nafter\n");
        let written = |page| replaced(page, Section::Others, "new\n");
        assert_eq!(written(&page).as_deref(), Some(&*expected));
        assert_eq!(written("no markers"), None);
        assert_eq!(replaced(&page, Section::Alone, "new\n"), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_middle() {
        assert_eq!(median(&[1.0, 9.0, 3.0, 5.0]), Some(4.0));
        assert_eq!(median(&[1.0, 9.0, 3.0]), Some(3.0));
        assert_eq!(range(&[1.0, 9.0, 3.0, 5.0], 1), "1.0–9.0");
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_ratio_is_that_of_neighbours() {
        let sample = |cpu| Sample {
            cpu_us: Some(cpu),
            ..Sample::default()
        };
        let (one, other) = ([sample(2.0), sample(30.0)], [sample(1.0), sample(10.0)]);
        assert_eq!(ratios(&one, &other), [2.0, 3.0]);
        assert!(ratios(&one, &[Sample::default()]).is_empty());
    }
}
