//! Permission rules about servers that are not there: mostly a typing error, and then something
//! is not forbidden that was meant to be.

use crate::near::{did_you_mean, near};
use switchboard::{
    builtin::ServerKind,
    config::{Loaded, PermissionRule},
    host::permission::FOR_PROJECTS,
    wire::name::normalize,
};

/// A rule about nobody.
#[derive(Debug)]
pub struct Stray<'a> {
    /// The rule.
    pub rule: &'a PermissionRule,
    /// The server that it names.
    pub server: &'a str,
    /// What was probably meant.
    pub meant: Option<String>,
}

impl Stray<'_> {
    /// What is wrong, in a sentence.
    pub fn text(&self) -> String {
        let (rule, server) = (&self.rule.rule.text, self.server);
        format!("the rule {rule:?} is about nothing: no server {server:?} is configured")
    }
}

/// The rules of the user's own files that name a server which is not configured, in whatever
/// state. What a repository says is no mistake of the user's.
pub fn all(loaded: &Loaded) -> Vec<Stray<'_>> {
    let mut known: Vec<String> = loaded
        .servers
        .iter()
        .map(|server| normalize(&server.entry.name))
        .collect();
    known.extend(ServerKind::ALL.iter().map(|kind| normalize(kind.name())));
    let rules = loaded.permissions.rules.iter();
    rules
        .filter(|rule| !rule.inside && rule.is_for_us())
        .filter_map(|rule| {
            let server = named(&rule.rule.text, &known)?;
            let near = near(server, known.iter().map(String::as_str));
            Some(Stray {
                rule,
                server,
                meant: did_you_mean(&near),
            })
        })
        .collect()
}

/// The server that a rule names, if it is none of these.
fn named<'a>(rule: &'a str, known: &[String]) -> Option<&'a str> {
    let rule = rule.trim();
    let rule = rule.strip_prefix(FOR_PROJECTS).unwrap_or(rule).trim_start();
    let body = rule.strip_prefix("mcp__")?;
    let body = body.split('(').next().unwrap_or(body).trim_end();
    let alike = |text: &str| normalize(text).replace('-', "_");
    let whole = alike(body);
    let is_about = |name: &String| {
        let name = alike(name);
        whole == name || whole.starts_with(&format!("{name}__"))
    };
    let server = body.split("__").next().unwrap_or(body);
    let is_plain = !server.is_empty() && !server.contains('*');
    (is_plain && !known.iter().any(is_about)).then_some(server)
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn only_rules_that_name_a_server_of_nobody_are_strays() {
        let known = ["git-hub".to_owned(), "a__b".to_owned()];
        for (rule, server) in [
            ("mcp__githbu__*", Some("githbu")),
            ("mcp__githbu", Some("githbu")),
            ("project: mcp__githbu__x", Some("githbu")),
            ("mcp__githbu__x(a)", Some("githbu")),
            ("mcp__git-hub__x", None),
            ("mcp__git_hub", None),
            ("mcp__a__b__c", None),
            ("mcp__*__delete", None),
            ("mcp__git*__x", None),
            ("*", None),
            ("Bash(rm)", None),
        ] {
            assert_eq!(named(rule, &known), server, "{rule}");
        }
    }
}
