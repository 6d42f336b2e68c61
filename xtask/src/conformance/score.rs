//! What the suite wrote, and what it means.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Checks that the suite adds to every scenario. They succeed against a dead
/// server, so they do not count as a scenario's own.
const SYNTHETIC: [&str; 2] = ["wire-schema-valid", "wire-schema-harness-error"];

/// Which side of the protocol is under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// A server: the suite is its client.
    Server,
    /// A client: the suite is its server.
    Client,
}

/// How often a check with one id had each end.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// SUCCESS
    pub good: usize,
    /// FAILURE
    pub bad: usize,
}

/// One scenario at one revision.
#[derive(Debug)]
pub struct Scenario {
    /// Its name in the suite.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Its own checks, by id.
    pub checks: BTreeMap<String, Tally>,
    /// What went wrong, one entry a fault.
    pub reasons: Vec<Reason>,
}

/// A fault of a scenario.
#[derive(Debug)]
pub struct Reason {
    /// The check that did not succeed; none where the fault lies elsewhere.
    pub check: Option<String>,
    /// What it said.
    pub text: String,
}

/// How a scenario ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// At least one success of its own and no failure (client: no warning).
    Passed,
    /// Anything else.
    Failed,
    /// The suite itself said that it does not apply.
    Skipped,
}

/// One leg at one revision.
pub struct Run {
    /// The leg's name.
    pub leg: &'static str,
    /// The revision.
    pub version: &'static str,
    /// The scenarios, in the suite's order.
    pub scenarios: Vec<Scenario>,
    /// Scenarios left out on purpose.
    pub not_run: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Run {
    /// Scenarios that were run and not skipped by the suite.
    pub fn counted(&self) -> usize {
        self.scenarios.len() - self.with(Verdict::Skipped).count()
    }

    /// Scenarios that ended in this way.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Scenario> {
        self.scenarios
            .iter()
            .filter(move |scenario| scenario.verdict == verdict)
    }
}

impl Scenario {
    /// Reads the `checks.json` in `directory`; none where the suite wrote
    /// nothing, which is a failure whose reason the caller knows.
    pub fn read(
        side: Side,
        name: &str,
        directory: Option<&Path>,
        trouble: Option<String>,
    ) -> Result<Self> {
        let checks = match directory {
            None => Vec::new(),
            Some(directory) => {
                let file = directory.join("checks.json");
                let text = std::fs::read_to_string(&file)
                    .with_context(|| format!("reading {}", file.display()))?;
                serde_json::from_str(&text)
                    .with_context(|| format!("reading {}", file.display()))?
            }
        };
        Ok(Self::judge(side, name, &checks, trouble))
    }

    /// `trouble` is a fault outside the checks: a time-out, a client's exit
    /// code, a scenario that the suite could not run.
    fn judge(side: Side, name: &str, checks: &[Value], trouble: Option<String>) -> Self {
        let mut own: BTreeMap<String, Tally> = BTreeMap::new();
        let mut reasons: Vec<Reason> = Vec::new();
        let mut skipped = false;
        for check in checks {
            let id = check["id"].as_str().unwrap_or("(check without id)");
            let synthetic = SYNTHETIC.contains(&id);
            let mut tally = Tally::default();
            match check["status"].as_str().unwrap_or_default() {
                "SUCCESS" => tally.good = 1,
                "FAILURE" => {
                    tally.bad = 1;
                    reasons.push(explain(id, check, ""));
                }
                "WARNING" if side == Side::Client => {
                    reasons.push(explain(id, check, "warning: "));
                }
                "SKIPPED" => skipped = true,
                _ => {}
            }
            if !synthetic {
                let sum = own.entry(id.to_owned()).or_default();
                sum.good += tally.good;
                sum.bad += tally.bad;
            }
        }
        let any_good = own.values().any(|tally| tally.good > 0);
        let clean = reasons.is_empty() && trouble.is_none();
        let elsewhere = |text| Reason { check: None, text };
        reasons.extend(trouble.map(elsewhere));
        let verdict = match (any_good, clean) {
            (true, true) => Verdict::Passed,
            (false, true) if skipped => Verdict::Skipped,
            _ => Verdict::Failed,
        };
        if verdict == Verdict::Failed && reasons.is_empty() {
            reasons.push(elsewhere("no check of its own succeeded".into()));
        }
        Self {
            name: name.to_owned(),
            verdict,
            checks: own,
            reasons,
        }
    }

    /// The checks that ran: succeeded, and all that succeeded or failed.
    pub fn check_counts(&self) -> (usize, usize) {
        let good = self.checks.values().map(|tally| tally.good).sum::<usize>();
        let bad = self.checks.values().map(|tally| tally.bad).sum::<usize>();
        (good, good + bad)
    }
}

fn explain(id: &str, check: &Value, prefix: &str) -> Reason {
    let message = check["errorMessage"]
        .as_str()
        .or_else(|| check["description"].as_str())
        .unwrap_or_default();
    let line = message.lines().next().unwrap_or_default();
    let short: String = line.chars().take(200).collect();
    Reason {
        check: Some(id.to_owned()),
        text: format!("{prefix}{id}: {short}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judge(side: Side, statuses: &[(&str, &str)], trouble: Option<&str>) -> Verdict {
        let checks: Vec<Value> = statuses
            .iter()
            .map(|(id, status)| json!({"id": id, "status": status}))
            .collect();
        Scenario::judge(side, "s", &checks, trouble.map(str::to_owned)).verdict
    }

    #[test]
    fn synthetic_checks_alone_do_not_pass() {
        let only = [("wire-schema-valid", "SUCCESS")];
        assert_eq!(judge(Side::Server, &only, None), Verdict::Failed);
    }

    #[test]
    fn a_synthetic_failure_fails() {
        let checks = [("a", "SUCCESS"), ("wire-schema-valid", "FAILURE")];
        assert_eq!(judge(Side::Server, &checks, None), Verdict::Failed);
    }

    #[test]
    fn a_warning_fails_clients_only() {
        let checks = [("a", "SUCCESS"), ("b", "WARNING")];
        assert_eq!(judge(Side::Server, &checks, None), Verdict::Passed);
        assert_eq!(judge(Side::Client, &checks, None), Verdict::Failed);
    }

    #[test]
    fn trouble_outside_the_checks_fails() {
        let checks = [("a", "SUCCESS")];
        assert_eq!(
            judge(Side::Client, &checks, Some("exit code 1")),
            Verdict::Failed
        );
    }

    #[test]
    fn skipped_needs_the_suites_word() {
        assert_eq!(
            judge(Side::Server, &[("a", "SKIPPED")], None),
            Verdict::Skipped
        );
        assert_eq!(judge(Side::Server, &[("a", "INFO")], None), Verdict::Failed);
        assert_eq!(judge(Side::Server, &[], None), Verdict::Failed);
    }
}
