//! The table of variables by which programs reach a network and find their
//! tools: what a server gets of our environment besides the few that every
//! program needs.
//!
//! Nothing in it holds a secret. What is taken by the start of its name is left
//! out where the name or the value is one's; an address with a password in it is
//! left out, too. A proxy's password is the exception: without it nothing could
//! be reached.

use std::ffi::OsStr;
use switchboard_local::secret;

/// What a server gets of our environment besides the usual few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherit {
    /// How much of the table.
    pub table: Table,
    /// Names, and starts of names that end in `*`, that the user adds to it:
    /// these go along whatever they hold.
    pub also: Vec<String>,
}

/// How much of the table a server gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// Nothing.
    #[default]
    Nothing,
    /// Proxies and certificates: what a project's server gets.
    Network,
    /// All of it: what a server of the user's own gets.
    Whole,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Names, and starts of names that end in `*`.
    pub names: &'static [&'static str],
    /// What they are for, in words.
    pub what: &'static str,
    /// Whether a project's server gets them as well.
    pub network: bool,
    /// Whether an address may have a password in it.
    passwords: bool,
}

/// The table.
pub const ROWS: &[Row] = &[
    Row {
        names: &[
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "no_proxy",
            "NODE_USE_ENV_PROXY",
        ],
        what: "proxies, with the password that the address of one may hold",
        network: true,
        passwords: true,
    },
    Row {
        names: &[
            "NODE_EXTRA_CA_CERTS",
            "NODE_USE_SYSTEM_CA",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "NIX_SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "AWS_CA_BUNDLE",
            "PIP_CERT",
            "GIT_SSL_CAINFO",
            "CARGO_HTTP_CAINFO",
            "DENO_CERT",
            "DENO_TLS_CA_STORE",
            "UV_NATIVE_TLS",
            "UV_SYSTEM_CERTS",
        ],
        what: "certificates",
        network: true,
        passwords: false,
    },
    Row {
        names: &[
            "npm_config_*",
            "NPM_CONFIG_*",
            "UV_*",
            "PIP_*",
            "PNPM_HOME",
            "BUN_INSTALL",
            "DENO_DIR",
            "DENO_INSTALL",
            "COREPACK_HOME",
            "YARN_CACHE_FOLDER",
        ],
        what: "package runners and where they get packages",
        network: false,
        passwords: false,
    },
    Row {
        names: &[
            "NVM_DIR",
            "FNM_DIR",
            "FNM_MULTISHELL_PATH",
            "VOLTA_HOME",
            "N_PREFIX",
            "ASDF_DIR",
            "ASDF_DATA_DIR",
            "MISE_DATA_DIR",
            "MISE_CONFIG_DIR",
            "PROTO_HOME",
            "PYENV_ROOT",
            "CONDA_PREFIX",
            "CONDA_EXE",
            "RBENV_ROOT",
            "GEM_HOME",
            "GOROOT",
            "GOPATH",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "JAVA_HOME",
            "SDKMAN_DIR",
            "DOTNET_ROOT",
            "HOMEBREW_PREFIX",
            "NIX_PATH",
            "NIX_PROFILES",
        ],
        what: "version managers and toolchains",
        network: false,
        passwords: false,
    },
    Row {
        names: &[
            "DOCKER_HOST",
            "DOCKER_CONTEXT",
            "DOCKER_CONFIG",
            "DOCKER_CERT_PATH",
            "DOCKER_TLS_VERIFY",
            "CONTAINER_HOST",
            "KUBECONFIG",
            "AWS_PROFILE",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_CONFIG_FILE",
            "AWS_SHARED_CREDENTIALS_FILE",
            "CLOUDSDK_CONFIG",
            "CLOUDSDK_ACTIVE_CONFIG_NAME",
            "CLOUDSDK_CORE_PROJECT",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "AZURE_CONFIG_DIR",
        ],
        what: "containers and clouds: which one, and the files that know how to get in",
        network: false,
        passwords: false,
    },
    Row {
        names: &["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"],
        what: "the screen, for a server that opens a browser",
        network: false,
        passwords: false,
    },
];

impl Inherit {
    /// What a server of the user's own gets where nothing else is said.
    pub fn whole() -> Self {
        Self {
            table: Table::Whole,
            also: Vec::new(),
        }
    }

    /// Whether our value of a variable goes along.
    pub fn takes(&self, name: &OsStr, value: &OsStr) -> bool {
        let Some(name) = name.to_str() else {
            return false;
        };
        // What we tell our own processes is for nobody else.
        if name.starts_with("SWITCHBOARD_") {
            return false;
        }
        if self.also.iter().any(|pattern| fits(pattern, name)) {
            return true;
        }
        let rows = ROWS.iter().filter(|row| match self.table {
            Table::Nothing => false,
            Table::Network => row.network,
            Table::Whole => true,
        });
        let value = value.to_string_lossy();
        rows.into_iter().any(|row| row.takes(name, &value))
    }
}

impl Row {
    fn takes(&self, name: &str, value: &str) -> bool {
        let Some(pattern) = self.names.iter().find(|pattern| fits(pattern, name)) else {
            return false;
        };
        let harmless = |word: &str| self.passwords || secret::address(word) == word;
        // A list of addresses has them apart by white space.
        value.split_whitespace().all(harmless)
            && (!pattern.ends_with('*') || !secret::is_name(name) && !secret::is_value(value))
    }
}

/// Whether a name is `pattern`, or begins as it does before its `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(inherit: &Inherit, name: &str, value: &str) -> bool {
        inherit.takes(name.as_ref(), value.as_ref())
    }

    #[test]
    fn a_project_gets_proxies_and_certificates_only() {
        let project = Inherit {
            table: Table::Network,
            also: Vec::new(),
        };
        assert!(takes(&project, "https_proxy", "http://me:pass@proxy:3128"));
        assert!(takes(&project, "NODE_EXTRA_CA_CERTS", "/etc/corp.pem"));
        assert!(!takes(&project, "NVM_DIR", "/home/me/.nvm"));
        assert!(!takes(&project, "KUBECONFIG", "/home/me/.kube/config"));
        assert!(takes(&Inherit::whole(), "NVM_DIR", "/home/me/.nvm"));
        assert!(!takes(&Inherit::default(), "HTTP_PROXY", "http://proxy"));
    }

    #[test]
    fn nothing_that_holds_a_secret_goes_along() {
        let all = Inherit::whole();
        for (name, value) in [
            ("npm_config__auth", "bWU6cGFzcw=="),
            ("npm_config_//registry.example/:_authToken", "abc"),
            (
                "npm_config_registry",
                "https://me:hunter2hunter2@registry.example/",
            ),
            ("UV_INDEX_CORP_PASSWORD", "x"),
            ("UV_PUBLISH_TOKEN", "x"),
            (
                "UV_EXTRA_INDEX_URL",
                "https://a.example/ https://t:hunter2hunter2@b.example/",
            ),
            (
                "PIP_INDEX_URL",
                "https://me:hunter2hunter2@pypi.example/simple",
            ),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("AWS_SESSION_TOKEN", "x"),
            ("GITHUB_TOKEN", "x"),
            ("SWITCHBOARD_KEEPER", "1:2"),
        ] {
            assert!(!takes(&all, name, value), "{name}");
        }
        for (name, value) in [
            ("npm_config_registry", "https://registry.example/"),
            ("npm_config_cache", "/home/me/.npm"),
            ("UV_INDEX_URL", "https://pypi.example/simple"),
            ("DOCKER_HOST", "unix:///run/user/1000/docker.sock"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ] {
            assert!(takes(&all, name, value), "{name}");
        }
    }

    #[test]
    fn the_user_adds_what_they_name() {
        let more = Inherit {
            table: Table::Nothing,
            also: vec!["GITHUB_TOKEN".into(), "CORP_*".into()],
        };
        assert!(takes(&more, "GITHUB_TOKEN", "x"));
        assert!(takes(&more, "CORP_PASSWORD", "x"));
        assert!(!takes(&more, "GITHUB_TOKEN2", "x"));
        assert!(!takes(&more, "SWITCHBOARD_KEEPER", "1:2"));
    }
}
