//! The environment without its secrets.

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use switchboard_local::secret;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EnvironmentArguments {
    /// Show only variables whose name contains this, capitals or not.
    pub(super) filter: Option<String>,
}

/// One variable.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; missing where it looks like a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What `environment` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Environment {
    /// The variables, by name.
    pub variables: Vec<Variable>,
    /// How many values are not shown because they look like secrets.
    pub hidden: usize,
}

/// The variables, as far as they may be shown.
pub(super) fn shown(
    all: impl Iterator<Item = (String, String)>,
    filter: Option<&str>,
) -> Environment {
    let filter = filter.unwrap_or_default().to_ascii_uppercase();
    let mut variables: Vec<Variable> = all
        .filter(|(name, _)| name.to_ascii_uppercase().contains(&filter))
        .map(|(name, value)| {
            let value = (!is_secret(&name, &value))
                .then(|| crate::text::cut(&crate::text::lines(&value), 4096));
            Variable {
                name: crate::text::line(&name),
                value,
            }
        })
        .collect();
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    let hidden = variables.iter().filter(|one| one.value.is_none()).count();
    Environment { variables, hidden }
}

/// Whether name or value say that this is not for everybody.
fn is_secret(name: &str, value: &str) -> bool {
    secret::is_name(name) || secret::is_value(value) || secret::text(value) != value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_the_rest_is_shown() {
        let hidden = [
            ("GITHUB_TOKEN", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("OPENAI_API_KEY", "x"),
            ("DB_PASSWORD", "x"),
            ("MYSQL_PWD", "x"),
            ("npm_config__authToken", "x"),
            ("DATABASE_URL", "postgres://me:pw@host/db"),
            ("INNOCENT", "ghp_abcdef"),
            ("ALSO_INNOCENT", "9f86d081884c7d659a2feaa0c55ad015"),
            ("PEM", "-----BEGIN PRIVATE KEY-----"),
        ];
        let plain = [
            ("HOME", "/home/me"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/home/me/.cargo/bin2"),
            ("PWD", "/work"),
            ("LANG", "en_US.UTF-8"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("KEYBOARD", "de"),
            ("HTTP_PROXY", "http://proxy:3128"),
            ("TERM", "xterm-256color"),
        ];
        let all = hidden.iter().chain(&plain);
        let all = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let answer = shown(all, None);
        assert_eq!(answer.hidden, hidden.len());
        for (name, value) in plain {
            let found = answer
                .variables
                .iter()
                .find(|one| one.name == name)
                .unwrap();
            assert_eq!(found.value.as_deref(), Some(value), "{name}");
        }
    }
}
