//! What is printed, and what counts as a failure.

use super::exceptions::Exception;
use super::legs::Leg;
use super::score::{Reason, Run, Scenario, Tally, Verdict};
use crate::table::Table;
use serde_json::{Value, json};

/// All runs, judged together.
pub struct Report<'a> {
    runs: &'a [Run],
    /// Scenarios that failed for a reason that no exception covers.
    failed: Vec<String>,
    /// Checks that succeeded directly and not through a gateway.
    lost: Vec<String>,
    /// The same, where an exception says why.
    excepted: Vec<String>,
    /// Exceptions that nothing needed.
    stale: Vec<String>,
}

/// One line as soon as a revision is done.
pub fn progress(run: &Run) {
    println!(
        "{} {}: {}/{} scenarios, {:.0} s",
        run.leg,
        run.version,
        run.with(Verdict::Passed).count(),
        run.counted(),
        run.seconds
    );
}

impl<'a> Report<'a> {
    /// Compares the gateway's runs with the direct ones.
    pub fn new(runs: &'a [Run], exceptions: &[Exception]) -> Self {
        let mut report = Self {
            runs,
            failed: Vec::new(),
            lost: Vec::new(),
            excepted: Vec::new(),
            stale: Vec::new(),
        };
        let mut needed = vec![false; exceptions.len()];
        for run in runs {
            let direct = report.direct_of(run);
            for scenario in &run.scenarios {
                let place = format!("{} {} {}", run.leg, run.version, scenario.name);
                let covering = |check: &str| {
                    let across = is_across(run);
                    let about =
                        |e: &Exception| e.covers(across, run.version, &scenario.name, check);
                    exceptions.iter().position(about)
                };
                let missing = lost(direct, scenario);
                // Where exceptions cover all that the scenario checks, that it checked nothing is covered too.
                let all_excused =
                    !missing.is_empty() && missing.iter().all(|check| covering(check).is_some());
                for check in missing {
                    if let Some(at) = covering(&check) {
                        needed[at] = true;
                        report.excepted.push(format!("{place}: {check}"));
                    } else {
                        report.lost.push(format!("{place}: {check}"));
                    }
                }
                let excused = |reason: &&Reason| {
                    direct.is_some()
                        && match reason.check.as_deref() {
                            Some(check) => covering(check).is_some(),
                            None => all_excused,
                        }
                };
                let reasons: Vec<&str> = scenario
                    .reasons
                    .iter()
                    .filter(|reason| !excused(reason))
                    .map(|reason| reason.text.as_str())
                    .collect();
                if scenario.verdict == Verdict::Failed && !reasons.is_empty() {
                    let reasons = reasons.join("\n      ");
                    report.failed.push(format!("{place}\n      {reasons}"));
                }
            }
        }
        report.stale = exceptions
            .iter()
            .zip(needed)
            .filter(|(exception, needed)| !needed && was_tested(runs, exception))
            .map(|(e, _)| {
                let eras = if e.across { "across" } else { "same" };
                format!("{eras} {} {} {}", e.version, e.scenario, e.check)
            })
            .collect();
        report
    }

    /// The direct run that a gateway's run is compared with.
    fn direct_of(&self, run: &Run) -> Option<&'a Run> {
        if !Leg::THROUGH.iter().any(|leg| leg.name() == run.leg) {
            return None;
        }
        self.runs
            .iter()
            .find(|other| other.leg == Leg::Direct.name() && other.version == run.version)
    }

    /// The number of faults.
    pub fn failures(&self) -> usize {
        self.failed.len() + self.lost.len() + self.stale.len()
    }

    /// The table and, under it, every fault by name.
    pub fn print(&self) {
        let mut table = Table::new(["leg", "version", "scenarios", "checks", "kept", "seconds"]);
        for run in self.runs {
            let counts = run.scenarios.iter().map(Scenario::check_counts);
            let (good, all) = counts.fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
            let passed = run.with(Verdict::Passed).count();
            table.row([
                run.leg.into(),
                run.version.into(),
                format!("{passed}/{}", run.counted()),
                format!("{good}/{all}"),
                self.direct_of(run)
                    .map_or_else(String::new, |d| kept(d, run)),
                format!("{:.1}", run.seconds),
            ]);
        }
        println!("\n{}", table.render());
        for run in self.runs {
            let skipped: Vec<&str> = run
                .with(Verdict::Skipped)
                .map(|scenario| scenario.name.as_str())
                .collect();
            if !skipped.is_empty() {
                let names = skipped.join(", ");
                println!("skipped by the suite: {} {}: {names}", run.leg, run.version);
            }
            if !run.not_run.is_empty() {
                println!(
                    "NOT RUN: auth ({} scenarios): {} {}: {}",
                    run.not_run.len(),
                    run.leg,
                    run.version,
                    run.not_run.join(", ")
                );
            }
        }
        for (word, lines) in [
            ("EXCEPTION", &self.excepted),
            ("FAIL", &self.failed),
            ("LOST (succeeds directly)", &self.lost),
            ("STALE EXCEPTION (remove it)", &self.stale),
        ] {
            for line in lines {
                println!("{word}: {line}");
            }
        }
    }

    /// Everything, for machines.
    pub fn json(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            let scenarios = run.scenarios.iter().map(|scenario| {
                let checks = scenario
                    .checks
                    .iter()
                    .map(|(id, tally)| (id.clone(), json!({"good": tally.good, "bad": tally.bad})));
                json!({
                    "name": scenario.name,
                    "verdict": format!("{:?}", scenario.verdict).to_lowercase(),
                    "checks": checks.collect::<serde_json::Map<_, _>>(),
                    "reasons": scenario.reasons.iter().map(|r| &r.text).collect::<Vec<_>>(),
                })
            });
            json!({
                "leg": run.leg,
                "version": run.version,
                "seconds": run.seconds,
                "scenarios": scenarios.collect::<Vec<_>>(),
                "notRun": run.not_run,
            })
        });
        json!({
            "runs": runs.collect::<Vec<_>>(),
            "failed": self.failed,
            "lost": self.lost,
            "excepted": self.excepted,
            "stale": self.stale,
        })
    }
}

fn is_across(run: &Run) -> bool {
    Leg::THROUGH
        .iter()
        .any(|leg| leg.is_across() && leg.name() == run.leg)
}

/// Ids of checks that succeed in the direct run and do not, or less often,
/// here.
fn lost(direct: Option<&Run>, scenario: &Scenario) -> Vec<String> {
    let reference = direct.and_then(|run| {
        run.scenarios
            .iter()
            .find(|other| other.name == scenario.name)
    });
    let Some(reference) = reference else {
        return Vec::new();
    };
    let good = |tally: &Tally| tally.good > 0 && tally.bad == 0;
    let checks = reference.checks.iter().filter(|(_, tally)| good(tally));
    checks
        .filter(|(id, tally)| {
            scenario
                .checks
                .get(*id)
                .is_none_or(|here| here.good < tally.good || here.bad > 0)
        })
        .map(|(id, _)| id.clone())
        .collect()
}

/// How many of the direct run's good checks a gateway's run has too.
fn kept(direct: &Run, run: &Run) -> String {
    let good = |run: &Run| {
        let checks = run.scenarios.iter().flat_map(|s| s.checks.values());
        checks
            .filter(|tally| tally.good > 0 && tally.bad == 0)
            .count()
    };
    let missing: usize = run
        .scenarios
        .iter()
        .map(|scenario| lost(Some(direct), scenario).len())
        .sum();
    let all = good(direct);
    format!("{}/{all}", all.saturating_sub(missing))
}

/// Whether both single gateways ran the scenario of an exception, so that its not
/// being needed means something.
fn was_tested(runs: &[Run], exception: &Exception) -> bool {
    let legs = Leg::THROUGH.into_iter().filter(|leg| !leg.has_replicas());
    let mut legs = legs.filter(|leg| leg.is_across() == exception.across);
    legs.all(|leg| {
        runs.iter()
            .filter(|run| run.leg == leg.name() && run.version == exception.version)
            .any(|run| {
                run.scenarios
                    .iter()
                    .any(|scenario| scenario.name == exception.scenario)
                    || run.scenarios.len() > 1 // a whole revision: no such scenario any more
            })
    })
}

#[cfg(test)]
mod tests;
