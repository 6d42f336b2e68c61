//! Peers as their users install them: from a registry, by name and version.

use crate::paths;
use crate::setup::{ensure_npm, logged};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a package comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// JavaScript's.
    Npm,
    /// Python's.
    PyPi,
}

/// A package of a registry, and others that have to come with it.
#[derive(Clone, Copy)]
pub struct Package {
    pub registry: Registry,
    pub name: &'static str,
    pub version: &'static str,
    /// What else is installed beside it, as its registry's client is told.
    pub with: &'static [&'static str],
}

/// A package of npm's registry.
pub const fn npm(name: &'static str, version: &'static str) -> Package {
    Package {
        registry: Registry::Npm,
        name,
        version,
        with: &[],
    }
}

/// A package of Python's registry.
pub const fn pypi(name: &'static str, version: &'static str) -> Package {
    Package {
        registry: Registry::PyPi,
        name,
        version,
        with: &[],
    }
}

impl Package {
    /// The same with others beside it.
    pub const fn with(mut self, others: &'static [&'static str]) -> Self {
        self.with = others;
        self
    }

    /// Name and version, as people read them.
    pub fn title(&self) -> String {
        let beside = match self.with {
            [] => String::new(),
            others => format!(" with {}", others.join(", ")),
        };
        format!("{} {}{beside}", self.name, self.version)
    }

    /// The folder that it is in, once it is installed.
    pub fn folder(&self) -> Result<PathBuf> {
        let registry = match self.registry {
            Registry::Npm => "npm",
            Registry::PyPi => "pypi",
        };
        let (name, _) = self.name.split_once('[').unwrap_or((self.name, ""));
        let flat = name.replace('@', "").replace('/', "-");
        let cache = paths::cache()?.join("peers").join(registry);
        let mut folder = format!("{flat}-{}", self.version);
        for other in self.with {
            folder = format!("{folder}-{}", other.replace("==", "-"));
        }
        Ok(cache.join(folder))
    }

    /// The folder with its programs.
    pub fn programs(&self) -> Result<PathBuf> {
        Ok(self.folder()?.join(match self.registry {
            Registry::Npm => "node_modules/.bin",
            Registry::PyPi => "bin",
        }))
    }

    /// What its registry's client is told to install.
    fn specs(&self) -> Vec<String> {
        let own = match self.registry {
            Registry::Npm => format!("{}@{}", self.name, self.version),
            Registry::PyPi => format!("{}=={}", self.name, self.version),
        };
        let others = self.with.iter().map(|other| (*other).to_owned());
        std::iter::once(own).chain(others).collect()
    }

    /// Installs it where it is not there yet.
    pub fn install(&self) -> Result<()> {
        let (dir, specs) = (self.folder()?, self.specs());
        let marker = dir.join(".done");
        if fs::read_to_string(&marker).is_ok_and(|done| done == specs.join(" ")) {
            return Ok(());
        }
        println!("peers: installing {}", specs.join(" "));
        if dir.exists() {
            fs::remove_dir_all(&dir)?; // what an interrupted run left
        }
        fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        match self.registry {
            Registry::Npm => from_npm(&dir, &specs)?,
            Registry::PyPi => from_pypi(&dir, &specs)?,
        }
        Ok(fs::write(&marker, specs.join(" "))?)
    }
}

fn from_npm(dir: &Path, specs: &[String]) -> Result<()> {
    ensure_npm(dir)?;
    fs::write(dir.join("package.json"), "{\"private\":true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(specs)
        .current_dir(dir);
    logged(&mut npm, dir, &format!("npm install {}", specs.join(" ")))
}

fn from_pypi(dir: &Path, specs: &[String]) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(dir);
    logged(&mut venv, dir, "python3 -m venv")?;
    let mut pip = Command::new(dir.join("bin/pip"));
    pip.args(["install", "--quiet"]).args(specs);
    logged(&mut pip, dir, &format!("pip install {}", specs.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::{npm, pypi};

    #[test]
    fn a_scope_and_extras_make_no_folders() -> anyhow::Result<()> {
        let scoped = npm("@playwright/mcp", "1").folder()?;
        assert!(scoped.ends_with("peers/npm/playwright-mcp-1"));
        let extra = pypi("slim[mcp]", "2").with(&["mcp==1"]);
        assert!(extra.folder()?.ends_with("peers/pypi/slim-2-mcp-1"));
        assert_eq!(extra.specs(), ["slim[mcp]==2", "mcp==1"]);
        assert_eq!(extra.title(), "slim[mcp] 2 with mcp==1");
        Ok(())
    }
}
