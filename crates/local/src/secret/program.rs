//! Programs that take a password by an option that means something else elsewhere: `-p` is a
//! port of one program, a database of another, and a password of these.

use super::argument::Next;

/// How a program takes a password.
#[derive(Debug)]
struct Program {
    names: &'static [&'static str],
    /// The word by which it is told to take one, where it needs that: `docker login`.
    verb: Option<&'static str>,
    /// Options whose next word is one.
    apart: &'static [&'static str],
    /// Options that have it right behind them: `-pSECRET`.
    joined: &'static [&'static str],
    /// Options with a user and a password, in one word or the next, and what is between them.
    login: (&'static [&'static str], char),
    /// Whether its first word is another program, whose options are its own.
    wraps: bool,
}

const NONE: Program = Program {
    names: &[],
    verb: None,
    apart: &[],
    joined: &[],
    login: (&[], ':'),
    wraps: false,
};

const PROGRAMS: &[Program] = &[
    Program {
        names: &["sshpass"],
        apart: &["-p"],
        joined: &["-p"],
        wraps: true,
        ..NONE
    },
    Program {
        // What stands apart is a database.
        names: &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mysqlshow",
            "mysqlcheck",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
        ],
        joined: &["-p"],
        ..NONE
    },
    Program {
        names: &[
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "mongoimport",
            "cqlsh",
            "cypher-shell",
            "rabbitmqadmin",
            "mycli",
            "pgcli",
        ],
        apart: &["-p"],
        ..NONE
    },
    Program {
        names: &["redis-cli", "valkey-cli", "keydb-cli"],
        apart: &["-a"],
        ..NONE
    },
    Program {
        names: &[
            "ldapsearch",
            "ldapadd",
            "ldapmodify",
            "ldapdelete",
            "ldapwhoami",
            "ldapcompare",
        ],
        apart: &["-w"],
        joined: &["-w"],
        ..NONE
    },
    Program {
        names: &["ldappasswd"],
        apart: &["-w", "-s", "-a"],
        joined: &["-w"],
        ..NONE
    },
    Program {
        names: &["sqlcmd", "bcp", "osql", "zip", "unzip", "zipcloak"],
        apart: &["-P"],
        joined: &["-P"],
        ..NONE
    },
    Program {
        names: &["mosquitto_pub", "mosquitto_sub", "mosquitto_rr"],
        apart: &["-P"],
        ..NONE
    },
    Program {
        names: &["7z", "7za", "7zr", "7zz", "rar", "unrar"],
        joined: &["-hp", "-p"],
        ..NONE
    },
    Program {
        names: &["snmpget", "snmpset", "snmpwalk", "snmpbulkwalk"],
        apart: &["-A", "-X"],
        ..NONE
    },
    Program {
        names: &["openssl"],
        apart: &["-pass", "-passin", "-passout", "-k", "-K"],
        ..NONE
    },
    Program {
        names: &["xfreerdp", "xfreerdp3", "wlfreerdp", "sdl-freerdp"],
        joined: &["/p:"],
        ..NONE
    },
    Program {
        names: &[
            "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az", "oc",
        ],
        verb: Some("login"),
        apart: &["-p"],
        ..NONE
    },
    Program {
        names: &["curl"],
        login: (&["-u", "-U", "--user", "--proxy-user"], ':'),
        ..NONE
    },
    Program {
        names: &["http", "https", "xh", "xhs"],
        login: (&["-a", "--auth"], ':'),
        ..NONE
    },
    Program {
        names: &["smbclient", "rpcclient", "smbget", "net"],
        login: (&["-U", "--user"], '%'),
        ..NONE
    },
    Program {
        names: &["lftp", "ncftp"],
        login: (&["-u"], ','),
        ..NONE
    },
];

/// The program that the words of a command line are for, as far as they were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Running {
    program: Option<&'static Program>,
    /// Whether it was told to take a password.
    told: bool,
}

impl Running {
    /// A word that is neither an option nor the value of one.
    pub(super) fn see(&mut self, word: &str) {
        let name = word.rsplit('/').next().unwrap_or_default();
        let found = PROGRAMS.iter().find(|one| one.names.contains(&name));
        if let Some(found) = found {
            self.program = Some(found);
            self.told = found.verb.is_none();
        } else if let Some(program) = self.program {
            if program.wraps {
                self.program = None;
            }
            self.told |= program.verb == Some(word);
        }
    }

    /// Another command line begins.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    fn taking(self) -> Option<&'static Program> {
        self.program.filter(|_| self.told)
    }

    /// What an option of this program says about the word after it, where it is one of these.
    pub(super) fn said_by(self, option: &str) -> Option<Next> {
        let program = self.taking()?;
        if program.apart.contains(&option) {
            return Some(Next::Password);
        }
        let (options, mark) = program.login;
        options.contains(&option).then_some(Next::Login(mark))
    }

    /// An option of this program and what stands right behind it, with what that is.
    pub(super) fn joined(self, word: &str) -> Option<(&str, &str, Next)> {
        let program = self.taking()?;
        let split = |option: &&str| {
            let value = word.strip_prefix(option)?;
            (!value.is_empty()).then(|| (&word[..option.len()], value))
        };
        if let Some((option, value)) = program.joined.iter().find_map(split) {
            return Some((option, value, Next::Password));
        }
        let (options, mark) = program.login;
        // Of one letter: what begins so and is longer is another option.
        let mut short = options.iter().filter(|option| !option.starts_with("--"));
        let (option, value) = short.find_map(split)?;
        Some((option, value, Next::Login(mark)))
    }
}

#[cfg(test)]
mod tests;
