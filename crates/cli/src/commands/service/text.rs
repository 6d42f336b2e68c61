//! The files by which service managers know us.

use crate::failure::Advice;
use std::{fmt::Write, path::Path};

/// What is to be started.
pub struct Service<'a> {
    pub program: &'a Path,
    pub directory: &'a Path,
    /// Options of `up`.
    pub words: &'a [String],
    /// Where programs are found: managers have a short list of their own.
    pub path: &'a str,
}

impl Service<'_> {
    /// All words of its command line; why it cannot be written down.
    fn line(&self) -> Result<Vec<String>, Advice> {
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| Advice::from(format!("{} is not UTF-8", path.display())))
        };
        let mut line = vec![text(self.program)?, "-C".to_owned(), text(self.directory)?];
        line.push("up".to_owned());
        line.extend(self.words.iter().cloned());
        match line.iter().find(|word| word.contains(['\n', '\r', '\0'])) {
            Some(word) => Err(format!("{word:?} cannot stand in a service's file").into()),
            None => Ok(line),
        }
    }

    /// A unit of systemd's. It is ended like `up` on a terminal: the signal goes to the
    /// first process alone, which sees to its servers. Its group is its own, so that
    /// the kernel can hold servers to their limits. A reload starts another one beside
    /// it, which takes its place and says so (`up/manager.rs`): no connection is refused.
    pub fn unit(&self) -> Result<String, Advice> {
        let line: Vec<String> = self.line()?.iter().map(|word| quoted(word, true)).collect();
        let (path, line) = (
            quoted(&format!("PATH={}", self.path), false),
            line.join(" "),
        );
        let beside = quoted(r#""$0" "$@" &"#, true);
        Ok(format!(
            "[Unit]\nDescription=Switchboard, the MCP gateway\n\n\
             [Service]\nExecStart={line}\n\
             ExecReload=/bin/sh -c {beside} {line} \"--replace\"\nNotifyAccess=all\n\
             Environment={path}\nRestart=on-failure\nRestartSec=5\n\
             KillMode=mixed\nTimeoutStopSec=60\nDelegate=yes\n\n\
             [Install]\nWantedBy=default.target\n",
        ))
    }

    /// An agent of launchd's.
    pub fn agent(&self, label: &str) -> Result<String, Advice> {
        let mut words = String::new();
        for word in self.line()? {
            let _ = write!(words, "\n    <string>{}</string>", escaped(&word));
        }
        Ok(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{}</string>\n  \
             <key>ProgramArguments</key>\n  <array>{words}\n  </array>\n  \
             <key>EnvironmentVariables</key>\n  <dict>\n    <key>PATH</key>\n    <string>{}</string>\n  </dict>\n  \
             <key>RunAtLoad</key>\n  <true/>\n  \
             <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n</dict>\n</plist>\n",
            escaped(label),
            escaped(self.path)
        ))
    }
}

/// A word as systemd reads it: nothing in it is a specifier or, in a command, a variable.
fn quoted(word: &str, command: bool) -> String {
    let mut text = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    if command {
        text = text.replace('$', "$$");
    }
    format!("\"{text}\"")
}

/// A text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(words: &[String]) -> Service<'_> {
        Service {
            program: Path::new("/opt/a & b/switchboard"),
            directory: Path::new("/home/you/100% \"mine\" $HOME"),
            words,
            path: "/usr/bin:/bin",
        }
    }

    #[test]
    fn nothing_in_a_path_means_anything_to_a_manager() {
        let words = ["--root".to_owned(), "a\\b".to_owned()];
        let unit = service(&words).unit().unwrap();
        let line = r#"ExecStart="/opt/a & b/switchboard" "-C" "/home/you/100%% \"mine\" $$HOME" "up" "--root" "a\\b""#;
        assert!(unit.lines().any(|one| one == line), "{unit}");
        let again = line.strip_prefix("ExecStart=").unwrap();
        let again = format!(r#"ExecReload=/bin/sh -c "\"$$0\" \"$$@\" &" {again} "--replace""#);
        assert!(unit.lines().any(|one| one == again), "{unit}");
        let agent = service(&words).agent("label").unwrap();
        assert!(
            agent.contains("<string>/opt/a &amp; b/switchboard</string>"),
            "{agent}"
        );
        assert!(agent.contains("<string>--root</string>"), "{agent}");
        let broken = ["a\nExecStartPre=b".to_owned()];
        assert!(service(&broken).unit().is_err());
        assert!(service(&broken).agent("label").is_err());
    }
}
