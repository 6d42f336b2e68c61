//! A name for a server, from its address or its command: what to call it is the one
//! thing that most people leave out.

use super::Options;
use crate::failure::Failure;
use std::ffi::OsString;
use url::Url;

/// Programs that run others, so that none of them is a name for a server.
const RUNNERS: [&str; 14] = [
    "npx", "uvx", "bunx", "pipx", "npm", "pnpm", "yarn", "bun", "uv", "deno", "node", "python",
    "python3", "docker",
];
/// Words of their commands.
const VERBS: [&str; 5] = ["run", "exec", "dlx", "x", "tool"];
/// Parts of a host's name that say nothing.
const GENERAL: [&str; 8] = ["mcp", "www", "api", "app", "server", "co", "com", "org"];

/// Whether this is a program that runs others.
fn is_runner(word: &str) -> bool {
    RUNNERS.contains(&word)
}

/// A name for the server at this address.
fn from_address(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let host = match url.host()? {
        url::Host::Domain(host) if host != "localhost" => host.to_owned(),
        _ => {
            let port = url.port_or_known_default()?;
            return Some(format!("local-{port}"));
        }
    };
    let labels: Vec<&str> = host.split('.').collect();
    let (_, inner) = labels.split_last()?;
    let telling = inner.iter().rev().find(|label| !GENERAL.contains(label));
    fitting(telling.or(labels.first())?)
}

/// A name for the server that this command starts.
fn from_command(words: &[String]) -> Option<String> {
    let is_word = |word: &&String| {
        let word = word.as_str();
        !word.starts_with('-') && !VERBS.contains(&word) && !is_runner(word)
    };
    let package = words.iter().find(is_word)?;
    let package = package.rsplit('/').next()?;
    let package = package.split_once('@').map_or(package, |(name, _)| name);
    let package = package.trim_end_matches(".js").trim_end_matches(".py");
    let mut name = package;
    for prefix in ["mcp-server-", "server-", "mcp-"] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    for suffix in ["-mcp-server", "-server", "-mcp"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    fitting(name)
}

/// The same in characters that a name may have.
fn fitting(text: &str) -> Option<String> {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let text: String = text.chars().map(fits).collect();
    let text = text.trim_matches('-');
    (!text.is_empty()).then(|| text.to_owned())
}

/// What to type instead of a command without a name for the server, if that is what
/// the arguments are.
pub fn without_a_name(words: &[OsString], error: &clap::Error) -> Option<Failure> {
    let at = words.iter().position(|word| word == "add")?;
    let command: Option<Vec<String>> = words[at + 1..]
        .iter()
        .map(|word| word.to_str().map(str::to_owned))
        .collect();
    let command = command?;
    let is_command = command.first().is_some_and(|word| is_runner(word));
    (is_command && error.kind() == clap::error::ErrorKind::UnknownArgument)
        .then(|| nameless(&command))
}

fn nameless(command: &[String]) -> Failure {
    let name = from_command(command).unwrap_or_else(|| "NAME".to_owned());
    let quoted = command
        .iter()
        .map(|word| match word.contains([' ', '\'', '"', '$', '*']) {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word.clone(),
        });
    let line = quoted.collect::<Vec<_>>().join(" ");
    Failure::usage("the server needs a name, before its command")
        .hint(format!("switchboard add {name} -- {line}"))
}

impl Options {
    /// With a name: what has none but an address is called after that.
    pub fn named(mut self) -> Result<Self, Failure> {
        if self.name.contains("://") {
            let address = std::mem::take(&mut self.name);
            self.name = from_address(&address).ok_or_else(|| {
                let hint = format!("switchboard add NAME {address}");
                Failure::usage("the server needs a name, before its address").hint(hint)
            })?;
            self.target.insert(0, address);
            return Ok(self);
        }
        if is_runner(&self.name) {
            let command: Vec<String> = [&self.name]
                .into_iter()
                .chain(&self.target)
                .cloned()
                .collect();
            return Err(nameless(&command));
        }
        if self.target.is_empty() {
            let text = format!("what is {:?} to run, or where is it?", self.name);
            let hint = format!(
                "switchboard add {0} COMMAND, or switchboard add {0} https://…",
                self.name
            );
            return Err(Failure::usage(text).hint(hint));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_people_would_choose() {
        for (address, name) in [
            ("https://mcp.linear.app/mcp", "linear"),
            ("https://example.com/mcp", "example"),
            ("https://docs.example.co.uk/x", "example"),
            ("https://mcp.com/", "mcp"),
            ("http://localhost:3000/mcp", "local-3000"),
            ("http://127.0.0.1:8080", "local-8080"),
        ] {
            assert_eq!(from_address(address).as_deref(), Some(name), "{address}");
        }
        for (command, name) in [
            ("npx -y @modelcontextprotocol/server-memory", "memory"),
            ("npx -y @playwright/mcp@latest", "mcp"),
            ("uvx mcp-server-git --repository .", "git"),
            ("pnpm dlx firecrawl-mcp", "firecrawl"),
            ("docker run -i mcp/time", "time"),
            ("python3 tools/weather_server.py", "weather_server"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(from_command(&words).as_deref(), Some(name), "{command}");
        }
        assert_eq!(from_command(&["npx".to_owned(), "-y".to_owned()]), None);
    }
}
