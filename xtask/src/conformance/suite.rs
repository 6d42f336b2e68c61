//! The suite's command line.

use super::EXTENSIONS;
use super::score::{Scenario, Side, Verdict};
use crate::process::{run_logged, tail};
use crate::setup::Tools;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The suite's own limit for one scenario. The longest ones take some seconds.
const SCENARIO_LIMIT: Duration = Duration::from_secs(20);
/// Our limit for a whole revision, should the suite itself hang.
const RUN_LIMIT: Duration = Duration::from_secs(240);
/// What a result's directory ends with: `-2026-01-31T12-00-00-000Z`.
const STAMP: usize = "-2026-01-31T12-00-00-000Z".len();

/// The installed suite.
pub struct Suite {
    node: PathBuf,
    script: PathBuf,
    /// The NATS server's program.
    pub nats: PathBuf,
    only: Option<String>,
}

impl Suite {
    /// The suite, restricted to one scenario if `only` names one.
    pub fn new(tools: &Tools, only: Option<String>) -> Self {
        Self {
            node: tools.node.clone(),
            script: tools.suite.clone(),
            nats: tools.nats.clone(),
            only,
        }
    }

    /// The names of the scenarios at a revision, in the suite's order.
    pub fn scenarios(&self, side: Side, version: &str) -> Result<Vec<String>> {
        let flag = match side {
            Side::Server => "--server",
            Side::Client => "--client",
        };
        let mut command = self.command(&["list", flag]);
        if version != EXTENSIONS {
            command.args(["--spec-version", version]);
        }
        let output = command.output().context("starting the suite")?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("the suite's list: {text}");
        }
        let names = text.lines().filter_map(|line| {
            let (name, tag) = line.strip_prefix("  - ")?.split_once(" [")?;
            (version != EXTENSIONS || tag == "extension]").then_some(name)
        });
        Ok(names
            .filter(|name| self.only.as_ref().is_none_or(|only| only == name))
            .map(str::to_owned)
            .collect())
    }

    /// All server scenarios of a revision, one after the other in one process.
    pub fn server(&self, url: &str, version: &str, out: &Path) -> Result<Vec<Scenario>> {
        let names = self.scenarios(Side::Server, version)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        if version == EXTENSIONS {
            return self.extensions(url, &names, out);
        }
        let mut command = self.test("server", &["--url", url], version, out)?;
        match &self.only {
            Some(name) => command.args(["--scenario", name]),
            None => command.args(["--suite", "all"]),
        };
        let log = out.join("suite.log");
        let ended = run_logged(&mut command, &log, RUN_LIMIT, None)?;
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let found = results(out, Side::Server)?;
        let read = names.iter().map(|name| {
            let directory = found.get(name);
            let trouble = match directory {
                Some(_) => None,
                None if ended.timed_out => {
                    Some("the suite was ended before it came here".to_owned())
                }
                None => Some(could_not_run(&text, name)),
            };
            Scenario::read(Side::Server, name, directory.map(PathBuf::as_path), trouble)
        });
        read.collect()
    }

    /// The suite runs these only one at a time.
    fn extensions(&self, url: &str, names: &[String], out: &Path) -> Result<Vec<Scenario>> {
        let one = |name: &String| {
            let out = out.join(name);
            let mut command = self.test("server", &["--url", url], EXTENSIONS, &out)?;
            command.args(["--scenario", name]);
            let log = out.join("suite.log");
            let ended = run_logged(&mut command, &log, SCENARIO_LIMIT * 2, None)?;
            let found = results(&out, Side::Server)?;
            let directory = found.get(name).map(PathBuf::as_path);
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let trouble = match directory {
                Some(_) => None,
                None if ended.timed_out => Some("timed out".to_owned()),
                None => Some(could_not_run(&text, name)),
            };
            Scenario::read(Side::Server, name, directory, trouble)
        };
        names.iter().map(one).collect()
    }

    /// One client scenario. Only the suite's single runner looks at how the
    /// client ended, and only for some scenarios: a wrapper notes it for us.
    pub fn client(
        &self,
        program: &Path,
        name: &str,
        version: &str,
        out: &Path,
    ) -> Result<Scenario> {
        std::fs::create_dir_all(out)?;
        let noted = out.join("exit-code");
        let wrapper = wrapper(program, out, &noted)?;
        let wrapper = wrapper.to_string_lossy();
        let mut command = self.test("client", &["--command", &wrapper], version, out)?;
        command.args(["--scenario", name]);
        let log = out.join("suite.log");
        let ended = run_logged(&mut command, &log, SCENARIO_LIMIT * 2, None)?;
        let code = std::fs::read_to_string(&noted).unwrap_or_default();
        let trouble = match code.trim() {
            _ if ended.timed_out => Some("timed out".to_owned()),
            "" => Some("the client did not end in time".to_owned()),
            "0" if ended.ok() => None,
            // A client may refuse a bad authorization server with an error;
            // the suite knows where.
            _ if ended.ok() && name.starts_with("auth/") => None,
            // Its checks say why, as a rule.
            "0" => None,
            code => Some(format!("the client's exit code was {code}")),
        };
        let found = results(out, Side::Client)?;
        let directory = found.get(name).map(PathBuf::as_path);
        let trouble = match directory {
            Some(_) => trouble,
            None => {
                let text = std::fs::read_to_string(&log).unwrap_or_default();
                Some(format!("no result: {}", tail(&text, 3)))
            }
        };
        let scenario = Scenario::read(Side::Client, name, directory, trouble)?;
        if scenario.verdict == Verdict::Passed && !ended.ok() {
            let trouble = format!("the suite's verdict: {}", ended.describe());
            return Scenario::read(Side::Client, name, directory, Some(trouble));
        }
        Ok(scenario)
    }

    fn test(&self, what: &str, target: &[&str], version: &str, out: &Path) -> Result<Command> {
        std::fs::create_dir_all(out)?;
        let mut command = self.command(&[what]);
        command
            .args(target)
            .args(["--timeout", &SCENARIO_LIMIT.as_millis().to_string()])
            .arg("--output-dir")
            .arg(out);
        if version != EXTENSIONS {
            command.args(["--spec-version", version]);
        }
        Ok(command)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).args(args);
        command
    }
}

/// A script that runs the client and writes down its exit code. The suite
/// splits its command at blanks, so it can hold neither code nor quotes.
fn wrapper(program: &Path, out: &Path, noted: &Path) -> Result<PathBuf> {
    let path = out.join("client.sh");
    let text = format!(
        "#!/bin/sh\n{} \"$@\"\ncode=$?\necho $code >{}\nexit $code\n",
        quoted(program),
        quoted(noted)
    );
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
    Ok(path)
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Scenario name → the directory that the suite made for it. Names may hold a
/// slash, so these can lie one deeper.
fn results(out: &Path, side: Side) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut open = vec![out.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if !path.is_dir() {
                continue;
            }
            if path.join("checks.json").is_file()
                && let Some(name) = scenario_name(out, &path, side)
            {
                found.insert(name, path);
            } else {
                open.push(path);
            }
        }
    }
    Ok(found)
}

fn scenario_name(out: &Path, directory: &Path, side: Side) -> Option<String> {
    let relative = directory.strip_prefix(out).ok()?.to_str()?;
    let name = relative.get(..relative.len().checked_sub(STAMP)?)?;
    match side {
        Side::Server => Some(name.strip_prefix("server-").unwrap_or(name).to_owned()),
        Side::Client => Some(name.to_owned()),
    }
}

fn could_not_run(log: &str, name: &str) -> String {
    let start = format!("Failed to run scenario {name}:");
    let line = log.lines().find(|line| line.starts_with(&start));
    line.map_or_else(
        || format!("no result: {}", tail(log, 3)),
        |line| line[start.len()..].trim().to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_directories() {
        let out = Path::new("/out");
        let name = |side, directory: &str| scenario_name(out, &out.join(directory), side);
        assert_eq!(
            name(
                Side::Server,
                "server-server-initialize-2026-01-31T12-00-00-000Z"
            )
            .as_deref(),
            Some("server-initialize")
        );
        assert_eq!(
            name(Side::Client, "auth/basic-cimd-2026-01-31T12-00-00-000Z").as_deref(),
            Some("auth/basic-cimd")
        );
        assert_eq!(name(Side::Client, "short"), None);
    }
}
