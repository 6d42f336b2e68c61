//! Variables that make a known command run something else. One list: policy
//! keeps an entry that sets one of them off an allow list of commands, and an
//! approval warns of them.

/// Names that count as they are.
const EXACT: &[&str] = &[
    // Shells and what they start.
    "PATH",
    "HOME",
    "SHELL",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "CDPATH",
    "ZDOTDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    // Libraries that are loaded into any program.
    "GCONV_PATH",
    "LOCPATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    // Interpreters and their virtual machines.
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "VIRTUAL_ENV",
    "CLASSPATH",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "ELECTRON_RUN_AS_NODE",
    "GOFLAGS",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "CURL_HOME",
    "WGETRC",
];

/// What names begin with that count however they go on.
const BEGINS: &[&str] = &[
    "LD_",
    "DYLD_",
    "XDG_",
    "GIT_",
    "PYTHON",
    "PERL",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "LUA_",
    "DOTNET_",
    "CORECLR_",
    "COMPLUS_",
    "NPM_",
    "YARN_",
    "PNPM_",
    "COREPACK_",
    "BUN_",
    "DENO_",
    "UV_",
    "PIP_",
    "PIPX_",
    "CONDA_",
    "CARGO_",
    "RUSTUP_",
    "DOCKER_",
];

/// Whether a variable of this name makes a known command run something else.
/// Case does not matter: npm, for one, reads its own in lower case.
pub fn changes_programs(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    EXACT.contains(&name.as_str()) || BEGINS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_programs_is_known_in_every_spelling() {
        for name in [
            "NODE_OPTIONS",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "GIT_SSH_COMMAND",
            "npm_config_registry",
            "HOME",
            "XDG_CONFIG_HOME",
            "DOTNET_STARTUP_HOOKS",
            "_JAVA_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "GCONV_PATH",
            "PATH",
            "BASH_ENV",
            "ENV",
            "PERL5OPT",
            "RUBYOPT",
            "uv_index_url",
        ] {
            assert!(changes_programs(name), "{name}");
        }
        for name in [
            "API_KEY",
            "NODE_ENV",
            "LANG",
            "MY_PATH",
            "TOKEN",
            "ENVIRONMENT",
        ] {
            assert!(!changes_programs(name), "{name}");
        }
    }
}
