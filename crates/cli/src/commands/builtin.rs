//! `builtin`: one built-in server on its own, on stdio or on HTTP, for any client.

use crate::{
    commands::{alone::Alone, listen::Listen},
    context::{Context, Say},
    failure::{Code, Failure},
    near::{did_you_mean, near},
};
use clap::Args;
use std::path::PathBuf;
use switchboard::{
    VERSION,
    builtin::{Server, ServerKind, Setup},
    library, memory_folder, own_folders,
};

/// Options of `builtin`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Which one: files, shell, system, memory or tools
    pub name: String,
    /// A directory that files and shell may use, and that tools begin in; repeatable (default: the working directory)
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// A path in it that files may use although it is protected; repeatable
    #[arg(long, value_name = "PATH")]
    pub allow_protected: Vec<PathBuf>,
    /// files changes nothing
    #[arg(long)]
    pub read_only: bool,
    /// Switch the shell on: it runs any command
    #[arg(long)]
    pub enable_shell: bool,
    /// Where memory keeps its file (default: our data directory)
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder with the manifests of tools
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    #[command(flatten)]
    pub listen: Listen,
}

const EXAMPLES: &str = "Examples:
  switchboard builtin files --root . --read-only
  switchboard builtin shell --enable-shell
  switchboard builtin tools --folder ~/my-tools
  switchboard builtin memory --http 127.0.0.1:3800";

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let kind = kind(&options.name)?;
    fitting(kind, options)?;
    let setup = setup(context, kind, options)?;
    let server = Server::new(kind, &setup)
        .map_err(|fault| Failure::new(Code::Configuration, fault.to_string()))?;
    let doors = options.listen.doors(context)?;
    let spec = library::linked(kind.name(), server);
    let alone = Alone {
        spec,
        doors,
        keeps_lists: false,
    };
    alone.serve(|_, _| {})
}

/// Whether it may start processes: then a keeper must be there first.
pub fn starts_processes(options: &Options) -> bool {
    matches!(
        ServerKind::parse(&options.name),
        Some(ServerKind::Shell | ServerKind::Tools)
    )
}

fn kind(name: &str) -> Result<ServerKind, Failure> {
    ServerKind::parse(name).ok_or_else(|| {
        let names = ServerKind::ALL.map(ServerKind::name);
        let hint = did_you_mean(&near(name, names));
        let hint = hint.unwrap_or_else(|| format!("there are: {}", names.join(", ")));
        Failure::usage(format!("there is no built-in server {name:?}")).hint(hint)
    })
}

/// An option that does nothing is a misunderstanding, and sometimes a dangerous one.
fn fitting(kind: ServerKind, options: &Options) -> Result<(), Failure> {
    use ServerKind::{Files, Memory, Shell, Tools};
    let lifts = !options.allow_protected.is_empty();
    let given: [(&str, bool, &[ServerKind]); 6] = [
        ("--root", !options.root.is_empty(), &[Files, Shell, Tools]),
        ("--allow-protected", lifts, &[Files]),
        ("--read-only", options.read_only, &[Files]),
        ("--enable-shell", options.enable_shell, &[Shell]),
        ("--data", options.data.is_some(), &[Memory]),
        ("--folder", options.folder.is_some(), &[Tools]),
    ];
    for (option, is_given, kinds) in given {
        if is_given && !kinds.contains(&kind) {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let text = format!("{option} means nothing to {}", kind.name());
            return Err(Failure::usage(text).hint(format!("it is for {}", names.join(" and "))));
        }
    }
    match kind {
        Shell if !options.enable_shell => Err(Failure::usage("the shell is off")
            .hint("it runs any command; if you want that, say --enable-shell")),
        Tools if options.folder.is_none() => Err(Failure::usage("--folder is missing")
            .hint("name the folder that the *.tool.json files are in")),
        _ => Ok(()),
    }
}

/// The paths of `--allow-protected`. One that no root holds would do nothing.
pub fn lifted(paths: &[PathBuf], roots: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let roots: Vec<PathBuf> = roots.iter().map(real).collect();
    let each = paths.iter().map(|path| {
        let whole = std::path::absolute(path).map_err(|fault| {
            Failure::usage(format!("--allow-protected {}: {fault}", path.display()))
        })?;
        // What does not exist yet is where it would be made.
        let mut above = whole.ancestors();
        let found = above.find_map(|above| Some((above, above.canonicalize().ok()?)));
        let there = found.map_or(whole.clone(), |(above, real)| {
            whole
                .strip_prefix(above)
                .map_or(real.clone(), |rest| real.join(rest))
        });
        let is_with = |root: &PathBuf| there.starts_with(root) || root.starts_with(&there);
        if roots.iter().any(is_with) {
            return Ok(whole);
        }
        let text = format!("--allow-protected {} is in no root", path.display());
        Err(Failure::usage(text).hint("name the directory around it with --root, too"))
    });
    each.collect()
}

fn setup(context: &Context, kind: ServerKind, options: &Options) -> Result<Setup, Failure> {
    let mut roots = options.root.clone();
    if roots.is_empty() {
        roots.push(context.options.directory.clone());
    }
    let data = match &options.data {
        None if kind == ServerKind::Memory => Some(memory_folder(&context.dirs()?)),
        data => data.clone(),
    };
    let secrets = options.listen.said().secrets(&context.options);
    context.options.in_use.add_own(secrets);
    if kind == ServerKind::Files {
        // What the user's gateways run is not to be changed from here, either.
        context.look(Say::Nothing).protect();
    }
    Ok(Setup {
        version: VERSION.to_owned(),
        in_use: context.options.in_use.clone(),
        own_folders: own_folders(&context.options.directory, |name| {
            context.options.variables.get(name).map(PathBuf::from)
        }),
        allow_protected: lifted(&options.allow_protected, &roots)?,
        roots,
        read_only: options.read_only,
        shell_enabled: options.enable_shell,
        data,
        manifests: options.folder.clone(),
        ..Setup::default()
    })
}
