//! Reading our own sources.

use regex::Regex;
use std::{collections::BTreeSet, fs, path::Path};

/// A constant with its sentence.
pub struct Constant {
    pub name: String,
    pub value: String,
    pub about: String,
}

/// The public constants of a file, in order.
pub fn constants(text: &str) -> Vec<Constant> {
    let pattern =
        Regex::new(r"(?m)((?:^\s*/// .*\n)+)\s*pub(?:\(crate\))? const (\w+): [^=]+ = ([^;]+);")
            .unwrap();
    let found = pattern.captures_iter(text).map(|found| Constant {
        about: sentence(&found[1]),
        name: found[2].to_owned(),
        value: value(&found[3]),
    });
    found.collect()
}

/// The variants of an enum that have numbers, with their sentences.
pub fn variants(text: &str, name: &str) -> Vec<Constant> {
    let start = text.find(&format!("pub enum {name} {{")).unwrap();
    let body = &text[start..start + text[start..].find("\n}").unwrap()];
    let pattern = Regex::new(r"(?m)((?:^\s*/// .*\n)+)\s*(\w+) = (\d+),").unwrap();
    let found = pattern.captures_iter(body).map(|found| Constant {
        about: sentence(&found[1]),
        name: found[2].to_owned(),
        value: found[3].to_owned(),
    });
    found.collect()
}

fn sentence(comment: &str) -> String {
    let lines = comment
        .lines()
        .map(|line| line.trim().trim_start_matches("///").trim());
    let text = lines.collect::<Vec<_>>().join(" ").trim().to_owned();
    // Links of the generated documentation lead nowhere here.
    let link = Regex::new(r"\[(`[^`]+`)\](\([^)]*\))?").unwrap();
    link.replace_all(&text, "$1").into_owned()
}

/// A value as people read it.
fn value(expression: &str) -> String {
    let text = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    let duration = Regex::new(r"^Duration::from_(secs|millis|micros|mins)\((.+)\)$").unwrap();
    if let Some(found) = duration.captures(&text) {
        let unit = match &found[1] {
            "secs" => "s",
            "mins" => "min",
            "micros" => "µs",
            _ => "ms",
        };
        let number = found[2].replace('_', "");
        return match number.parse::<u64>() {
            Ok(n) if unit == "s" && n >= 120 && n % 60 == 0 => format!("{} min", n / 60),
            _ => format!("{} {unit}", number.replace(" * ", " × ")),
        };
    }
    // How it is written tells sizes from counts.
    let is_size = text.contains('*') || text.contains("<<");
    let text = text
        .replace('_', "")
        .replace("1 << 20", "1048576")
        .replace("1 << 28", "268435456");
    let factors: Option<Vec<u64>> = text.split(" * ").map(|part| part.parse().ok()).collect();
    match factors.map(|all| all.iter().product::<u64>()) {
        Some(n) if !is_size => n.to_string(),
        Some(n) if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        Some(n) if n >= 1 << 12 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        Some(n) => n.to_string(),
        None => format!("`{text}`"),
    }
}

/// The words that a `match` compares with, from its first line to its `_`.
pub fn arms(file: &Path, start: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let from = text.find(start).unwrap();
    let body = &text[from..from + text[from..].find("_ =>").unwrap()];
    let arms = body.lines().filter_map(|line| line.split_once("=>"));
    arms.flat_map(|(words, _)| quoted(words, |_| true))
        .collect()
}

/// The quoted words of a text that are wanted.
pub fn quoted(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let pattern = Regex::new(r#""([A-Za-z]+)""#).unwrap();
    let found = pattern.captures_iter(text).map(|found| found[1].to_owned());
    found.filter(|word| wanted(word)).collect()
}

/// The environment variables that the sources name, apart from those of tests,
/// of development, and of what we hand to others.
pub fn variables(root: &Path) -> BTreeSet<String> {
    let pattern = Regex::new(
        r#""((?:MCP|SWITCHBOARD|CLAUDE|XDG|MAX_MCP|ENABLE)_[A-Z_]+|NO_COLOR|NODE_EXTRA_CA_CERTS|[A-Z]+_PROXY)""#,
    )
    .unwrap();
    let mut found = BTreeSet::new();
    for name in [
        "agent",
        "auth",
        "builtin",
        "cli",
        "config",
        "gateway",
        "host",
        "local",
        "model",
        "process",
        "record",
        "switchboard",
        "transport",
    ] {
        walk(&root.join("crates").join(name).join("src"), &mut |text| {
            found.extend(pattern.captures_iter(text).map(|found| found[1].to_owned()));
        });
    }
    let ours = |name: &String| {
        let given = [
            "CLAUDE_CODE_MCP_SERVER_NAME",
            "CLAUDE_CODE_MCP_SERVER_URL",
            "CLAUDE_PLUGIN_ROOT",
        ];
        let inner = [
            "SWITCHBOARD_KEEPER",
            "SWITCHBOARD_SERVER_TAG",
            "SWITCHBOARD_FAILPOINT",
        ];
        let session = name.starts_with("XDG_SESSION") || name == "XDG_RUNTIME_DIR";
        let tests = name.starts_with("SWITCHBOARD_TEST");
        let name = &name.as_str();
        !(given.contains(name) || inner.contains(name) || session || tests)
    };
    found.retain(ours);
    found
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            walk(&path, visit);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            visit(
                text.split("#[cfg(test)]\nmod tests {")
                    .next()
                    .unwrap_or_default(),
            );
        }
    }
}
