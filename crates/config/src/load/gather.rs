//! Reading the files of every scope. Which of their entries count is decided
//! afterwards, over all of them.

mod applied;
mod brought;
mod hired;
mod rules;

pub(super) use applied::applied;
pub(super) use hired::hired;

use super::{Loaded, Looked, Outcome};
use crate::{
    entry::{Entry, Isolation, Pinning, Scope},
    fault::{Fault, Source},
    inherit,
    places::Places,
    policy::Policy,
    read::{self, Doc},
    safe_read,
    settings::{Inbox, Lists, Observe, Rules},
    sign_in::SignIn,
    usage,
};
use rules::{File, Rank, Ruled};
use std::path::Path;

/// Everything that files say.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    entries: Vec<(Scope, Entry)>,
    /// Lists of the user's that are meant for everywhere.
    pub(super) everywhere: Vec<Lists>,
    /// Lists of the user's that are meant for this project.
    pub(super) here: Vec<Lists>,
    /// Lists that a repository could have written: only what they forbid counts.
    pub(super) inside: Vec<Lists>,
    managed: Vec<Rules>,
    user: Vec<Rules>,
    restrictions: Vec<Rules>,
    /// `inheritEnv` of the user.
    pub(super) inherit_env: Option<Vec<String>>,
    /// `idleTimeout` of the user.
    pub(super) idle_timeout: Option<u64>,
    /// `enabledPlugins` of the user.
    plugins: Vec<String>,
    /// What the administrator says about signing in.
    pub(super) sign_in: SignIn,
    /// What the administrator says about what is kept of calls.
    pub(super) observe: Observe,
    pub(super) inbox: Inbox,
    /// What each file says about what may be done with servers.
    ruled: Vec<Ruled>,
}

impl Gathered {
    pub(super) fn add(&mut self, scope: Scope, entries: Vec<Entry>) {
        self.entries
            .extend(entries.into_iter().map(|entry| (scope, entry)));
    }

    /// The entries: the highest scope first, in it as they came.
    pub(super) fn take(&mut self) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by_key(|(scope, _)| std::cmp::Reverse(*scope));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// All allow lists together, unless only the managed ones are to count; and
    /// whatever anybody forbids.
    pub(super) fn policy(&self) -> Policy {
        let managed_only = self.managed.iter().any(|rules| rules.managed_only);
        let user = self.user.iter().filter(|_| !managed_only);
        let lists: Vec<_> = self
            .managed
            .iter()
            .chain(user)
            .filter_map(|rules| rules.allowed.clone())
            .collect();
        let all = self
            .managed
            .iter()
            .chain(&self.user)
            .chain(&self.restrictions);
        let allowed = if lists.is_empty() && !managed_only {
            None
        } else {
            Some(lists.concat())
        };
        Policy {
            allowed,
            denied: all.flat_map(|rules| rules.denied.clone()).collect(),
            ..Policy::default()
        }
    }
}

/// Who could have written a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Administrator,
    User,
    Repository,
}

/// The administrator's files. What of them cannot be read shuts everything.
pub(super) fn managed(places: &Places, gathered: &mut Gathered, loaded: &mut Loaded) {
    for folder in &places.managed {
        for name in ["managed-mcp.json", "managed-settings.json"] {
            let file = folder.join(name);
            let faults = loaded.faults.len();
            let mut found = Reading {
                places,
                gathered,
                loaded,
                owner: Some(places.managed_owner),
                rules_only: false,
            };
            let mut policy_only = false;
            let servers = name == "managed-mcp.json";
            let whole = |doc: &Doc<'_>, this: &mut Reading<'_>| {
                this.rules(doc, &file, Writer::Administrator);
                if servers {
                    // Servers, even none, are the only ones. Rules about
                    // servers alone are rules about everybody's.
                    let rules = this.gathered.managed.last();
                    policy_only = rules.is_some_and(|rules| rules.there)
                        && doc.value(&["mcpServers"]).is_none();
                    this.servers(
                        doc,
                        &["mcpServers"],
                        Scope::Enterprise,
                        Writer::Administrator,
                    );
                } else {
                    this.lists(doc, &file, &[], Writer::Administrator);
                    this.sign_in(doc, &file, Writer::Administrator);
                    this.connectors_address(doc, &file, Writer::Administrator);
                    this.environment(doc, &file);
                    this.observe(doc, Writer::Administrator);
                }
            };
            let there = match servers {
                true => found.read(Scope::Enterprise, &file, whole).is_some(),
                false => {
                    let ours = folder.file_name().is_none_or(|name| name != "claude-code");
                    let file = File::managed(&file, ours);
                    found.read_with_rules(Scope::Enterprise, &file, whole);
                    true
                }
            };
            let exclusive = there && servers && !policy_only;
            if exclusive || loaded.faults.len() > faults {
                loaded.exclusive.get_or_insert(file);
            }
        }
    }
}

/// All other scopes. Where nothing else is to be looked at, what forbids something
/// is all the same: a restriction does not depend on where servers come from, or on
/// how they are named on the command line.
pub(super) fn scopes(
    places: &Places,
    rules_only: bool,
    gathered: &mut Gathered,
    loaded: &mut Loaded,
) {
    let mut reading = Reading {
        places,
        gathered,
        loaded,
        owner: None,
        rules_only,
    };
    // Claude Code's files first: in one scope the later wins, and that is ours.
    claude_settings(places, &mut reading);
    users_files(places, &mut reading);
    strays(places, &mut reading);
    if rules_only {
        return;
    }
    // The nearest last, so that it wins.
    for folder in places.project_folders().into_iter().rev() {
        let file = folder.join(".mcp.json");
        reading.read(Scope::Project, &file, |doc, this| {
            this.servers(doc, &["mcpServers"], Scope::Project, Writer::Repository);
        });
    }
    reading.plugins();
    reading.connectors();
}

/// Settings of Claude Code: the user's, and those in the tree.
fn claude_settings(places: &Places, reading: &mut Reading<'_>) {
    let file = places.claude.join("settings.json");
    let writer = reading.writer(&file);
    let user = match writer {
        Writer::Repository => Scope::Project,
        _ => Scope::User,
    };
    let ruled = File::theirs(&file, Rank::User, writer == Writer::Repository);
    reading.read_with_rules(user, &ruled, |doc, this| {
        this.servers(doc, &["mcpServers"], user, writer);
        this.lists(doc, &file, &[], writer);
        this.rules(doc, &file, writer);
        this.sign_in(doc, &file, writer);
        if writer == Writer::User {
            let (enabled, _) = doc.value(&["enabledPlugins"]).unwrap_or_default();
            let enabled = enabled.as_object().into_iter().flatten();
            let names = enabled
                .filter(|(_, on)| **on == true)
                .map(|(name, _)| name.clone());
            this.gathered.plugins.extend(names);
        }
    });
    // In the same scope what lies in the tree gives way to what is the user's.
    for name in ["settings.json", "settings.local.json"] {
        let file = places.project().join(".claude").join(name);
        if file == places.claude.join(name) {
            continue;
        }
        let ruled = File::theirs(&file, Rank::Project, true);
        reading.read_with_rules(Scope::Local, &ruled, |doc, this| {
            this.servers(doc, &["mcpServers"], Scope::Local, Writer::Repository);
            this.lists(doc, &file, &[], Writer::Repository);
            this.rules(doc, &file, Writer::Repository);
        });
    }
}

/// The user's own files: Claude Code's, and then ours.
fn users_files(places: &Places, reading: &mut Reading<'_>) {
    let project = places.project().display().to_string();
    for file in [places.claude_json.clone(), places.settings()] {
        let writer = reading.writer(&file);
        let (user, local) = match writer {
            Writer::Repository => (Scope::Project, Scope::Project),
            _ => (Scope::User, Scope::Local),
        };
        let whole = |doc: &Doc<'_>, this: &mut Reading<'_>| {
            this.servers(doc, &["projects", &project, "mcpServers"], local, writer);
            this.servers(doc, &["mcpServers"], user, writer);
            this.lists(doc, &file, &[], writer);
            this.lists(doc, &file, &["projects", &project], writer);
            this.rules(doc, &file, writer);
            this.sign_in(doc, &file, writer);
            if file == places.settings() {
                this.connectors_address(doc, &file, writer);
                if writer == Writer::User {
                    this.inherit_env(doc);
                    this.idle_timeout(doc);
                }
            }
        };
        if file == places.settings() {
            let ruled = File::ours(&file, Rank::Ours, writer == Writer::Repository);
            reading.read_with_rules(user, &ruled, whole);
        } else if !reading.rules_only {
            reading.read(user, &file, whole);
        }
    }
}

/// Files of ours that lie where a repository could have put them.
fn strays(places: &Places, reading: &mut Reading<'_>) {
    let project = places.project().display().to_string();
    for file in &places.strays {
        let ruled = File::ours(file, Rank::Stray, true);
        reading.read_with_rules(Scope::Project, &ruled, |doc, this| {
            this.servers(doc, &["mcpServers"], Scope::Project, Writer::Repository);
            this.servers(
                doc,
                &["projects", &project, "mcpServers"],
                Scope::Project,
                Writer::Repository,
            );
            this.lists(doc, file, &[], Writer::Repository);
            this.rules(doc, file, Writer::Repository);
        });
    }
}

struct Reading<'a> {
    places: &'a Places,
    gathered: &'a mut Gathered,
    loaded: &'a mut Loaded,
    owner: Option<u32>,
    /// Of every file only what may be done with servers is wanted.
    rules_only: bool,
}

impl Reading<'_> {
    /// Reads one file, if there is one that can be trusted, and notes what became of it.
    fn read(
        &mut self,
        scope: Scope,
        file: &Path,
        use_it: impl FnOnce(&Doc<'_>, &mut Self),
    ) -> Option<Result<(), Box<Fault>>> {
        let read = self.open(file, use_it);
        let outcome = match &read {
            None => Outcome::Absent,
            Some(Ok(())) => Outcome::Read,
            Some(Err(fault)) => {
                self.fault(scope, (**fault).clone());
                Outcome::Skipped(fault.reason())
            }
        };
        self.looked(scope, file, outcome);
        read
    }

    /// Reads one file. Nothing if there is none.
    fn open(
        &mut self,
        file: &Path,
        use_it: impl FnOnce(&Doc<'_>, &mut Self),
    ) -> Option<Result<(), Box<Fault>>> {
        let source = Source::File(file.to_owned());
        match safe_read::read(file, self.owner) {
            Err(why) if why.is_absent() => None,
            Err(why) => Some(Err(Box::new(why.fault(file)))),
            Ok(text) => Some(read::with(&text, &source, |doc| use_it(doc, self))),
        }
    }

    fn looked(&mut self, scope: Scope, file: &Path, outcome: Outcome) {
        let file = file.to_owned();
        self.loaded.looked.push(Looked {
            scope,
            file,
            outcome,
        });
    }

    fn writer(&self, file: &Path) -> Writer {
        if self.places.is_inside(file) {
            Writer::Repository
        } else {
            Writer::User
        }
    }

    fn fault(&mut self, scope: Scope, fault: Fault) {
        self.loaded.faults.push((scope, fault));
    }

    fn servers(&mut self, doc: &Doc<'_>, path: &[&str], scope: Scope, writer: Writer) {
        match doc.servers(path, scope) {
            Ok(mut entries) => {
                for entry in &mut entries {
                    self.place(entry, writer);
                }
                self.gathered.add(scope, entries);
            }
            Err(fault) => self.fault(scope, *fault),
        }
    }

    /// What an entry knows by its place, and what it may not say there.
    fn place(&self, entry: &mut Entry, writer: Writer) {
        let known = [
            ("userHome", self.places.home.as_deref()),
            ("workspaceFolder", Some(self.places.project())),
        ];
        let known = known
            .into_iter()
            .filter_map(|(name, path)| Some((name.to_owned(), path?.display().to_string())));
        entry.given.extend(known);
        // Whoever imported it has not approved it.
        let brought = writer == Writer::Repository || entry.imported_from.is_some();
        if brought {
            if entry.env_file.take().is_some() {
                let mut fault = entry.fault("envFile", "counts in files of your own only");
                fault.hint = Some("write its variables as `env`, where they are seen".to_owned());
                entry.faults.push(fault);
            }
            entry.inside = true;
            restrict(entry);
        }
    }

    fn inherit_env(&mut self, doc: &Doc<'_>) {
        match inherit::read(doc) {
            Ok(names) => self.gathered.inherit_env = names,
            Err(fault) => self.loaded.faults.push((Scope::User, *fault)),
        }
    }

    fn idle_timeout(&mut self, doc: &Doc<'_>) {
        match usage::read_idle(doc) {
            Ok(idle) => self.gathered.idle_timeout = idle,
            Err(fault) => self.loaded.faults.push((Scope::User, *fault)),
        }
    }

    fn environment(&mut self, doc: &Doc<'_>, file: &Path) {
        let faults = self
            .loaded
            .environment
            .add(doc, &file.display().to_string());
        let faults = faults.into_iter().map(|fault| (Scope::Enterprise, fault));
        self.loaded.faults.extend(faults);
    }

    fn lists(&mut self, doc: &Doc<'_>, file: &Path, path: &[&str], writer: Writer) {
        let mut lists = Lists::read(doc, path, &file.display().to_string());
        self.unclear(std::mem::take(&mut lists.faults), writer);
        let to = match writer {
            Writer::Repository => &mut self.gathered.inside,
            _ if path.is_empty() => &mut self.gathered.everywhere,
            _ => &mut self.gathered.here,
        };
        to.push(lists);
    }

    fn rules(&mut self, doc: &Doc<'_>, file: &Path, writer: Writer) {
        let mut rules = Rules::read(doc, &file.display().to_string());
        self.unclear(std::mem::take(&mut rules.faults), writer);
        match writer {
            Writer::Administrator => self.gathered.managed.push(rules),
            Writer::User => self.gathered.user.push(rules),
            Writer::Repository => self.gathered.restrictions.push(rules),
        }
    }

    /// What does not say clearly what it forbids. Nothing goes on with the user's or
    /// the administrator's.
    fn unclear(&mut self, faults: Vec<Fault>, writer: Writer) {
        let scope = match writer {
            Writer::Administrator => Scope::Enterprise,
            Writer::User | Writer::Repository => Scope::User,
        };
        if writer == Writer::User {
            self.loaded.lawless.extend(faults.iter().cloned());
        }
        let faults = faults.into_iter().map(|fault| (scope, fault));
        self.loaded.faults.extend(faults);
    }

    /// What is kept of calls, and who is asked, is for the user and the administrator to
    /// say. What cannot be read of it would leave calls unseen.
    fn observe(&mut self, doc: &Doc<'_>, writer: Writer) {
        let says = match writer {
            // What the administrator says is not changed by anybody after.
            Writer::Administrator => &mut self.gathered.observe,
            Writer::User => &mut self.loaded.observe,
            Writer::Repository => return,
        };
        let faults = says.read(doc);
        self.unclear(faults, writer);
        let says = match writer {
            Writer::Administrator => &mut self.gathered.inbox,
            _ => &mut self.loaded.inbox,
        };
        let faults = says.read(doc);
        self.unclear(faults, writer);
    }

    /// Where sign-ins are kept is for the user and the administrator to say.
    fn sign_in(&mut self, doc: &Doc<'_>, file: &Path, writer: Writer) {
        let scope = match writer {
            Writer::Administrator => Scope::Enterprise,
            Writer::User => Scope::User,
            Writer::Repository => return,
        };
        // What the administrator says is not changed by anybody after.
        let says = match writer {
            Writer::Administrator => &mut self.gathered.sign_in,
            _ => &mut self.loaded.sign_in,
        };
        let faults = says.read(doc, &file.display().to_string());
        self.loaded
            .faults
            .extend(faults.into_iter().map(|fault| (scope, fault)));
    }
}

/// Leaves an entry that somebody else wrote nothing that is for the user to say.
fn restrict(entry: &mut Entry) {
    entry.isolation = Isolation::default();
    entry.always_load = false;
    entry.required = false;
    // What it asks for of ours is `env`, where a person sees it.
    entry.inherit_env = None;
    // It can ask for more care, and not for less.
    entry.pins = entry.pins.filter(|pins| *pins == Pinning::Hold);
    // Where the network may be searched is not for a repository to say.
    entry.oauth.allow_private_addresses = false;
    // Nor who signs in for others.
    entry.oauth.clients_sign_in = false;
}
