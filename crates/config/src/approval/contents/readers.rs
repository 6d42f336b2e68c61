//! What takes code by name: interpreters, the options and variables by which they load
//! more, and where they look for it.

use crate::launchers::{Kind, kind, known_name};
use std::path::{Path, PathBuf};

/// What reads a script, or runs another command.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// What it appends to a name on its own.
    pub(super) guesses: &'static [&'static str],
    /// What stands between the parts of a module's name.
    pub(super) between: &'static str,
    /// Whether a word of it may be another one.
    pub(super) looks_through: bool,
}

impl Reader {
    pub(super) fn of(command: &str) -> Option<Self> {
        const NODE: &[&str] = &[
            ".js",
            ".mjs",
            ".cjs",
            ".json",
            ".node",
            ".ts",
            ".tsx",
            ".jsx",
            ".mts",
            ".cts",
            "/package.json",
            "/index.js",
            "/index.mjs",
            "/index.cjs",
            "/index.ts",
        ];
        const PYTHON: &[&str] = &[".py", "/__main__.py", "/__init__.py"];
        const LUA: &[&str] = &[".lua", "/init.lua"];
        let kind = kind(command)?;
        let (guesses, between): (&[&str], &str) = match known_name(command).as_str() {
            "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => (NODE, ""),
            "python" | "pypy" | "uv" => (PYTHON, "."),
            "lua" | "luajit" => (LUA, "."),
            "perl" => (&[".pm", ".pl"], "::"),
            "ruby" => (&[".rb"], ""),
            "java" => (&[".class", ".jar"], "."),
            _ => (&[], ""),
        };
        Some(Self {
            guesses,
            between,
            looks_through: kind == Kind::Wrapper,
        })
    }

    /// The files that it looks for under a name.
    pub(super) fn files(self, name: &Path) -> Vec<PathBuf> {
        let files = self
            .guesses
            .iter()
            .map(|guess| match guess.strip_prefix('/') {
                Some(inside) => name.join(inside),
                None => format!("{}{guess}", name.display()).into(),
            });
        files.collect()
    }

    /// What is run before a module: the packages that it lies in.
    pub(super) fn packages(self, base: &Path, module: &str) -> Vec<PathBuf> {
        if !self.guesses.contains(&".py") {
            return Vec::new();
        }
        let ends = module
            .match_indices(self.between)
            .map(|(at, _)| &module[..at]);
        ends.map(|package| {
            base.join(package.replace(self.between, "/"))
                .join("__init__.py")
        })
        .collect()
    }
}

/// The interpreter that takes words from a variable, whichever program starts it.
pub(super) fn read_by(variable: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 6] = [
        ("NODE", "node"),
        ("BUN", "bun"),
        ("PYTHON", "python"),
        ("RUBY", "ruby"),
        ("PERL", "perl"),
        ("LUA", "lua"),
    ];
    let mut known = PREFIXES.iter();
    known
        .find(|(prefix, _)| variable.starts_with(prefix))
        .map_or("", |(_, reader)| reader)
}

/// Variables that name folders in which programs or modules are looked for.
pub(super) const SEARCHED: [&str; 12] = [
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "NODE_PATH",
    "PERL5LIB",
    "RUBYLIB",
    "GEM_PATH",
    "GEM_HOME",
    "LUA_PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CLASSPATH",
];

/// Whether an interpreter loads what follows this option.
pub(super) fn loads(option: &str) -> bool {
    const LOADS: [&str; 9] = [
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "--preload",
        "-m",
        "-I",
        "-cp",
    ];
    LOADS.contains(&option)
}
