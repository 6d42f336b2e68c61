//! Programs that run what their words say: wrappers around another command,
//! shells, interpreters, and launchers that take code from where they work. One
//! list: an approval looks through them and warns of them, and policy looks for
//! a forbidden command behind them.

use std::{path::Path, rc::Rc};

/// What a program does with its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Runs the command that its words are.
    Wrapper,
    /// Runs a script, or a text as one.
    Shell,
    /// Reads a script in a language of its own.
    Interpreter,
}

/// They run another command, with another environment, user, priority or limit.
const WRAPPERS: &[&str] = &[
    "busybox",
    "bwrap",
    "caffeinate",
    "capsh",
    "catchsegv",
    "cgexec",
    "chpst",
    "chroot",
    "chrt",
    "command",
    "coreutils",
    "dbus-launch",
    "dbus-run-session",
    "direnv",
    "doas",
    "dotenv",
    "dotenvx",
    "doppler",
    "env",
    "envdir",
    "exec",
    "expect",
    "faketime",
    "fakeroot",
    "find",
    "firejail",
    "flock",
    "gdb",
    "infisical",
    "ionice",
    "ld.so",
    "ltrace",
    "mise",
    "nice",
    "nix",
    "nix-shell",
    "nohup",
    "nsenter",
    "numactl",
    "op",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "rlwrap",
    "run-parts",
    "runuser",
    "script",
    "setarch",
    "linux32",
    "linux64",
    "setpriv",
    "setsid",
    "setuidgid",
    "softlimit",
    "sops",
    "ssh-agent",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "gtimeout",
    "toybox",
    "unbuffer",
    "uname26",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "entr",
    "nodemon",
    "with-contenv",
    "xargs",
    "xvfb-run",
];

const SHELLS: &[&str] = &[
    "sh",
    "ash",
    "bash",
    "rbash",
    "dash",
    "zsh",
    "ksh",
    "ksh93",
    "mksh",
    "yash",
    "fish",
    "csh",
    "tcsh",
    "elvish",
    "nu",
    "xonsh",
    "pwsh",
    "powershell",
    "cmd",
    "rc",
    "es",
];

const INTERPRETERS: &[&str] = &[
    "node",
    "nodejs",
    "bun",
    "deno",
    "tsx",
    "ts-node",
    "python",
    "pypy",
    "ruby",
    "perl",
    "php",
    "lua",
    "luajit",
    "java",
    "dotnet",
    "rscript",
    "julia",
    "elixir",
    "osascript",
    "tclsh",
    "wish",
    "guile",
    "racket",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "make",
    "gmake",
    "just",
    "uv",
    "groovy",
    "scala",
    "kotlin",
    "swift",
    "erl",
    "escript",
    "octave",
    "sbcl",
    "emacs",
    "vim",
    "qjs",
    "gjs",
];

/// They run what they find where they work. Many others do, too: nobody counts on
/// this list being whole.
const LAUNCHERS: &[&str] = &[
    "npx",
    "npm",
    "pnpm",
    "pnpx",
    "yarn",
    "bun",
    "bunx",
    "deno",
    "uv",
    "uvx",
    "pip",
    "pipx",
    "pipenv",
    "poetry",
    "pdm",
    "hatch",
    "rye",
    "conda",
    "mamba",
    "pixi",
    "make",
    "gmake",
    "just",
    "task",
    "cargo",
    "go",
    "dotnet",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "sbt",
    "docker",
    "docker-compose",
    "podman",
    "nerdctl",
    "rake",
    "bundle",
    "composer",
    "mix",
    "nix",
    "nix-shell",
    "direnv",
    "mise",
    "nodemon",
    "tsx",
    "ts-node",
    "git",
    "bazel",
    "ant",
    "cmake",
    "ninja",
];

/// They run the script that they are given, and look for nothing beside it in the
/// directory that they work in. Whatever is not in this list may.
const LEAVE_IT_ALONE: &[&str] = &["node", "nodejs", "python", "pypy", "ruby"];

/// Options of theirs that change nothing about that. Others may: `node --test` runs
/// whatever it finds.
const HARMLESS: &[&str] = &[
    "-B",
    "-E",
    "-I",
    "-O",
    "-OO",
    "-P",
    "-q",
    "-s",
    "-u",
    "--enable-source-maps",
    "--no-deprecation",
    "--no-warnings",
    "--trace-warnings",
];

/// The name by which a program is known: `/usr/bin/python3.12` is `python`.
pub(crate) fn known_name(command: &str) -> String {
    let file = Path::new(command)
        .file_name()
        .and_then(|name| name.to_str());
    let name = file.unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let is_listed = |name: &str| kind_of(name).is_some() || LAUNCHERS.contains(&name);
    if is_listed(name) {
        return name.to_owned();
    }
    // `/lib64/ld-linux-x86-64.so.2` runs any program too.
    if name.starts_with("ld-") && name.contains(".so") || name.starts_with("ld.so") {
        return "ld.so".to_owned();
    }
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
        .to_owned()
}

/// What a program of this name does with its words, if it is one of these.
pub(crate) fn kind(command: &str) -> Option<Kind> {
    kind_of(&known_name(command))
}

fn kind_of(name: &str) -> Option<Kind> {
    [
        (WRAPPERS, Kind::Wrapper),
        (SHELLS, Kind::Shell),
        (INTERPRETERS, Kind::Interpreter),
    ]
    .into_iter()
    .find_map(|(names, kind)| names.contains(&name).then_some(kind))
}

/// Whether it takes code and settings from the directory that it works in.
pub(crate) fn takes_code_from_its_directory(command: &str) -> bool {
    LAUNCHERS.contains(&known_name(command).as_str())
}

/// Whether it is known to leave the directory alone that it works in, but for the
/// script that it is given. Words behind that are the script's.
pub(crate) fn leaves_its_directory_alone(command: &str, args: &[String]) -> bool {
    let mut words = args.iter().map(String::as_str);
    let script = words.find(|word| !HARMLESS.contains(word));
    LEAVE_IT_ALONE.contains(&known_name(command).as_str())
        && script.is_some_and(|script| !script.is_empty() && !script.starts_with('-'))
}

/// Whether an option of a program that runs others says that a text follows
/// which is to be run: `-c`, `-lc`, `-e`, `--eval=…`, `env -S`, `find -exec`.
pub(crate) fn gives_code(option: &str) -> bool {
    const WORDS: &[&str] = &[
        "eval",
        "--eval",
        "--print",
        "--command",
        "--exec",
        "--execute",
        "--split-string",
        "--expression",
        "--run",
        "/c",
        "-p",
        "-S",
    ];
    let name = option.split('=').next().unwrap_or_default();
    let short = name.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let letters = short.unwrap_or_default().to_ascii_lowercase();
    WORDS.contains(&name) || letters.contains(['c', 'e'])
}

/// Something that a command line could run.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    all: Rc<[String]>,
    from: usize,
    /// Whether it is cut out of a text, so that its end is not known.
    pub(crate) is_cut: bool,
}

impl Line {
    /// The program and the words behind it.
    pub(crate) fn words(&self) -> &[String] {
        &self.all[self.from..]
    }

    /// One for each word of these.
    fn each(all: Vec<String>, is_cut: bool) -> impl Iterator<Item = Self> {
        let all: Rc<[String]> = all.into();
        (0..all.len()).map(move |from| Self {
            all: all.clone(),
            from,
            is_cut,
        })
    }
}

/// Every program that a command line could run: itself, whatever a wrapper
/// around it hides, and what a text for a shell says.
pub(crate) fn command_lines(command: &str, args: &[String]) -> Vec<Line> {
    let all = std::iter::once(command.to_owned()).chain(args.iter().cloned());
    let mut lines = Line::each(all.collect(), false);
    if kind(command).is_none() {
        return lines.next().into_iter().collect();
    }
    let texts = args.iter().filter_map(|text| {
        let words = shell_words(text);
        (words.as_slice() != std::slice::from_ref(text)).then_some(words)
    });
    lines
        .chain(texts.flat_map(|words| Line::each(words, true)))
        .collect()
}

/// The words of a text for a shell, near enough: quotes are gone, and whatever
/// ends a word or a command ends one here.
fn shell_words(text: &str) -> Vec<String> {
    let plain: String = text.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let ends = |c: char| c.is_whitespace() || ";|&()<>`{}$=".contains(c);
    let words = plain.split(ends).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_in_every_spelling() {
        for (command, expected) in [
            ("/usr/bin/python3.12", Some(Kind::Interpreter)),
            ("BASH.EXE", Some(Kind::Shell)),
            ("/lib64/ld-linux-x86-64.so.2", Some(Kind::Wrapper)),
            ("uname26", Some(Kind::Wrapper)),
            ("env", Some(Kind::Wrapper)),
            ("echo-server", None),
            ("", None),
        ] {
            assert_eq!(kind(command), expected, "{command}");
        }
        assert!(takes_code_from_its_directory("/opt/bin/npx"));
        assert!(!takes_code_from_its_directory("echo-server"));
        let alone = |command: &str, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            leaves_its_directory_alone(command, &args)
        };
        assert!(alone("/usr/bin/python3.12", &["-u", "/opt/x.py", "--test"]));
        assert!(alone("node", &["/opt/x.js"]));
        for command in ["echo-server", "npx", "sh", "env", "deno", "java", ""] {
            assert!(!alone(command, &["/opt/x"]), "{command}");
        }
        for option in ["--test", "--experimental-default-config-file", "-", ""] {
            assert!(!alone("node", &[option, "/opt/x.js"]), "{option}");
        }
        assert!(!alone("node", &[]));
    }

    #[test]
    fn what_hides_behind_a_wrapper_is_found() {
        let lines = |command: &str, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let lines = command_lines(command, &args);
            lines
                .iter()
                .map(|line| line.words().join(" "))
                .collect::<Vec<_>>()
        };
        assert!(lines("env", &["A=b", "nice", "x", "y"]).contains(&"x y".to_owned()));
        assert!(lines("sh", &["-c", "a; 'x' y"]).contains(&"x y".to_owned()));
        assert_eq!(lines("x", &["y"]), ["x y"]);
    }
}
