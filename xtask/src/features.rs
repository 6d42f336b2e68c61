//! `cargo xtask features`: the crate `switchboard` with parts of it left out. Each
//! combination compiles without a warning, says what it lacks, and the small ones stay
//! small: whoever builds an agent compiles no more than it needs. All are counted; the
//! two that differ most from the program are compiled, with `--all` every one.

use crate::cargo::cargo;
use crate::table::Table;
use anyhow::{Context, Result, bail, ensure};
use std::{collections::BTreeSet, process::Command, time::Instant};

/// Options of `cargo xtask features`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Compile every combination that makes sense, and run what says what is lacking
    #[arg(long)]
    all: bool,
    /// Count packages, and compile nothing
    #[arg(long)]
    count: bool,
}

/// Some features, and what holds of a build with them.
struct Combination {
    features: &'static [&'static str],
    /// The most packages that it may compile.
    packages: Option<usize>,
    /// Whether every run compiles it.
    always: bool,
}

const fn one(features: &'static [&'static str]) -> Combination {
    Combination {
        features,
        packages: None,
        always: false,
    }
}

const fn small(features: &'static [&'static str], packages: usize) -> Combination {
    Combination {
        features,
        packages: Some(packages),
        always: false,
    }
}

/// All that makes sense. Features that bring others along are not named with them.
const COMBINATIONS: &[Combination] = &[
    // An agent with servers that are programs.
    Combination {
        always: true,
        ..small(&[], 130)
    },
    small(&["http", "validate"], 200),
    // All but the gateway: what no other combination has seen.
    Combination {
        always: true,
        ..one(&["builtin", "images", "keychain", "validate"])
    },
    one(&["http"]),
    one(&["validate"]),
    one(&["images"]),
    one(&["builtin"]),
    one(&["sign-in"]),
    one(&["keychain"]),
    one(&["gateway"]),
    one(&["builtin", "gateway"]),
    one(&["otlp"]),
    one(&["cluster"]),
    one(&["builtin", "http", "validate"]),
    one(&[
        "builtin", "cluster", "gateway", "http", "images", "keychain", "otlp", "sign-in",
        "validate",
    ]),
];

/// Looks at the combinations.
pub fn run(options: &Options) -> Result<()> {
    let mut table = Table::new(["features", "packages", "at most", "seconds"]);
    let mut faults = Vec::new();
    for combination in COMBINATIONS {
        let features = combination.features.join(",");
        let packages = packages(&features)?;
        if combination.packages.is_some_and(|most| packages > most) {
            faults.push(format!("{features:?} compiles {packages} packages"));
        }
        let mut seconds = String::new();
        if !options.count && (options.all || combination.always) {
            let started = Instant::now();
            if let Err(fault) = check(&features) {
                faults.push(format!("{features:?}: {fault:#}"));
            }
            seconds = format!("{:.1}", started.elapsed().as_secs_f64());
        }
        table.row([
            if features.is_empty() {
                "none".to_owned()
            } else {
                features
            },
            packages.to_string(),
            combination
                .packages
                .map_or(String::new(), |most| most.to_string()),
            seconds,
        ]);
    }
    println!("{}", table.render());
    if !options.count
        && let Err(fault) = clean(&mut cargo(FIRST_START))
    {
        faults.push(format!("the program of a first start: {fault:#}"));
    }
    if options.all {
        let said = [says_what_it_lacks(), first_start_says_what_it_lacks()];
        faults.extend(
            said.into_iter()
                .filter_map(Result::err)
                .map(|fault| format!("{fault:#}")),
        );
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// How many packages a build compiles, our own among them.
fn packages(features: &str) -> Result<usize> {
    let mut command = cargo(["tree", "-p", "switchboard", "-e", "normal"]);
    command.args(["--prefix", "none", "--format", "{p}", "--locked"]);
    command.args(["--no-default-features", "--features", features]);
    let output = command.output().context("starting cargo tree")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo tree: {text}");
    let text = String::from_utf8_lossy(&output.stdout);
    let names: BTreeSet<&str> = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    Ok(names.len())
}

/// Compiles a build, without a warning.
fn check(features: &str) -> Result<()> {
    let mut command = cargo(["check", "-p", "switchboard", "--lib", "--locked"]);
    clean(command.args(["--no-default-features", "--features", features]))
}

/// The program as `cargo run --release` has it, which is not what is tested.
const FIRST_START: [&str; 5] = ["check", "-p", "switchboard-cli", "--bins", "--locked"];

fn clean(command: &mut Command) -> Result<()> {
    let output = command.output().context("starting cargo check")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let clean = output.status.success() && !text.lines().any(|line| line.starts_with("warning"));
    ensure!(clean, "does not compile without a warning:\n{text}");
    Ok(())
}

/// What the program of a first start says of several gateways.
fn first_start_says_what_it_lacks() -> Result<()> {
    let mut command = cargo(["run", "--quiet", "-p", "switchboard-cli", "--locked"]);
    let output = command.args(["--", "cluster", "status"]).output();
    let output = output.context("starting cargo run")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let said = output.status.code() == Some(2) && text.contains("--features full");
    ensure!(
        said,
        "it does not say how to have several gateways:\n{text}"
    );
    Ok(())
}

/// What a build says that lacks nearly everything.
fn says_what_it_lacks() -> Result<()> {
    let mut command = cargo(["test", "-p", "switchboard", "--lib", "--locked"]);
    command.args(["--no-default-features", "absent"]);
    let output = command.output().context("starting cargo test")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let fault = String::from_utf8_lossy(&output.stderr);
    let ran = text.contains("absent::") && output.status.success();
    ensure!(ran, "the tests of what is absent:\n{text}\n{fault}");
    Ok(())
}
