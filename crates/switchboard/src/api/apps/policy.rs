//! What a page of a server's may do: run, and be seen. Hosts that it wishes to reach are
//! named only where they are hosts and nothing else, and only where somebody said so.

use crate::limits;
use serde_json::Value;

/// What a page asks for.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// To ask (`connect-src`).
    connect: Vec<String>,
    /// To load scripts, styles, images, fonts and sounds from.
    resource: Vec<String>,
    /// To frame.
    frame: Vec<String>,
    /// What its own addresses may begin with.
    base: Vec<String>,
    /// What is no host.
    pub(super) refused: Vec<String>,
}

impl Wishes {
    /// As the `_meta.ui` of a page says.
    pub(super) fn of(ui: &Value) -> Self {
        let mut refused = Vec::new();
        let mut read = |name: &str| {
            let all = ui["csp"][name].as_array();
            let all = all.into_iter().flatten().take(limits::APP_HOSTS);
            let (good, bad): (Vec<&str>, Vec<&str>) = all
                .filter_map(Value::as_str)
                .partition(|source| is_source(source));
            let shown = bad.iter().map(|source| {
                let line = switchboard_local::visible::line(source);
                line.chars().take(200).collect::<String>()
            });
            refused.extend(shown);
            good.into_iter().map(str::to_owned).collect::<Vec<String>>()
        };
        let (connect, resource) = (read("connectDomains"), read("resourceDomains"));
        let (frame, base) = (read("frameDomains"), read("baseUriDomains"));
        Self {
            connect,
            resource,
            frame,
            base,
            refused,
        }
    }

    /// All hosts that it asks for, each once.
    pub(super) fn hosts(&self) -> Vec<String> {
        let all = [&self.connect, &self.resource, &self.frame, &self.base];
        let mut all: Vec<String> = all.into_iter().flatten().cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// The policy; with what it asks for only where it may reach that.
    pub(super) fn policy(&self, reach: bool) -> String {
        let named = |own: &str, hosts: &[String]| {
            let hosts = if reach { hosts } else { &[] };
            let all: Vec<&str> = own
                .split_whitespace()
                .chain(hosts.iter().map(String::as_str))
                .collect();
            match all.is_empty() {
                true => "'none'".to_owned(),
                false => all.join(" "),
            }
        };
        let inline = named("'unsafe-inline'", &self.resource);
        let data = named("data: blob:", &self.resource);
        // Without `allow-same-origin` its origin is its own, and nobody else's.
        format!(
            "sandbox allow-scripts; default-src 'none'; script-src {inline}; style-src {inline}; \
             img-src {data}; font-src {data}; media-src {data}; connect-src {}; frame-src {}; \
             base-uri {}; form-action 'none'; object-src 'none'; worker-src 'none'; \
             frame-ancestors 'self'",
            named("", &self.connect),
            named("", &self.frame),
            named("", &self.base),
        )
    }
}

/// Whether a text is one host of the web, perhaps with a port and a star in the place of its
/// first name, and nothing that could mean more in a policy.
fn is_source(text: &str) -> bool {
    let rest = ["https://", "wss://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let Some(rest) = rest else { return false };
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (rest, None),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let host = host.strip_prefix("*.").unwrap_or(host);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    port.is_none_or(is_port)
        && host.len() <= 253
        && host.contains('.')
        && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_hosts_become_part_of_a_policy() {
        for good in [
            "https://api.example.com",
            "https://*.example.com",
            "wss://example.com:8443",
        ] {
            assert!(is_source(good), "{good}");
        }
        for bad in [
            "*",
            "https:",
            "https://*",
            "https://*.com/../x",
            "http://example.com",
            "https://a.example; script-src *",
            "https://a.example 'unsafe-eval'",
            "'self'",
            "data:",
            "https://localhost",
            "https://a.example,https://b.example",
            "https://a.example:0",
            "https://a.example/path",
            "https://user@a.example",
            "https://a..example",
            "https://",
        ] {
            assert!(!is_source(bad), "{bad}");
        }
    }

    #[test]
    fn nothing_is_reached_unless_somebody_said_so() {
        let wishes = Wishes::of(&json!({"csp": {
            "connectDomains": ["https://api.example.com", "*"],
            "resourceDomains": ["https://cdn.example.com"],
        }}));
        assert_eq!(wishes.refused, ["*"]);
        assert_eq!(
            wishes.hosts(),
            ["https://api.example.com", "https://cdn.example.com"]
        );
        let none = wishes.policy(false);
        assert!(!none.contains("example"), "{none}");
        assert!(none.contains("connect-src 'none'; frame-src 'none'; base-uri 'none'"));
        assert!(none.starts_with("sandbox allow-scripts; default-src 'none'; "));
        assert!(!none.contains("same-origin"));
        let reach = wishes.policy(true);
        assert!(reach.contains("connect-src https://api.example.com;"));
        assert!(reach.contains("script-src 'unsafe-inline' https://cdn.example.com;"));
    }
}
