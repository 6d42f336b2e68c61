//! What of an entry lies in the repository and is bound by its content: the
//! program, scripts among its words, and the manifests of a built-in `tools`
//! with what those run.
//!
//! No variable of the environment is read. Those that an entry knows by its
//! place are filled in, and of `${VAR:-default}` the default is taken. What only
//! turns out to be a file of the repository once all variables are filled in
//! was not bound, and is refused when the server starts ([`Bound::check`]).

mod ground;
mod manifests;
mod readers;
mod words;

use crate::{
    entry::{Entry, Transport},
    expand::substitute,
    limits,
};
pub use ground::Ground;
pub use manifests::Manifest;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};
use switchboard_local::hex;
pub(crate) use words::{is_code_address, pieces};

/// What a file of the repository was when it was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Its bytes, by their hash.
    Bytes(String),
    /// A link of the repository's leads from there to this file.
    Leads(PathBuf),
    /// It cannot be bound; why. Nothing is equal to that.
    Unbound(String),
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(hash) => write!(f, "sha256:{hash}"),
            Self::Leads(path) => write!(f, "link:{}", path.display()),
            Self::Unbound(why) => write!(f, "unbound:{why}"),
        }
    }
}

impl Content {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("sha256", hash)) => Self::Bytes(hash.to_owned()),
            Some(("link", path)) => Self::Leads(path.into()),
            _ => Self::Unbound(text.strip_prefix("unbound:").unwrap_or(text).to_owned()),
        }
    }

    /// Whether it is certain to be the same.
    fn is(&self, other: &Self) -> bool {
        !matches!(self, Self::Unbound(_)) && self == other
    }
}

/// Files by their paths, and what they were.
pub type Contents = BTreeMap<PathBuf, Content>;

/// Whether everything in `now` is as it was in `approved`. What was approved and
/// is no longer there runs nothing.
pub fn covers(approved: &Contents, now: &Contents) -> bool {
    now.iter()
        .all(|(path, content)| approved.get(path).is_some_and(|known| known.is(content)))
}

/// What was found of an entry in the repository.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What is bound.
    pub contents: Contents,
    /// Files that it works on rather than runs, such as a database or a log:
    /// they may change.
    pub data: Vec<PathBuf>,
    /// Manifests of a built-in `tools`.
    pub manifests: Vec<Manifest>,
}

impl Found {
    /// Looks for what an entry has in the repository. Its program is not run.
    pub fn of(entry: &Entry, ground: &Ground) -> Self {
        let mut search = Search::new(ground);
        search.entry(entry);
        search.found
    }
}

/// The files and folders that an entry, whose variables are filled in, runs or has
/// loaded, wherever they lie: whoever could change them would run what they wrote.
/// They are only named, and none of them is read to its end.
pub fn run_by(entry: &Entry, directory: &Path, home: Option<PathBuf>) -> Vec<PathBuf> {
    let ground = Ground {
        directory: directory.to_owned(),
        trees: vec!["/".into()],
        home,
    };
    let mut search = Search::new(&ground);
    search.only_names = true;
    search.entry(entry);
    let files = search.found.contents.into_keys();
    files.chain(search.folders).collect()
}

/// The variables that an entry sets, as far as its place says what they are.
fn variables(entry: &Entry) -> Vec<(String, String)> {
    let each = entry.env.iter();
    each.map(|(name, value)| (name.clone(), known(entry, value).unwrap_or_default()))
        .collect()
}

/// What an approval was given for, for whoever starts the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What words are held against.
    pub ground: Ground,
    /// What was approved.
    pub contents: Contents,
    /// Where programs of manifests run that do not say where.
    workplace: PathBuf,
}

/// What is not as it was approved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Nothing that could be bound.
    #[error("{} cannot be approved: {why}", path.display())]
    Unbound {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It is another one.
    #[error("{} has changed since you approved this server", .0.display())]
    Changed(PathBuf),
    /// A variable led there, or it has appeared since.
    #[error(
        "{} was no part of this server when you approved it (where a variable leads there, ${{workspaceFolder}} or the path itself would be seen)",
        .0.display()
    )]
    New(PathBuf),
}

impl Bound {
    /// What this entry was approved with.
    pub fn new(entry: &Entry, ground: Ground, contents: Contents) -> Self {
        let workplace = workplace(entry, &ground).unwrap_or_default();
        Self {
            ground,
            contents,
            workplace,
        }
    }

    /// Refuses to start an entry, whose variables are filled in, with anything of
    /// the repository that is not as it was approved.
    pub fn check(&self, entry: &Entry) -> Result<(), ApprovalError> {
        self.compare(&Found::of(entry, &self.ground).contents)
    }

    /// Refuses a manifest that is not as it was approved.
    pub fn check_manifest(&self, file: &Path, bytes: &[u8]) -> Result<(), ApprovalError> {
        let content = Content::Bytes(hash(bytes));
        self.compare(&Contents::from([(self.ground.place_of(file), content)]))
    }

    /// Refuses to run what a manifest names where that is not as it was approved.
    pub fn check_run(&self, file: &Path, bytes: &[u8]) -> Result<(), ApprovalError> {
        self.check_manifest(file, bytes)?;
        let mut search = Search::new(&self.ground);
        search.runs(&Manifest::read(file.to_owned(), bytes), &self.workplace);
        self.compare(&search.found.contents)
    }

    fn compare(&self, now: &Contents) -> Result<(), ApprovalError> {
        for (path, content) in now {
            let path = path.clone();
            return Err(match (self.contents.get(&path), content) {
                (Some(known), content) if known.is(content) => continue,
                (_, Content::Unbound(why)) => ApprovalError::Unbound {
                    path,
                    why: why.clone(),
                },
                (Some(_), _) => ApprovalError::Changed(path),
                (None, _) => ApprovalError::New(path),
            });
        }
        Ok(())
    }
}

/// Where programs of manifests run that do not say where: the first directory
/// that the entry names, or its own.
fn workplace(entry: &Entry, ground: &Ground) -> Option<PathBuf> {
    let base = match &entry.cwd {
        Some(cwd) => ground.directory.join(known(entry, cwd)?),
        None => ground.directory.clone(),
    };
    match entry.builtin_options.roots.first() {
        Some(root) => Some(ground.path(&base, &known(entry, root)?)),
        None => Some(base),
    }
}

/// The text with what an entry knows by its place; nothing where it would take more.
pub(super) fn known(entry: &Entry, text: &str) -> Option<String> {
    let given = |name: &str| {
        let mut given = entry.given.iter();
        let found = given.find(|(known, _)| known == name)?;
        Some(found.1.clone())
    };
    substitute(text, &given).ok()
}

fn hash(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

/// Collects, within limits: a repository may name anything any number of times.
struct Search<'a> {
    ground: &'a Ground,
    found: Found,
    /// Whether a shell fills in names.
    fills_in: bool,
    /// Where paths of the present command line may begin.
    bases: Vec<PathBuf>,
    /// Files whose own first lines are still to be looked at.
    newly_bound: Vec<PathBuf>,
    looks: usize,
    bytes: u64,
    /// Only what is run is wanted, and only by name: what a word names is more often
    /// worked on.
    only_names: bool,
    /// Folders that are loaded from.
    folders: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(ground: &'a Ground) -> Self {
        Self {
            ground,
            found: Found::default(),
            fills_in: false,
            bases: Vec::new(),
            newly_bound: Vec::new(),
            looks: 0,
            bytes: 0,
            only_names: false,
            folders: Vec::new(),
        }
    }

    /// Looks at all that an entry names.
    fn entry(&mut self, entry: &Entry) {
        let ground = self.ground;
        let directory = match &entry.cwd {
            None => Some(ground.directory.clone()),
            Some(cwd) => known(entry, cwd).map(|cwd| ground.directory.join(cwd)),
        };
        // Where that depends on a variable nothing relative can be found yet.
        let Some(base) = directory else {
            return;
        };
        match entry.transport {
            Transport::Stdio => {
                let words = |text: &String| known(entry, text).unwrap_or_default();
                let command = entry.command.as_ref().map(words).unwrap_or_default();
                let args: Vec<String> = entry.args.iter().map(words).collect();
                self.argv(&base, &command, &args, &variables(entry));
            }
            Transport::Builtin if entry.builtin_name() == "tools" => {
                let folder = entry.builtin_options.folder.as_ref();
                let workplace = workplace(entry, ground);
                match folder.map(|folder| (folder, known(entry, folder).zip(workplace))) {
                    Some((_, Some((known, workplace)))) => {
                        let folder = ground.path(&base, &known);
                        self.folder(&folder, &workplace);
                        self.folders.push(folder);
                    }
                    Some((written, None)) => self.unbound(
                        Path::new(written),
                        "the folder, or where its programs run, depends on variables, so that its manifests cannot be shown",
                    ),
                    None => {}
                }
            }
            _ => {}
        }
        if let Some(helper) = &entry.headers_helper {
            let helper = known(entry, helper).unwrap_or_default();
            let line = ["-c".to_owned(), helper];
            self.argv(&base, "/bin/sh", &line, &variables(entry));
        }
        for (_, file) in entry.credential_files() {
            if let Some(file) = known(entry, file) {
                self.bind(&ground.path(&base, &file));
            }
        }
    }

    fn unbound(&mut self, path: &Path, why: impl Into<String>) {
        let why = Content::Unbound(why.into());
        self.found.contents.insert(self.ground.place_of(path), why);
    }

    /// Binds a file, if it is one of the repository's; whether it is. The bytes
    /// are bound under its real path, and where a link of the repository's led
    /// there, that too.
    fn bind(&mut self, path: &Path) -> bool {
        let leads = self.ground.follow(path);
        let is_inside = self.ground.is_inside(&leads.real);
        if !(is_inside || leads.by_the_repository) || !leads.real.is_file() {
            return false;
        }
        if leads.by_the_repository {
            let link = Content::Leads(leads.real.clone());
            self.found
                .contents
                .insert(path.components().collect(), link);
        }
        if is_inside && !self.found.contents.contains_key(&leads.real) {
            let content = self.read(&leads.real);
            self.newly_bound.push(leads.real.clone());
            self.found.contents.insert(leads.real, content);
        }
        true
    }

    fn read(&mut self, path: &Path) -> Content {
        if self.only_names {
            return Content::Unbound(String::new());
        }
        if self.found.contents.len() >= limits::BOUND_FILES {
            let why = format!("it has more than {} files", limits::BOUND_FILES);
            return Content::Unbound(why);
        }
        let left = limits::BOUND_BYTES.saturating_sub(self.bytes);
        match digest(path, left) {
            Ok((hash, bytes)) => {
                self.bytes += bytes;
                Content::Bytes(hash)
            }
            Err(error) => Content::Unbound(error.to_string()),
        }
    }

    /// Whether to go on looking at words.
    fn may_look(&mut self) -> bool {
        self.looks += 1;
        if self.looks == limits::BOUND_LOOKS {
            let directory = self.ground.directory.clone();
            self.unbound(&directory, "the entry has too many words to look at them");
        }
        self.looks < limits::BOUND_LOOKS
    }
}

/// The hash of a file of at most so many bytes, and how many it has.
fn digest(path: &Path, most: u64) -> io::Result<(String, u64)> {
    let mut file = open(path)?.take(most + 1);
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut file, &mut hash)?;
    if bytes > most {
        let text = format!(
            "it and what else is bound have more than {} bytes",
            limits::BOUND_BYTES
        );
        return Err(io::Error::other(text));
    }
    Ok((hex(hash.finalize()), bytes))
}

/// Opens a file. A pipe is not waited for: it is none.
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.read(true);
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is not a file")),
    }
}
